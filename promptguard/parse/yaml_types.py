"""Which texts without quotes are numbers and dates in YAML 1.1 (https://yaml.org/type/), as PyYAML takes them."""

from __future__ import annotations

from promptguard.core.light import regex

ODD_CHARACTER = regex("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""No plain character of YAML, a line break of Unicode, or a byte order mark."""

_INT = regex(r"[-+]?(?:0b[01_]+|0[0-7_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])*)")
_FLOAT = regex(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?"  # PyYAML wants a sign in the exponent, and a dot
    r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_TIMESTAMP = regex(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)


def type_of_number(text: str) -> str:
    """``float``, ``int``, ``timestamp``, or ``str`` for what is none of them."""
    for name, pattern in (("float", _FLOAT), ("int", _INT), ("timestamp", _TIMESTAMP)):
        if pattern.fullmatch(text):
            return name
    return "str"


def number(kind: str, text: str) -> int | float:
    """The value of a text of the type ``int`` or ``float``.

    Raises:
        ValueError: a number that Python does not take.
    """
    bare = text.replace("_", "").lower()
    sign = -1 if bare.startswith("-") else 1
    bare = bare.lstrip("+-")
    if ":" in bare:  # to the base of 60
        whole: int | float = 0
        for digits in bare.split(":"):
            whole = whole * 60 + (int(digits) if kind == "int" else float(digits))
        return sign * whole
    if kind == "float":
        return sign * float(bare.removeprefix(".") if bare in (".inf", ".nan") else bare)
    base = 10 if bare[:1] != "0" or bare == "0" else {"b": 2, "x": 16}.get(bare[1], 8)
    return sign * int(bare[2:] if base in (2, 16) else bare, base)
