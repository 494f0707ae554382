"""How a replay differs from that of the base branch, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

Report = dict[str, Any]


def comparison(base: Report, head: Report) -> str:
    """Tables of the run and of its turns.

    Args:
        base: the JSON report of a replay of the base, with at least one turn.
        head: that of the replay to compare with it, likewise.
    """
    return "\n".join([*_run(base, head), "", *_turns(base, head), ""])


def percent(rate: float) -> str:
    """A rate in per cent, rounded down, so that one below the minimum never looks like the minimum."""
    return f"{math.floor(rate * 1000) / 10:.1f}%"


def _run(base: Report, head: Report) -> Iterator[str]:
    yield "| | base | head | change |"
    yield "|---|---:|---:|---:|"
    rates = base["totals"]["hit_rate"], head["totals"]["hit_rate"]
    yield f"| hit rate | {percent(rates[0])} | {percent(rates[1])} | {_signed(100 * (rates[1] - rates[0]), '.1f')} points |"
    for name, value in _PER_TURN.items():
        yield _row(name, value(base), value(head))
    for name, key in (("prompt loss, all turns", "prompt_loss"), ("engine loss, all turns", "engine_loss")):
        yield _row(name, base["totals"][key], head["totals"][key])


_PER_TURN: dict[str, Callable[[Report], float]] = {
    "prompt tokens per turn": lambda report: report["totals"]["prompt_tokens"] / len(report["turns"]),
    "tokens computed per turn": lambda report: report["totals"]["prefill_tokens"] / len(report["turns"]),
}


def _turns(base: Report, head: Report) -> Iterator[str]:
    yield "<details><summary>Tokens computed on each turn</summary>\n"
    yield "| turn | base | head | change |"
    yield "|---:|---:|---:|---:|"
    for number, (before, after) in enumerate(zip_longest(base["turns"], head["turns"]), 1):
        if before is None:
            yield f"| {number} | | {after['prefilled']:,} | |"
        elif after is None:
            yield f"| {number} | {before['prefilled']:,} | | |"
        else:
            yield _row(str(number), before["prefilled"], after["prefilled"])
    yield "\n</details>"


def _row(name: str, before: float, after: float) -> str:
    before, after = round(before), round(after)
    return f"| {name} | {before:,} | {after:,} | {_signed(after - before, ',')} |"


def _signed(change: float, how: str) -> str:
    text = f"{abs(change):{how}}"
    return text if not text.strip("0.") else f"{'+' if change > 0 else '−'}{text}"  # noqa: RUF001 - a minus sign
