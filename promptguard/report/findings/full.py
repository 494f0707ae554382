"""For a person: what, where in the source, what it costs and how to mend it."""

from __future__ import annotations

from promptguard.core.light import Iterator, NamedTuple, Sequence
from promptguard.linting.result import Record
from promptguard.report.findings.words import cost, mend, where
from promptguard.report.plain import BOLD, CYAN, DIM, SEVERITY, Paint, encodable, marked, visible

_CELLS = 100
"""Width that an excerpt may take."""
_LONGEST = 400
"""Code points of an excerpt of a ``Record``; one of this length may go on in the file."""


def render(records: Sequence[Record], paint: Paint, encoding: str) -> Iterator[str]:
    """The findings, line by line."""
    for record in records:
        for line in _lines(record, paint, encoding):
            yield encodable(line.rstrip(), encoding) + "\n"
        yield "\n"


def _lines(record: Record, paint: Paint, encoding: str) -> Iterator[str]:
    style = SEVERITY[record.severity]
    yield f"{paint(where(record), BOLD)}: {paint(f'{record.code} [{record.severity}]', style)} {visible(record.message)}"
    rows = _excerpt(record, encoding)
    gutter = max((len(str(row.number)) for row in rows), default=0)
    for row in rows:
        yield f"  {paint(f'{row.number:>{gutter}} |', DIM)} {row.text}"
        if row.marker:
            yield f"  {paint(' ' * gutter + ' |', DIM)} {paint(row.marker, style)}"
    more = _last_line(record) - rows[-1].number if rows else 0
    if more > 0:
        yield f"  {paint(' ' * gutter + ' |', DIM)} ... and {more:,} more line{'' if more == 1 else 's'}"
    if cost(record):
        yield f"  {paint('cost', CYAN)}  {cost(record)}"
    for place in record.related:
        yield f"  {paint('see ', CYAN)}  {visible(record.path)}:{place.line}:{place.column}: {visible(place.message)}"
    if record.fix is not None:
        yield f"  {paint('fix ', CYAN)}  {mend(record.fix)}"
    yield f"  {paint('help', CYAN)}  promptguard rule {record.code}"


class _Row(NamedTuple):
    number: int
    text: str
    marker: str


def _last_line(record: Record) -> int:
    """The last line that holds a part of the place: a place that ends with a line end holds nothing of the next line."""
    ends_before = record.end_column == 1 and record.end_line > record.line
    return record.end_line - 1 if ends_before else record.end_line


def _excerpt(record: Record, encoding: str) -> list[_Row]:
    rows = []
    for number, first, text in record.excerpt:
        if number > _last_line(record):
            continue
        start = record.column - first if number == record.line else len(text) - len(text.lstrip())
        end = record.end_column - first if number == record.end_line else len(text)
        start = max(0, min(start, len(text)))
        behind = len(text) >= _LONGEST
        line, marker = marked(text, start, end, _CELLS, before=first > 1, behind=behind, encoding=encoding)
        blank = number != record.line and start == len(text)
        rows.append(_Row(number, line, "" if blank else marker))
    return rows
