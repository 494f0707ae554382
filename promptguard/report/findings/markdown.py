"""For the summary of a CI step or a comment (GitHub-flavoured Markdown): a table of the findings."""

from __future__ import annotations

from promptguard.core.light import Iterator
from promptguard.linting.result import LintResult, Record
from promptguard.report.findings.words import count, findings, mend, plural, summary, where
from promptguard.report.markdown import code, escape

LIMIT = 1 << 20
"""Most bytes of a report: what GitHub takes as the summary of a step."""
_RESERVE = 1 << 10
"""Kept free for what stands behind the table."""


def render(result: LintResult) -> Iterator[str]:
    """The report, piece by piece, at most ``LIMIT`` bytes."""
    head = f"### promptguard lint: {findings(count(result)) or 'passed'}\n\n{escape(summary(result))}\n"
    yield head
    left = LIMIT - _RESERVE - len(head.encode())
    written = 0
    for row in _rows(result):
        left -= len(row.encode("utf-8", "replace"))
        if left < 0:
            break
        yield row
        written += 1
    more = len(result.records) - written
    if more > 0:
        yield f"\nand {plural(more, 'finding')} more, left out for their size\n"


def _rows(result: LintResult) -> Iterator[str]:
    for index, record in enumerate(result.records):
        row = "\n| | rule | finding | tokens lost | fix |\n|---|---|---|---:|---|\n" if index == 0 else ""
        yield row + _row(record)


def _row(record: Record) -> str:
    tokens = "" if record.tokens_lost is None else f"{record.tokens_lost:,}"
    fix = "" if record.fix is None else escape(mend(record.fix))
    rule = f"**{record.severity}** {record.code} {escape(record.name)}"
    return f"| {code(where(record))} | {rule} | {_message(record.message)} | {tokens} | {fix} |\n"


def _message(message: str) -> str:
    """A message with the texts that it quotes in a fixed-width font."""
    parts = message.split("`")
    if len(parts) % 2 == 0:  # a quoted text has backticks itself
        return escape(message)
    return "".join(code(part) if index % 2 else escape(part) for index, part in enumerate(parts))
