"""Apply the fixes of findings until nothing is left to fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from promptguard.core.light import NamedTuple, bisect_left, bisect_right
from promptguard.linting.result import FileResult, Mend
from promptguard.linting.select import ALWAYS

_MAX_ROUNDS = 100
_MAX_TRIES = 100  # ways to leave fixes out in one round, before all others are

_Edit = tuple[int, int, str]
_Item = TypeVar("_Item")


class Mendable(NamedTuple):
    """What is found in a text: the failures among it, and the fixes of the rest."""

    result: FileResult
    mends: Sequence[Mend]


Look = Callable[[str], Mendable]


class Fixed(NamedTuple):
    """What became of a text: its new form, and how many fixes made that of it."""

    text: str
    applied: int


def has_fix(result: FileResult, *, unsafe: bool) -> bool:
    """Whether a fix of a result may be applied."""
    wanted = _wanted(unsafe)
    return any(record.fix is not None and record.fix.applicability in wanted and record.fix.edits for record in result.records)


def drops_bom(mends: Iterable[Mend]) -> bool:
    """Whether a fix takes away the byte order mark."""
    return any(start == end and not text for mend in mends for start, end, text in mend.edits)


def fix_text(text: str, found: Mendable, look: Look, *, unsafe: bool) -> Fixed:
    """Apply fixes; of those that overlap the first by place, the others when the text has been looked at again.

    A fix that would make things worse is left out: the file could not be read any more, or promptguard would fail on it.

    Args:
        text: the text of a file.
        found: what is found in it.
        look: says what is found in a changed text.
        unsafe: also apply fixes that may change what a model reads.
    """
    seen = {hash(text)}
    left_out: set[tuple[str, tuple[_Edit, ...]]] = set()
    count = 0
    for _ in range(_MAX_ROUNDS):
        mends = _agreeing(_candidates(found.mends, unsafe, left_out))
        good, after = _harmless(text, mends, found, look)
        applied = set(map(id, good))
        left_out.update((mend.title, mend.edits) for mend in mends if id(mend) not in applied)
        if not mends:
            break
        if not good:
            continue  # the others may be better
        edits = _edits(good)
        changed = _apply(text, edits)
        if hash(changed) in seen:
            break
        seen.add(hash(changed))
        left_out = {(title, tuple(_moved(old, edits))) for title, old in left_out}
        text, found = changed, after
        count += len(good)
    return Fixed(text, count)


def _wanted(unsafe: bool) -> tuple[str, ...]:
    return ("safe", "unsafe") if unsafe else ("safe",)


def _candidates(mends: Iterable[Mend], unsafe: bool, left_out: set[tuple[str, tuple[_Edit, ...]]]) -> list[Mend]:
    """The fixes to apply next, in the order of their findings; none overlaps another."""
    wanted = _wanted(unsafe)
    found: list[Mend] = []
    taken: list[_Edit] = []
    for mend in sorted(mends, key=lambda mend: mend[:4]):
        if mend.applicability not in wanted or not mend.edits or (mend.title, mend.edits) in left_out:
            continue
        if not any(_overlaps(edit, taken) for edit in mend.edits):
            found.append(mend)
            for edit in mend.edits:
                taken.insert(bisect_left(taken, edit), edit)
    return found


def _overlaps(edit: _Edit, taken: Sequence[_Edit]) -> bool:
    """Whether an edit touches what one of some others changes; two insertions in one place do."""
    at = bisect_left(taken, edit)
    before = taken[at - 1] if at else None
    after = taken[at] if at < len(taken) else None
    return (before is not None and (before[1] > edit[0] or before[0] == edit[0])) or (
        after is not None and (edit[1] > after[0] or after[0] == edit[0])
    )


def _agreeing(mends: Sequence[Mend]) -> list[Mend]:
    """Those of some fixes that mean together what each means alone; the others get their turn when the text is another."""
    parts: dict[int, list[Mend]] = {}
    for mend in mends:
        parts.setdefault(id(mend.embedding), []).append(mend)
    found: list[Mend] = []
    for part in parts.values():
        found += _accepted(part, _agree)
    return found


def _agree(mends: Sequence[Mend]) -> bool:
    embedding = mends[0].embedding
    return embedding is None or embedding.agree(_edits(mends))


def _harmless(text: str, mends: Sequence[Mend], before: Mendable, look: Look) -> tuple[list[Mend], Mendable]:
    """Those of some fixes that do no harm, and what is found in the text with them."""
    after = before

    def does_no_harm(some: Sequence[Mend]) -> bool:
        nonlocal after
        found = look(_apply(text, _edits(some)))
        if _worse(before.result, found.result):
            return False
        after = found
        return True

    return _accepted(mends, does_no_harm), after


def _accepted(items: Sequence[_Item], accepts: Callable[[Sequence[_Item]], bool]) -> list[_Item]:
    """Those of some that are accepted together, found by halving; those for which that takes too long are left out."""
    good: list[_Item] = []
    parts = [list(items)] if items else []
    for _ in range(_MAX_TRIES):
        if not parts:
            break
        part = parts.pop()
        if accepts([*good, *part]):
            good += part
        elif len(part) > 1:
            middle = len(part) // 2
            parts += [part[middle:], part[:middle]]
    return good


def _worse(before: FileResult, after: FileResult) -> bool:
    def failures(result: FileResult) -> int:
        return sum(record.code in ALWAYS for record in result.records)

    return (before.checked and not after.checked) or failures(after) > failures(before)


def _edits(mends: Iterable[Mend]) -> list[_Edit]:
    return sorted(edit for mend in mends for edit in mend.edits)


def _apply(text: str, edits: Iterable[_Edit]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, new in edits:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _moved(old: Iterable[_Edit], edits: Sequence[_Edit]) -> Iterable[_Edit]:
    """Edits of a text as those of the one that others, which are in order, have made of it."""
    ends = [end for _, end, _ in edits]
    grown = [0]
    for start, end, new in edits:
        grown.append(grown[-1] + len(new) - (end - start))
    for start, end, new in old:
        by = grown[bisect_right(ends, start)]
        yield start + by, end + by, new
