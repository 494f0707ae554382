"""For programs; docs/schemas/lint-1.json is its JSON Schema."""

from __future__ import annotations

from promptguard import __version__
from promptguard.core.json_text import dumps
from promptguard.core.light import Any, Iterator
from promptguard.linting.result import LintResult, Record
from promptguard.report.findings.words import by_rule, count

VERSION = 1
"""Rises when a key is removed or changes its meaning. A new key only has to stand in the schema."""


def render(result: LintResult) -> Iterator[str]:
    """One JSON object, keys always in the same order, a line for each finding, a line feed at its end."""
    tool = {"name": "promptguard", "version": __version__}
    yield f'{{"version": {VERSION}, "tool": {dumps(tool)}, "findings": ['
    for index, record in enumerate(result.records):
        yield ("\n" if index == 0 else ",\n") + dumps(finding(record))
    yield ("\n" if result.records else "") + f'], "summary": {dumps(summary(result))}}}\n'


def finding(record: Record) -> dict[str, Any]:
    """A finding; lines and columns from 1, in code points, ends exclusive."""
    fix = record.fix
    return {
        "path": record.path,
        "line": record.line,
        "column": record.column,
        "end_line": record.end_line,
        "end_column": record.end_column,
        "code": record.code,
        "name": record.name,
        "severity": record.severity,
        "confidence": record.confidence,
        "message": record.message,
        "block": record.block,
        "tokens_lost": record.tokens_lost,
        "tokenizer": record.tokenizer,
        "changes": record.changes,
        "pointer": record.pointer,
        "excerpt": [{"line": line, "column": column, "text": text} for line, column, text in record.excerpt],
        "fix": None
        if fix is None
        else {
            "title": fix.title,
            "applicability": fix.applicability,
            "edits": [edit._asdict() for edit in fix.edits],
        },
        "related": [place._asdict() for place in record.related],
        "fingerprint": record.fingerprint,
    }


def summary(result: LintResult) -> dict[str, Any]:
    """The numbers of the whole run."""
    counts = count(result)
    return {
        "errors": counts.errors,
        "warnings": counts.warnings,
        "notes": counts.notes,
        "files_with_findings": counts.files,
        "files_checked": result.files,
        "files_read": result.looked_at,
        "files_with_includes": result.including,
        "fixable": {"safe": counts.safe, "unsafe": counts.unsafe},
        "fixed": result.fixed,
        "suppressed": result.suppressed,
        "skipped": [{"path": path, "reason": reason} for path, reason in result.skipped],
        "rules": [rule._asdict() for rule in by_rule(result)],
    }
