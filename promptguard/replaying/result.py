"""The result of a replay: what was measured on each turn, and what follows from it.

The words are those of docs/numbers.md. All counts are tokens, all times seconds, all rates between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from promptguard.prompts.standins import StandIn

if TYPE_CHECKING:  # only a run that lost something needs it at run time
    from promptguard.core.source import Place
    from promptguard.prompts.divergence import Divergence


@dataclass(frozen=True)
class Turn:
    """One measured request.

    Attributes:
        number: from 1.
        label: what the turn is, such as ``user 2`` or ``result of get_weather``.
        prompt: tokens of the prompt.
        cached: prompt tokens that the engine says it took from its prefix cache.
        prefilled: prompt tokens that it computed; ``cached + prefilled == prompt``.
        ideal: length of the previous prompt plus its reply; for the first turn the resident prefix.
        reusable: longest token prefix that this prompt shares with what the previous turn left in the cache.
        seconds: time to first token.
        seconds_uncached: the same with the cache off, where that was measured.
        divergence: where and why the prompt left the previous one, on a turn with a prompt loss.
    """

    number: int
    label: str
    prompt: int
    cached: int
    prefilled: int
    ideal: int
    reusable: int
    seconds: float
    granularity: int = 0
    seconds_uncached: float | None = None
    divergence: Divergence | None = None

    @property
    def hit(self) -> int:
        """Cached tokens that count: not more than this run's own requests explain (another run's cache is no merit)."""
        return min(self.cached, self.reusable)

    @property
    def foreign(self) -> int:
        """Cached tokens that this run did not put there."""
        return self.cached - self.hit

    @property
    def attainable(self) -> int:
        """What an append-only run would have had from the cache: the ideal, but at least one token is always computed."""
        return min(self.ideal, self.prompt - 1)

    @property
    def hit_rate(self) -> float:
        return self.hit / self.prompt

    @property
    def prompt_loss(self) -> int:
        """Ideal minus reusable: tokens that the prompt threw away."""
        return self.ideal - self.reusable if self.reusable < self.attainable else 0

    @property
    def engine_loss(self) -> int:
        """Reusable minus cached, beyond the engine's granularity: tokens that the engine threw away."""
        return max(0, self.reusable - self.cached - self.granularity)


@dataclass(frozen=True)
class Check:
    """One part of the gate. ``value`` and ``limit`` are a rate for the hit rate, and tokens for the others: of the worst turn, or
    of the worst finding in the chat template.
    """

    name: Literal["hit-rate", "prompt-loss", "engine-loss", "chat-template"]
    passed: bool
    value: float
    limit: float
    message: str


@dataclass(frozen=True)
class TemplateFinding:
    """Something in a chat template that breaks the prefix, or conversations on which it fails.

    Attributes:
        code: the rule of ``promptguard lint``.
        explanation, remedy, place: as in ``Divergence``.
        conversation: in which it costs most, ``None`` where the template fails.
        reply: behind which, from 1; 0 where the template fails.
        before, after: what was there and what is there now, a few words of each.
        tokens: what the engine held: the prompt with its reply.
        tokens_lost: how many of them cannot be used again, as the rendered texts say.
        prefilled: how many of them the engine computed again; ``None`` where it was not asked.
    """

    code: str
    explanation: str
    remedy: str
    place: Place | None
    conversation: str | None = None
    reply: int = 0
    before: str = ""
    after: str = ""
    tokens: int = 0
    tokens_lost: int = 0
    prefilled: int | None = None


@dataclass(frozen=True)
class TemplateCheck:
    """What was found in the chat template that the user gave.

    Attributes:
        findings: what breaks the prefix, the worst first.
        accepted: codes of further findings, which the configuration or a comment takes out.
    """

    findings: tuple[TemplateFinding, ...]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """What was measured: the engine, the model, the task and the user's files."""

    engine: str
    model: str
    build: str
    context: int
    slots: int
    slot: int | None
    url: str | None
    chat_template: str
    chat_template_sha256: str
    task: str
    system: str
    tools: str
    rendered_by: str
    live: bool = False


@dataclass(frozen=True)
class Result:
    """A whole replay.

    Attributes:
        seconds_total: wall time of the replay, the start of the engine included.
        seconds_engine: the part of it spent waiting for the engine.
        append_only: prompt and attainable tokens of each turn of an append-only run of the same task, where the run as sent is a
            shortened one; empty where its own turns tell.
        template: what was found in the user's own chat template, ``None`` where there is none or the run ended early.
        error: why the run ended early, where it did; ``turns`` are those measured until then.
    """

    subject: Subject
    turns: tuple[Turn, ...]
    warm_up_tokens: int
    checks: tuple[Check, ...]
    stand_ins: tuple[StandIn, ...] = ()
    notes: tuple[str, ...] = ()
    seconds_total: float = 0.0
    seconds_engine: float = 0.0
    append_only: tuple[tuple[int, int], ...] = ()
    template: TemplateCheck | None = None
    error: str | None = None
    settings: dict[str, object] = field(default_factory=dict)

    @classmethod
    def without_run(cls, error: str) -> Result:
        """The result where nothing could be measured, and why."""
        nothing = Subject("", "", "", 0, 0, None, None, "", "", "", "", "", "")
        return cls(subject=nothing, turns=(), warm_up_tokens=0, checks=(), error=error)

    @property
    def passed(self) -> bool:
        return self.error is None and bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def prompt_tokens(self) -> int:
        return sum(turn.prompt for turn in self.turns)

    @property
    def cached_tokens(self) -> int:
        """Cached tokens as the engine reports them."""
        return sum(turn.cached for turn in self.turns)

    @property
    def hit_tokens(self) -> int:
        """Cached tokens that count: the tokens saved."""
        return sum(turn.hit for turn in self.turns)

    @property
    def prefill_tokens(self) -> int:
        """Prompt tokens that the engine computed."""
        return sum(turn.prefilled for turn in self.turns)

    @property
    def hit_rate(self) -> float:
        """Sum of cached tokens over sum of prompt tokens, warm-up left out."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def cold_hit_rate(self) -> float:
        """The same without a warm-up: the first turn finds nothing in the cache."""
        if not self.prompt_tokens:
            return 0.0
        return (self.hit_tokens - self.turns[0].hit) / self.prompt_tokens

    @property
    def ceiling(self) -> float:
        """The hit rate of an append-only run of the same task."""
        run = self.append_only or [(turn.prompt, turn.attainable) for turn in self.turns]
        total = sum(prompt for prompt, _ in run)
        return sum(attainable for _, attainable in run) / total if total else 0.0

    @property
    def prompt_loss(self) -> int:
        return sum(turn.prompt_loss for turn in self.turns)

    @property
    def engine_loss(self) -> int:
        return sum(turn.engine_loss for turn in self.turns)

    @property
    def repetition_rate(self) -> float:
        """Share of all prompt tokens that an earlier request of the task had sent already: ``(total - new) / total``.

        New are the resident prefix once, and per turn what lies beyond the ideal.
        """
        if not self.turns:
            return 0.0
        new = self.turns[0].attainable + sum(turn.prompt - turn.attainable for turn in self.turns)
        return (self.prompt_tokens - new) / self.prompt_tokens

    @property
    def seconds(self) -> float:
        """Time to first token, summed over the turns."""
        return sum(turn.seconds for turn in self.turns)

    @property
    def seconds_uncached(self) -> float | None:
        times = [turn.seconds_uncached for turn in self.turns]
        known = [seconds for seconds in times if seconds is not None]
        return sum(known) if known and len(known) == len(times) else None
