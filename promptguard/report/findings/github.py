"""Annotations for GitHub Actions: a workflow command for each finding."""

from __future__ import annotations

from promptguard.core.light import Iterator
from promptguard.linting.result import LintResult, Record
from promptguard.report.findings.words import cost, mend
from promptguard.report.plain import visible

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(result: LintResult) -> Iterator[str]:
    """The report, a line for each finding."""
    return (_command(record) for record in result.records)


def _command(record: Record) -> str:
    properties: dict[str, object] = {"file": record.path, "line": record.line}
    if record.line == record.end_line:  # GitHub takes columns on one line only
        properties |= {"col": record.column, "endLine": record.end_line, "endColumn": record.end_column}
    else:
        properties["endLine"] = record.end_line
    properties["title"] = f"{record.code} {record.name}"
    written = ",".join(f"{name}={visible(str(value)).translate(_PROPERTY)}" for name, value in properties.items())
    lines = [visible(record.message), cost(record), f"fix: {mend(record.fix)}" if record.fix is not None else ""]
    message = "\n".join(line for line in lines if line)
    return f"::{_COMMAND[record.severity]} {written}::{message.translate(_DATA)}\n"
