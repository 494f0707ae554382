"""Check or fix the content of one file: what standard input, ``--fix`` and ``--diff`` need."""

from __future__ import annotations

from promptguard.core.errors import InputError
from promptguard.core.files import read_bytes, rewrite_file
from promptguard.core.light import TYPE_CHECKING, NamedTuple
from promptguard.linting.result import Counts, FileResult, Mend
from promptguard.linting.run import decode
from promptguard.linting.settings import MAX_BYTES

if TYPE_CHECKING:
    from promptguard.linting.baseline import Baseline
    from promptguard.linting.check import Checker


class Change(NamedTuple):
    """What the fixes make of a file: its text before and after (with a byte order mark), and how many fixes that were."""

    path: str
    before: str
    after: str
    fixes: int


def lint_text(path: str, data: bytes, checker: Checker, *, baseline: Baseline | None = None) -> FileResult:
    """Check the content of a file that is on standard input."""
    try:
        text, bom = decode(data, path)
    except InputError as error:
        return checker.unreadable(path, error)

    def check(known: Counts | None) -> FileResult:
        return checker.check(path, text, bom=bom, named=True, known=known)

    return check(None) if baseline is None else baseline.without(check(None), check)


def fix_data(
    path: str, data: bytes, checker: Checker, *, unsafe: bool, baseline: Baseline | None = None
) -> tuple[FileResult, Change]:
    """Apply the fixes of a file's findings to its content, and the safe ones of notes that are not shown.

    Returns:
        What is found when they are applied, and what they change.

    Raises:
        InputError: the content is no text.
    """
    from promptguard.linting.fix import Mendable, drops_bom, fix_text

    text, bom = decode(data, path)
    keeps = bom

    def look(text: str) -> Mendable:
        mends: list[Mend] = []
        counts = baseline.known(path) if baseline is not None else None
        return Mendable(checker.check(path, text, bom=keeps, named=True, known=counts, mends=mends), mends)

    def check(known: Counts | None) -> FileResult:
        return checker.check(path, fixed.text, bom=keeps, named=True, known=known)

    found = look(text)
    if bom and drops_bom(found.mends):
        keeps = False
        found = look(text)
    fixed = fix_text(text, found, look, unsafe=unsafe)
    before, after = "\ufeff" * bom + text, "\ufeff" * keeps + fixed.text
    result = check(None) if baseline is None else baseline.without(check(None), check)
    return result, Change(path, before, after, fixed.applied + (bom and not keeps))


def fix_file(
    result: FileResult, checker: Checker, *, unsafe: bool, baseline: Baseline | None, write: bool
) -> tuple[FileResult, Change | None]:
    """Apply the fixes of a file's findings, and the safe ones of notes that are not shown; replace it where that changes it.

    Args:
        result: what is found in it.
        checker: checks it again.
        unsafe: also apply fixes that may change what a model reads.
        baseline: what is known.
        write: ``False`` to change nothing.

    Returns:
        What is found when they are applied, and what they change, ``None`` for nothing. Where the file cannot be written the
        result is as before, with a finding that says why.
    """
    from promptguard.linting.fix import has_fix

    if not result.mends and not has_fix(result, unsafe=unsafe):
        return result, None
    try:
        data = read_bytes(result.path, limit=MAX_BYTES)
        after, change = fix_data(result.path, data, checker, unsafe=unsafe, baseline=baseline)
        if change.after == change.before:
            return after, None
        if write:
            rewrite_file(result.path, data, change.after.encode(), doing="fixed")
    except InputError as error:
        failed = checker.unreadable(result.path, error)
        return result._replace(records=(*result.records, *failed.records)), None
    return after, change
