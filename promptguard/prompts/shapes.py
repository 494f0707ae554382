"""What two differing texts look like: a date, an id, a path, the same list in another order, or only other spaces.

A shape counts only where **both** texts have it at the difference, so that a word that looks like a date by chance is no clock.
Every pattern is bounded, and is run on a few hundred code points around the difference.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from promptguard.prompts.literals import CLOCKS, UUID
from promptguard.prompts.names import Kind, kind_of_name, words
from promptguard.prompts.sequences import common_suffix

Shape = Literal["clock", "id", "temp-path", "path", "address", "email", "number"]

_AROUND = 100  # code points on each side of the difference that a pattern sees
_LONGEST_WORD = 40
_LABEL_LINES = 12  # a heading is looked for in so many lines above the difference
_LABEL_CHARS = 800
_LONGEST_VALUE = 1_000
_MOST_ITEMS = 5_000  # longer lists are not compared item by item


def _mixed(text: str) -> bool:
    """Whether an id-like word has both digits and letters."""
    return any(character.isdigit() for character in text) and any(character.isalpha() for character in text)


def _dense(text: str) -> bool:
    """Whether a word looks like base64: digits, small and capital letters, and no path of words."""
    return _mixed(text) and text != text.lower() and text != text.upper() and text.count("/") < 3


def _always(text: str) -> bool:
    return bool(text)


@dataclass(frozen=True)
class _Pattern:
    shape: Shape
    regex: re.Pattern[str]
    accepts: Callable[[str], bool] = _always
    same_length: bool = False


# The first that fits both texts counts.
_PATTERNS = (
    _Pattern("id", re.compile(rf"\b{UUID}(?:[ ,;_-]?{UUID}){{0,20}}\b")),
    _Pattern("id", re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"), _mixed),
    _Pattern(
        "temp-path",
        re.compile(r"(?:/private)?(?:/var/folders|/tmp)/[\w./+-]{1,120}|[A-Z]:\\[\w\\ ~.-]{0,60}\\Temp\\[\w\\.-]{1,80}"),
    ),
    *(_Pattern("clock", re.compile(clock)) for clock in CLOCKS),
    _Pattern("email", re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b")),
    _Pattern("address", re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b")),
    _Pattern("path", re.compile(r"(?:(?<![\w:/])~?/|\b[A-Za-z]:\\)[\w.@+-]{1,80}(?:[/\\][\w.@+-]{1,80}){1,20}/?")),
    _Pattern("id", re.compile(r"\b[0-9a-fA-F]{8,128}\b"), _mixed, same_length=True),
    _Pattern("id", re.compile(r"(?<==)[0-9a-f]{4,16}\b"), _mixed, same_length=True),
    _Pattern(
        "id", re.compile(r"\b[A-Za-z]{2,12}[-_][0-9A-Za-z]{8,64}\b"), lambda text: _mixed(re.split("[-_]", text, maxsplit=1)[1])
    ),
    _Pattern("id", re.compile(r"\b[A-Za-z0-9+/_-]{16,200}={0,2}"), _dense),
    _Pattern("number", re.compile(r"(?<![\w.])-?\d{1,12}(?:[.,]\d{1,9})?(?!\w)")),
)


@dataclass(frozen=True)
class Match:
    """A shape that two texts have at their difference, with the two values."""

    shape: Shape
    before: str
    after: str


def match_values(before: str, after: str) -> Match | None:
    """The shape that two values have as a whole."""
    for pattern in _PATTERNS:
        if max(len(before), len(after)) > _LONGEST_VALUE or (pattern.same_length and len(before) != len(after)):
            continue
        if all(pattern.regex.fullmatch(value) and pattern.accepts(value) for value in (before, after)):
            return Match(pattern.shape, before, after)
    return None


def match_shape(before: str, after: str, char: int) -> Match | None:
    """The shape that both texts have at their first difference ``char``."""
    low = max(0, char - _AROUND)
    first, second = before[low : char + _AROUND], after[low : char + _AROUND]
    at = char - low
    for pattern in _PATTERNS:
        old, new = _at(pattern, first, at), _at(pattern, second, at)
        if old is None or new is None or old[0] != new[0]:
            continue
        if not pattern.same_length or len(old[1]) == len(new[1]):
            return Match(pattern.shape, old[1], new[1])
    return None


def _at(pattern: _Pattern, text: str, at: int) -> tuple[int, str] | None:
    for match in pattern.regex.finditer(text):
        if match.start() > at:
            return None
        if match.end() >= at and pattern.accepts(match.group()):
            return match.start(), match.group()
    return None


def differs_in_whitespace(before: str, after: str, char: int) -> bool:
    """Whether the first difference is only about white space: behind it both texts go on with the same words."""
    if not (before[char : char + 1].isspace() or after[char : char + 1].isspace()):
        return False
    old, new = before[char : char + 10 * _AROUND].split(), after[char : char + 10 * _AROUND].split()
    count = min(len(old), len(new), 4)
    if count < 4 and len(old) != len(new):
        return False
    return old[:count] == new[:count]


def window(before: str, after: str, char: int) -> tuple[str, str]:
    """What differs between two texts whose first difference is ``char``, in whole words, without what is the same around it."""
    tail = common_suffix(before, after, min(len(before), len(after)) - char)
    start, ends = char, (len(before) - tail, len(after) - tail)
    if any(_splits_word(text, start) for text in (before, after)):
        start -= _word_length(reversed(before[max(0, start - _LONGEST_WORD) : start]))
    if any(_splits_word(text, end) for text, end in zip((before, after), ends, strict=True)):
        more = _word_length(before[ends[0] : ends[0] + _LONGEST_WORD])
        ends = (ends[0] + more, ends[1] + more)
    return before[start : ends[0]], after[start : ends[1]]


def _splits_word(text: str, at: int) -> bool:
    return text[at - 1 : at].isalnum() and text[at : at + 1].isalnum()


def _word_length(text: Iterable[str]) -> int:
    """How many letters and digits a text starts with."""
    return sum(1 for _ in itertools.takewhile(str.isalnum, text))


def reordered_items(before: str, after: str, char: int) -> tuple[str, str] | None:
    """The first two items that changed places, where the texts differ only in the order of their lines or list items."""
    tail = common_suffix(before, after, min(len(before), len(after)) - char)
    old_end, new_end = len(before) - tail, len(after) - tail
    start = before.rfind("\n", 0, char) + 1
    old_stop, new_stop = _line_end(before, old_end), _line_end(after, new_end)
    old, new = before[start:old_stop], after[start:new_stop]
    if len(old) != len(new):
        return None
    for split in (_lines, _list_items):
        first, second = split(old), split(new)
        if 1 < len(first) == len(second) <= _MOST_ITEMS and first != second and Counter(first) == Counter(second):
            return next((a, b) for a, b in zip(first, second, strict=True) if a != b)
    return None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", max(0, at - 1) if text[at - 1 : at] == "\n" else at)
    return len(text) if end < 0 else end


def _lines(text: str) -> list[str]:
    """The lines of a text without the numbers, bullets and commas of a list."""
    return [re.sub(r"^\s{0,40}(?:\d{1,4}[.)]|[-*•])\s{1,8}", "", line.rstrip().rstrip(",")) for line in text.split("\n")]


def _list_items(text: str) -> list[str]:
    """The items of a list within a line; what stands in front of the first (``Skills: a, b``) does not count."""
    separator = max(",;|", key=text.count)
    items = [item.strip(" \t.[](){}") for item in text.split(separator)]
    items[0] = re.split(r"[:\[({]\s{0,8}", items[0])[-1]
    last = items[-1].removeprefix("and ")
    return [*items[:-1], last]


def kind_of_label(text: str, char: int) -> Kind:
    """What the words in front of a value say about it: ``cwd=``, ``User:``, ``Hello``, or a heading above it."""
    line_start = text.rfind("\n", max(0, char - _LABEL_CHARS), char) + 1
    line = text[max(line_start, char - 2 * _AROUND) : char]
    label = re.search(r"([A-Za-z][\w .-]{0,40}?)\s{0,3}[:=][^:=]{0,60}$", line)
    if label is not None:
        kind = _kind_of_words(re.split(r"[.,;]\s", label.group(1))[-1])
        if kind != "text":
            return kind
    if re.search(r"\b(?:hello|hi|hey|dear|welcome(?: back)?),? [\w-]{0,30}$", line, re.IGNORECASE):
        return "user"
    return _kind_of_heading(text, line_start)


def counts(text: str, char: int) -> bool:
    """Whether the words around the number at ``char`` say that it counts: ``turn 3``, ``3 tokens left``."""
    left = re.search(r"(\w{1,40})\s#?\d{0,12}$", text[max(0, char - 2 * _LONGEST_WORD) : char])
    right = re.match(r"\d{0,12}\s(\w{1,40}\s\w{1,40})\b", text[char : char + 3 * _LONGEST_WORD])
    return any(match is not None and _kind_of_words(match.group(1)) == "counter" for match in (left, right))


def _kind_of_heading(text: str, line_start: int) -> Kind:
    """The kind that the nearest heading above says: ``# Memories``, ``Memories:`` or ``<memories>``."""
    above = text[max(0, line_start - _LABEL_CHARS) : line_start].split("\n")[:-1]
    seen_text = False
    for line in reversed(above[-_LABEL_LINES:]):
        stripped = line.strip()
        if not stripped:
            if seen_text:
                break
            continue
        heading = re.match(r"#{1,6}\s(.{1,60})$|([^:]{1,60}):$|<(\w{1,60})>$|\*\*(.{1,60}?):?\*\*$", stripped)
        if heading is not None:
            return _kind_of_words(next(group for group in heading.groups() if group))
        seen_text = True
    return "text"


def _kind_of_words(label: str) -> Kind:
    """The kind of a label of at most four words; a whole sentence is none."""
    found = words(label)
    return kind_of_name("_".join(found)) if 0 < len(found) <= 4 else "text"


def show(text: str, limit: int = 40) -> str:
    """A text in one line and in quotes, control characters escaped, cut in the middle where it is long."""
    if len(text) > limit:
        text = text[: limit - limit // 4] + "…" + text[len(text) - limit // 4 :]
    return f'"{visible(text)}"'


def visible(text: str) -> str:
    """A text with control characters, odd spaces and backslashes written as escapes, so that different texts look different."""
    return "".join(_ESCAPES.get(character) or _escape(character) for character in text)


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", " ": " "}


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(names: Sequence[str], limit: int = 3) -> str:
    """Names in quotes, joined as in a sentence; beyond ``limit`` only their number."""
    quoted = [show(name) for name in names[:limit]]
    if len(names) > limit:
        return ", ".join(quoted) + f" and {len(names) - limit} more"
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
