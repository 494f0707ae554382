"""What ``typing`` gives, at no cost when it runs: ``promptguard lint`` is started on every commit.

``typing`` and the named tuples that it compiles from texts would take a fifth of that start, ``collections`` and ``functools``
a tenth. Type checkers see the real ones; at run time there are named tuples of our own, of the same behaviour, the parts in C of
the others, and names that only stand in annotations. ``regex`` is ``re.compile``, at the first use: most patterns of a linter are
for files of other kinds.
"""

from __future__ import annotations

TYPE_CHECKING = False  # which type checkers take for true

if TYPE_CHECKING:
    import re
    from bisect import bisect_left as bisect_left
    from bisect import bisect_right as bisect_right
    from bisect import insort as insort
    from collections.abc import Callable as Callable
    from collections.abc import Collection as Collection
    from collections.abc import Iterable as Iterable
    from collections.abc import Iterator as Iterator
    from collections.abc import Mapping as Mapping
    from collections.abc import Sequence as Sequence
    from functools import lru_cache as lru_cache
    from types import MappingProxyType as MappingProxyType
    from typing import Any as Any
    from typing import Literal as Literal
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol

    def count_elements(counts: dict[Any, int], elements: Iterable[Any]) -> None:
        """Add how often each element comes, as ``collections.Counter`` does."""

    regex = re.compile
else:
    from _bisect import bisect_left, bisect_right  # noqa: F401 - others take them from here
    from _bisect import insort_right as insort  # noqa: F401 - likewise
    from _collections import _count_elements as count_elements  # noqa: F401 - likewise
    from _collections import _tuplegetter
    from _collections_abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence  # noqa: F401 - likewise
    from _functools import _lru_cache_wrapper

    class _Words:
        def __getitem__(self, _):
            return object

    Any = object
    Protocol = object
    MappingProxyType = type(type.__dict__)
    Literal = _Words()

    def lru_cache(maxsize):
        return lambda function: _lru_cache_wrapper(function, maxsize, False, lambda *numbers: numbers)

    class regex:  # noqa: N801  # it is used as re.compile is
        def __init__(self, pattern, flags=0):
            self._given = pattern, flags

        def __getattr__(self, name):
            from promptguard.core import patterns

            found = getattr(patterns.compile(*self._given), name)
            setattr(self, name, found)  # from now on it is looked up as that of any object is
            return found

    class _Fields(type):
        def __new__(mcs, name, bases, namespace):
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace.pop(field) for field in fields if field in namespace}
            for position, field in enumerate(fields):
                namespace[field] = _tuplegetter(position, None)
            namespace.update(__slots__=(), _fields=fields, __match_args__=fields, _field_defaults=defaults)
            return super().__new__(mcs, name, bases, namespace)

    class NamedTuple(tuple, metaclass=_Fields):
        def __new__(cls, *values, **named):
            fields = cls._fields
            if len(values) < len(fields):
                try:
                    defaults = cls._field_defaults
                    values += tuple([named.pop(field) if field in named else defaults[field] for field in fields[len(values) :]])
                except KeyError as missing:
                    raise TypeError(f"{cls.__name__} needs the field {missing}") from None
            if named or len(values) > len(fields):
                raise TypeError(f"{cls.__name__} takes the fields {', '.join(fields)}")
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **named):
            return type(self)(*[named.pop(field, value) for field, value in zip(self._fields, self, strict=True)], **named)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{field}={value!r}' for field, value in self._asdict().items())})"
