"""Where a text came from: a source, a span in it, and the place that the two make.

The classes are written out: what a dataclass costs to import would be half of the start of ``promptguard lint``.
"""

from __future__ import annotations

from promptguard.core.light import bisect_right


class Span:
    """A half-open range ``[start, end)`` of code points in ``Source.text``; immutable by convention.

    Raises:
        ValueError: the range is no range.
    """

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        if not 0 <= start <= end:
            raise ValueError(f"not a span: {start}..{end}")
        self.start = start
        self.end = end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and (self.start, self.end) == (other.start, other.end)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __repr__(self) -> str:
        return f"Span({self.start}, {self.end})"


class Source:
    """A text with a name; immutable by convention.

    Attributes:
        path: the path as the user gave it, or a name in angle brackets for a text that is in no file.
        text: the decoded text, line ends as they are in the file.
        kind: ``jinja``, ``text``, ``json``, ``yaml``, ``chat-template``, ``gguf``.
        parent: where an embedded text sits, for example the GGUF file that holds a chat template.
    """

    __slots__ = ("_line_starts", "kind", "parent", "path", "text")

    def __init__(self, path: str, text: str, kind: str = "text", parent: Place | None = None) -> None:
        self.path = path
        self.text = text
        self.kind = kind
        self.parent = parent
        self._line_starts: list[int] | None = None

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a code point, both from 1. A CR, LF or CRLF ends a line; a tab is one column."""
        offset = max(0, min(offset, len(self.text)))
        starts = self.line_starts
        line = bisect_right(starts, offset)
        column = offset - starts[line - 1]
        if offset and self.text[offset - 1] == "\r" and self.text[offset : offset + 1] == "\n":
            column -= 1  # inside a CRLF: where the line end begins
        return line, column + 1

    def offset(self, where: str | None) -> int:
        """The code point of a place that is written as ``path:line:column``, 0 for anything else."""
        *_, line, column = ["", *(where or "").rsplit(":", 2)]
        if not (line.isdecimal() and column.isdecimal()):
            return 0
        start = self.line_starts[min(int(line), len(self.line_starts)) - 1]
        return min(start + int(column) - 1, len(self.text))

    @property
    def line_starts(self) -> list[int]:
        """The code point at which each line begins."""
        if self._line_starts is None:
            self._line_starts = _line_starts(self.text)
        return self._line_starts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Source({self.path!r}, kind={self.kind!r})"

    def _key(self) -> tuple[object, ...]:
        return self.path, self.text, self.kind, self.parent


class Place:
    """A span of a source; printed as ``path:line:column``. Immutable by convention."""

    __slots__ = ("source", "span")

    def __init__(self, source: Source, span: Span) -> None:
        self.source = source
        self.span = span

    @property
    def line(self) -> int:
        return self.source.line_column(self.span.start)[0]

    @property
    def column(self) -> int:
        return self.source.line_column(self.span.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.span.start : self.span.end]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and (self.source, self.span) == (other.source, other.span)

    def __hash__(self) -> int:
        return hash((self.source, self.span))

    def __repr__(self) -> str:
        return f"Place({self})"

    def __str__(self) -> str:
        return f"{self.source.path}:{self.line}:{self.column}"


def _line_starts(text: str) -> list[int]:
    starts = [0]
    find = text.find
    at = find("\n")
    if "\r" not in text:
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts
    for at, character in enumerate(text):
        if character == "\n" or (character == "\r" and text[at + 1 : at + 2] != "\n"):
            starts.append(at + 1)
    return starts
