"""Markdown, as far as promptguard has to know it."""

from __future__ import annotations

from promptguard.core import patterns as re

_FENCE = r"(?m)^[ \t>]*(`{3,}|~{3,})([^\r\n]*)|^ {0,3}<!--"
_OPENING = r"---[ \t]*(?:\r\n|\r|\n)"
_CLOSING = r"(\r\n|\r|\n)---[ \t]*(?:\r\n|\r|\n|\Z)"
_INLINE = r"(?<!`)(`{1,3})(?!`)[^\r\n]{1,500}?(?<!`)\1(?!`)"


def code_ranges(text: str) -> list[tuple[int, int]]:
    """The ranges of fenced and inline code, marks included, in order. A fence that is not closed reaches to the end."""
    if "`" not in text and "~~~" not in text:
        return []
    fences: list[tuple[int, int]] = []
    opened: tuple[str, int] | None = None
    commented = 0  # up to where a comment of HTML reaches
    for match in re.finditer(_FENCE, text):
        marks, rest = match.group(1), match.group(2)
        if marks is None:
            if opened is None and match.start() >= commented:
                commented = text.find("-->", match.end()) if commented >= 0 else -1
            continue
        if match.start() < commented:
            continue
        if opened is None:
            if marks[0] == "~" or "`" not in rest:  # else it is inline code
                opened = marks, match.start()
        elif marks.startswith(opened[0]) and not rest.strip():
            fences.append((opened[1], match.end()))
            opened = None
    if opened is not None:
        fences.append((opened[1], len(text)))
    ranges: list[tuple[int, int]] = []
    inline = re.compile(_INLINE)
    at = 0
    for start, end in [*fences, (len(text), len(text))]:
        ranges.extend(match.span() for match in inline.finditer(text, at, start))
        if start < end:
            ranges.append((start, end))
        at = end
    return ranges


def front_matter(text: str) -> tuple[int, int, int] | None:
    """The front matter between two lines ``---`` at the head of a text.

    Returns:
        Where its content begins and ends, and where the text behind it begins; ``None`` where there is none.
    """
    opening = re.match(_OPENING, text) if text.startswith("---") else None
    closing = re.compile(_CLOSING).search(text, opening.end() - 1) if opening else None
    if opening is None or closing is None:
        return None
    return opening.end(), max(opening.end(), closing.start() + len(closing.group(1))), closing.end()
