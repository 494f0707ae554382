"""Which code points of a document are literal text: what stands in tags, placeholders and comments is no part of a prompt, and
neither is white space that Jinja removes by the ``-`` of a tag. And where in it white space and characters that cannot be seen
hold more than themselves.
"""

from __future__ import annotations

from promptguard.checks.base import Document
from promptguard.core.light import Iterable, Iterator, bisect_right, regex
from promptguard.parse.template_nodes import Text

Range = tuple[int, int]
"""Half-open, in code points."""

INVISIBLE = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u034f\u061c\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    r"\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What a reader does not see, or takes for a plain space; as in a class of a pattern."""
LINE_SEPARATOR = regex(r"[\x85\u2028\u2029]")
_LINE_END = regex(r"\r\n?|[\n\x85\u2028\u2029]")
_NOT_SEEN = regex(rf"[ \t\r\n{INVISIBLE}]*")
_SPACE = regex(r"\s")
_BETWEEN_LINE_ENDS = regex(rf"[\r\n][ \t{INVISIBLE}]+\n?")
_TAKES_BEHIND, _TAKES_AHEAD = ("-%}", "-}}", "-#}"), ("{%-", "{{-", "{#-")


class LiteralText:
    """The literal text of a document.

    Args:
        document: that holds it.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._literal = _Ranges(_clipped(document, _literal_ranges(document)))
        self._holding: _Ranges | None = None

    def range_at(self, offset: int) -> Range | None:
        """The range of literal text that a code point lies in, ``None`` where it is no literal text."""
        return self._literal.behind(offset, offset)

    def holds(self, start: int, end: int) -> bool:
        """Whether more may change than a reader sees where the blanks and invisible characters of a range go.

        Such a character may keep a tag of a Jinja template from taking the white space beside it (with ``trim_blocks`` and
        ``lstrip_blocks``, with one of the two or with none), or a CR and an LF from being one line end.
        """
        if self._holding is None:
            self._holding = _Ranges(_merged(sorted(_holding_ranges(self._document))))
        return self._holding.behind(start, end - 1) is not None


class _Ranges:
    """Ranges in order, none of which overlaps another."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._ranges = list(ranges)
        self._starts = [start for start, _ in self._ranges]

    def behind(self, start: int, last: int) -> Range | None:
        """The last range that has a code point of those from ``start`` to ``last``."""
        number = bisect_right(self._starts, last) - 1
        return self._ranges[number] if number >= 0 and start < self._ranges[number][1] else None


def _literal_ranges(document: Document) -> Iterator[Range]:
    if document.template is not None:
        for node in document.template.walk():
            if isinstance(node, Text):
                start, end = kept(document.text, node)
                if start < end:
                    yield start, end
        return
    start = 0
    for placeholder in document.placeholders:
        if start < placeholder.start:
            yield start, placeholder.start
        start = placeholder.end
    if start < len(document.text):
        yield start, len(document.text)


def _clipped(document: Document, ranges: Iterator[Range]) -> Iterator[Range]:
    """The parts of sorted ranges that lie in the regions of a document."""
    regions = iter(document.regions)
    region = next(regions, None)
    for start, end in ranges:
        while region is not None and region.end <= start:
            region = next(regions, None)
        while region is not None and region.start < end:
            yield max(start, region.start), min(end, region.end)
            if region.end >= end:
                break
            region = next(regions, None)


def kept(text: str, node: Text) -> Range:
    """What the ``-`` of the tags around it leaves of a text."""
    start, end = node.start, node.end
    if text[max(0, start - 3) : start] in _TAKES_BEHIND:
        start = end - len(text[start:end].lstrip())
    if text[end : end + 3] in _TAKES_AHEAD:
        end = start + len(text[start:end].rstrip())
    return start, end


def _merged(ranges: Iterable[Range]) -> Iterator[Range]:
    """Sorted ranges, those that overlap as one."""
    start = end = 0
    for low, high in ranges:
        if low >= end:
            if start < end:
                yield start, end
            start = low
        end = max(end, high)
    if start < end:
        yield start, end


def _holding_ranges(document: Document) -> Iterator[Range]:
    text = document.text
    if "\r" in text:
        for match in _BETWEEN_LINE_ENDS.finditer(text):
            found = match.group()
            # What is LF may be CR when all line ends are made the same.
            if (found[0] == "\r" and found[-1] == "\n") or LINE_SEPARATOR.search(found):
                yield match.span()
    if document.template is not None:
        for node in document.template.walk():
            if isinstance(node, Text):
                start, end = kept(text, node)
                yield from _behind_tag(text, node, start, end)
                yield from _ahead_of_tag(text, node, start, end)


def _behind_tag(text: str, node: Text, start: int, end: int) -> Iterator[Range]:
    """What keeps the tag ahead of a text from taking white space of it, of which it leaves a range."""
    seen = _not_seen(text[start:end])
    tag = text[max(0, node.start - 3) : node.start]
    if tag in _TAKES_BEHIND:
        if _SPACE.search(text, start, start + seen):
            yield start, start + len(text[start : start + seen].rstrip())
    elif tag[-2:] in ("%}", "#}") and tag[0] != "+":
        line_end = _LINE_END.search(text, start, start + seen)
        if line_end and (start < line_end.start() or text[start] not in "\r\n") and line_end.end() < len(text):
            yield start, line_end.end()


def _ahead_of_tag(text: str, node: Text, start: int, end: int) -> Iterator[Range]:
    """The same for the tag behind a text."""
    seen = end - _not_seen(text[start:end][::-1])
    tag = text[node.end : node.end + 3]
    if tag in _TAKES_AHEAD:
        if _SPACE.search(text, seen, end):
            yield end - len(text[seen:end].lstrip()), end
    elif tag[:2] in ("{%", "{#") and tag[2:] != "+":
        line = max(text.rfind("\n", seen, end), text.rfind("\r", seen, end)) + 1
        separator = LINE_SEPARATOR.search(text, seen, end)
        if not line and seen > 0:  # it begins no line, or will when the separator is a line end
            line = separator.start() if separator else end
        if text[line:end].strip(" \t") and _SPACE.search(text, line, end):
            yield line, end


def _not_seen(text: str) -> int:
    """How many characters at its beginning a reader does not see, line ends counted."""
    match = _NOT_SEEN.match(text)
    return match.end() if match else 0
