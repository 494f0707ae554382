"""PG303 and PG306: characters that a reader does not see, or cannot tell from others, and a tokenizer does."""

from __future__ import annotations

from promptguard.checks.base import Document, Hit, make_fix, shown
from promptguard.checks.literal_text import INVISIBLE, LINE_SEPARATOR, LiteralText, Range
from promptguard.core import patterns as re
from promptguard.core.light import Callable, Iterator, regex


def check(document: Document, literal: Callable[[], LiteralText]) -> Iterator[Hit]:
    """What is wrong with the characters of a prompt."""
    yield from _invisible_characters(document, literal)
    yield from _not_nfc(document, literal)


# PG303

_INVISIBLE = regex(rf"[{INVISIBLE}]+")
_BECOMES_TAG = regex(r"\{[\w{%#]|\$[\w{]|<%|[}%#]\}|%>")  # of any of the syntaxes, where such a character parts the two
_ODD_SPACE = regex(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# Where such a character is meant, by what stands around it. Each pattern is run on a few code points.
_INDIC = r"\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af\ua840-\ua87f"
_JOINED = rf"\u0600-\u08ff{_INDIC}\ufb50-\ufdff\ufe70-\ufefc"
_PICTURE = r"\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_EAST_ASIAN = r"\u2e80-\u2fff\u3001-\ud7ff\uf900-\ufaff\uff01-\uff9f\uffa1-\uffef\U00020000-\U0003ffff"
_MEANT = {
    "space": r"(?:«|\d)$|^[:;!?»\u2013\u2014%\u2030\u20ac]",
    "number": r"\d$",
    "wide": rf"[{_EAST_ASIAN}\r\n\u3000]$|^$",
    "joiner": rf"[{_JOINED}]$|[{_PICTURE}\ufe0f]$",
    "virama": r"[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]$",
    "break": r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]$",
    "selector": rf"[{_PICTURE}{_INDIC}\u2200-\u22ff{_EAST_ASIAN}]$",
    "ideograph": r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]$",
    "right-to-left": r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]",
}
_KEYCAP = regex(r"[0-9#*]\ufe0f?\u20e3?")
_FLAG = regex(r"\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f")
_AROUND = 40
_LONGEST_MEANT = 16  # more invisible characters in a row mean nothing


def _invisible_characters(document: Document, literal: Callable[[], LiteralText]) -> Iterator[Hit]:
    text = document.text
    for start, end in _invisible(text, literal):
        run = text[start:end]
        visible = _visible(run)
        safe = not literal().holds(start, end) and not _BECOMES_TAG.match(
            text[max(0, start - 1) : start] + visible + text[end : end + 1]
        )
        fix = make_fix(document, "Remove what cannot be seen", [(start, end, visible)], safe=safe)
        yield Hit("PG303", start, end, _describe(run), fix=fix)


def _invisible(text: str, literal: Callable[[], LiteralText]) -> Iterator[Range]:
    for match in _INVISIBLE.finditer(text):
        around = literal().range_at(match.start())
        if around is None:
            continue
        start, end = match.start(), min(match.end(), around[1])
        if end - start > _LONGEST_MEANT:
            yield start, end
            continue
        for at in range(start, end + 1):
            if at == end or _is_meant(text, at):
                if start < at:
                    yield start, at
                start = at + 1


def _visible(run: str) -> str:
    """What a reader sees of odd characters."""
    spaces = LINE_SEPARATOR.sub("\n", _ODD_SPACE.sub(" ", run))
    return "".join(character for character in spaces if character in " \n")


def _describe(run: str) -> str:
    from unicodedata import name

    first = f"U+{ord(run[0]):04X}"
    title = name(run[0], "").lower() or "a control character"
    if len(run) > 1:
        return f"{len(run):,} characters that cannot be seen, the first is {first} ({title})"
    if _ODD_SPACE.match(run):
        return f"{first} ({title}) looks like a space and is none"
    return f"{first} ({title}) cannot be seen"


def _is_meant(text: str, at: int) -> bool:
    """Whether a character belongs to how its script, an emoji or a number is written."""
    character = text[at]
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if character == "\u3000":
        return _fits("wide", before) or _fits("wide", after)
    if _ODD_SPACE.match(character):
        if character in "\xa0\u202f\u2009" and re.search(_MEANT["space"], after) is not None:
            return True
        return before == "«" or (before.isdecimal() and (after.isalnum() or after in tuple("%‰€$£°")))
    if character in "\u200c\u200d":
        # Behind a virama it says how the consonant is written, at the end of a word too.
        return _fits("virama", before) or (_fits("joiner", before) and bool(after) and not after.isspace())
    if character == "\u200b":
        return _fits("break", before) or _fits("break", after)
    if "\ufe00" <= character <= "\ufe0f":
        return _fits("selector", before) or (character == "\ufe0f" and _KEYCAP.fullmatch(text, at - 1, at + 2) is not None)
    if "\U000e0100" <= character <= "\U000e01ef":
        return _fits("ideograph", before)
    if "\u180b" <= character <= "\u180f":
        return "\u1800" <= before <= "\u18af"
    if character in "\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069":
        return _fits("right-to-left", text[max(0, at - _AROUND) : at + _AROUND])
    if "\U000e0030" <= character <= "\U000e007f":
        return any(flag.end() > at for flag in _FLAG.finditer(text, max(0, at - 9), at + 9) if flag.start() < at)
    return False


def _fits(what: str, around: str) -> bool:
    return re.search(_MEANT[what], around) is not None


# PG306

_NOT_ASCII = regex(r"[\x00-\x7f]?[^\x00-\x7f]+")


def _not_nfc(document: Document, literal: Callable[[], LiteralText]) -> Iterator[Hit]:
    if document.text.isascii():
        return
    from unicodedata import is_normalized

    if is_normalized("NFC", document.text):
        return
    for start, end, composed in _decomposed(document.text, literal):
        message = f"`{shown(document.text[start:end])}` is not in the composed form (NFC) of its characters"
        yield Hit("PG306", start, end, message, fix=make_fix(document, "Compose it", [(start, end, composed)], safe=False))


def _decomposed(text: str, literal: Callable[[], LiteralText]) -> Iterator[tuple[int, int, str]]:
    """Runs of characters that NFC writes in another way, and how; ASCII, which never changes, parts them."""
    from unicodedata import normalize

    for match in _NOT_ASCII.finditer(text):
        around = literal().range_at(match.end() - 1)
        if around is None:
            continue
        start, end = max(match.start(), around[0]), match.end()
        run = text[start:end]
        composed = normalize("NFC", run)
        if len(composed) > len(run) or composed == run:
            continue  # NFC takes characters of some scripts apart, and there they are written as one
        same = _common(run, composed)
        tail = _common(run[same:][::-1], composed[same:][::-1])
        yield start + same, end - tail, composed[same : len(composed) - tail]


def _common(one: str, other: str) -> int:
    """The length of what two texts begin with alike."""
    return next((number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
