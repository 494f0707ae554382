"""SARIF 2.1.0, for code scanning: findings with fingerprints and fixes, rules with their pages as help."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

from promptguard import __version__
from promptguard.checks.catalog import RULES
from promptguard.checks.pages import read_page
from promptguard.checks.rule import Rule
from promptguard.core.light import Any
from promptguard.linting.result import FixEdit, LintResult, Record, RecordedFix, RecordedPlace
from promptguard.report.plain import visible
from promptguard.report.rule_pages import markdown_page

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "promptguard/v1"
"""Rises when fingerprints are made in another way."""

_ROOT = "%SRCROOT%"


def render(result: LintResult) -> Iterator[str]:
    """The log, a line feed at its end."""
    yield json.dumps(log(result), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def log(result: LintResult) -> dict[str, Any]:
    """The log as a JSON value."""
    codes = sorted({record.code for record in result.records})
    rules = [rule(RULES[code]) for code in codes]
    return envelope(rules, _invocation(result), [_result(record, codes.index(record.code)) for record in result.records])


def envelope(rules: list[dict[str, Any]], invocation: dict[str, Any], results: list[dict[str, Any]]) -> dict[str, Any]:
    """A log of one run of promptguard."""
    run = {
        "tool": {"driver": {"name": "promptguard", "semanticVersion": __version__, "rules": rules}},
        "invocations": [invocation],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder that promptguard ran in."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(result: LintResult) -> dict[str, Any]:
    notifications = [
        {"level": "note", "message": {"text": f"not checked: {visible(reason)}"}, "locations": [location(path, {})]}
        for path, reason in result.skipped
    ]
    # A rule that failed has left something unchecked.
    done = all(record.code != "PG999" for record in result.records)
    return {"executionSuccessful": done, **({"toolExecutionNotifications": notifications} if notifications else {})}


def rule(rule: Rule) -> dict[str, Any]:
    """A rule, with its page as help."""
    text = markdown_page(rule)
    found = read_page(rule.file).sections["What it finds"].partition("\n\n")[0]
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": f"{rule.summary[:1].upper()}{rule.summary[1:]}."},
        "fullDescription": {"text": " ".join(found.split()), "markdown": found},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [rule.area, *([] if rule.cause == "-" else [rule.cause])], "precision": rule.confidence},
    }


def _result(record: Record, index: int) -> dict[str, Any]:
    value: dict[str, Any] = {
        "ruleId": record.code,
        "ruleIndex": index,
        "level": record.severity,
        "message": {"text": message(record.message)},
        "locations": [location(record.path, {"region": _region(record)})],
    }
    if record.related:
        value["relatedLocations"] = [
            location(record.path, {"region": _region(place)}) | {"id": number, "message": {"text": message(place.message)}}
            for number, place in enumerate(record.related, 1)
        ]
    value["partialFingerprints"] = {FINGERPRINT: record.fingerprint}
    if record.fix is not None and record.fix.applicability != "display":
        value["fixes"] = [_fix(record.path, record.fix)]
    properties = {
        "confidence": record.confidence,
        "block": record.block,
        "tokensLost": record.tokens_lost,
        "tokenizer": record.tokenizer,
        "changes": record.changes,
        "pointer": record.pointer,
    }
    value["properties"] = {name: item for name, item in properties.items() if item is not None}
    return value


def message(text: str) -> str:
    """A text in which no quoted ``[text](target)`` is taken for a link."""
    return visible(text).replace("](", r"\](")


def location(path: str, more: dict[str, Any]) -> dict[str, Any]:
    """A file, and what ``more`` says of the place in it."""
    return {"physicalLocation": {"artifactLocation": _artifact(path), **more}}


def _artifact(path: str) -> dict[str, Any]:
    uri = quote(path, errors="surrogateescape")
    if re.match("[A-Za-z]:/", path):
        return {"uri": f"file:///{path[0]}:{uri[4:]}"}
    return {"uri": f"file://{uri}"} if path.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}


def _region(place: Record | RecordedPlace | FixEdit) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _fix(path: str, fix: RecordedFix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(edit), **({"insertedContent": {"text": edit.text}} if edit.text else {})} for edit in fix.edits
    ]
    return {
        "description": {"text": visible(fix.title)},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
        "properties": {"applicability": fix.applicability},
    }
