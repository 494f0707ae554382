"""Dates and times that a chat template prints of its own: it is rendered at two times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from promptguard.core.errors import TemplateError
from promptguard.core.source import Place
from promptguard.prompts.blame.base import differing_origin
from promptguard.prompts.conversations import Conversation
from promptguard.prompts.divergence import excerpt
from promptguard.prompts.preservation.boundary import Bench, Boundary
from promptguard.prompts.preservation.result import Break, Changes, Defect, Switch
from promptguard.prompts.preservation.switches import GIVEN
from promptguard.prompts.request import Traced
from promptguard.prompts.sequences import common_prefix, first_difference

SOURCES = frozenset({"strftime_now", "date_string", "datetime"})
"""Under these names a chat template gets the time."""

_LATER = timedelta(days=400, hours=1, minutes=1, seconds=1)  # year, month, day, hour, minute and second are other ones
_RATES: tuple[tuple[Changes, timedelta], ...] = (
    ("request", timedelta(seconds=1)),
    ("minute", timedelta(minutes=1)),
    ("hour", timedelta(hours=1)),
    ("day", timedelta(days=1)),
)
_WORDS = re.compile(r"date|time|today|now|day|year|month")
_FIXED_DATE = "01 Jan 2026"
_AROUND = 6  # code points in front of a difference by which two of them are told apart
_FAR = 256  # code points behind a difference that a tokenizer is shown


def clocks(bench: Bench, told: Sequence[Conversation], names: frozenset[str]) -> list[Defect]:
    """What of the prompts changes with the time."""
    alike: dict[str, list[tuple[Boundary, str, str]]] = {}
    for each in changed(bench, told):
        char = first_difference(each[1], each[2])
        alike.setdefault(each[1][max(0, char - _AROUND) : char], []).append(each)
    defects: dict[object, Defect] = {}
    for group in alike.values():
        defect = _defect(bench, *group[0], names)
        seen = tuple(_break(bench, *each) for each in group)
        key = defect.place or defect.explanation
        known = defects.get(key, defect)
        defects[key] = replace(known, breaks=(*known.breaks, *seen))
    return list(defects.values())


def pin_of_clock(defects: Sequence[Defect], place: Place | None) -> str:
    """The end of a remedy: which variable of the template pins the date, where one was found by trying.

    Args:
        defects: all that were found in the template.
        place: what prints the date.

    Returns:
        Words behind a comma; ``""`` where no variable pins it.
    """
    switches = [switch for each in defects if each.kind == "clock" and each.place == place for switch in each.switches]
    return f", or pin the date: {switches[0]} in chat_template_kwargs" if switches else ""


def changed(bench: Bench, told: Sequence[Conversation]) -> list[tuple[Boundary, str, str]]:
    """The last prompts that are other ones at another time."""
    last = [Boundary(each, len(each.replies) - 1) for each in told if each.replies]
    calls = [bench.call(each, each.request(1), clock=clock) for each in last for clock in (bench.clock, bench.clock + _LATER)]
    made = bench.render(calls)
    return [
        (boundary, before.text, after.text)
        for boundary, before, after in zip(last, made[::2], made[1::2], strict=True)
        if isinstance(before, Traced) and isinstance(after, Traced) and before.text != after.text
    ]


def _break(bench: Bench, boundary: Boundary, before: str, after: str) -> Break:
    char = first_difference(before, after)
    tokens = bench.encode(before)
    kept = common_prefix(tokens, bench.encode(after[: char + _FAR]))
    conversation = boundary.conversation
    return Break(
        conversation,
        boundary.turn,
        conversation.following(boundary.turn),
        char,
        excerpt(before, char),
        excerpt(after, char),
        len(tokens),
        len(tokens) - kept,
        before,
        after,
    )


def _defect(bench: Bench, boundary: Boundary, before: str, after: str, names: frozenset[str]) -> Defect:
    request = boundary.request(1)
    later = bench.clock + _LATER
    pins = sorted((names - GIVEN | {"date_string", "datetime"}) & {name for name in names if _WORDS.search(name)})
    rates = [bench.call(boundary, request, clock=bench.clock + step) for _, step in _RATES]
    pinned = [
        bench.call(boundary, replace(request, template_kwargs={**request.template_kwargs, name: _FIXED_DATE}), clock=clock)
        for name in pins
        for clock in (bench.clock, later)
    ]
    plain = bench.render([*rates, *pinned])
    changes: Changes = next((rate for (rate, _), made in zip(_RATES, plain, strict=False) if _text(made) != before), "day")
    tried = plain[len(rates) :]
    switches = [
        Switch(name, _FIXED_DATE)
        for name, one, other in zip(pins, tried[::2], tried[1::2], strict=True)
        if isinstance(one, Traced) and isinstance(other, Traced) and one.text == other.text
    ]
    traces = [
        each if isinstance(each, Traced) else None
        for each in bench.render([bench.call(boundary, request, clock=clock) for clock in (bench.clock, later)], trace=True)
    ]
    char = first_difference(before, after)
    found = differing_origin(traces[0], traces[1], char, char)[0]
    how = {"request": "every second", "minute": "every minute", "hour": "every hour", "day": "every day"}[changes]
    return Defect(
        "clock",
        "clock",
        f"a date or time that the chat template prints is another one {how}",
        "give the template a fixed date" if switches else "use a chat template that prints no date",
        found.place if found is not None else None,
        found.expression if found is not None else None,
        (),
        switches=tuple(switches),
        changes=changes,
    )


def _text(made: Traced | TemplateError) -> str | None:
    return made.text if isinstance(made, Traced) else None
