"""From broken boundaries to defects: what in the template is to blame, and where it shows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from promptguard.core.errors import TemplateError, TemplateLimitError
from promptguard.core.source import Place, Span
from promptguard.prompts.blame.base import Origin, origin
from promptguard.prompts.conversations import Following
from promptguard.prompts.divergence import Divergence, excerpt, first_divergence
from promptguard.prompts.preservation.boundary import Bench, Boundary, Outcome
from promptguard.prompts.preservation.result import Break, Defect, Extent, Kind
from promptguard.prompts.request import Piece, Prompt, Traced
from promptguard.prompts.segments import text_of
from promptguard.prompts.sequences import first_difference

_AROUND = 6  # code points from a difference on by which two of them are told apart
_END_DIFFERS = "the chat template ends the last message with other text than it prints behind the same message in the history"
_REASONING_DROPPED = "the reasoning of earlier turns is dropped"
_KEEP_REASONING = "use a chat template that keeps the reasoning of earlier turns"
_SAME_HEAD = "use a chat template that prints the same head in front of a reply in the history as where it asks for one"


class Broken(NamedTuple):
    """A boundary at which ``lost`` of ``tokens`` are lost."""

    outcome: Outcome
    tokens: int
    lost: int


def explain(bench: Bench, broken: Sequence[Broken]) -> list[Defect]:
    """The defects behind all breaks. Breaks that look the same are explained once."""
    alike: dict[tuple[object, ...], list[Broken]] = {}
    for each in broken:
        alike.setdefault(_signature(each.outcome), []).append(each)
    shown = [group[0].outcome for group in alike.values()]
    found: dict[tuple[object, ...], Defect] = {}
    for outcome, (before, after, header), group in zip(shown, _trace(bench, shown), alike.values(), strict=True):
        defect = _defect(bench, outcome, before, after, header)
        seen = tuple(map(_break, group))
        key = (defect.kind, defect.place or defect.explanation, bool(_dropped(outcome)))
        known = found.get(key, defect)
        found[key] = replace(known, breaks=(*known.breaks, *seen))
    return list(found.values())


def _trace(bench: Bench, outcomes: Sequence[Outcome]) -> Iterator[tuple[Traced, Traced, int]]:
    """The origin of each held text and of each next prompt, and where the header of the reply starts."""
    calls = []
    for outcome in outcomes:
        boundary = outcome.boundary
        calls += [
            bench.call(boundary, boundary.request()),
            bench.call(boundary, boundary.answered, header=False),
            bench.call(boundary, boundary.request(1)),
            bench.call(boundary, boundary.request(), header=False),
        ]
    made: Sequence[Traced | TemplateError] = []
    with contextlib.suppress(TemplateLimitError):  # a trace takes longer: without one the places are not known
        made = bench.render(calls, trace=True)
    made = [each if isinstance(each, Traced) else Traced("") for each in made] or [Traced("")] * len(calls)
    for outcome, prompt, whole, after, bare in zip(outcomes, *(made[which::4] for which in range(4)), strict=True):
        reply = _moved(whole.pieces, outcome.start, outcome.start + outcome.rendered, len(outcome.prompt))
        plain = prompt.text.startswith(bare.text) and 0 < len(bare.text) < len(prompt.text)
        yield Traced(outcome.held, (*prompt.pieces, *reply)), after, len(bare.text) if plain else outcome.header


def _defect(bench: Bench, outcome: Outcome, before: Traced, after: Traced, header: int) -> Defect:
    char = first_difference(outcome.held, outcome.after)
    at_own = outcome.own is not None and char >= len(outcome.prompt) + outcome.rendered
    if at_own and outcome.own == "arguments":
        found = origin(after, char)
        explanation = "arguments that are handed over as the string that the model wrote are serialized again"
        return _plain("arguments", explanation, "print arguments that are a string as they are", found)
    if at_own:
        found = origin(after, char - 1 if outcome.held[char:].isspace() else char)
        explanation = "blanks at the ends of a reply are removed"
        return _plain("content", explanation, "print the content of replies as it is", found)
    prompt, following = _prompts(bench, outcome, before, after)
    divergence = first_divergence(prompt, following)
    if divergence is None:  # the tokenizer was shown less of the text
        return _plain("history", "the text of the history splits into other tokens", "", origin(after, char))
    place, expression = divergence.place, divergence.expression
    lost = _dropped(outcome) if divergence.aspect == "reasoning" else ""
    printed = origin(before, outcome.held.find(lost)) if lost else None
    if printed is not None:  # the header of the reply may have printed its first words
        place, expression = printed.place, printed.expression
    if place is not None and expression is None:
        place = _literal(place, before, after)
    kind = _kind(divergence, outcome, header, dropped=bool(_dropped(outcome)))
    explanation = _REASONING_DROPPED if lost else divergence.explanation
    if kind == "history" and divergence.aspect == "header":
        explanation = _END_DIFFERS
    return Defect(kind, divergence.aspect, explanation, divergence.remedy, place, expression, ())


def _prompts(bench: Bench, outcome: Outcome, before: Traced, after: Traced) -> tuple[Prompt, Prompt]:
    boundary = outcome.boundary
    head = bench.encode(outcome.prompt)
    held = Prompt(
        request=boundary.request(),
        text=outcome.held,
        tokens=bench.encode(outcome.held),
        trace=before,
        reply=boundary.reply,
        reply_start=len(outcome.prompt),
        reply_start_token=len(head),
    )
    return held, Prompt(boundary.request(1), outcome.after, bench.encode(outcome.after), trace=after)


def with_extent(defect: Defect, boundaries: Sequence[Boundary], outcomes: Sequence[Outcome | TemplateError]) -> Defect:
    """Whether it was seen behind all replies of its conversations, or behind some."""
    seen = {(id(each.conversation), each.turn) for each in defect.breaks}
    told = {each[0] for each in seen}
    extent: dict[Following, set[bool]] = {"tool": set(), "user": set()}
    for boundary, outcome in zip(boundaries, outcomes, strict=True):
        if id(boundary.conversation) in told and isinstance(outcome, Outcome) and outcome.natural:
            following = boundary.conversation.following(boundary.turn)
            extent[following].add((id(boundary.conversation), boundary.turn) in seen)
    at_tools, at_users = _extent(extent["tool"]), _extent(extent["user"])
    explanation = defect.explanation
    if explanation == _REASONING_DROPPED:
        comes = "the next message" if at_tools != "none" else "a new user message"
        explanation += f" when {comes} arrives"
    return replace(defect, explanation=explanation, at_tools=at_tools, at_users=at_users)


def with_advice(defects: Sequence[Defect]) -> list[Defect]:
    """With a remedy that names a switch of reasoning only where the conversations with that setting keep the prefix."""
    switch = switch_of_reasoning(defects)
    return [replace(each, remedy=_remedy(each) + switch) if each.aspect == "reasoning" else each for each in defects]


def switch_of_reasoning(defects: Sequence[Defect]) -> str:
    """The end of a remedy: how to switch reasoning so that what is printed of it keeps the prefix.

    Args:
        defects: all that were found in the template.

    Returns:
        Words behind a comma; ``""`` where no defect is about reasoning, or neither setting keeps the prefix.
    """
    lost = {seen.conversation.mode for each in defects if each.aspect == "reasoning" for seen in each.breaks}
    if lost and "thinking off" not in lost:
        return ", or switch reasoning off"
    return ", or leave reasoning on" if lost and "reasoning" not in lost else ""


def _remedy(defect: Defect) -> str:
    if all(seen.conversation.mode != "reasoning" for seen in defect.breaks):
        return _SAME_HEAD
    return f"{_SAME_HEAD}, and keeps the reasoning behind it" if defect.kind == "generation-prompt" else _KEEP_REASONING


def _signature(outcome: Outcome) -> tuple[object, ...]:
    """By what breaks are told apart ahead of an explanation."""
    held, after = outcome.held, outcome.after
    char = first_difference(held, after)
    return (
        outcome.own,
        outcome.boundary.conversation.mode,
        (char > len(outcome.prompt)) - (char < len(outcome.prompt)),
        held[char : char + _AROUND],
        after[char : char + _AROUND],
    )


def _break(broken: Broken) -> Break:
    outcome = broken.outcome
    conversation, turn = outcome.boundary.conversation, outcome.boundary.turn
    char = first_difference(outcome.held, outcome.after)
    before, after = excerpt(outcome.held, char), excerpt(outcome.after, char)
    following = conversation.following(turn)
    return Break(conversation, turn, following, char, before, after, broken.tokens, broken.lost, outcome.held, outcome.after)


def _kind(divergence: Divergence, outcome: Outcome, header: int, *, dropped: bool) -> Kind:
    """The kind of a divergence; ``header``: where the header of the reply starts; ``dropped``: reasoning is lost."""
    if divergence.aspect == "tools":
        return "tools"
    marks = divergence.aspect == "reasoning" and header <= divergence.char < len(outcome.prompt) and not dropped
    return "generation-prompt" if marks or (divergence.aspect == "header" and header <= divergence.char) else "history"


def _dropped(outcome: Outcome) -> str:
    """The reasoning of a reply that was printed and no longer is; ``""`` where none is lost."""
    said = (text_of(message, "reasoning_content") for message in outcome.boundary.answered.messages)
    return next((text for text in said if text and text in outcome.held and text not in outcome.after), "")


def _plain(kind: Kind, explanation: str, remedy: str, found: Origin | None) -> Defect:
    place, expression = (found.place, found.expression) if found is not None else (None, None)
    return Defect(kind, None, explanation, remedy, place, expression, ())


def _literal(place: Place, *traces: Traced) -> Place:
    """The literal text that a character stands in: its first line that is not blank."""
    for trace in traces:
        for piece in trace.pieces:
            span = piece.place.span
            if piece.expression is None and span.start <= place.span.start < span.end and piece.place.text.strip():
                text = piece.place.text.rstrip()
                start = span.start + len(text) - len(text.lstrip())
                return Place(place.source, Span(start, start + len(text.lstrip().split("\n")[0].rstrip())))
    return place


def _moved(pieces: Sequence[Piece], start: int, end: int, to: int) -> Iterator[Piece]:
    """The pieces of a stretch of a text that is put at another place."""
    for piece in pieces:
        low, high = max(piece.start, start), min(piece.end, end)
        if low < high and (piece.expression is not None or low == piece.start):
            yield Piece(low - start + to, high - start + to, piece.place, piece.expression)


def _extent(seen: set[bool]) -> Extent:
    if True not in seen:
        return "none"
    return "some" if False in seen else "all"
