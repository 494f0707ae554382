"""What the strings in Jinja expressions stand for that have escapes or line ends in them."""

from __future__ import annotations

from promptguard.core import patterns as re
from promptguard.core.light import regex

_ESCAPES = regex(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[0-7]{1,3}|[\s\S])")
_ESCAPED = {"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unescaped(text: str) -> str:
    """The value of a string, given what stands between its quotes.

    Raises:
        UnicodeDecodeError: an escape in it is none.
    """
    return _ESCAPES.sub(_character, text.replace("\r\n", "\n").replace("\r", "\n"))


def _character(match: re.Match[str]) -> str:
    escape: str = match[0]
    char = escape[1]
    if char in _ESCAPED:
        return _ESCAPED[char]
    if char in "01234567":
        return chr(int(escape[1:], 8))
    if char in "xuUN":
        return escape.encode("ascii", "backslashreplace").decode("unicode-escape")
    # jinja writes characters beyond ASCII as escapes first, so that the backslash ahead escapes a backslash
    return escape if char.isascii() else char.encode("ascii", "backslashreplace").decode()
