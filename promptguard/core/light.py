"""Definitions that cost next to nothing until they are used: a command that checks one small file has little else to do.

``NamedTuple`` is the one of ``typing``, made without evaluating annotations. ``regex`` is ``re.compile`` put off.
"""

from __future__ import annotations

import re

__all__ = ["NamedTuple", "regex"]

TYPE_CHECKING = False  # what type checkers take for true; typing itself takes long to import
if TYPE_CHECKING:
    from typing import Any, AnyStr, NamedTuple
else:
    from collections import namedtuple

    class _Maker(type):
        def __new__(cls, name, _bases, space):
            fields = space.pop("__annotations__", {})
            defaults = [space.pop(field) for field in tuple(fields) if field in space]
            made = namedtuple(name, fields, defaults=defaults, module=space.pop("__module__"))
            for key, value in space.items():
                setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})


class _Pattern:
    """Becomes what it stands for when it is first asked for something."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._source = (text, flags)

    def __getattr__(self, name: str) -> Any:
        compiled: Any = re.compile(*self._source)
        for method in ("finditer", "findall", "fullmatch", "match", "search", "split", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when it is first used."""
    return _Pattern(text, flags)  # type: ignore[return-value]
