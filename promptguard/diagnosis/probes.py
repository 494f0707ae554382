"""A few prompts that show what a server reuses.

They go the way that an agent's requests go: to ``/v1/chat/completions``, without saying which slot or whether to cache, one token
to be generated. Their text is new every time, so that nothing of an earlier run is found.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptguard.core.errors import EngineError
from promptguard.diagnosis.facts import look
from promptguard.engines.base import StatusError
from promptguard.engines.http import JSONClient
from promptguard.prompts.sequences import common_prefix

TOKENS = 2048
"""Length of the longest prompt. A sliding window can be seen to forget when the part behind the change is longer than a batch
(512 tokens, ``--ubatch-size``) and the whole is longer than the window and a batch.
"""
LEAST_TOKENS = 256
_ROOM = 256  # for the appended messages, what the chat template prints around them, and the generated token
_SHORT = 48  # tokens of a short message, about
_SYSTEM = 0.6
"""How much of a prompt is its system prompt: as with an agent, more than half. A server saves what a slot holds to its host cache
where less than half of that is of use to the next prompt, so that near one half chance would decide what is seen.
"""
_CALIBRATION = 200  # words that are counted to know how many tokens a word takes

_WORDS = (
    "anchor", "basin", "cable", "delta", "engine", "filter", "garden", "harbor", "island", "jacket", "kettle", "ladder",
    "magnet", "needle", "orchard", "paddle", "quarry", "ribbon", "saddle", "timber", "valley", "willow", "yellow", "zipper",
)  # fmt: skip

Message = Mapping[str, str]


class ProbeError(EngineError):
    """The prompts could not be tried; ``what`` says why.

    Attributes:
        remedy: what to set, empty where that is not known.
        fault: whether it is itself in the way.
    """

    def __init__(self, what: str, *, where: str, remedy: str = "", fault: bool = False) -> None:
        super().__init__(what, where=where)
        self.remedy = remedy
        self.fault = fault


@dataclass(frozen=True)
class Probe:
    """A prompt that was sent, and what became of it.

    Attributes:
        expected: tokens of it that were in the cache, as far as our own prompts put them there; one less than the prompt at most.
        cached: tokens that the server took from there; ``None`` where it does not say.
        tokens: length of the prompt.
        slot: which slot it ran in, ``None`` where that is not said.
        rate: tokens per second of what was computed, ``None`` where it is not said.
        better: another slot, whose last prompt had more in common with it than that of its own; ``None`` where there was none.
    """

    expected: int
    cached: int | None
    tokens: int
    slot: int | None
    rate: float | None
    better: int | None = None

    @property
    def found(self) -> bool:
        """Whether what was there was used: 80% of it, as the gate asks for, since a checkpoint may lie a few tokens before."""
        return self.cached is not None and self.cached >= 0.8 * self.expected

    @property
    def astray(self) -> bool:
        """Whether what was there was not used because the prompt was sent to another slot than the one that held it."""
        return not self.found and self.better is not None

    @property
    def figure(self) -> str:
        return f"{self.cached:,} of {self.expected:,} tokens found" if self.cached is not None else "no figure"


@dataclass(frozen=True)
class Probes:
    """What was tried, in this order; ``None`` where it was not.

    Attributes:
        first: a prompt that is new.
        again: the same.
        appended: with a reply and another message behind it; not where ``again`` went astray.
        asked: ``appended`` with ``cache_prompt`` set in the request; only where neither of the two before found anything.
        changed: another conversation, whose system prompt is that of the first with a change in its middle.
        other: a conversation with the same system prompt as ``changed`` and another, short first message.
        resumed: ``changed`` goes on.
        unrelated: a short prompt of somebody else.
        returned: ``resumed`` once more.
    """

    first: Probe
    again: Probe
    appended: Probe | None = None
    asked: Probe | None = None
    changed: Probe | None = None
    other: Probe | None = None
    resumed: Probe | None = None
    unrelated: Probe | None = None
    returned: Probe | None = None

    @property
    def sent(self) -> tuple[Probe, ...]:
        every = (self.first, self.again, self.appended, self.asked, self.changed, self.other, self.resumed)
        return tuple(each for each in (*every, self.unrelated, self.returned) if each is not None)


def probe(client: JSONClient, *, context: int, slots: int) -> Probes:
    """Send the prompts.

    Args:
        client: a llama-server that is idle.
        context: tokens per slot.
        slots: number of slots.

    Raises:
        ProbeError: the server refuses, or its context is too small.
        EngineError: it does not answer any more.
    """
    if context <= 0:
        raise ProbeError("the server does not say how large its context is", where=client.base_url)
    tokens = min(TOKENS, context - _ROOM)
    if tokens < LEAST_TOKENS:
        raise ProbeError(f"a context of {context:,} tokens is too small to try it", where=client.base_url)
    try:
        return _Prober(client, tokens, several=slots > 1).run()
    except StatusError as error:
        raise ProbeError(f"it refuses a request ({error.what})", where=client.base_url) from None


class _Prober:
    def __init__(self, client: JSONClient, tokens: int, *, several: bool) -> None:
        self._client = client
        self._rate = _CALIBRATION / max(1, len(self._tokenize(_text(_CALIBRATION))))
        self._tokens = tokens
        self._sent: list[list[int]] = []
        self._held: dict[int, list[int]] = {}
        self._tasks = look(client).tasks if several else {}
        self._several = several
        self._system_role = True

    def run(self) -> Probes:
        size = int(_SYSTEM * self._tokens)
        question = self._tokens - size - _SHORT
        system = self._words(size)
        opening = self._messages(system, self._words(question))
        first, again = self._send(opening), self._send(opening)
        if first.cached is None or again.astray:
            return Probes(first, again)
        longer = [*opening, *self._reply()]
        appended = self._send(longer)
        if appended.astray:
            return Probes(first, again, appended)
        if not again.found and not appended.found:
            return Probes(first, again, appended, asked=self._send(longer, cache_prompt=True))
        middle = len(system) // 2
        edited = f"{system[:middle]} {secrets.token_hex(4)} {system[middle:]}"
        # Both leave a long prompt behind: what a window has forgotten shows only then.
        second = self._messages(edited, self._words(question))
        changed = self._send(second)
        other = self._send(self._messages(edited, self._words(_SHORT)))
        last = [*second, *self._reply()]
        resumed = self._send(last)
        unrelated = self._send([{"role": "user", "content": self._words(_SHORT)}])
        return Probes(first, again, appended, None, changed, other, resumed, unrelated, self._send(last))

    def _messages(self, system: str, question: str) -> list[Message]:
        messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        if self._system_role:
            try:
                self._render(messages)
            except StatusError as error:
                if error.status in (404, 501):
                    raise ProbeError(
                        "it cannot render chat templates", where=error.where or "", remedy="a newer build", fault=True
                    ) from None
                self._system_role = False  # some chat templates refuse one
        return messages if self._system_role else [{"role": "user", "content": f"{system}\n\n{question}"}]

    def _reply(self) -> list[Message]:
        return [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": self._words(_SHORT)}]

    def _words(self, tokens: int) -> str:
        return _text(max(1, int(tokens * self._rate)))

    def _render(self, messages: Sequence[Message]) -> list[int]:
        answer = self._client.post("/apply-template", {"messages": list(messages)})
        prompt = answer.get("prompt") if isinstance(answer, dict) else None
        if not isinstance(prompt, str):
            raise ProbeError("its answer to /apply-template is none", where=self._client.base_url)
        return self._tokenize(prompt)

    def _tokenize(self, text: str) -> list[int]:
        answer = self._client.post("/tokenize", {"content": text, "add_special": True, "parse_special": True})
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
            raise ProbeError("its answer to /tokenize is none", where=self._client.base_url)
        return tokens

    def _send(self, messages: Sequence[Message], *, cache_prompt: bool | None = None) -> Probe:
        tokens = self._render(messages)
        body: dict[str, Any] = {"messages": list(messages), "max_tokens": 1, "temperature": 0.0, "verbose": True}
        if cache_prompt is not None:
            body["cache_prompt"] = cache_prompt
        try:
            answer = self._client.post("/v1/chat/completions", body, again=False)
        except StatusError as error:
            if error.status == 501 or "embedding" in error.what.lower():
                remedy = "leave out --embeddings"
                raise ProbeError(
                    "it answers no prompts (embeddings only)", where=error.where or "", remedy=remedy, fault=True
                ) from None
            raise ProbeError(f"it refuses a prompt ({error.what})", where=error.where or "") from None
        timings = answer.get("timings") if isinstance(answer, dict) else None
        timings = timings if isinstance(timings, dict) else {}
        cached, computed = timings.get("cache_n"), timings.get("prompt_n")
        slot = self._slot(answer)
        if type(cached) is not int or type(computed) is not int or not 0 <= cached <= len(tokens) or computed < 0:
            cached = computed = None
        expected = min(max((common_prefix(sent, tokens) for sent in self._sent), default=0), len(tokens) - 1)
        self._sent.append(tokens)
        better = None
        if slot is not None:
            common = {slot: 0, **{number: common_prefix(held, tokens) for number, held in self._held.items()}}
            best = max(common, key=lambda number: common[number])
            better = best if common[best] > common[slot] else None
            self._held[slot] = tokens
        rate = timings.get("prompt_per_second")
        return Probe(
            expected=expected,
            cached=cached,
            tokens=len(tokens),
            slot=slot,
            rate=float(rate) if isinstance(rate, (int, float)) and 0 < rate < 1e9 and (computed or 0) > 1 else None,
            better=better,
        )

    def _slot(self, answer: Any) -> int | None:
        """Which slot answered: as it says itself, or else, of several, the one that has a new task."""
        verbose = answer.get("__verbose") if isinstance(answer, dict) else None
        said = verbose.get("id_slot") if isinstance(verbose, dict) else None
        if type(said) is int:
            return said
        if not self._several:
            return None
        before, self._tasks = self._tasks, look(self._client).tasks
        changed = [slot for slot, task in self._tasks.items() if task != before.get(slot)]
        return changed[0] if len(changed) == 1 else None


def _text(words: int) -> str:
    return " ".join(secrets.choice(_WORDS) for _ in range(words))
