"""How a YAML scalar is written: the place of every code point of its value, and how an edit of the value is written.

A YAML parser says where a scalar begins and what its value is. Here the text is gone through once more, by the rules of PyYAML
(YAML 1.1), and the result is compared with the value: what would come out otherwise is not placed at all.
"""

from __future__ import annotations

from promptguard.core import json_text
from promptguard.core.light import TYPE_CHECKING, Iterable, Iterator, Literal, NamedTuple, Sequence, regex
from promptguard.parse.places import Places

if TYPE_CHECKING:
    import re

Style = Literal["plain", "single", "double", "literal", "folded"]

MAX_CHECKED = 1 << 16
"""No edit of a longer scalar is written if the scalar has to be gone through to see what it says then."""
_MOST_CHECKED = 100  # edits of one scalar for which that is done

_BREAK = r"(?:\r\n|[\r\n\x85\u2028\u2029])"
_BREAKS = regex(_BREAK)
_PROPERTIES = regex(rf"(?:[&!][^\s]*|#[^\r\n\x85\u2028\u2029]*|{_BREAK}|[ \t]+)*")
_HEADER = regex(rf"[|>](?P<marks>[-+1-9]{{0,2}})[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?P<line_break>{_BREAK}|\Z)")
_SINGLE_STOP = regex(rf"''|'|{_BREAK}")
_DOUBLE_STOP = regex(rf"\\|\"|{_BREAK}")
_ESCAPE = regex(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0abt\tnvfre \"/\\N_LP]))")
_ESCAPED = dict(
    zip('0abt\tnvfre "/\\N_LP', '\0\x07\x08\t\t\n\x0b\x0c\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True),
)
_BLANK = " \t"
_SPACES = regex(" *")
_BLANKS = regex("[ \t]*")
# What stands for itself in every style that is not double-quoted.
_PRINTABLE = regex(r"[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
_SAFE_PLAIN = regex(r"[\w .:;!?()/+*='\"-]*")
_ENDS_PLAIN = regex(r":(?:\s|\Z)|\s#")
_UNSAFE_DOUBLE = regex("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


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


ScalarEdit = tuple[int, int, str]
"""A range, and the text in its place."""


class ScalarWriter:
    """Writes edits of the value of a scalar.

    Args:
        text: the YAML text.
        written: the scalar.
    """

    def __init__(self, text: str, written: Written) -> None:
        self._text = text
        self._written = written
        self._value = value = written.places.text
        self._first = len(value) - len(value.lstrip(" \n"))
        self._last = len(value.rstrip("\n"))
        self._seen = len(value.rstrip(" \t\n"))
        # These are line breaks too, in YAML 1.1.
        self._odd = written.style != "double" and ("\u2028" in value or "\u2029" in value)
        self._checked = 0
        self._edits: dict[ScalarEdit, ScalarEdit] = {}

    def escape(self, start: int, end: int, new: str) -> str | None:
        """How a new text is written in the place of a range of the value; ``None`` where that cannot be written, or is not sure
        to leave the rest as it is.
        """
        if self._odd or self._first >= self._last:
            return None
        if self._written.style == "literal":
            made = self._in_literal(start, end, new)
        else:
            made = self._spelled(start, end, new)
            made = made if made is not None and self._stays(start, end, new, made) else None
        if made is not None:
            low, high = self._written.places.span(start, end)
            self._edits[low, high, made] = start, end, new
        return made

    def agree(self, edits: Sequence[ScalarEdit]) -> bool:
        """Whether edits of the text that ``escape`` has written, in order, say together what each of them says alone: two may
        empty a line of which either leaves something.
        """
        value = _edited(self._value, 0, len(self._value), [self._edits[edit] for edit in edits])
        is_same = self._written.style != "plain" or _is_plain(value, value)
        return is_same and self._reads(edits, value)

    def _reads(self, edits: Sequence[ScalarEdit], value: str) -> bool:
        host = _edited(self._text, self._written.start, self._written.end, edits)
        again = written_scalar(host, 0, value)
        return again is not None and (again.end, again.indent) == (len(host), self._written.indent)

    def _spelled(self, start: int, end: int, new: str) -> str | None:
        style = self._written.style
        if start == end == len(self._value):
            return None
        if style == "double":
            quoted = json_text.quote(new)[1:-1]
            return _UNSAFE_DOUBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)
        if "\n" in new or not _PRINTABLE.fullmatch(new):
            return None
        if style == "single":
            return new.replace("'", "''")
        fits = self._stays_plain if style == "plain" else self._keeps_block
        return new if fits(start, end, new) else None

    def _stays_plain(self, start: int, end: int, new: str) -> bool:
        """Whether a plain scalar with an edit would be one, and a text."""
        value = self._value
        if start == 0 or len(value) > MAX_CHECKED or not _SAFE_PLAIN.fullmatch(new):
            return False
        upto = min(end + 2, len(value))
        around = value[start - 1 : start] + new + value[end:upto] + "." * (upto < len(value))
        return _is_plain(value[:start] + new + value[end:], around)

    def _stays(self, start: int, end: int, new: str, made: str) -> bool:
        """Whether an edit of what is no literal block leaves the rest of the value as it is."""
        text, written = self._text, self._written
        low, high = written.places.span(start, end)
        if _BREAKS.search(text, low, high):
            self._checked += 1
            if self._checked > _MOST_CHECKED or len(self._value) + len(new) > MAX_CHECKED:
                return False
            return self._reads([(low, high, made)], self._value[:start] + new + self._value[end:])
        begin, ends = self._line_around(low, high)
        first = (made or text[high : high + 1])[:1]
        if begin and ends and (low == high or not made.strip(_BLANK)):
            return False  # the line would be empty, or was
        if written.style != "folded":  # blanks beside a line end are no part of the value
            return not (begin and first in _BLANK) and not (ends and (made or text[low - 1])[-1] in _BLANK)
        # Whether a line is folded depends on what it begins with.
        return not begin or low - begin > written.indent or (first in _BLANK) == (text[low] in _BLANK)

    def _line_around(self, low: int, high: int) -> tuple[int, bool]:
        """Where the line begins if there are only blanks on it ahead of a range of the text, else 0; and whether there are only
        blanks behind.
        """
        text, end = self._text, self._written.end
        while text[low - 1] in _BLANK:
            low -= 1
        while high < end and text[high] in _BLANK:
            high += 1
        return low if _BREAKS.match(text, low - 1) else 0, high == end or _BREAKS.match(text, high) is not None

    def _in_literal(self, start: int, end: int, new: str) -> str | None:
        if not _PRINTABLE.fullmatch(new):
            return None
        written, value = self._written, self._value
        newline = "\r\n" if self._text.startswith("\r\n", written.header) else "\n"
        indent = " " * written.indent
        lines = new.split("\n")
        if start == end == len(value) and value.endswith("\n"):
            if written.keeps or not new.endswith("\n") or not lines[-2].strip():
                return None
            return "".join(f"{indent}{line}{newline}" if line else newline for line in lines[:-1])
        if not self._keeps_block(start, end, new):
            return None
        first = lines[0]
        if first or (len(lines) == 1 and end < len(value) and value[end] != "\n"):
            cut = written.places.span(start, start)[0]
            on_line = _BREAKS.split(self._text[cut - written.indent : cut])[-1]
            first = " " * (written.indent - len(on_line)) + first  # an empty line may have less of an indentation
        more = (indent + line if line or number == len(lines) - 1 else "" for number, line in enumerate(lines[1:], 1))
        return newline.join([first, *more])

    def _keeps_block(self, start: int, end: int, new: str) -> bool:
        """Whether an edit leaves what says how deep the block is indented, and how it ends."""
        if start < self._first or (start == self._first and new[:1] in ("", " ", "\n", "\t")) or end > self._last:
            return False
        if end < self._seen:
            return True
        left = new.rstrip(_BLANK)[-1:]
        while not left:
            start -= 1
            left = self._value[start].strip(_BLANK)
        return left != "\n"


def _is_plain(value: str, around: str) -> bool:
    """Whether a plain scalar with this value would be one, and a text; ``around``: the part that may end it too early."""
    from promptguard.parse.yaml_events import resolve  # only here, for edits

    is_one = value[0].isalnum() and not value[-1].isspace() and not _ENDS_PLAIN.search(around)
    return is_one and resolve.__wrapped__(value) == "str"  # to keep it would keep a text for every edit


def _edited(text: str, start: int, end: int, edits: Iterable[ScalarEdit]) -> str:
    """A range of a text with some edits in it, which are in order."""
    parts = []
    for low, high, new in edits:
        parts += [text[start:low], new]
        start = high
    return "".join([*parts, text[start:end]])


def _plain(text: str, start: int, value: str) -> Written:
    places = Places()
    at = start
    while True:
        stop = _BREAKS.search(text, at)
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
    places = Places()
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
    line_break = _BREAKS.match(text, at + 1)
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
    while (line_break := _BREAKS.match(text, end)) is not None:
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
    places = Places()
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
        stop = _BREAKS.search(text, at)
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
        stop = _BREAKS.search(text, at)
        at = stop.end() if stop else len(text)
    return max(0, _spaces(text, at, len(text)) - _spaces(bare, 0, len(bare)))


def _spaces(text: str, at: int, end: int) -> int:
    """How many spaces there are from ``at`` on, up to ``end``."""
    match = _SPACES.match(text, at, end)
    return match.end() - at if match else 0


def _folds(text: str, above: _Line, below: _Line, mark: str) -> bool:
    """Whether the line break between two lines is folded: neither of them is indented further."""
    return mark == "\n" and text[above.start] not in _BLANK and text[below.start] not in _BLANK


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
    return start + len(text[start:end].rstrip(_BLANK))


def _blanks_end(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
