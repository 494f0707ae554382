"""How a result is written in a line of the cache, and read with every part of it checked."""

from __future__ import annotations

from promptguard.checks.catalog import RULES
from promptguard.core.json_text import loads, quote_in_ascii
from promptguard.core.light import Any
from promptguard.linting.result import FileResult, FixEdit, Record, RecordedFix, RecordedPlace

_SEVERITIES = ("error", "warning", "note")
_CONFIDENCES = ("high", "medium", "low")
_APPLICABILITIES = ("safe", "unsafe", "display")


def written(value: Any) -> str:
    """A result, or a part of one, as JSON."""
    if isinstance(value, str):
        return quote_in_ascii(value)
    if isinstance(value, tuple):
        return f"[{','.join(map(written, value))}]"
    return "null" if value is None else str(value).lower()


def read_result(data: bytes) -> FileResult:
    """A result as it was written.

    Raises:
        ValueError, TypeError, KeyError, IndexError, RecursionError: it is none.
    """
    path, checked, records, suppressed, reason, includes, rest, mends = loads(data.decode())
    _expect(
        isinstance(path, str)
        and isinstance(checked, bool)
        and isinstance(includes, bool)
        and isinstance(mends, bool)
        and type(suppressed) is int
        and suppressed >= 0
    )
    found = tuple(_record(record) for record in records)
    return FileResult(path, checked, found, suppressed, _text_or_none(reason), includes, tuple(map(_more, rest)), mends)


def _more(data: Any) -> tuple[str, str, int]:
    code, key, count = data
    _expect(code in RULES and isinstance(key, str) and type(count) is int and count > 0)
    return code, key, count


def _record(data: Any) -> Record:
    record = Record(*data)
    for number in (record.line, record.column, record.end_line, record.end_column):
        _expect(type(number) is int and number > 0)
    for text in (record.path, record.message, record.fingerprint):
        _expect(isinstance(text, str))
    for optional in (record.block, record.tokenizer, record.changes, record.pointer):
        _text_or_none(optional)
    _expect(record.tokens_lost is None or (type(record.tokens_lost) is int and record.tokens_lost >= 0))
    _expect(record.name == RULES[record.code].name and record.severity in _SEVERITIES and record.confidence in _CONFIDENCES)
    excerpt = []
    for line, column, text in record.excerpt:
        _expect(type(line) is int and type(column) is int and line > 0 and column > 0 and isinstance(text, str))
        excerpt.append((line, column, text))
    return record._replace(
        excerpt=tuple(excerpt),
        fix=None if record.fix is None else _fix(record.fix),
        related=tuple(_place(place) for place in record.related),
    )


def _fix(data: Any) -> RecordedFix:
    title, applicability, edits = data
    _expect(isinstance(title, str) and applicability in _APPLICABILITIES)
    return RecordedFix(title, applicability, tuple(_edit(edit) for edit in edits))


def _edit(data: Any) -> FixEdit:
    edit = FixEdit(*data)
    _expect(all(type(number) is int and number >= 0 for number in edit[:6]) and isinstance(edit.text, str))
    return edit


def _place(data: Any) -> RecordedPlace:
    place = RecordedPlace(*data)
    _expect(all(type(number) is int and number > 0 for number in place[:4]) and isinstance(place.message, str))
    return place


def _text_or_none(value: Any) -> str | None:
    _expect(value is None or isinstance(value, str))
    return value  # type: ignore[no-any-return]


def _expect(right: bool) -> None:
    if not right:
        raise ValueError
