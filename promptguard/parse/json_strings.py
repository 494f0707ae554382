"""The value of a JSON string, and where each of its code points is written."""

from __future__ import annotations

import json
import re

from promptguard.parse.places import Places

_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")


def written_string(text: str, start: int, end: int) -> Places:
    """The places of a string that lies at a range of a JSON text, quotes included."""
    places = Places()
    at = start + 1
    for match in _ESCAPE.finditer(text, at, end - 1):
        places.copy(text, at, match.start())
        places.put(json.loads(f'"{match.group()}"'), match.start(), match.end())
        at = match.end()
    places.copy(text, at, end - 1)
    return places


def escape_string(text: str) -> str | None:
    """How a text is written inside of a JSON string; ``None`` for one that UTF-8 cannot hold."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return None
    return json.dumps(text, ensure_ascii=False)[1:-1]
