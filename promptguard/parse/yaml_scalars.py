"""How a YAML scalar is written: the place of every code point of its value.

A YAML parser says where a scalar begins and what its value is. Here the text is gone through once more, by the rules of PyYAML
(YAML 1.1), and the result is compared with the value: what would come out otherwise is not placed at all.
"""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING, Iterator, Literal, NamedTuple, Sequence, regex
from promptguard.parse.places import Places

if TYPE_CHECKING:
    import re

Style = Literal["plain", "single", "double", "literal", "folded"]

_BREAK = r"(?:\r\n|[\r\n\x85\u2028\u2029])"
BREAKS = regex(_BREAK)
_PROPERTIES = regex(rf"(?:[&!][^\s]*|#[^\r\n\x85\u2028\u2029]*|{_BREAK}|[ \t]+)*")
_HEADER = regex(rf"[|>](?P<marks>[-+1-9]{{0,2}})[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?P<line_break>{_BREAK}|\Z)")
_SINGLE_STOP = regex(rf"''|'|{_BREAK}")
_DOUBLE_STOP = regex(rf"\\|\"|{_BREAK}")
_ESCAPE = regex(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0abt\tnvfre \"/\\N_LP]))")
_ESCAPED = dict(
    zip('0abt\tnvfre "/\\N_LP', '\0\x07\x08\t\t\n\x0b\x0c\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True),
)
BLANK = " \t"
_SPACES = regex(" *")
_BLANKS = regex("[ \t]*")


class Written(NamedTuple):
    """A scalar as it is written.

    Attributes:
        style: how.
        start: where it begins in the text, with its quote or its ``|``.
        end: where it ends.
        places: its value, and where each code point of it lies. A line break of a block scalar, and the space or line break that
            a fold is, have the indentation behind them with them.
        indent: of the lines of a block scalar.
        header: where the line break behind the ``|`` or ``>`` of a block scalar stands.
        keeps: a block scalar that keeps the empty lines at its end.
    """

    style: Style
    start: int
    end: int
    places: Places
    indent: int = 0
    header: int = 0
    keeps: bool = False


def written_scalar(text: str, start: int, value: str) -> Written | None:
    """Find how a scalar is written.

    Args:
        text: the YAML text.
        start: where the scalar begins, its anchor and tag included.
        value: its value, as the parser says.

    Returns:
        ``None`` where another value would come out.
    """
    skipped = _PROPERTIES.match(text, start)
    start = skipped.end() if skipped else start
    first = text[start : start + 1]
    if first in ("|", ">"):
        written = _block(text, start, value)
    elif first == '"':
        written = _quoted(text, start, "double")
    elif first == "'":
        written = _quoted(text, start, "single")
    else:
        written = _plain(text, start, value)
    return written if written is not None and written.places.text == value else None


def _plain(text: str, start: int, value: str) -> Written:
    places = Places(len(text))
    at = start
    while True:
        stop = BREAKS.search(text, at)
        end = stop.start() if stop else len(text)
        run = _trimmed(text, at, end)
        missing = len(value) - len(places)
        if stop is None or run - at >= missing:
            run = min(run, at + missing)
            places.copy(text, at, run)
            return Written("plain", start, run, places)
        places.copy(text, at, run)
        at = _fold(text, run, stop, places)


def _quoted(text: str, start: int, style: Literal["single", "double"]) -> Written | None:
    places = Places(len(text))
    stops = _DOUBLE_STOP if style == "double" else _SINGLE_STOP
    at = start + 1
    while True:
        stop = stops.search(text, at)
        if stop is None:
            return None
        mark = stop.group()
        if mark in ("'", '"'):
            places.copy(text, at, stop.start())
            return Written(style, start, stop.end(), places)
        if mark == "''":
            places.copy(text, at, stop.start())
            places.put("'", *stop.span())
            at = stop.end()
        elif mark == "\\":
            places.copy(text, at, stop.start())
            following = _escape(text, stop.start(), places)
            if following is None:
                return None
            at = following
        else:
            run = _trimmed(text, at, stop.start())
            places.copy(text, at, run)
            at = _fold(text, run, stop, places)


def _escape(text: str, at: int, places: Places) -> int | None:
    """Take an escape of a double-quoted scalar; where the text goes on."""
    line_break = BREAKS.match(text, at + 1)
    if line_break is not None:
        return _empty_lines(text, line_break.end(), places, at=None)
    match = _ESCAPE.match(text, at)
    if match is None:
        return None
    digits = match.group(1) or match.group(2) or match.group(3)
    if digits and int(digits, 16) > 0x10FFFF:
        return None
    places.put(chr(int(digits, 16)) if digits else _ESCAPED[match.group(4)], *match.span())
    return match.end()


def _fold(text: str, start: int, line_break: re.Match[str], places: Places) -> int:
    """Take a line break between two lines of a plain or quoted scalar, with the blanks around it from ``start`` on."""
    if _character(line_break.group()) != "\n":
        places.put(line_break.group(), start, line_break.end())
        return _empty_lines(text, line_break.end(), places, at=None)
    before = len(places)
    end = _empty_lines(text, line_break.end(), places, at=start)
    if len(places) == before:
        places.put(" ", start, end)
    return end


def _empty_lines(text: str, start: int, places: Places, *, at: int | None) -> int:
    """Take the empty lines from ``start`` on; the first one as if it began at ``at``. Returns where the text goes on."""
    found: list[tuple[str, int, int]] = []
    end = _blanks_end(text, start)
    begin = start if at is None else at
    while (line_break := BREAKS.match(text, end)) is not None:
        end = _blanks_end(text, line_break.end())
        found.append((_character(line_break.group()), begin, end))
        begin = end
    for character, first, last in found:
        places.put(character, first, last)
    return end


def _block(text: str, start: int, value: str) -> Written | None:
    header = _HEADER.match(text, start)
    if header is None:
        return None
    style: Style = "folded" if text[start] == ">" else "literal"
    indent = _indent(text, header.end(), value)
    lines = list(_lines(text, header.end(), indent))
    filled = [number for number, line in enumerate(lines) if line.start < line.end]
    marks = header.group("marks")
    places = Places(len(text))
    before, upto = 0, header.end()
    for number in filled:
        line = lines[number]
        breaks = lines[max(before - 1, 0) : number]
        if before and style == "folded" and _folds(text, lines[before - 1], line, breaks[0].mark):
            breaks = breaks[1:] or [_Line(upto, upto, " ", line.start)]
        upto = _put(places, breaks, upto, line.start)
        places.copy(text, line.start, line.end)
        before, upto = number + 1, line.end
    last = lines[max(before - 1, 0) :]
    kept = last if "+" in marks else last[: 1 if before and "-" not in marks else 0]
    upto = _put(places, [line for line in kept if line.mark], upto, None)
    return Written(style, start, upto, places, indent if filled else 0, header.start("line_break"), "+" in marks)


class _Line(NamedTuple):
    """A line of a block scalar: its text without the indentation, the line break behind it (empty at the end of the file), and
    where the next line begins.
    """

    start: int
    end: int
    mark: str
    following: int


def _lines(text: str, at: int, indent: int) -> Iterator[_Line]:
    """The lines of a block scalar whose first one begins at ``at``, up to the first one that is indented less."""
    while at < len(text):
        begin = at
        at += _spaces(text, at, begin + indent)
        stop = BREAKS.search(text, at)
        end = stop.start() if stop else len(text)
        if at < end and at - begin < indent:
            return
        yield _Line(at, end, _character(stop.group()) if stop else "", stop.end() if stop else end)
        at = stop.end() if stop else end


def _indent(text: str, at: int, value: str) -> int:
    """How deep the lines of a block scalar are indented: what its first line with a text has more than the value has."""
    bare = value.lstrip("\n\u2028\u2029")
    if not bare:
        return len(text)
    for _ in range(len(value) - len(bare)):
        stop = BREAKS.search(text, at)
        at = stop.end() if stop else len(text)
    return max(0, _spaces(text, at, len(text)) - _spaces(bare, 0, len(bare)))


def _spaces(text: str, at: int, end: int) -> int:
    """How many spaces there are from ``at`` on, up to ``end``."""
    match = _SPACES.match(text, at, end)
    return match.end() - at if match else 0


def _folds(text: str, above: _Line, below: _Line, mark: str) -> bool:
    """Whether the line break between two lines is folded: neither of them is indented further."""
    return mark == "\n" and text[above.start] not in BLANK and text[below.start] not in BLANK


def _put(places: Places, breaks: Sequence[_Line], start: int, end: int | None) -> int:
    """Take the line breaks of some lines, each with the indentation of the line behind it.

    Args:
        places: where they are put.
        breaks: the lines.
        start: where the first one begins.
        end: where the text behind them begins, ``None`` where there is none.
    """
    for number, line in enumerate(breaks):
        upto = line.following if end is None else breaks[number + 1].end if number + 1 < len(breaks) else end
        places.put(line.mark, start, upto)
        start = upto
    return start


def _character(line_break: str) -> str:
    return line_break if line_break in "\u2028\u2029" else "\n"


def _trimmed(text: str, start: int, end: int) -> int:
    """The end of a range without the blanks at its end."""
    return start + len(text[start:end].rstrip(BLANK))


def _blanks_end(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
