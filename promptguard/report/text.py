"""The report for a person: coloured on a terminal, plain elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from promptguard.replaying.result import Result, TemplateFinding
from promptguard.report.common import (
    Repeated,
    cause,
    excerpt,
    lost_in_template,
    measured,
    quoted_pair,
    repeated,
    subject_rows,
    template_findings,
    tokens,
    total_rows,
    turn_ranges,
    turn_table,
    verdict,
    where,
)
from promptguard.report.plain import encodable, fit, visible, width

if TYPE_CHECKING:  # only a run that lost something needs it at run time
    from promptguard.core.source import Place
    from promptguard.prompts.divergence import Divergence

Line = list[tuple[str, str]]
"""Segments of printable text, each with the name of its style."""

_STYLES = {"passed": "bold green", "failed": "bold red", "error": "bold red"}
_MOST_CAUSES_AT_END = 5
_WIDE = 100
"""Cells that an excerpt may take where the width of the reader's screen is not known."""


def render(result: Result) -> str:
    """The whole report as plain text, a line feed at its end."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in _lines(result, None))


def print_to_terminal(result: Result, stream: TextIO) -> None:
    """The same lines with colours, fitted to the width of the terminal; ``NO_COLOR`` and ``TERM=dumb`` are respected."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    encoding = stream.encoding or "utf-8"
    for line in _lines(result, console.width):
        console.print(Text.assemble(*((encodable(text, encoding), style) for text, style in line)))


def _lines(result: Result, cells: int | None) -> Iterator[Line]:
    yield from _pairs(subject_rows(result))
    if result.turns:
        yield []
        yield from _table(result, cells)
        yield []
        yield from _pairs(total_rows(result))
    if result.notes:
        yield []
    for note in result.notes:
        yield [("note: ", "bold"), (visible(note), "")]
    causes = repeated(result.turns)
    for item in causes:
        yield []
        yield from _divergence(item, cells)
    for finding in template_findings(result):
        yield []
        yield from _template_finding(finding, cells)
    yield []
    yield from _gate(result, causes)


def _pairs(rows: list[tuple[str, str]]) -> Iterator[Line]:
    longest = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        yield [(name.ljust(longest + 2), "dim"), (visible(value), "")]


def _table(result: Result, cells: int | None) -> Iterator[Line]:
    headings, rows = turn_table(result)
    # The two-word headings stand on two lines, which makes the table fit in 80 columns.
    upper, lower = zip(*(heading.split(" ") if " " in heading else ("", heading) for heading in headings), strict=True)
    body = [[row[0], visible(row[1]), *row[2:]] for row in rows]
    widths = [max(width(row[index]) for row in (upper, lower, *body)) for index in range(len(headings))]
    gap = 2
    if cells is not None:
        others = sum(widths) - widths[1]
        gap = 2 if others + 2 * len(widths) + widths[1] <= cells else 1
        widths[1] = max(8, min(widths[1], cells - others - gap * (len(widths) - 1)))
    for style, row in [("dim", upper), ("dim", lower), *(("", row) for row in body)]:
        fields = [value.rjust(size) for value, size in zip(row, widths, strict=True)]
        label = fit(row[1], widths[1])
        fields[1] = label + " " * (widths[1] - width(label))
        yield [((" " * gap).join(fields), style)]


def _divergence(item: Repeated, cells: int | None) -> Iterator[Line]:
    found = item.divergence
    yield [
        (f"turn {item.turns[0]}, {found.block} block: ", "bold"),
        (f"{cause(found)}: ", "bold red"),
        (visible(found.explanation), ""),
    ]
    yield from _place(found.place, cells)
    before, after = quoted_pair(found.before, found.after)
    yield [("  before  ", "dim"), (before, "")]
    yield [("  after   ", "dim"), (after, "")]
    yield [("  lost    ", "dim"), (f"{tokens(found.tokens_lost)}, from token {found.token:,} (character {found.char:,}) on", "")]
    for place in found.related:
        yield [("  see     ", "dim"), (where(place), "cyan")]
    yield [("  fix     ", "dim"), (visible(found.remedy), "")]
    if len(item.turns) > 1:
        yield [(f"  also on {turn_ranges(item.turns[1:])}", "")]


def _template_finding(found: TemplateFinding, cells: int | None) -> Iterator[Line]:
    yield [("chat template: ", "bold"), (f"{found.code}: ", "bold red"), (visible(found.explanation), "")]
    yield from _place(found.place, cells)
    if found.conversation is not None:
        before, after = quoted_pair(found.before, found.after)
        yield [("  before  ", "dim"), (before, "")]
        yield [("  after   ", "dim"), (after, "")]
        yield [("  lost    ", "dim"), (lost_in_template(found), "")]
    yield [("  fix     ", "dim"), (visible(found.remedy), "")]


def _place(place: Place | None, cells: int | None) -> Iterator[Line]:
    """A place with its line of source."""
    if place is None:
        return
    yield [("  --> ", "dim"), (where(place), "cyan")]
    number = str(place.line)
    source = excerpt(place, (cells or _WIDE) - len(number) - 5)
    yield [(f"  {number} | ", "dim"), (source.text, "")]
    yield [(f"  {' ' * len(number)} | ", "dim"), (source.marker, "bold red")]


def _gate(result: Result, causes: list[Repeated]) -> Iterator[Line]:
    """The end of the report: what a reader sees who sees only the last lines."""
    longest = max((len(check.name) for check in result.checks), default=0)
    for check in result.checks:
        word = "passed" if check.passed else "failed"
        yield [(f"{check.name:<{longest + 2}}", ""), (word, _STYLES[word]), (f"  {visible(check.message)}", "")]
    outcome = verdict(result)
    reason, *log = _reason(result)
    yield [(outcome.upper(), _STYLES[outcome]), (visible(reason), "")]
    for line in log:
        yield [("  ", ""), (visible(line), "dim")]
    for item in causes[:_MOST_CAUSES_AT_END]:
        yield [("  ", ""), (_short(item.divergence), ""), (f", {turn_ranges(item.turns)}", "")]
    if len(causes) > _MOST_CAUSES_AT_END:
        yield [(f"  and {len(causes) - _MOST_CAUSES_AT_END} more, described above", "")]


def _reason(result: Result) -> list[str]:
    """What follows the verdict; an error may have the last lines of the engine's log behind its first line."""
    if result.error is not None:
        return f" after {measured(result)}: {result.error}".splitlines()
    failed = [check.name for check in result.checks if not check.passed]
    return [f": {', '.join(failed)}" if failed else ""]


def _short(found: Divergence) -> str:
    place = where(found.place) if found.place is not None else f"in the {found.block} block"
    return f"{cause(found)}, {place}"
