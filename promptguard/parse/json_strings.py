"""The value of a JSON string, and where each of its code points is written."""

from __future__ import annotations

from promptguard.core import json_text
from promptguard.core.light import regex
from promptguard.parse.places import Places

_ESCAPE = regex(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def written_string(text: str, start: int, end: int) -> Places:
    """The places of a string that lies at a range of a JSON text, quotes included."""
    places = Places(len(text))
    at = start + 1
    for match in _ESCAPE.finditer(text, at, end - 1):
        begin, upto = match.span()
        if at < begin:
            places.copy(text, at, begin)
        high, low, digits, short = match.groups()
        if short:
            character = _SHORT[short]
        elif digits:
            character = chr(int(digits, 16))
        else:
            character = chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
        places.put(character, begin, upto)
        at = upto
    places.copy(text, at, end - 1)
    return places


def escape_string(text: str) -> str | None:
    """How a text is written inside of a JSON string; ``None`` for one that UTF-8 cannot hold."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return None
    return json_text.quote(text)[1:-1]
