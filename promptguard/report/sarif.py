"""The report for code scanning, SARIF 2.1.0: each cause of a lost token at its place in the user's files."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from promptguard.checks.catalog import RULES
from promptguard.core.digest import digest
from promptguard.core.source import Place
from promptguard.prompts.causes import CAUSES, Cause
from promptguard.replaying.result import Result
from promptguard.report.common import repeated, template_findings, tokens, turn_ranges
from promptguard.report.findings.sarif import FINGERPRINT, envelope, location, message, rule

_CAUSES = {cause.code: cause for cause in CAUSES}
_LINES = 2000  # code points of the lines of a place that its fingerprint looks at


class _Found(NamedTuple):
    code: str
    level: str
    text: str
    place: Place | None
    lost: int


def render(result: Result) -> str:
    """The log, a line feed at its end."""
    text = json.dumps(log(result), ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate, which no JSON reader has to accept, becomes "?"


def log(result: Result) -> dict[str, Any]:
    """The log as a JSON value.

    Code scanning refuses a log with a result that lies in no file, as tools that the task itself takes away do not. Those are
    notifications of the invocation.
    """
    found = [*_causes(result), *_in_template(result)]
    placed = [(each, place) for each in found if (place := _in_a_file(each.place)) is not None]
    codes = sorted({each.code for each, _ in placed})
    numbers: Counter[str] = Counter()
    results = []
    for each, place in placed:
        key = _key(each.code, place)
        numbers[key] += 1
        results.append(_result(each, place, codes.index(each.code), f"{key}:{numbers[key]}"))
    notes = [_notification(each.level, f"{each.code}: {each.text}") for each in found if _in_a_file(each.place) is None]
    if result.error is not None:
        notes.append(_notification("error", result.error))
    invocation = {"executionSuccessful": result.error is None, **({"toolExecutionNotifications": notes} if notes else {})}
    return envelope([_rule(code) for code in codes], invocation, results)


def _causes(result: Result) -> Iterator[_Found]:
    """An error where a turn lost more than is tolerated, else a warning."""
    tolerance = next((check.limit for check in result.checks if check.name == "prompt-loss"), 0)
    losses = {turn.number: turn.prompt_loss for turn in result.turns}
    for each in repeated(result.turns):
        found, lost = each.divergence, max(losses[number] for number in each.turns)
        text = f"{found.explanation} ({turn_ranges(each.turns)}, {tokens(lost)} lost at worst). To mend it: {found.remedy}."
        yield _Found(found.cause.code, "error" if lost > tolerance else "warning", text, found.place, lost)


def _in_template(result: Result) -> Iterator[_Found]:
    passed = all(check.passed for check in result.checks if check.name == "chat-template")
    for found in template_findings(result):
        lost = f" ({tokens(found.tokens_lost)} lost at worst)" if found.tokens_lost else ""
        text = f"{found.explanation}{lost}. To mend it: {found.remedy}."
        yield _Found(found.code, "warning" if passed else "error", text, found.place, found.tokens_lost)


def _in_a_file(place: Place | None) -> Place | None:
    """The outermost place of an embedded text; ``None`` where it lies in no file, as a part of a model does."""
    while place is not None and place.source.parent is not None:
        place = place.source.parent
    return None if place is None or place.source.path.startswith("<") else place


def _key(code: str, place: Place) -> str:
    """What stays the same when lines move."""
    lines = place.source.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = "\n".join(lines[place.line - 1 : _end(place)[0]])[:_LINES]
    return digest(f"{code}\0{text}".encode("utf-8", "surrogatepass"), 16)


def _end(place: Place) -> tuple[int, int]:
    return place.source.line_column(place.span.end)


def _result(found: _Found, place: Place, index: int, fingerprint: str) -> dict[str, Any]:
    end_line, end_column = _end(place)
    region = {"startLine": place.line, "startColumn": place.column, "endLine": end_line, "endColumn": end_column}
    return {
        "ruleId": found.code,
        "ruleIndex": index,
        "level": found.level,
        "message": {"text": message(found.text)},
        "locations": [location(_shown(place.source.path), {"region": region})],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {"tokensLost": found.lost},
    }


def _shown(path: str) -> str:
    """A path as lint shows it: relative to the current folder where it lies in it, with forward slashes."""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 - with the separator behind it
    return path.removeprefix(here).replace(os.sep, "/")


def _rule(code: str) -> dict[str, Any]:
    return rule(RULES[code]) if code in RULES else _cause(_CAUSES[code])


def _cause(cause: Cause) -> dict[str, Any]:
    summary = f"{cause.summary[:1].upper()}{cause.summary[1:]}."
    help_text = f"{summary}\n\nTo mend it: {cause.remedy}.\n\nMore on {cause.code} {cause.name} stands in docs/causes.md."
    return {
        "id": cause.code,
        "name": cause.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": summary},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["replay", cause.code]},
    }


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": message(text)}}
