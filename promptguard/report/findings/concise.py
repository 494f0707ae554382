"""One line for each finding."""

from __future__ import annotations

from promptguard.core.light import Iterator, Sequence
from promptguard.linting.result import Record
from promptguard.report.findings.words import plural, where
from promptguard.report.plain import BOLD, SEVERITY, Paint, encodable, visible


def render(records: Sequence[Record], paint: Paint, encoding: str) -> Iterator[str]:
    """The findings, line by line."""
    for record in records:
        rule = paint(f"{record.code} [{record.severity}]", SEVERITY[record.severity])
        tokens = f" ({plural(record.tokens_lost, 'token')})" if record.tokens_lost else ""
        line = f"{paint(where(record), BOLD)}: {rule} {visible(record.message)}{tokens}\n"
        yield encodable(line, encoding)
