"""The settings of a training run, read from a TOML file or built in Python."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from evenhand.errors import InputError, UsageError, require_count
from evenhand.seeds import content_hash
from evenhand.train.presets import with_preset
from evenhand.train.sources import Source, sources_from
from evenhand.train.step import Objective, objective_from
from evenhand.train.views import Views
from evenhand.types import Surface

T = TypeVar("T")
Method = Literal["lora", "full"]
# Those of accelerate, and the packages of which each needs one.
TRACKERS: Mapping[str, tuple[str, ...]] = {
    "aim": ("aim",),
    "clearml": ("clearml",),
    "comet_ml": ("comet_ml",),
    "dvclive": ("dvclive",),
    "mlflow": ("mlflow",),
    "swanlab": ("swanlab",),
    "tensorboard": ("tensorboard", "tensorboardX"),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
}
LORA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True)
class Weights:
    """What of the model is trained.

    Attributes:
        method: low-rank adapters, or all weights.
        rank, alpha, dropout, targets: of the adapters.
    """

    method: Method = "lora"
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    targets: tuple[str, ...] = LORA_TARGETS

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise UsageError(f"method is one of {get_args(Method)}, got {self.method!r}")
        require_count("rank", self.rank)
        require_count("alpha", self.alpha)
        if not 0 <= _number("dropout", self.dropout) < 1:
            raise UsageError(f"dropout must be in [0, 1), got {self.dropout}")
        if not self.targets or not all(isinstance(name, str) for name in self.targets):
            raise UsageError(f"targets names the layers that adapters are put on, got {self.targets}")


@dataclass(frozen=True, slots=True)
class Descent:
    """The optimiser: AdamW, linear warm-up, then cosine to 0.

    Attributes:
        rate: highest learning rate. betas, decay: of AdamW. clip: of the gradient's norm.
        warmup: share of the steps. ramp: share of the steps over which everything but
            the anchor rises from 0; above 1 it is a number of steps.
    """

    rate: float = 2e-4
    betas: tuple[float, float] = (0.9, 0.95)
    decay: float = 0.01
    clip: float = 1.0
    warmup: float = 0.1
    ramp: float = 0.1

    def __post_init__(self) -> None:
        for name in ("rate", "clip"):
            if not _number(name, getattr(self, name)) > 0:
                raise UsageError(f"{name} must be above 0, got {getattr(self, name)}")
        if not 0 <= _number("warmup", self.warmup) < 1:
            raise UsageError(f"warmup is a share of the steps in [0, 1), got {self.warmup}")
        for name in ("ramp", "decay"):
            if _number(name, getattr(self, name)) < 0:
                raise UsageError(f"{name} is not negative, got {getattr(self, name)}")
        if len(self.betas) != 2 or not all(0 <= _number("betas", beta) < 1 for beta in self.betas):
            raise UsageError(f"betas are two numbers in [0, 1), got {self.betas}")


@dataclass(frozen=True, slots=True)
class Run:
    """How long and how.

    Attributes:
        windows: of the first views, in one step. steps: None = all of the epochs.
        epochs: passes over the labels. seed: of everything that is drawn.
        token_budget: of a micro-batch. half: body in bfloat16; the readout is float32.
        compiled: compile each block. checkpointing: recompute blocks going back.
        evaluate_every, save_every: steps; 0 = only at the end.
        workers: processes that build prompts.
        tracker: where the steps are shown beside the log, one of `TRACKERS`; None = nowhere.
    """

    windows: int = 64
    steps: int | None = None
    epochs: int = 1
    seed: int = 0
    token_budget: int = 65536
    half: bool = False
    compiled: bool = False
    checkpointing: bool = False
    evaluate_every: int = 0
    save_every: int = 0
    workers: int = 0
    max_candidate_tokens: int = 512
    tracker: str | None = None

    def __post_init__(self) -> None:
        for name in ("windows", "epochs", "token_budget", "max_candidate_tokens"):
            require_count(name, getattr(self, name))
        if self.steps is not None:
            require_count("steps", self.steps)
        for name in ("seed", "evaluate_every", "save_every", "workers"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise UsageError(f"{name} is a whole number of at least 0, got {value!r}")
        for name in ("half", "compiled", "checkpointing"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} is true or false, got {getattr(self, name)!r}")
        if self.tracker is not None and self.tracker not in TRACKERS:
            raise UsageError(f"unknown tracker {self.tracker!r}; known are {', '.join(TRACKERS)}")


@dataclass(frozen=True, slots=True)
class Training:
    """All settings of a run, checked against each other.

    Attributes:
        base: spec of the model, as `models.load` takes it.
        widths: (share of the training until which it holds, widths to draw from),
            rising; () = `views.widths` throughout.
        data: where slates and labels are from, for the card of the scorer.

    Raises:
        UsageError: settings that do not go together.
    """

    base: str = "smollm2-135m"
    views: Views = field(default_factory=Views)
    objective: Objective = field(default_factory=Objective)
    weights: Weights = field(default_factory=Weights)
    descent: Descent = field(default_factory=Descent)
    run: Run = field(default_factory=Run)
    widths: tuple[tuple[float, tuple[int, ...]], ...] = ()
    data: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        penalties, views = self.objective.penalties, self.views
        if penalties and views.count < 2:
            raise UsageError(
                f"{' and '.join(penalties)} of the objective compares views of a slate, and "
                "views.count is 1; draw at least 2"
            )
        named = {name for name, _ in self.objective.channels}
        if named and named != set(views.varies):
            raise UsageError(
                f"the objective weighs the channels {sorted(named)}, and views.varies names "
                f"{sorted(set(views.varies))}; name the same in both"
            )
        dropping = self.weights.method == "lora" and self.weights.dropout > 0
        if "dropout" in views.varies and not dropping:
            raise UsageError(
                "views that vary dropout need weights.method 'lora' with weights.dropout above 0; "
                "without it the view would be the first once more"
            )
        shares = [until for until, _ in self.widths]
        if shares != sorted(set(shares)) or not all(0 < share <= 1 for share in shares):
            raise UsageError(
                f"widths holds until rising shares of the training in (0, 1], got {shares}"
            )
        for _, widths in self.widths:
            replace(views, widths=widths)

    def views_at(self, share: float) -> Views:
        """Return the views to draw at a share of the training."""
        for until, widths in self.widths:
            if share < until:
                return replace(self.views, widths=widths)
        return self.views

    def plain(self) -> dict[str, Any]:
        """Return everything that could move a weight beyond float error, as plain values.

        Dropout draws anew for each micro-batch, so with it the token budget does too.
        """
        plain = asdict(self)
        left_out = {
            "token_budget",
            "compiled",
            "checkpointing",
            "workers",
            "save_every",
            "evaluate_every",
            "tracker",
        }
        if self.weights.method == "lora" and self.weights.dropout > 0:
            left_out.remove("token_budget")
        for name in left_out:
            del plain["run"][name]
        del plain["data"]
        return plain

    def identity(self) -> str:
        """Return a hash of everything that could move a weight."""
        return content_hash(self.plain())


_SECTIONS: Mapping[str, type[Any]] = {"weights": Weights, "descent": Descent, "run": Run}


def training_from(settings: Mapping[str, Any]) -> Training:
    """Return the settings from nested plain values, as a TOML file holds them.

    Raises:
        UsageError: an unknown section or name, or a value out of range.
    """
    known = {item.name for item in fields(Training)} | {"surface"}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise UsageError(f"unknown sections {unknown}; known are {sorted(known)}")
    made: dict[str, Any] = {
        name: _made(kind, _section(settings, name), name) for name, kind in _SECTIONS.items()
    }
    surface = _made(Surface, _section(settings, "surface"), "surface")
    views = _section(settings, "views")
    if "surface" in views:
        raise UsageError("surface is a section of its own, not one of views")
    made["views"] = _made(Views, {**views, "surface": surface}, "views")
    made["objective"] = objective_from(_section(settings, "objective"))
    made["data"] = sources_from(_section(settings, "data"))
    made["widths"] = _schedule(settings.get("widths", ()))
    if "base" in settings:
        if not isinstance(settings["base"], str):
            raise UsageError(f"base names a model, got {settings['base']!r}")
        made["base"] = settings["base"]
    return Training(**made)


def read_training(path: str | Path) -> Training:
    """Read the settings of a TOML file, laid over the preset that it names, if any.

    Raises:
        InputError: there is no file, or it is no TOML.
        UsageError: as `training_from`, or an unknown preset.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8; a TOML file is needed", path=str(path)) from None
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is no TOML: {error}", path=str(path)) from None
    return training_from(with_preset(settings))


def _section(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    values = settings.get(name, {})
    if not isinstance(values, Mapping):
        raise UsageError(f"section {name} must hold names and values, got {values!r}")
    return values


def _schedule(values: Any) -> tuple[tuple[float, tuple[int, ...]], ...]:
    try:
        return tuple((float(until), tuple(widths)) for until, widths in values)
    except (TypeError, ValueError):
        raise UsageError(
            f"widths is a list of [share of the training, [widths]], got {values!r}"
        ) from None


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"{name} is a number, got {value!r}")
    return float(value)


def _made(kind: type[T], values: Mapping[str, Any], section: str) -> T:
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - known)
    if unknown:
        raise UsageError(f"unknown settings {unknown} in {section}; known are {sorted(known)}")
    plain = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return kind(**plain)
