"""JSON as ``json`` reads and writes it, without importing it: that takes longer than all else that is done for a small file.

The scanner below ``json`` is an internal of CPython. Where there is none, and wherever it does not come to the end of a text,
``json`` itself does the work: so its errors are the very same. It is loaded at the first use, as most small files need none.
"""

from __future__ import annotations

from promptguard.core.light import Any, Callable, lru_cache

_SPACE = " \t\n\r"


class RefusedError(Exception):
    """Raised by a hook of a decoder that does not take a value; the text is not read once more for it."""


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
        self._scan: Callable[[str, int], tuple[Any, int]] | None = None

    def decode(self, text: str) -> Any:
        """The value of a text.

        Raises:
            json.JSONDecodeError: it is no JSON.
            RecursionError: it is nested too deep.
            Exception: what the hooks raise, and ``ValueError`` for an integer of too many digits.
        """
        if self._scan is None:
            self._scan = _scanner(self)
        bare = text.strip(_SPACE)
        try:
            value, end = self._scan(bare, 0)
        except RefusedError:
            raise
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


def dumps(value: object) -> str:
    """``json.dumps(value, ensure_ascii=False, allow_nan=False)``.

    Raises:
        TypeError, ValueError, RecursionError: as there.
    """
    try:
        from _json import encode_basestring, make_encoder

        write = make_encoder(None, _refuse, encode_basestring, None, ": ", ", ", False, False, False)
        return "".join(write(value, 0))
    except Exception:  # another Python; json says what it is
        import json

        return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _refuse(_value: object) -> object:
    raise TypeError


def quote(text: str) -> str:
    """``json.dumps(text, ensure_ascii=False)``."""
    return str(_writers()[0](text))


def quote_in_ascii(text: str) -> str:
    """``json.dumps(text)``."""
    return str(_writers()[1](text))


def escape(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _scanner(decoder: Decoder) -> Callable[[str, int], tuple[Any, int]]:
    """What reads the value at a place of a text and says where it ends."""
    try:
        from _json import make_scanner
    except ImportError:  # another Python
        return lambda _text, _at: (None, -1)
    scan: Callable[[str, int], tuple[Any, int]] = make_scanner(decoder)  # type: ignore[arg-type]  # it asks for what is here too
    return scan


@lru_cache(maxsize=1)
def _writers() -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    """What writes a text, as it is and in ASCII."""
    try:
        from _json import encode_basestring, encode_basestring_ascii
    except ImportError:  # another Python
        import json

        return lambda text: json.dumps(text, ensure_ascii=False), json.dumps
    return encode_basestring, encode_basestring_ascii
