"""What texts in quotes say in YAML that have escapes, or stand on several lines."""

from __future__ import annotations

from promptguard.parse.yaml_simple import NotSimpleError

_ESCAPED = dict(zip('0abtnvfre "/\\N_LP', '\0\x07\x08\t\n\x0b\x0c\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True))
_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEXADECIMAL = "0123456789abcdefABCDEF"
_BLANKS = " \t"


def in_single_quotes(inner: str) -> str:
    """What the text between two single quotes says."""
    return _joined(inner.replace("\r\n", "\n").split("\n")).replace("''", "'")


def in_double_quotes(inner: str) -> str:
    """What the text between two double quotes says.

    Raises:
        NotSimpleError: an escape that the library has to see.
    """
    inner = inner.replace("\r\n", "\n")
    parts: list[str] = []
    at = 0
    while (found := inner.find("\\", at)) >= 0:
        parts.append(_joined(inner[at:found].split("\n")))
        character = inner[found + 1]
        at = found + 2
        if character in _ESCAPED:
            parts.append(_ESCAPED[character])
        elif character in _DIGITS:
            digits = inner[at : at + _DIGITS[character]]
            parts.append(_coded(digits, _DIGITS[character]))
            at += len(digits)
        elif character == "\n":  # it counts for nothing, nor do the blanks behind it; empty lines do
            begin = at
            while inner[at : at + 1] in (" ", "\t", "\n"):
                at += 1
            parts.append("\n" * inner.count("\n", begin, at))
            _see_line(inner[inner.rfind("\n", 0, at) + 1 : at + len("---")])
        else:
            raise NotSimpleError
    return "".join([*parts, _joined(inner[at:].split("\n"))])


def _joined(lines: list[str]) -> str:
    """The lines of a text: a line end is a blank or the empty lines behind it, and no blanks stand around it."""
    if len(lines) == 1:
        return lines[0]
    first, *inner, last = lines
    parts = [first.rstrip(_BLANKS)]
    empty = 0
    for line in inner:
        _see_line(line)
        body = line.strip(_BLANKS)
        if body:
            parts += "\n" * empty or " ", body
            empty = 0
        else:
            empty += 1
    _see_line(last)
    return "".join([*parts, "\n" * empty or " ", last.lstrip(_BLANKS)])


def _see_line(line: str) -> None:
    """See that a line is none that ends a document."""
    if line.startswith(("---", "...")):
        raise NotSimpleError


def _coded(digits: str, length: int) -> str:
    """The character of a hexadecimal number."""
    if len(digits) != length or digits.strip(_HEXADECIMAL):
        raise NotSimpleError
    code = int(digits, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise NotSimpleError
    return chr(code)
