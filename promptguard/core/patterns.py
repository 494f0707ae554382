"""The functions of ``re``, for patterns that are part of the program: each is compiled once, not once in every process.

To import ``re`` and to compile the dozen patterns that a small file needs takes as long as all else that ``promptguard lint``
does for it, and lint starts with every commit. So the code of such patterns comes with promptguard, for each Python in its own
file (scripts/build_patterns.py makes it), as pip keeps the code of modules; that of others is kept when it was first made (see
``core/kept.py``). It is given to ``_sre``, the matcher below ``re``. Both are internals of CPython: where anything is not as
expected ``re.compile`` does it.
"""

from __future__ import annotations

import sys

from promptguard.core.kept import kept_path, read_kept, write_kept

TYPE_CHECKING = False  # which type checkers take for true

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Match as Match
    from re import Pattern as Pattern
    from typing import Any, AnyStr

IGNORECASE, MULTILINE, DOTALL, VERBOSE = 2, 8, 16, 64
"""As in ``re``."""

_MOST = 400  # patterns that are kept: where there are more, other versions left them
_NAME = "patterns"  # under which they are kept

_patterns: dict[tuple[str | bytes, int], Pattern[Any]] = {}
_delivered: dict[tuple[str | bytes, int], bytes] | None = None  # what comes with promptguard; None: not read yet
_kept: dict[tuple[str | bytes, int], bytes] | None = None  # what other processes compiled
_new: list[tuple[str | bytes, int]] = []  # what this one did


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:  # noqa: A001 - the names of re
    """``re.compile``; a pattern stays compiled for as long as the process lives."""
    key = pattern, flags
    found = _patterns.get(key)
    if found is None:
        found = _patterns[key] = _from_kept(key) or _anew(key)
    return found


def match(pattern: AnyStr, text: AnyStr) -> Match[AnyStr] | None:
    """``re.match``."""
    return compile(pattern).match(text)


def fullmatch(pattern: AnyStr, text: AnyStr) -> Match[AnyStr] | None:
    """``re.fullmatch``."""
    return compile(pattern).fullmatch(text)


def search(pattern: AnyStr, text: AnyStr) -> Match[AnyStr] | None:
    """``re.search``."""
    return compile(pattern).search(text)


def finditer(pattern: AnyStr, text: AnyStr) -> Iterator[Match[AnyStr]]:
    """``re.finditer``."""
    return compile(pattern).finditer(text)


def findall(pattern: AnyStr, text: AnyStr) -> list[Any]:
    """``re.findall``."""
    return compile(pattern).findall(text)


def split(pattern: AnyStr, text: AnyStr) -> list[AnyStr | Any]:
    """``re.split``."""
    return compile(pattern).split(text)


def sub(pattern: AnyStr, replacement: AnyStr | Callable[[Match[AnyStr]], AnyStr], text: AnyStr) -> AnyStr:
    """``re.sub``."""
    return compile(pattern).sub(replacement, text)


def keep() -> None:
    """Keep what this process compiled for those to come. Where that cannot be, they compile it themselves."""
    if not _new or kept_path(_NAME) is None:
        return
    try:
        made = {(pattern, int(flags)): pattern_code(pattern, int(flags)) for pattern, flags in _new}
    except Exception:  # of internals nothing is promised
        return
    kept = (_kept or {}) if len(_kept or {}) + len(made) <= _MOST else {}
    write_kept(_NAME, {**kept, **made})


def _anew(key: tuple[str | bytes, int]) -> Pattern[Any]:
    import re

    _new.append(key)
    return re.compile(*key)


def _from_kept(key: tuple[str | bytes, int]) -> Pattern[Any] | None:
    global _delivered, _kept  # noqa: PLW0603 - a process reads them once
    if _delivered is None:
        _delivered = _read_delivered()
    code = _delivered.get(key)
    if code is None:
        if _kept is None:
            _kept = read_kept(_NAME)
        code = _kept.get(key)
    if code is None:
        return None
    import marshal

    try:
        import _sre  # type: ignore[import-not-found]  # has no stubs, as the internals below have none

        flags, words, *rest = marshal.loads(code)  # noqa: S302 - of the user's own
        found: Pattern[Any] = _sre.compile(key[0], flags, memoryview(words).cast("I").tolist(), *rest)
    except Exception:  # of internals nothing is promised
        return None
    return found


def _read_delivered() -> dict[tuple[str | bytes, int], bytes]:
    import marshal

    try:
        with open(delivered_path(), "rb") as file:  # noqa: PTH123 - pathlib takes longer to import
            form, codes = marshal.loads(file.read())  # noqa: S302 - as the code of the modules beside it
        return codes if form == code_form() else {}
    except Exception:  # of internals nothing is promised
        return {}


def delivered_path() -> str:
    """The file of the codes that come with promptguard for this Python; there may be none."""
    return f"{__file__[: -len('patterns.py')]}pattern_codes/{sys.implementation.cache_tag}.bin"


def code_form() -> tuple[int, int, str]:
    """What says whether a code is for this Python: the version of the form, the size of its words, their byte order."""
    import _sre

    return _sre.MAGIC, _sre.CODESIZE, sys.byteorder


def pattern_code(pattern: str | bytes, flags: int) -> bytes:
    """What ``re.compile`` would give to ``_sre.compile`` behind the pattern: flags, code, groups, and their names both ways."""
    import marshal
    from array import array

    try:
        from re import _compiler, _parser  # type: ignore[attr-defined]
    except ImportError:  # Python 3.10
        import sre_compile as _compiler
        import sre_parse as _parser
    parsed = _parser.parse(pattern, flags)
    words = array("I", map(int, _compiler._code(parsed, flags)))
    numbers = dict(parsed.state.groupdict)
    names: list[str | None] = [None] * parsed.state.groups
    for name, number in numbers.items():
        names[number] = name
    return marshal.dumps((int(flags | parsed.state.flags), words.tobytes(), len(names) - 1, numbers, tuple(names)))
