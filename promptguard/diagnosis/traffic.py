"""Whether others use the server: two looks at it, with nothing of ours in between, and one behind our own prompts."""

from __future__ import annotations

from promptguard.diagnosis.facts import View
from promptguard.diagnosis.probes import Probes
from promptguard.diagnosis.result import Check

_REMEDY = "stop what else uses the server, or give promptguard one of its own (in CI: a concurrency group for the board)"
_WHY = "another request takes the slot, and with it the cache, between two turns; times are not comparable either"


def before(first: View, second: View) -> Check:
    """What two looks show, before any prompt of ours."""
    if first.busy is None and first.waiting is None:
        return Check(
            "traffic", "unknown", "neither /slots nor /metrics is on", "other requests cannot be seen", "--slots or --metrics"
        )
    busy = max(view.busy or 0 for view in (first, second))
    waiting = max(view.waiting or 0 for view in (first, second))
    if busy or waiting:
        found = f"{busy} of {len(second.tasks)} slots at work" if busy else f"{waiting} requests at work"
        return Check("traffic", "in-the-way", found, _WHY, _REMEDY)
    moved = first.tasks != second.tasks or first.held != second.held
    if moved or first.tokens != second.tokens:
        return Check("traffic", "in-the-way", "requests of others ran while it was looked at", _WHY, _REMEDY)
    return Check("traffic", "ok", "no other request seen")


def behind(second: View, third: View, ours: Probes) -> Check:
    """What a look behind our own prompts shows.

    Args:
        second: the last look before them.
        third: the look behind them.
        ours: the prompts.
    """
    tokens = sum(each.tokens for each in ours.sent)
    if second.tokens is not None and third.tokens is not None and third.tokens - second.tokens != tokens:
        found = f"{third.tokens - second.tokens:,} prompt tokens went through the server, {tokens:,} of them ours"
        return Check("traffic", "in-the-way", found, _WHY, _REMEDY)
    used = {each.slot for each in ours.sent}
    others = [slot for slot, task in third.tasks.items() if slot not in used and task != second.tasks.get(slot)]
    last = ours.sent[-1]
    taken = last.slot is not None and third.held.get(last.slot, last.tokens) != last.tokens
    if third.busy or (None not in used and others) or taken:
        return Check("traffic", "in-the-way", "requests of others ran between ours", _WHY, _REMEDY)
    return Check("traffic", "ok", "no other request seen")
