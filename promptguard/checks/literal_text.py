"""Which code points of a document are literal text: what stands in tags, placeholders and comments is no part of a prompt, and
neither is white space that Jinja removes by the ``-`` of a tag.
"""

from __future__ import annotations

from promptguard.checks.base import Document
from promptguard.core.light import Callable, Iterator, bisect_right
from promptguard.parse.template_nodes import Text

Range = tuple[int, int]
"""Half-open, in code points."""
RangeAt = Callable[[int], "Range | None"]
"""The range of literal text that a code point lies in, ``None`` where it is no literal text."""


def literal_text(document: Document) -> RangeAt:
    """Tells the literal text of a document."""
    ranges = list(_clipped(document, _literal_ranges(document)))
    starts = [start for start, _ in ranges]

    def range_at(offset: int) -> Range | None:
        number = bisect_right(starts, offset) - 1
        return ranges[number] if number >= 0 and offset < ranges[number][1] else None

    return range_at


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
    if text[max(0, start - 3) : start] in ("-%}", "-}}", "-#}"):
        start = end - len(text[start:end].lstrip())
    if text[end : end + 3] in ("{%-", "{{-", "{#-"):
        end = start + len(text[start:end].rstrip())
    return start, end
