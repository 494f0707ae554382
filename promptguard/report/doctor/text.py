"""For a person: each check with what was seen, why it matters, and what to set."""

from __future__ import annotations

from collections.abc import Iterator

from promptguard.diagnosis.catalog import AREA, AREAS
from promptguard.diagnosis.result import Check, Diagnosis, Status
from promptguard.report.doctor.words import STATUS, effort, subject, summary
from promptguard.report.plain import BOLD, DIM, Paint, encodable, painter, visible

_COLORS: dict[Status, str] = {"ok": "32", "at-risk": "33", "in-the-way": "1;31", "unknown": "1;33"}
_STATUS = max(map(len, STATUS.values()))
_NAME = max(map(len, AREA))


def render(found: Diagnosis, *, color: bool, encoding: str) -> str:
    """The report, with a line feed at its end."""
    return "".join(encodable(line.rstrip(), encoding) + "\n" for line in _lines(found, painter(color)))


def _lines(found: Diagnosis, paint: Paint) -> Iterator[str]:
    yield paint(visible(subject(found)), BOLD)
    for area, title in AREAS.items():
        checks = [check for check in found.checks if AREA[check.name] == area]
        if checks:
            yield ""
            yield paint(title, BOLD)
        for check in checks:
            yield from _check(check, paint)
    yield ""
    if said := effort(found):
        yield paint(said, DIM)
    style = {"clear": _COLORS["ok"], "obstructed": _COLORS["in-the-way"], "unknown": _COLORS["unknown"]}[found.verdict]
    yield paint(visible(summary(found)), style)


def _check(check: Check, paint: Paint) -> Iterator[str]:
    status = STATUS[check.status].ljust(_STATUS)
    yield f"  {paint(status, _COLORS[check.status])}  {check.name.ljust(_NAME)}  {visible(check.found)}"
    indent = " " * (_STATUS + 4)
    if check.why:
        yield f"{indent}{paint('why', DIM)}  {visible(check.why)}"
    if check.remedy:
        word = "tip" if check.status == "ok" else "set"
        yield f"{indent}{paint(word, DIM)}  {visible(check.remedy)}"
