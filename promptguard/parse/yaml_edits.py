"""How an edit of the value of a YAML scalar is written."""

from __future__ import annotations

from promptguard.core.light import Iterable, Sequence, regex
from promptguard.parse.yaml_scalars import BLANK, BREAKS, Written, written_scalar

MAX_CHECKED = 1 << 16
"""No edit of a longer scalar is written if the scalar has to be gone through to see what it says then."""
_MOST_CHECKED = 100  # edits of one scalar for which that is done

# What stands for itself in every style that is not double-quoted.
_PRINTABLE = regex(r"[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
_SAFE_PLAIN = regex(r"[\w .:;!?()/+*='\"-]*")
_ENDS_PLAIN = regex(r":(?:\s|\Z)|\s#")
_UNSAFE_DOUBLE = regex("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")

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
            from promptguard.core.json_text import quote  # no other style asks for it

            quoted = quote(new)[1:-1]
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
        if BREAKS.search(text, low, high):
            self._checked += 1
            if self._checked > _MOST_CHECKED or len(self._value) + len(new) > MAX_CHECKED:
                return False
            return self._reads([(low, high, made)], self._value[:start] + new + self._value[end:])
        begin, ends = self._line_around(low, high)
        first = (made or text[high : high + 1])[:1]
        if begin and ends and (low == high or not made.strip(BLANK)):
            return False  # the line would be empty, or was
        if written.style != "folded":  # blanks beside a line end are no part of the value
            return not (begin and first in BLANK) and not (ends and (made or text[low - 1])[-1] in BLANK)
        # Whether a line is folded depends on what it begins with.
        return not begin or low - begin > written.indent or (first in BLANK) == (text[low] in BLANK)

    def _line_around(self, low: int, high: int) -> tuple[int, bool]:
        """Where the line begins if there are only blanks on it ahead of a range of the text, else 0; and whether there are only
        blanks behind.
        """
        text, end = self._text, self._written.end
        while text[low - 1] in BLANK:
            low -= 1
        while high < end and text[high] in BLANK:
            high += 1
        return low if BREAKS.match(text, low - 1) else 0, high == end or BREAKS.match(text, high) is not None

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
            on_line = BREAKS.split(self._text[cut - written.indent : cut])[-1]
            first = " " * (written.indent - len(on_line)) + first  # an empty line may have less of an indentation
        more = (indent + line if line or number == len(lines) - 1 else "" for number, line in enumerate(lines[1:], 1))
        return newline.join([first, *more])

    def _keeps_block(self, start: int, end: int, new: str) -> bool:
        """Whether an edit leaves what says how deep the block is indented, and how it ends."""
        if start < self._first or (start == self._first and new[:1] in ("", " ", "\n", "\t")) or end > self._last:
            return False
        if end < self._seen:
            return True
        left = new.rstrip(BLANK)[-1:]
        while not left:
            start -= 1
            left = self._value[start].strip(BLANK)
        return left != "\n"


def _is_plain(value: str, around: str) -> bool:
    """Whether a plain scalar with this value would be one, and a text; ``around``: the part that may end it too early."""
    from promptguard.parse.yaml_simple import type_of

    is_one = value[0].isalnum() and not value[-1].isspace() and not _ENDS_PLAIN.search(around)
    return is_one and type_of(value) == "str"


def _edited(text: str, start: int, end: int, edits: Iterable[ScalarEdit]) -> str:
    """A range of a text with some edits in it, which are in order."""
    parts = []
    for low, high, new in edits:
        parts += [text[start:low], new]
        start = high
    return "".join([*parts, text[start:end]])
