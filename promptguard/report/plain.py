"""Untrusted text for a terminal: made harmless, measured, cut, marked and coloured. Light to import."""

from __future__ import annotations

from promptguard.core.light import Callable, Sequence

BOLD, DIM, CYAN = "1", "2", "36"
SEVERITY = {"error": "1;31", "warning": "1;33", "note": "1;36"}

Paint = Callable[[str, str], str]
"""Takes a text and the parameters of an ANSI colour."""

_TAB = 4


def visible(text: str) -> str:
    """Untrusted text on one line: every character that is not printable, line ends included, as its backslash escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else escaped(char) for char in text)


def escaped(text: str) -> str:
    """A backslash escape for every character that is not printable ASCII, line ends included."""
    return text.encode("unicode_escape").decode("ascii").replace(r"\\", "\\")


def encodable(text: str, encoding: str) -> str:
    """The text with a backslash escape for every character that a stream of this encoding cannot show."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def width(text: str) -> int:
    """Terminal cells that a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    import unicodedata

    if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff":  # vowels and finals of a Hangul syllable
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, cells: int) -> str:
    """The text, or its head and ``..`` where it is wider than ``cells``."""
    if width(text) <= cells:
        return text
    used = 0
    for index, char in enumerate(text):
        used += _char_width(char)
        if used > cells - 2:
            return text[:index] + ".."
    return text


def marked(
    text: str, start: int, end: int, cells: int, *, before: bool = False, behind: bool = False, encoding: str = "utf-8"
) -> tuple[str, str]:
    """A line made printable and cut to a width, and a line with ``^`` under a part of it.

    Args:
        text: the line, or a stretch of it, without a line end.
        start: where the part to mark begins, in code points of ``text``.
        end: where it ends, exclusive; an empty part is marked by one ``^``.
        cells: the width to cut to.
        before: whether the line goes on ahead of the stretch.
        behind: whether it goes on behind it.
        encoding: what the stream can show; the rest is escaped.
    """
    shown: list[str] = []
    used = 0
    for char in text:
        shown.append(" " * (_TAB - used % _TAB) if char == "\t" else encodable(visible(char), encoding))
        used += width(shown[-1])
    first, last = 0, len(shown)
    if used > cells or before or behind:
        first, last = _window([width(piece) for piece in shown], start, cells - 4)
    end = max(start + 1, min(end, last))
    head = (".." if before or first > 0 else "") + "".join(shown[first:start])
    middle = "".join(shown[start:end])
    tail = "".join(shown[end:last]) + (".." if behind or last < len(shown) else "")
    column = width(head)
    if column and start < len(shown) and not width(shown[start]):
        column -= 1  # a combining character stands on the one ahead of it
    return head + middle + tail, " " * column + "^" * max(1, width(middle))


def _window(widths: Sequence[int], start: int, cells: int) -> tuple[int, int]:
    """The range of characters around ``start``, a third of it ahead where there is enough behind, that fits in ``cells``."""
    first, used = start, 0
    while first > 0 and used + widths[first - 1] <= cells // 3:
        first -= 1
        used += widths[first]
    last = start
    while last < len(widths) and used + widths[last] <= cells:
        used += widths[last]
        last += 1
    while first > 0 and used + widths[first - 1] <= cells:
        first -= 1
        used += widths[first]
    return first, last


def painter(color: bool) -> Paint:
    return _painted if color else lambda text, _: text


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"
