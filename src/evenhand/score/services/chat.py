"""Any OpenAI-compatible endpoint as a scorer: three ways to get a grade out of it.

"prompt" reads the grades of a whole window from the log-probabilities of the prompt,
which vLLM gives for completions; "next" asks for the next token once a slot; "written"
lets the model write its grades and parses them. The mode is chosen, never guessed: one
that the server cannot give is refused after one probing request.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from evenhand.errors import ScorerError, UsageError
from evenhand.present.surface import check_surface
from evenhand.score.base import score_prompts
from evenhand.score.prompt import GRADES
from evenhand.score.services.address import KEY_VARIABLE, endpoint_address, key_headers
from evenhand.score.services.asked import Asked, Composer, IdComposer, TextComposer
from evenhand.score.services.chat_options import ChatOptions, Spent
from evenhand.score.services.composer import ComposerOptions, composer_of, composer_settings
from evenhand.score.services.http import Caller, HttpOptions
from evenhand.score.services.probe import ADVICE, PROBE, lacking
from evenhand.score.services.readings import WindowReading, gather_windows, read_window
from evenhand.seeds import content_hash
from evenhand.types import Scale, Scored, Shown, Surface

_PATHS = {"chat": "/chat/completions", "completions": "/completions"}


class ChatScorer:
    """Grades candidates in windows with a model behind an endpoint.

    Attributes:
        name: "openai:" and the model as the endpoint calls it (a LoRA adapter has a
            name of its own there).
        scale: "unit": the expected, or written, grade over the highest.
        visibilities: what the mode can show.
        revision: a hash of address, model, mode and prompt settings, after the name of
            the weights where one was given.
        unseen: the weights behind the endpoint, unless their revision was named.
        spent: what has been asked and answered so far.
    """

    scale: Scale = "unit"
    order_free = False
    channels = frozenset(
        {"order", "companions", "window", "marker", "skeleton", "rubric", "membership"}
    )
    max_window: int | None = None

    def __init__(
        self,
        model: str,
        caller: Caller,
        composer: Composer,
        options: ChatOptions | None = None,
        surface: Surface | None = None,
        *,
        settings: Sequence[Any] = (),
    ) -> None:
        """Name the model and how it is asked; nothing is sent.

        Args:
            model: as the endpoint calls it.
            caller: sends the requests. composer: makes the prompts.
            options: how grades are got. surface: words around the candidates.
            settings: of the composer, for the revision.

        Raises:
            UsageError: settings that do not go together, or an unknown surface.
        """
        self.options = options or ChatOptions()
        self.surface = surface or Surface()
        check_surface(self.surface)
        self.model, self.name = model, f"openai:{model}"
        self.default_window: int | None = self.options.width
        self.spent = Spent()
        self._caller, self._composer = caller, composer
        self._lock, self._probed = threading.Lock(), False
        if self.options.mode == "prompt" and not isinstance(composer, IdComposer):
            raise UsageError(
                "mode 'prompt' needs tokenizer=MODEL, the one of the model that the server runs: "
                "token ids, not text, go to the engine"
            )
        self._api = "chat" if isinstance(composer, TextComposer) and composer.chat else "completions"
        own = [getattr(self.options, name) for name in ("mode", "top_logprobs", "max_new_tokens")]
        asked = [caller.base_url, model, self._api, *own, dict(self.options.extra)]
        made, given = content_hash([*asked, list(GRADES), list(settings)])[:16], self.options.revision
        self.revision = f"{given} {made}" if given else made
        self.unseen = () if given else ("the weights behind the endpoint",)
        self._require_visible(self.surface)

    @property
    def max_candidate_tokens(self) -> int | None:
        """The cut of each candidate in tokens, where they are known here."""
        made = self._composer
        return made.builder.max_candidate_tokens if isinstance(made, IdComposer) else None

    @property
    def max_candidate_words(self) -> int | None:
        """The cut of each candidate in words, where the server alone knows tokens."""
        return self._composer.max_words if isinstance(self._composer, TextComposer) else None

    @property
    def visibilities(self) -> frozenset[str]:
        """What may see what in a window: one prompt a slot can keep slots apart."""
        apart = {"parallel", "isolated"} if self.options.mode == "next" else set()
        return frozenset({"sequential"} | apart)

    def close(self) -> None:
        """Give the connections back; the scorer cannot be asked any more."""
        self._caller.close()

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score many slates and presentations; requests of all run side by side.

        Raises:
            ScorerError: the server cannot give the mode, refuses the key, does not know
                the model, or too many answers hold no grade.
            BudgetError: the budget is spent; what was returned before is not touched.
        """
        for one in shown:
            self._require_visible(one.presentation.surface)
        return score_prompts(shown, self._asked, self._read, gather_windows)

    def _asked(self, one: Shown) -> list[Asked]:
        surface, mode = one.presentation.surface, self.options.mode
        windows = one.presentation.windows
        return [self._composer.compose(one.slate, window, surface, mode) for window in windows]

    def _require_visible(self, surface: Surface) -> None:
        if surface.visibility not in self.visibilities:
            raise UsageError(
                f"{self.name} in mode {self.options.mode!r} shows visibility "
                f"{sorted(self.visibilities)}, not {surface.visibility!r}; mode 'next' shows all"
            )

    def _read(self, asked: Sequence[Asked], names: Sequence[str]) -> list[WindowReading]:
        if not asked:
            return []
        self._probe()
        bodies = [self._body(part, len(one.markers)) for one in asked for part in one.bodies]
        answers = iter(self._caller.post(_PATHS[self._api], bodies))
        own = [[next(answers) for _ in one.bodies] for one in asked]
        mode = self.options.mode
        readings = [read_window(mode, one, got) for one, got in zip(asked, own, strict=True)]
        self.spent.add([answer for got in own for answer in got], readings)
        self._require_grades(readings)
        return readings

    def _body(self, part: Mapping[str, Any], width: int) -> dict[str, Any]:
        options = self.options
        body = {"model": self.model, **part, "max_tokens": 1, "temperature": 0}
        if options.mode == "written":
            body["max_tokens"] = options.max_new_tokens or 16 * width + 64
        elif options.mode == "prompt":
            body["prompt_logprobs"] = options.top_logprobs
        elif self._api == "completions":
            body["logprobs"] = options.top_logprobs
            if isinstance(part["prompt"], list):
                # Ids tell apart what strings may not; servers that cannot ignore it.
                body["return_tokens_as_token_ids"] = True
        else:
            body |= {"logprobs": True, "top_logprobs": options.top_logprobs}
            if isinstance(self._composer, TextComposer) and self._composer.prefill == "continue":
                body |= {"continue_final_message": True, "add_generation_prompt": False}
        body |= options.extra
        return {name: value for name, value in body.items() if value is not None}

    def _probe(self) -> None:
        """Ask once, before anything is scored, whether the server gives the mode.

        Raises:
            ScorerError: it does not.
        """
        with self._lock:
            if self._probed:
                return
            mode = self.options.mode
            asked = self._composer.compose(PROBE, (0, 1), self.surface, mode)
            [answer] = self._caller.post(_PATHS[self._api], [self._body(asked.bodies[0], 2)])
            self.spent.add([answer])
            fault = lacking(mode, asked, answer)
            if fault is not None:
                raise ScorerError(f"{self.name} cannot be read in mode {mode!r}: {fault}")
            self._probed = True

    def _require_grades(self, readings: Sequence[WindowReading]) -> None:
        """Refuse answers of which too many hold no grade.

        Raises:
            ScorerError: their share is above `max_missing`.
        """
        unread = [pair for reading in readings for pair in reading.unread.items()]
        count = sum(number for _, number in unread)
        lost = sum(sum(reading.missing.values()) for reading in readings) - count
        size = sum(len(reading.scores) for reading in readings) - lost
        if size and count / size > self.options.max_missing:
            raise ScorerError(
                f"{self.name}, mode {self.options.mode!r}: {count} of {size} scores are missing in the "
                f"answers ({unread[0][0]}), more than max_missing={self.options.max_missing:g} allows. "
                f"{ADVICE[self.options.mode]}"
            )


