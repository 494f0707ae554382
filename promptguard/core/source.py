"""Where a text came from: a source, a span in it, and the place that the two make."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """A half-open range ``[start, end)`` of code points in ``Source.text``."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: {self.start}..{self.end}")


@dataclass(frozen=True)
class Source:
    """A text with a name.

    Attributes:
        path: the path as the user gave it, or a name in angle brackets for a text that is in no file.
        text: the decoded text, line ends as they are in the file.
        kind: ``jinja``, ``text``, ``json``, ``yaml``, ``chat-template``, ``gguf``.
        parent: where an embedded text sits, for example the GGUF file that holds a chat template.
    """

    path: str
    text: str = field(repr=False)
    kind: str = "text"
    parent: Place | None = None

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a code point, both from 1. A CR, LF or CRLF ends a line; a tab is one column."""
        offset = max(0, min(offset, len(self.text)))
        head = self.text[:offset]
        if head.endswith("\r") and self.text[offset : offset + 1] == "\n":
            head = head[:-1]
        lines = head.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return len(lines), len(lines[-1]) + 1


@dataclass(frozen=True)
class Place:
    """A span of a source; printed as ``path:line:column``."""

    source: Source
    span: Span

    @property
    def line(self) -> int:
        return self.source.line_column(self.span.start)[0]

    @property
    def column(self) -> int:
        return self.source.line_column(self.span.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.span.start : self.span.end]

    def __str__(self) -> str:
        return f"{self.source.path}:{self.line}:{self.column}"
