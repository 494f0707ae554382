"""Apply the fixes of findings until nothing is left to fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from promptguard.core.light import NamedTuple, bisect_left
from promptguard.linting.result import FileResult, FixEdit, RecordedFix
from promptguard.linting.select import ALWAYS

_MAX_ROUNDS = 100

Check = Callable[[str], FileResult]


class Fixed(NamedTuple):
    """What became of a text: its new form, how many fixes made that of it, and what is found in it now."""

    text: str
    applied: int
    result: FileResult


def has_fix(result: FileResult, *, unsafe: bool) -> bool:
    """Whether a fix of a result may be applied."""
    return bool(_candidates(result, unsafe, frozenset()))


def drops_bom(result: FileResult) -> bool:
    """Whether a fix of a result takes away the byte order mark."""
    fixes = (record.fix for record in result.records if record.fix is not None)
    return any(edit.start == edit.end and not edit.text for fix in fixes for edit in fix.edits)


def fix_text(text: str, result: FileResult, check: Check, *, unsafe: bool) -> Fixed:
    """Apply fixes; of those that overlap the first by place, the others when the text has been checked again.

    A fix that would make things worse is left out: the file could not be read any more, or promptguard would fail on it.

    Args:
        text: the text of a file.
        result: what is found in it.
        check: says what is found in a changed text.
        unsafe: also apply fixes that may change what a model reads.
    """
    seen = {text}
    dropped: set[tuple[str, str]] = set()
    count = 0
    for _ in range(_MAX_ROUNDS):
        fixes = _candidates(result, unsafe, dropped)
        if not fixes:
            break
        good, after = _harmless(text, [fix for _, fix in fixes], result, check)
        dropped.update(key for key, fix in fixes if fix not in good)
        if not good:
            continue
        changed = _apply(text, good)
        if changed in seen:
            break
        seen.add(changed)
        text, result = changed, after
        count += len(good)
    return Fixed(text, count, result)


def _candidates(
    result: FileResult, unsafe: bool, dropped: frozenset[tuple[str, str]] | set[tuple[str, str]]
) -> list[tuple[tuple[str, str], RecordedFix]]:
    """The fixes to apply next, in the order of their findings, each with a key; none overlaps another."""
    wanted = ("safe", "unsafe") if unsafe else ("safe",)
    found: list[tuple[tuple[str, str], RecordedFix]] = []
    taken: list[FixEdit] = []
    for record in result.records:
        fix = record.fix
        if fix is None or fix.applicability not in wanted or not fix.edits:
            continue
        key = (record.fingerprint, fix.title)
        if key not in dropped and not any(_overlaps(edit, taken) for edit in fix.edits):
            found.append((key, fix))
            for edit in fix.edits:
                taken.insert(bisect_left(taken, edit), edit)
    return found


def _overlaps(edit: FixEdit, taken: Sequence[FixEdit]) -> bool:
    """Whether an edit touches what one of some others changes; two insertions in one place do."""
    at = bisect_left(taken, edit)
    before = taken[at - 1] if at else None
    after = taken[at] if at < len(taken) else None
    return (before is not None and (before.end > edit.start or before.start == edit.start)) or (
        after is not None and (edit.end > after.start or after.start == edit.start)
    )


def _harmless(text: str, fixes: Sequence[RecordedFix], before: FileResult, check: Check) -> tuple[list[RecordedFix], FileResult]:
    """Those of some fixes that do no harm, found by halving, and what is found in the text with them."""
    good: list[RecordedFix] = []
    result = before
    parts = [list(fixes)]
    while parts:
        part = parts.pop()
        after = check(_apply(text, [*good, *part]))
        if not _worse(before, after):
            good += part
            result = after
        elif len(part) > 1:
            middle = len(part) // 2
            parts += [part[middle:], part[:middle]]
    return good, result


def _worse(before: FileResult, after: FileResult) -> bool:
    def failures(result: FileResult) -> int:
        return sum(record.code in ALWAYS for record in result.records)

    return (before.checked and not after.checked) or failures(after) > failures(before)


def _apply(text: str, fixes: Sequence[RecordedFix]) -> str:
    parts: list[str] = []
    at = 0
    for edit in sorted(edit for fix in fixes for edit in fix.edits):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])
