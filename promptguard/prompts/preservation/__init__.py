"""Whether a chat template keeps the prefix: each prompt with its reply against the next prompt, in the fixed conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone

from promptguard.core.errors import TemplateError, TemplateLimitError
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import Conversation, conversations
from promptguard.prompts.preservation.boundary import Bench, Boundary, Encode, Outcome
from promptguard.prompts.preservation.clocks import SOURCES, changed, clocks
from promptguard.prompts.preservation.explain import Broken, explain, with_advice, with_extent
from promptguard.prompts.preservation.result import Defect, Losses, Preservation, Told, Turn
from promptguard.prompts.preservation.shapes import unrendered
from promptguard.prompts.preservation.switches import with_switches
from promptguard.prompts.rendering import Budget

CLOCK = datetime(2026, 3, 11, 9, 30, tzinfo=timezone.utc)
"""The time that templates see, where none is given."""


def check_template(
    template: ChatTemplate,
    encode: Encode,
    *,
    clock: datetime = CLOCK,
    told: Sequence[Conversation] | None = None,
    seconds: float | None = None,
) -> Preservation:
    """Render the conversations at every turn boundary, and say what of each prompt and its reply cannot be used again.

    A reply counts as the model emits it: with its own blanks, and with arguments as it spelled them.

    Args:
        template: the template, fed as a llama-server does.
        encode: gives token ids, by which prompts are compared.
        clock: the time that the template sees.
        told: the conversations, where they are not to be the fixed set.
        seconds: processor time for all of it; what makes defects clearer is left out when it is used up.

    Returns:
        What was found. A template that does not parse, or exceeds a limit in all it is given or with all of it together, gives
        the ``error`` alone; one that exceeds a limit in some conversations has them among what is ``unrendered``.
    """
    told = conversations() if told is None else told
    try:
        return _check(_bench(template, encode, clock, seconds), told)
    except TemplateError as error:
        return Preservation(error=error)


def measure_losses(template: ChatTemplate, encode: Encode, *, clock: datetime = CLOCK, seconds: float | None = None) -> Losses:
    """Render the fixed conversations, and count.

    Raises:
        TemplateError: the template does not parse, or takes too long.
    """
    told = conversations()
    bench = _bench(template, encode, clock, seconds)
    boundaries = _boundaries(told)
    outcomes = bench.measure(boundaries)
    tokens = {(str(boundaries[at].conversation), boundaries[at].turn): each.lost for at, each in _broken(bench, outcomes).items()}
    return Losses(tokens, len(_errors(boundaries, outcomes)), bool(changed(bench, told)))


def _bench(template: ChatTemplate, encode: Encode, clock: datetime, seconds: float | None) -> Bench:
    return Bench(template, encode, clock, None if seconds is None else Budget(template.renderer, seconds))


def _boundaries(told: Sequence[Conversation]) -> list[Boundary]:
    return [Boundary(each, turn) for each in told for turn in range(len(each.replies))]


def _broken(bench: Bench, outcomes: Sequence[Outcome | TemplateError]) -> dict[int, Broken]:
    """Where tokens are lost, by the position of the boundary."""
    found = {}
    for at, outcome in enumerate(outcomes):
        if isinstance(outcome, Outcome) and outcome.natural and (lost := bench.lost(outcome)) is not None:
            found[at] = Broken(outcome, *lost)
    return found


def _errors(boundaries: Sequence[Boundary], outcomes: Sequence[Outcome | TemplateError]) -> dict[int, TemplateError]:
    """The first error of each conversation that has one, by the id of the conversation."""
    found: dict[int, TemplateError] = {}
    for boundary, outcome in zip(boundaries, outcomes, strict=True):
        if isinstance(outcome, TemplateError):
            found.setdefault(id(boundary.conversation), outcome)
    return found


def _check(bench: Bench, told: Sequence[Conversation]) -> Preservation:
    names = bench.renderer.names(bench.source)
    boundaries = _boundaries(told)
    outcomes = bench.measure(boundaries)
    errors = _errors(boundaries, outcomes)
    if boundaries and not any(isinstance(outcome, Outcome) for outcome in outcomes):
        limits = (each for each in errors.values() if isinstance(each, TemplateLimitError))
        return Preservation(error=next(limits, next(iter(errors.values()))))
    broken = _broken(bench, outcomes)
    defects = with_advice([with_extent(each, boundaries, outcomes) for each in explain(bench, list(broken.values()))])
    try:
        defects = [with_switches(bench, each, names) for each in defects]
        defects += clocks(bench, told, names) if names & SOURCES else []
    except TemplateLimitError:
        pass  # no time is left
    defects.sort(key=_weight)
    turns = list(_turns(boundaries, outcomes, broken, defects))
    return Preservation(
        tuple(Told(each, tuple(turn for one, turn in turns if one is each), errors.get(id(each))) for each in told),
        tuple(defects),
        tuple(unrendered(told, errors)),
    )


def _weight(defect: Defect) -> tuple[bool, int]:
    """The worst first: what is lost at tool calls before what is lost only at user messages, then the most tokens."""
    often = defect.at_tools != "none" or defect.changes in ("request", "minute", "hour")
    return not often, -defect.worst.tokens_lost


def _turns(
    boundaries: Sequence[Boundary],
    outcomes: Sequence[Outcome | TemplateError],
    broken: Mapping[int, Broken],
    defects: Sequence[Defect],
) -> Iterator[tuple[Conversation, Turn]]:
    """What became of each reply."""
    to_blame = {
        (id(seen.conversation), seen.turn): number
        for number, defect in enumerate(defects)
        if defect.kind != "clock"
        for seen in defect.breaks
    }
    for at, (boundary, outcome) in enumerate(zip(boundaries, outcomes, strict=True)):
        if isinstance(outcome, Outcome):
            conversation = boundary.conversation
            lost = broken.get(at)
            yield (
                conversation,
                Turn(
                    outcome.prompt,
                    outcome.reply,
                    outcome.after,
                    conversation.following(boundary.turn),
                    to_blame.get((id(conversation), boundary.turn)),
                    lost.tokens if lost is not None else None,
                    lost.lost if lost is not None else 0,
                    outcome.natural,
                ),
            )
