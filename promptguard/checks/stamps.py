"""Values pasted into a prompt that only one rendering or one request can have: its time, its ids, its temporary files.

A value counts where its label and its shape both say so. Examples, fenced code and quoted JSON keys say nothing about the prompt.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from promptguard.core.light import NamedTuple, regex
from promptguard.prompts.literals import DAY, MONTH, TIME, UUID, WEEKDAY, ZONE

_AROUND = 200  # code points on each side of a digit that are looked at
_EXAMPLE_AROUND = 300
_TAG_AROUND = 2_000
_HEADER_LINES = 3
_LONGEST_HEADER = 300

_TEMPORARY = ("/tmp/", "/var/folders/")  # noqa: S108 - to be found, not used
_DIGITS = regex(r"[0-9][0-9a-fA-F]")


class Stamp(NamedTuple):
    """A pasted value: the code of the rule, its range, and what it is."""

    code: str
    start: int
    end: int
    what: str


def stamps(text: str, texts: Iterable[tuple[int, int]], heads: Iterable[int]) -> Iterator[Stamp]:
    """The pasted values in the static ranges of a prompt; ``heads``: where its blocks begin."""
    context = _Context(text)
    for start, end in texts:
        yield from _labelled(text, start, end, context)
        if any(text.find(folder, start, end) >= 0 for folder in _TEMPORARY):
            yield from _temporary_paths(text, start, end, context)
    for head in heads:
        yield from _header_values(text, head)


def _labelled(text: str, start: int, end: int, context: _Context) -> Iterator[Stamp]:
    seen = start
    at = _DIGITS.search(text, start, end)
    while at is not None:
        low = max(seen, text.rfind("\n", max(start, at.start() - _AROUND), at.start()) + 1, at.start() - _AROUND)
        high = text.find("\n", at.end(), min(end, at.end() + _AROUND))
        high = min(end, at.end() + _AROUND) if high < 0 else high
        line = text[low:high].lower()
        for shape in _SHAPES:
            if not any(word in line for word in shape.words):
                continue
            for found in _compiled(shape.label).finditer(text, low, high):
                stamp = shape.value(found, text, min(end, found.end() + _AROUND))
                if stamp is not None and not context.is_example(found.start()):
                    yield Stamp(shape.code, *stamp, shape.what)
        seen = high
        at = _DIGITS.search(text, high, end)


def _temporary_paths(text: str, start: int, end: int, context: _Context) -> Iterator[Stamp]:
    for match in _temporary().finditer(text, start, end):
        if ("/var/folders/" in match.group() or _has_random_part(match.group())) and not context.is_example(match.start()):
            yield Stamp("PG102", match.start(), match.end(), "a temporary path with a random part")


def _header_values(text: str, head: int) -> Iterator[Stamp]:
    """The pair of a header such as ``hdr: v=1; cch=36ee5;`` that holds an id, in the first lines of a block."""
    for _ in range(_HEADER_LINES):
        end = text.find("\n", head, head + _LONGEST_HEADER)
        end = min(len(text), head + _LONGEST_HEADER) if end < 0 else end
        if text.find(";", head, end) >= 0 and _header().fullmatch(text, head, end):
            for pair in _pair().finditer(text, head, end):
                if _mixed(pair.group(1)) and len(pair.group(1)) not in (3, 6, 8):  # a colour has so many digits
                    yield Stamp("PG102", *pair.span(1), "an id in a header")
        head = end + 1


class _Context:
    """What stands around a value."""

    __slots__ = ("_fences", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences: list[int] | None = None

    def is_example(self, at: int) -> bool:
        """Whether it is in a fenced block, in an example, or words in front of it say that it is one."""
        text = self._text
        if self._fences is None:
            self._fences = [match.start() for match in re.finditer(r"^ {0,3}(?:```|~~~)", text, re.MULTILINE)]
        if bisect_right(self._fences, at) % 2:
            return True
        low = max(0, at - _TAG_AROUND)
        if text.rfind("<example", low, at) > text.rfind("</example", low, at):
            return True
        return _example_words().search(text, max(0, at - _EXAMPLE_AROUND), at) is not None


# Regular expressions are compiled when the first text needs them: most need none.

_LEAD = r"(?:^|[.!?]\s)[\s>#*_`|\[(<-]{0,12}"
_SEPARATOR = r"[*_`]{0,3}(?:\s(?:is|was)(?:\snow)?\b|\s?[:=>])[*_`'\"]{0,3}\s{0,3}[*_`'\"]{0,3}"


class _Shape(NamedTuple):
    """A label and what stands behind it.

    Attributes:
        words: a line without any of them has no such label.
        label: a regular expression; case does not matter.
        value: finds the value behind the label.
    """

    code: str
    words: tuple[str, ...]
    label: str
    value: Callable[[re.Match[str], str, int], tuple[int, int] | None]
    what: str


@cache
def _compiled(label: str) -> re.Pattern[str]:
    return re.compile(label, re.IGNORECASE | re.MULTILINE)


@cache
def _dates() -> re.Pattern[str]:
    numbers = (
        rf"\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}(?:(?:T|,?\s){TIME})?{ZONE}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}(?:,?\s{TIME})?{ZONE}"
    )
    names = (
        rf"(?:{WEEKDAY},?\s)?(?:{MONTH}\.?\s{DAY}|{DAY}\.?\s(?:of\s)?{MONTH}\.?)(?:,?\s\d{{4}})"
        rf"(?:,?\s(?:at\s)?{TIME})?{ZONE}"
    )
    return re.compile(rf"(?:{numbers}|{names}|{TIME}{ZONE}|1\d{{9}}(?:\d{{3}})?)(?!\w)")


def _date(label: re.Match[str], text: str, limit: int) -> tuple[int, int] | None:
    found = _dates().match(text, label.end(), limit)
    return found.span() if found is not None else None


def _date_and_time(label: re.Match[str], text: str, limit: int) -> tuple[int, int] | None:
    span = _date(label, text, limit)
    return span if span is not None and ":" in text[slice(*span)] else None


@cache
def _ids() -> tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...]:
    return (
        (re.compile(rf"{UUID}(?!\w)"), bool),
        (re.compile(r"\d\d-[0-9a-f]{32}-[0-9a-f]{16}-\d\d(?!\w)"), bool),
        (re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}(?!\w)"), _mixed),
        (re.compile(r"[0-9a-fA-F]{8,128}(?![\w-])"), _mixed),
        (
            re.compile(r"[A-Za-z]{1,12}[-_][0-9A-Za-z]{8,64}(?![\w-])"),
            lambda value: _mixed(re.split("[-_]", value, maxsplit=1)[1]),
        ),
        (re.compile(r"[A-Za-z0-9+/_-]{16,200}={0,2}(?!\w)"), _dense),
    )


def _id(label: re.Match[str], text: str, limit: int) -> tuple[int, int] | None:
    for pattern, accepts in _ids():
        found = pattern.match(text, label.end(), limit)
        if found is not None and accepts(found.group()):
            return found.span()
    return None


def _uuid(label: re.Match[str], text: str, limit: int) -> tuple[int, int] | None:
    found = _ids()[0][0].match(text, label.end(), limit)
    return found.span() if found is not None else None


def _mixed(value: str) -> bool:
    """Whether a word has both digits and letters, as an id has."""
    return any(character.isdigit() for character in value) and any(character.isalpha() for character in value)


def _dense(value: str) -> bool:
    """Whether a word looks like base64: digits, small and capital letters."""
    return _mixed(value) and value != value.lower() and value != value.upper()


@cache
def _temporary() -> re.Pattern[str]:
    return re.compile(r"(?<![\w:/.])(?:/private)?/(?:var/folders|tmp)/[\w/+-]{1,120}(?:\.[\w/+-]{1,60}){0,4}")


def _has_random_part(path: str) -> bool:
    return any(_random_part().fullmatch(part) is not None and _mixed(part) for part in re.split(r"[/.-]", path)[2:])


@cache
def _random_part() -> re.Pattern[str]:
    """A name of Python's ``tempfile``, of ``mktemp``, a hexadecimal number, or letters and digits in turn."""
    return re.compile(r"tmp[a-z0-9_]{8}|[0-9a-f]{6,64}|[A-Za-z]{0,4}(?:\d{1,4}[A-Za-z]{1,4}){3,20}\d{0,4}")