def open_chat(model: str, **options: Any) -> ChatScorer:
    """Return a scorer over an OpenAI-compatible endpoint; nothing is sent yet.

    Args:
        model: as the endpoint calls it.
        options: base_url (else the variable OPENAI_BASE_URL), key_variable (else
            OPENAI_API_KEY), and the fields of `ChatOptions`, `ComposerOptions`,
            `HttpOptions` and `Surface`.

    Raises:
        UsageError: an option is unknown or does not go with another, or there is no
            address.
        MissingExtraError: a tokenizer is named and transformers is not installed.
        InputError, ScorerError: the tokenizer cannot be loaded.
    """
    if not model.strip():
        raise UsageError("an endpoint scorer needs a model: openai:MODEL")
    kinds = (ChatOptions, ComposerOptions, HttpOptions, Surface)
    known = {one.name for kind in kinds for one in fields(kind)} | {"base_url", "key_variable"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise UsageError(f"unknown scorer options {unknown}; known are {sorted(known)}")

    def take(kind: type[Any]) -> Any:
        names = {one.name for one in fields(kind)}
        return kind(**{name: value for name, value in options.items() if name in names})

    own, how, surface = take(ChatOptions), take(ComposerOptions), take(Surface)
    check_surface(surface)
    url = endpoint_address(options.get("base_url"))
    headers = key_headers(options.get("key_variable"), KEY_VARIABLE)
    caller = Caller(url, take(HttpOptions), headers)
    composer, identity = composer_of(how, own.mode, own.api, surface)
    return ChatScorer(
        model, caller, composer, own, surface, settings=[identity, *composer_settings(how)]
    )
