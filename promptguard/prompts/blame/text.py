"""Why two versions of a text differ, judged by the expression that printed it and by what the values look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptguard.prompts import causes
from promptguard.prompts.blame.base import Blame, Origin, differing_origin
from promptguard.prompts.blame.branch import ChangedBranch, changed_branch
from promptguard.prompts.causes import Cause
from promptguard.prompts.names import Kind, drawn_by, kind_of_expression
from promptguard.prompts.request import Traced
from promptguard.prompts.sequences import first_difference
from promptguard.prompts.shapes import (
    Shape,
    counts,
    differs_in_whitespace,
    kind_of_label,
    match_shape,
    match_values,
    reordered_items,
    show,
    window,
)

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
}
_DRAW_ONCE = "draw the value once per conversation and keep it, or move it into the last user message"


@dataclass(frozen=True)
class Verdict:
    """The likely cause of a difference, what the values are, and the two values."""

    cause: Cause
    noun: str
    before: str
    after: str


def judge(
    before: str, after: str, char: int, *, expressions: Sequence[str] = (), values: tuple[str, str] = ("", "")
) -> Verdict | None:
    """The cause that two texts and what printed them give at their first difference, ``None`` where it is not known.

    A name is the better evidence for data of a user, retrieved text, the environment and counters, whose values have no shape;
    a shape is the better evidence for everything else.

    Args:
        before: the earlier text.
        after: the later text.
        char: the first difference.
        expressions: the expression at the difference and what its names are bound to, the best judge first.
        values: all that the expression printed each time, where it is known.
    """
    named = kind_of(expressions)
    old, new = values if any(values) else window(before, after, char)
    if named in ("user", "memory", "environment", "counter"):
        return Verdict(*_BY_KIND[named], old, new)
    match = (match_values(*values) if all(values) else None) or match_shape(before, after, char)
    if differs_in_whitespace(before, after, char):
        return Verdict(causes.WHITESPACE, "white space", old, new)
    if (moved := reordered_items(before, after, char)) is not None:
        return Verdict(causes.LIST_ORDER, "the items of a list", *moved)
    if match is not None and match.shape != "number":
        return Verdict(*_BY_SHAPE[match.shape], match.before, match.after)
    kind = named if named != "text" else kind_of_label(after, char)
    if kind != "text":
        return Verdict(*_BY_KIND[kind], old, new)
    if match is not None and counts(after, char):
        return Verdict(*_BY_KIND["counter"], match.before, match.after)
    return None


def kind_of(expressions: Sequence[str]) -> Kind:
    """The kind of the first expression whose names tell one."""
    return next((kind for kind in map(kind_of_expression, expressions) if kind != "text"), "text")


def blame_text(
    before: str, after: str, *, where: str, before_trace: Traced | None = None, after_trace: Traced | None = None
) -> Blame:
    """Why two versions of a text differ; ``where`` names the text in a sentence, such as ``the system prompt``."""
    char = first_difference(before, after)
    branch = changed_branch(before_trace, after_trace, char)
    if branch is not None and branch.before.split() != branch.after.split():
        return _blame_branch(before, after, char, branch, where)
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
    expressions = source.behind() if source is not None else []
    verdict = judge(before, after, char, expressions=expressions, values=values)
    old, new = (verdict.before, verdict.after) if verdict is not None else values if any(values) else window(before, after, char)
    if verdict is not None and verdict.cause is causes.LIST_ORDER:
        explanation = f"{verdict.noun} in {where} stand in another order: {show(new)} where {show(old)} stood"
        return Blame(verdict.cause, explanation, source)
    drawn = next(filter(None, map(drawn_by, expressions)), None)
    if drawn is not None:
        explanation = f"the filter {drawn} in {where} gives another value on each render: {show(new)} where {show(old)} stood"
        return Blame(causes.RANDOM_ID, explanation, source, own_remedy=_DRAW_ONCE)
    if verdict is not None:
        return Blame(verdict.cause, f"{verdict.noun} in {where} changed from {show(old)} to {show(new)}", source)
    expression = source.expression if source is not None else None
    subject = f"what {{{{ {' '.join(expression.split())[:60]} }}}} prints in {where}" if expression else where
    return Blame(causes.UNKNOWN, f"{subject} changed from {show(old)} to {show(new)}", source)


def _blame_branch(before: str, after: str, char: int, branch: ChangedBranch, where: str) -> Blame:
    """A condition or a loop is judged by the names in it, and where they say nothing by what was printed."""
    kind = kind_of(branch.conditions)
    verdict = judge(before, after, char, values=(branch.before, branch.after)) if kind == "text" else None
    cause = _BY_KIND[kind][0] if kind != "text" else verdict.cause if verdict is not None else causes.UNKNOWN
    own_remedy = None
    if any(map(drawn_by, branch.conditions)):
        cause, own_remedy = causes.RANDOM_ID, _DRAW_ONCE
    if branch.loop:
        how = (
            f"prints more than before: {show(branch.after)}"
            if branch.after
            else f"prints less than before: {show(branch.before)}"
        )
        explanation = f"{branch.tag} in {where} {how}"
    else:
        explanation = f"the branch of {branch.tag} in {where} changed: {show(branch.after)} where {show(branch.before)} stood"
    return Blame(cause, explanation, Origin(branch.place, None, ""), (branch.printed.place,), own_remedy)
