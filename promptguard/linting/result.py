"""What a lint run has found, in a form that needs no source text: it goes between processes, into the cache and into reports."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING, Mapping, NamedTuple

if TYPE_CHECKING:
    from promptguard.checks.base import Embedding
    from promptguard.core.finding import Applicability, Confidence, Fix, Severity
    from promptguard.core.source import Source

_EXCERPT_LINES, _EXCERPT_WIDTH = 3, 400

Counts = Mapping[tuple[str, str], int]
"""How many findings there are, by code and hash of the lines."""


class FixEdit(NamedTuple):
    """Put ``text`` in the place of the code points ``[start, end)`` of the file (its byte order mark not counted).

    ``line``, ``column`` and the end (exclusive) are from 1.
    """

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class RecordedFix(NamedTuple):
    """How to mend a finding. One edit that changes nothing stands for the byte order mark in front of the text: it goes."""

    title: str
    applicability: Applicability
    edits: tuple[FixEdit, ...]


class Mend(NamedTuple):
    """The fix of a finding, as it is applied.

    Attributes:
        start, end, code: of the finding; the range is one of the file.
        title, applicability: see ``RecordedFix``.
        edits: each as start, end and text, in order.
        embedding: of the document in which it was found.
    """

    start: int
    end: int
    code: str
    title: str
    applicability: Applicability
    edits: tuple[tuple[int, int, str], ...]
    embedding: Embedding | None = None


class RecordedPlace(NamedTuple):
    """Another place of the same file."""

    line: int
    column: int
    end_line: int
    end_column: int
    message: str


class Record(NamedTuple):
    """A finding, as it is reported.

    Attributes:
        path: as shown: relative to the current folder where it lies in it, with forward slashes.
        line, column, end_line, end_column: from 1, the end exclusive; code points.
        code, name, severity, confidence, message: see ``Finding`` and ``Rule``.
        block: of the prompt; ``None`` where there is none.
        tokens_lost: tokens behind the place in its block and in the blocks after it, all computed anew when it changes; ``None``
            outside the prefix blocks.
        tokenizer: what they were counted with.
        changes: how often the value changes.
        pointer: JSON pointer to the value that holds it.
        excerpt: the first lines of the place, at most 3, each at most 400 code points, as (line number, first column, text).
        fix: how to mend it.
        related: other places.
        fingerprint: stays the same when lines move: a hash of code and text of the line, and a number for equal ones of a file.
            Empty where nobody asked for it.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    block: str | None
    tokens_lost: int | None
    tokenizer: str | None
    changes: str | None
    pointer: str | None
    excerpt: tuple[tuple[int, int, str], ...]
    fix: RecordedFix | None
    related: tuple[RecordedPlace, ...]
    fingerprint: str


class FileResult(NamedTuple):
    """What was found in one file.

    Attributes:
        path: as in ``Record``.
        checked: it holds something to check.
        records: the findings, in the order of their places.
        suppressed: findings that a comment, the configuration or the baseline suppresses.
        reason: why it was not checked although it was named or seems to hold a prompt, ``None`` otherwise.
        includes: it is a template that takes in other files (``include``, ``extends``, ``import``): what they print is not known.
        rest: the findings that are too many to be among the records: code, hash of the lines, and how many there are.
        mends: a finding that is not among the records, as it is a note that is not shown or one of too many, has a safe fix.
    """

    path: str
    checked: bool
    records: tuple[Record, ...] = ()
    suppressed: int = 0
    reason: str | None = None
    includes: bool = False
    rest: tuple[tuple[str, str, int], ...] = ()
    mends: bool = False


class LintResult(NamedTuple):
    """A whole run.

    Attributes:
        records: all findings, in the order of paths and places.
        files: files that hold something to check and could be judged.
        looked_at: files that were read.
        suppressed: findings not reported.
        skipped: files that were not checked, although they were named or seem to hold a prompt, with the reason.
        fixed: fixes applied.
        including: templates that take in other files, which are not followed.
        more: findings that are too many to be among the records; the last record of their rule in their file says so.
    """

    records: tuple[Record, ...]
    files: int
    looked_at: int
    suppressed: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    fixed: int = 0
    including: int = 0
    more: int = 0

    @property
    def findings(self) -> tuple[Record, ...]:
        """The same as ``records``."""
        return self.records

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.records


def excerpt(file: Source, line: int, column: int, end_line: int) -> tuple[tuple[int, int, str], ...]:
    """The first lines of a place; of long ones a window, on the first line around the column."""
    starts = file.line_starts
    lines = []
    for number in range(line, min(end_line, line + _EXCERPT_LINES - 1) + 1):
        first = starts[number - 1]
        last = starts[number] if number < len(starts) else len(file.text)
        cut = max(0, column - 1 - _EXCERPT_WIDTH // 2) if number == line and last - first > _EXCERPT_WIDTH else 0
        text = file.text[first + cut : min(last, first + cut + _EXCERPT_WIDTH)]
        lines.append((number, cut + 1, text.rstrip("\r\n")))
    return tuple(lines)


def recorded_fix(file: Source, fix: Fix | None) -> RecordedFix | None:
    """A fix with the lines and columns of its edits."""
    if fix is None:
        return None
    edits = []
    for span, text in fix.edits:
        edits.append(FixEdit(span.start, span.end, *file.line_column(span.start), *file.line_column(span.end), text))
    return RecordedFix(fix.title, fix.applicability, tuple(edits))
