"""One line for each finding."""

from __future__ import annotations

from collections.abc import Iterator

from promptguard.linting.result import LintResult
from promptguard.report.findings.words import ending, plural, where
from promptguard.report.plain import BOLD, SEVERITY, encodable, painter, visible


def render(result: LintResult, *, color: bool, statistics: bool, encoding: str) -> Iterator[str]:
    """The report, line by line."""
    paint = painter(color)
    for record in result.records:
        rule = paint(f"{record.code} [{record.severity}]", SEVERITY[record.severity])
        tokens = f" ({plural(record.tokens_lost, 'token')})" if record.tokens_lost else ""
        line = f"{paint(where(record), BOLD)}: {rule} {visible(record.message)}{tokens}\n"
        yield encodable(line, encoding)
    for line in ending(result, paint, statistics=statistics):
        yield encodable(line, encoding)
