"""What a probe has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from promptguard.core.errors import PromptguardError
from promptguard.probing.factors import WORDS, Changes, Factor
from promptguard.prompts.causes import Cause
from promptguard.prompts.request import Block

Verdict = Literal["stable", "unstable", "unjudged"]


@dataclass(frozen=True)
class Location:
    """A place in a file; ``line`` and ``column`` (in code points) are from 1. ``path`` is relative to the current folder where
    it lies in it.
    """

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Difference:
    """Where a prompt first changes with something.

    Attributes:
        factors: what it changes with: each was changed alone, and the prompt differed here. None where it took several at once.
        changes: how often the clock changes it, at most; ``None`` where it is not the clock.
        block: the block of the prompt that it is in.
        what: the part of the prompt in words, such as "the system prompt".
        pointer: JSON pointer (RFC 6901) to the text that differs, in what the builder returned; ``""`` is all of it.
        character: code point of that text at which it first differs, from 0; 0 where it is no text.
        before, after: what stood there and what stands there then, a few words of each, in one line.
        cause: the cause, as in docs/causes.md.
        explanation, remedy: a sentence each.
        tokens_lost: tokens from here to the end of what is compared, all computed anew when it changes.
        location: where in the user's files it comes from, as near as the text around it tells; ``None`` where it does not.
    """

    factors: tuple[Factor, ...]
    changes: Changes | None
    block: Block
    what: str
    pointer: str
    character: int
    before: str
    after: str
    cause: Cause
    explanation: str
    remedy: str
    tokens_lost: int
    location: Location | None = None

    @property
    def depends(self) -> str:
        """What it changes with, in words: "with the clock, every second"."""
        if self.factors[:2] == ("call", "run"):
            return "each time it is built"
        words = [WORDS[factor] for factor in self.factors] or ["when several things change together"]
        every = f", every {self.changes}" if self.changes is not None else ""
        return words[0] + every + "".join(f", and {other}" for other in words[1:])


@dataclass(frozen=True)
class Uncompared:
    """What a builder returned beside a prompt, and nobody knows whether a model reads it.

    Attributes:
        key: its key in the request; ``extra_body/KEY`` where it is within another.
        changes: whether it was not the same in all runs.
    """

    key: str
    changes: bool

    def __str__(self) -> str:
        key = self.key if len(self.key) <= _LONGEST_KEY else f"{self.key[:_LONGEST_KEY]}…"
        if not self.changes:
            return f"key {key!r} was not compared"
        return f"key {key!r} was not compared, though it changes: what a model reads belongs into system, messages or tools"


_LONGEST_KEY = 60
_MOST_KEYS = 10


def in_words(beside: Sequence[Uncompared]) -> list[str]:
    """What was not compared, the first few key by key."""
    words = [str(one) for one in beside[:_MOST_KEYS]]
    rest = len(beside) - _MOST_KEYS
    return [*words, f"{rest:,} more {'key was' if rest == 1 else 'keys were'} not compared"] if rest > 0 else words


@dataclass(frozen=True)
class ProbeResult:
    """Whether a builder gives the same prompt in other surroundings.

    Attributes:
        builder: its name.
        location: where it is defined, ``None`` where that is not known.
        differences: where the prompt changes, in the order of the prompt; none where it is stable. What changes from call to call
            or from process to process hides what changes otherwise.
        varied: the factors that were changed.
        notes: what could not be changed or seen, and why; and what was not compared.
        runs: processes in which it was built.
        tokens: of the part of the prompt that is compared.
        tokenizer: what they were counted with.
        seconds: wall time.
        uncompared: keys of a request that name no part of a prompt and no known parameter.
    """

    builder: str
    location: Location | None
    differences: tuple[Difference, ...]
    varied: tuple[Factor, ...]
    notes: tuple[str, ...]
    runs: int
    tokens: int
    tokenizer: str
    seconds: float
    uncompared: tuple[Uncompared, ...] = ()

    @property
    def stable(self) -> bool:
        return not self.differences

    @property
    def passed(self) -> bool:
        """The same as ``stable``."""
        return self.stable


@dataclass(frozen=True)
class Probed:
    """What came of one of several builders: a result, or the reason why there is none.

    Attributes:
        builder: its name.
        result: what was found.
        error: why it could not be judged.
    """

    builder: str
    result: ProbeResult | None = None
    error: PromptguardError | None = None

    @property
    def verdict(self) -> Verdict:
        if self.result is None:
            return "unjudged"
        return "stable" if self.result.stable else "unstable"