@cache
def _header() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z][\w-]{0,60}:\s(?:[\w-]{1,40}=[\w.-]{1,60};\s?){2,12}\s?")


@cache
def _pair() -> re.Pattern[str]:
    return re.compile(r"[\w-]{1,40}=([0-9a-f]{4,32});")


@cache
def _example_words() -> re.Pattern[str]:
    return re.compile(r"\b(?:examples?|e\.g\.|samples?|such as|for instance|looks? like|formats?|formatted)(?!\w)", re.IGNORECASE)


_SUBJECTS = ("session", "request", "trace", "correlation", "conversation", "thread", "run", "span", "transaction", "invocation")
_SHAPES = (
    _Shape(
        "PG101",
        ("current", "today", "now"),
        rf"{_LEAD}(?:the\s|it\sis\s)?(?:current[\s_-](?:(?:local|utc|system)[\s_-])?(?:date[\s_-]and[\s_-]time|date/time|datetime"
        rf"|date|time|timestamp)|today(?:'s[\s_-]date)?|now){_SEPARATOR}",
        _date,
        "a time that was pasted in",
    ),
    _Shape(
        "PG101",
        ("generated", "rendered", "timestamp", "render", "request"),
        rf"{_LEAD}(?:prompt\s)?(?:(?:generated|rendered)(?:[\s_-](?:at|on))?(?:{_SEPARATOR}|\s)"
        rf"|(?:(?:render|request)[\s_-]?(?:time|timestamp)|timestamp){_SEPARATOR})",
        _date_and_time,
        "the time of a rendering that was pasted in",
    ),
    _Shape(
        "PG102",
        (*_SUBJECTS, "nonce"),
        rf"(?:^|[\s>*#|<\[(,;-])(?:x[-_])?(?:(?:{'|'.join(_SUBJECTS)})[\s_-]?(?:id|uuid|token|key|nonce)|nonce|trace[-_]?parent)"
        rf"{_SEPARATOR}",
        _id,
        "an id that was pasted in",
    ),
    _Shape(  # "Session: 45 minutes" is no id
        "PG102",
        _SUBJECTS,
        rf"(?:^|[\s>*#|<\[(,;-])(?:{'|'.join(_SUBJECTS)})[*_`]{{0,3}}\s?[:=][*_`'\"]{{0,3}}\s{{0,3}}[*_`'\"]{{0,3}}",
        _uuid,
        "an id that was pasted in",
    ),
)
