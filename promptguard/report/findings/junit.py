"""For CI servers that read JUnit XML: a suite for each file that has findings, a failed case for each of them."""

from __future__ import annotations

import html
from itertools import groupby

from promptguard.core.light import Iterator
from promptguard.linting.result import LintResult, Record
from promptguard.report.findings.words import cost, mend, summary, where
from promptguard.report.plain import visible


def render(result: LintResult) -> Iterator[str]:
    """The report as XML 1.0, piece by piece."""
    number = len(result.records)
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f'<testsuites name="promptguard lint" tests="{number or 1}" failures="{number}" errors="0">\n'
    for path, group in groupby(result.records, key=lambda record: record.path):
        records = list(group)
        yield f'  <testsuite name="{_escape(path)}" tests="{len(records)}" failures="{len(records)}" errors="0" skipped="0">\n'
        yield from map(_case, records)
        yield "  </testsuite>\n"
    if not number:  # some servers take a report without cases for one that got lost
        yield '  <testsuite name="promptguard lint" tests="1" failures="0" errors="0" skipped="0">\n'
        yield f'    <testcase classname="promptguard.lint" name="{_escape(summary(result))}"/>\n'
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case(record: Record) -> str:
    name = f"{record.code} {record.name} ({record.line}:{record.column})"
    attributes = f'classname="{_escape(record.path)}" name="{_escape(name)}" file="{_escape(record.path)}" line="{record.line}"'
    body = [f"{where(record)}: {record.message}", cost(record)]
    body += [f"fix: {mend(record.fix)}"] if record.fix is not None else []
    text = "\n".join(_escape(line) for line in body if line)
    return (
        f"    <testcase {attributes}>\n"
        f'      <failure type="{record.severity}" message="{_escape(record.message)}">{text}</failure>\n'
        "    </testcase>\n"
    )


def _escape(text: str) -> str:
    """Text without the characters that XML 1.0 does not allow, none of which is printable."""
    return html.escape(visible(text))
