"""Annotations in the files of a pull request."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from promptguard_action.commands import Ran
from promptguard_action.inputs import Inputs
from promptguard_action.runner import annotate, say
from promptguard_action.verdict import findings

SHOWN = 10
"""Annotations of each level that GitHub shows for a step."""
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


class Annotation(NamedTuple):
    level: str
    message: str
    properties: dict[str, str | int]


def annotate_all(runs: Sequence[Ran], inputs: Inputs) -> None:
    """Annotate what the commands found, of each level as much as GitHub shows."""
    left = dict.fromkeys(_LEVELS.values(), SHOWN)
    hidden = 0
    for item in (item for run in runs for item in _of(run, inputs)):
        left[item.level] -= 1
        if left[item.level] >= 0:
            annotate(*item)
        else:
            hidden += 1
    if hidden:
        say(f"{hidden} more in the summary and in the report: GitHub shows {SHOWN} of a level for a step.")


def _of(run: Ran, inputs: Inputs) -> Iterator[Annotation]:
    if run.error is not None:
        yield Annotation("error", f"promptguard {run.name}: {run.error}", {})
    if run.name == "lint":
        for finding in findings(run):
            yield _finding(finding, inputs)
    elif run.name == "format":
        for line in run.output.splitlines():
            if line.startswith("would format "):
                path = line.removeprefix("would format ")
                yield Annotation("warning", "not in canonical form: run promptguard format", {"file": _inside(path, inputs)})
    elif run.report is not None:
        yield from _divergences(run.report["turns"], inputs)
        yield from _of_template(run.report, inputs)


def _finding(finding: dict[str, Any], inputs: Inputs) -> Annotation:
    where: dict[str, str | int] = {"file": _inside(finding["path"], inputs), "line": finding["line"]}
    if finding["line"] == finding["end_line"]:  # GitHub takes columns on one line only
        where |= {"col": finding["column"], "endColumn": finding["end_column"]}
    where |= {"endLine": finding["end_line"], "title": f"{finding['code']} {finding['name']}"}
    lost = finding["tokens_lost"]  # 0 where nothing follows, or the file cannot be read
    cost = f"\n{lost:,} token{'' if lost == 1 else 's'} behind it: computed again when it changes" if lost else ""
    fix = "" if finding["fix"] is None else f"\nfix: {finding['fix']['title']}"
    return Annotation(_LEVELS[finding["severity"]], f"{finding['message']}{cost}{fix}", where)


def _divergences(turns: list[dict[str, Any]], inputs: Inputs) -> Iterator[Annotation]:
    """Each cause at its place once."""
    seen: set[tuple[str, str, int]] = set()
    for turn in turns:
        found = turn["divergence"]
        if found is None or turn["prompt_loss"] == 0:
            continue
        place = _outermost(found["place"])
        key = (found["cause"]["code"], place["path"] if place else "", place["line"] if place else 0)
        if key in seen:
            continue
        seen.add(key)
        title = f"{found['cause']['code']} {found['cause']['name']}"
        message = f"turn {turn['number']}: {found['explanation']}\n{found['tokens_lost']:,} tokens lost\nfix: {found['remedy']}"
        yield Annotation("error", message, {**_where(place, inputs), "title": title})


def _of_template(report: dict[str, Any], inputs: Inputs) -> Iterator[Annotation]:
    """What was found in the user's own chat template; a warning where the check lets it pass."""
    passed = all(check["passed"] for check in report["checks"] if check["name"] == "chat-template")
    for finding in (report["chat_template"] or {"findings": []})["findings"]:
        lost = f"\n{finding['tokens_lost']:,} tokens lost at worst" if finding["tokens_lost"] else ""
        message = f"{finding['explanation']}{lost}\nfix: {finding['remedy']}"
        where = _where(_outermost(finding["place"]), inputs)
        yield Annotation("warning" if passed else "error", message, {**where, "title": f"{finding['code']} chat template"})


def _where(place: dict[str, Any] | None, inputs: Inputs) -> dict[str, str | int]:
    return {"file": _inside(place["path"], inputs), "line": place["line"]} if place is not None else {}


def _outermost(place: dict[str, Any] | None) -> dict[str, Any] | None:
    """The file that a place lies in; ``None`` where it lies in none, as a part of a model does."""
    while place is not None and place["parent"] is not None:
        place = place["parent"]
    return None if place is None or place["path"].startswith("<") else place


def _inside(path: str, inputs: Inputs) -> str:
    """A path that promptguard names, as GitHub wants it: from the root of the repository."""
    return os.path.relpath(inputs.folder / path, inputs.root)
