"""For a person: each builder, and each thing that its prompt changes with, where, why and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptguard.probing.result import Difference, Probed
from promptguard.report.plain import BOLD, DIM, SEVERITY, Paint, encodable, fit, painter, visible
from promptguard.report.probes.words import VERDICTS, error, headline, lost, place, says_how, summary, title

_CELLS = 100


def render(probed: Sequence[Probed], *, color: bool = False, encoding: str = "utf-8") -> str:
    """The report, with a line feed at its end."""
    paint = painter(color)
    lines: list[str] = []
    for one in probed:
        lines += [*_builder(one, paint), ""]
    if len(probed) > 1:
        lines.append(summary(probed))
    else:
        lines.pop()
    return "".join(encodable(line.rstrip(), encoding) + "\n" for line in lines)


def _builder(one: Probed, paint: Paint) -> Iterator[str]:
    style = SEVERITY["note" if one.verdict == "stable" else "error"]
    yield f"{paint(title(one), BOLD)}: {paint(VERDICTS[one.verdict], style)}"
    if one.result is None:
        yield f"  {error(one)}"
        return
    yield f"  {paint(says_how(one), DIM)}"
    for difference in one.result.differences:
        yield ""
        yield from _difference(difference, paint)
    if one.result.differences and one.result.notes:
        yield ""
    for note in one.result.notes:
        yield f"  {paint(f'note: {visible(note)}', DIM)}"


def _difference(difference: Difference, paint: Paint) -> Iterator[str]:
    yield f"  {paint(headline(difference), BOLD)}"
    rows = [("changes", difference.depends), ("at", place(difference))]
    if difference.location is not None:
        rows.append(("source", visible(str(difference.location))))
    rows += [
        ("before", f'"{fit(visible(difference.before), _CELLS)}"'),
        ("after", f'"{fit(visible(difference.after), _CELLS)}"'),
        ("lost", lost(difference)),
        ("to do", visible(difference.remedy)),
    ]
    for name, value in rows:
        yield f"    {paint(f'{name:<8}', DIM)}{value}"
