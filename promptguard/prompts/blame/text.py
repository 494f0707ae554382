"""Why two versions of a text differ, judged by the expression that printed it and by what the values look like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptguard.prompts import causes
from promptguard.prompts.blame.base import Blame, Origin, differing_origin
from promptguard.prompts.causes import Cause
from promptguard.prompts.names import Kind, kind_of_expression
from promptguard.prompts.request import Traced
from promptguard.prompts.sequences import first_difference
from promptguard.prompts.shapes import Shape, differs_in_whitespace, kind_of_label, match_shape, reordered_items, show, window

_BY_KIND: dict[Kind, tuple[Cause, str]] = {
    "clock": (causes.CLOCK, "a date or time"),
    "id": (causes.RANDOM_ID, "an id"),
    "user": (causes.VARIABLE_BEFORE_STATIC, "data of a user"),
    "counter": (causes.ENVIRONMENT, "a counter"),
    "memory": (causes.MEMORY, "retrieved text"),
    "environment": (causes.ENVIRONMENT, "a description of the environment"),
}
_BY_SHAPE: dict[Shape, tuple[Cause, str]] = {
    "clock": (causes.CLOCK, "a date or time"),
    "id": (causes.RANDOM_ID, "an id"),
    "temp-path": (causes.RANDOM_ID, "a temporary path"),
    "path": (causes.ENVIRONMENT, "a path"),
    "address": (causes.ENVIRONMENT, "a network address"),
    "email": (causes.VARIABLE_BEFORE_STATIC, "an e-mail address"),
    "number": (causes.ENVIRONMENT, "a number"),
}


@dataclass(frozen=True)
class Verdict:
    """The likely cause of a difference, what the values are, and the two values."""

    cause: Cause
    noun: str
    before: str
    after: str


def judge(
    before: str, after: str, char: int, *, expression: str | None = None, values: tuple[str, str] = ("", "")
) -> Verdict | None:
    """The cause that two texts and the expression at their first difference give, ``None`` where it is not known.

    A name is the better evidence for data of a user, retrieved text, the environment and counters, whose values have no shape;
    a shape is the better evidence for everything else.
    """
    named = kind_of_expression(expression) if expression else "text"
    old, new = values if any(values) else window(before, after, char)
    if named in ("user", "memory", "environment", "counter"):
        return Verdict(*_BY_KIND[named], old, new)
    return next(_verdicts(before, after, char, named, old, new), None)


def _verdicts(before: str, after: str, char: int, named: Kind, old: str, new: str) -> Iterator[Verdict]:
    if differs_in_whitespace(before, after, char):
        yield Verdict(causes.WHITESPACE, "white space", old, new)
    moved = reordered_items(before, after, char)
    if moved is not None:
        yield Verdict(causes.LIST_ORDER, "the items of a list", *moved)
    match = match_shape(before, after, char)
    if match is not None and match.shape != "number":
        yield Verdict(*_BY_SHAPE[match.shape], match.before, match.after)
    if named != "text":
        yield Verdict(*_BY_KIND[named], old, new)
    labelled = kind_of_label(after, char)
    if labelled != "text":
        yield Verdict(*_BY_KIND[labelled], old, new)
    if match is not None:
        yield Verdict(*_BY_SHAPE[match.shape], match.before, match.after)


def blame_text(
    before: str, after: str, *, where: str, before_trace: Traced | None = None, after_trace: Traced | None = None
) -> Blame:
    """Why two versions of a text differ; ``where`` names the text in a sentence, such as ``the system prompt``."""
    char = first_difference(before, after)
    source, old, new = differing_origin(before_trace, after_trace, char, char)
    return blame_values(before, after, char, where=where, source=source, values=(old, new))


def blame_values(
    before: str,
    after: str,
    char: int,
    *,
    where: str,
    source: Origin | None,
    values: tuple[str, str] = ("", ""),
) -> Blame:
    """The same for a difference whose origin is known."""
    expression = source.expression if source is not None else None
    verdict = judge(before, after, char, expression=expression, values=values)
    if verdict is None:
        old, new = values if any(values) else window(before, after, char)
        subject = f"what {{{{ {' '.join(expression.split())[:60]} }}}} prints in {where}" if expression else where
        return Blame(causes.UNKNOWN, f"{subject} changed from {show(old)} to {show(new)}", source)
    if verdict.cause is causes.LIST_ORDER:
        explanation = (
            f"{verdict.noun} in {where} stand in another order: {show(verdict.after)} where {show(verdict.before)} stood"
        )
    else:
        explanation = f"{verdict.noun} in {where} changed from {show(verdict.before)} to {show(verdict.after)}"
    return Blame(verdict.cause, explanation, source)
