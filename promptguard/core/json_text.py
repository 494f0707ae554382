"""JSON as ``json`` reads and writes it, without importing it: that takes longer than all else that is done for a small file.

The scanner below ``json`` is an internal of CPython. Where there is none, and wherever it does not come to the end of a text,
``json`` itself does the work: so its errors are the very same.
"""

from __future__ import annotations

from promptguard.core.light import Any, Callable

try:
    import _json

    _make_scanner: Any = _json.make_scanner
    _quote: Any = _json.encode_basestring
    _quote_in_ascii: Any = _json.encode_basestring_ascii
except (ImportError, AttributeError):  # another Python
    _make_scanner = _quote = _quote_in_ascii = None

_SPACE = " \t\n\r"


class Decoder:
    """``json.JSONDecoder``, but for ``raw_decode``.

    Args:
        object_pairs_hook, parse_float, parse_int, parse_constant: as there.
    """

    strict = True  # this, and the attributes without an underscore, are what the scanner asks for
    object_hook = None

    def __init__(
        self,
        *,
        object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
        parse_float: Callable[[str], Any] | None = None,
        parse_int: Callable[[str], Any] | None = None,
        parse_constant: Callable[[str], Any] | None = None,
    ) -> None:
        self._hooks: dict[str, Any] = {
            "object_pairs_hook": object_pairs_hook,
            "parse_float": parse_float,
            "parse_int": parse_int,
            "parse_constant": parse_constant,
        }
        self.object_pairs_hook = object_pairs_hook
        self.parse_float = parse_float or float
        self.parse_int = parse_int or int
        self.parse_constant = parse_constant or float  # which takes NaN, Infinity and -Infinity
        self._scan = _make_scanner(self) if _make_scanner is not None else None

    def decode(self, text: str) -> Any:
        """The value of a text.

        Raises:
            json.JSONDecodeError: it is no JSON.
            RecursionError: it is nested too deep.
            Exception: what the hooks raise, and ``ValueError`` for an integer of too many digits.
        """
        if self._scan is not None:
            bare = text.strip(_SPACE)
            try:
                value, end = self._scan(bare, 0)
            except Exception:  # json says what it is
                end = -1
            if end == len(bare):
                return value
        from json import JSONDecoder

        return JSONDecoder(**self._hooks).decode(text)


loads = Decoder().decode
"""``json.loads`` of a text."""
loads_any_number = Decoder(parse_int=float).decode
"""The same with floats for integers, which may have any number of digits."""


def quote(text: str) -> str:
    """``json.dumps(text, ensure_ascii=False)``."""
    if _quote is not None:
        return str(_quote(text))
    import json

    return json.dumps(text, ensure_ascii=False)


def quote_in_ascii(text: str) -> str:
    """``json.dumps(text)``."""
    if _quote_in_ascii is not None:
        return str(_quote_in_ascii(text))
    import json

    return json.dumps(text)
