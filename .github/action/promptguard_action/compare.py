"""How a replay differs from that of the base branch, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

Report = dict[str, Any]


def obstacle(base: Report, head: Report, root: Path) -> str | None:
    """Why two replays measure different things, ``None`` where their numbers can be compared.

    Args:
        base: the JSON report of a whole replay of the base, or its outline, in which the model and the turns may be unknown.
        head: that of the replay to compare with it.
        root: the repository of the head.
    """
    before, after = ([name for name in _FILES if name in report["settings"]] for report in (base, head))
    if missing := [name for name in after if name not in before]:
        return f"the base has no configuration that sets {_list(missing)}, so it replays another task"
    if missing := [name for name in before if name not in after]:
        return f"the head no longer sets {_list(missing)}, so it replays another task"
    for name in (*_FILES, "context", "chat-template"):
        if root in Path(base["settings"].get(name, "")).parents:
            return f"the base sets {name} to an absolute path, at which the head's file lies; make it relative"
    for name in ("task", "model", "live"):
        values = base["subject"][name], head["subject"][name]
        if values[0] not in (None, values[1]):
            return f"{name} is {values[0]} in the base and {values[1]} in the head"
    if base["turns"] is None:
        return None
    turns = len(base["turns"]), len(head["turns"])
    return f"the task has {turns[0]} turns in the base and {turns[1]} in the head" if turns[0] != turns[1] else None


_FILES = ("task", "system", "tools")


def _list(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def comparison(base: Report, head: Report) -> str:
    """Tables of the run and of its turns.

    Args:
        base: the JSON report of a replay of the base, with at least one turn.
        head: that of the replay to compare with it, with as many turns.
    """
    return "\n".join([*_run(base, head), "", *_turns(base, head), ""])


def percent(rate: float) -> str:
    """A rate in per cent with one decimal, rounded down."""
    return f"{Decimal(rounded_down(rate, 3)) * 100:.1f}%"


def rounded_down(rate: float, places: int) -> str:
    """A rate with some decimals, rounded down, so that one below the minimum never looks like the minimum."""
    return str(Decimal(repr(rate)).quantize(Decimal(1).scaleb(-places), ROUND_FLOOR))


def _run(base: Report, head: Report) -> Iterator[str]:
    yield "| | base | head | change |"
    yield "|---|---:|---:|---:|"
    rates = base["totals"]["hit_rate"], head["totals"]["hit_rate"]
    yield f"| hit rate | {percent(rates[0])} | {percent(rates[1])} | {_signed(100 * (rates[1] - rates[0]), '.1f')} points |"
    for name, value in _PER_TURN.items():
        yield _row(name, value(base), value(head))
    for name, key in (("prompt loss, all turns", "prompt_loss"), ("engine loss, all turns", "engine_loss")):
        yield _row(name, base["totals"][key], head["totals"][key])
    templates = [[check["value"] for check in report["checks"] if check["name"] == "chat-template"] for report in (base, head)]
    if all(templates):
        yield _row("tokens lost to the chat template, at worst", templates[0][0], templates[1][0])


_PER_TURN: dict[str, Callable[[Report], float]] = {
    "prompt tokens per turn": lambda report: report["totals"]["prompt_tokens"] / len(report["turns"]),
    "tokens computed per turn": lambda report: report["totals"]["prefill_tokens"] / len(report["turns"]),
}


def _turns(base: Report, head: Report) -> Iterator[str]:
    yield "<details><summary>Tokens computed on each turn</summary>\n"
    yield "| turn | base | head | change |"
    yield "|---:|---:|---:|---:|"
    for before, after in zip(base["turns"], head["turns"], strict=True):
        yield _row(str(after["number"]), before["prefilled"], after["prefilled"])
    yield "\n</details>"


def _row(name: str, before: float, after: float) -> str:
    before, after = round(before), round(after)
    return f"| {name} | {before:,} | {after:,} | {_signed(after - before, ',')} |"


def _signed(change: float, how: str) -> str:
    text = f"{abs(change):{how}}"
    return text if not text.strip("0.") else f"{'+' if change > 0 else '−'}{text}"  # noqa: RUF001 - a minus sign
