"""The functions of ``re``, for patterns that are part of the program: each is compiled once, not once in every process.

To import ``re`` and to compile the dozen patterns that a small file needs takes as long as all else that ``promptguard lint``
does for it, and lint starts with every commit. So the code of a compiled pattern is kept in the user's cache folder, as Python
keeps that of a module, and the next process gives it to ``_sre``, the matcher below ``re``. Both are internals of CPython: what
is kept holds for the very interpreter that made it, and where anything is not as expected ``re.compile`` does it.
"""

# ruff: noqa: PTH103, PTH105, PTH108, PTH117, PTH118, PTH120, PTH123 - pathlib takes longer to import than all that is done here
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # which type checkers take for true

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Match as Match
    from re import Pattern as Pattern
    from typing import Any, AnyStr

IGNORECASE, MULTILINE, DOTALL, VERBOSE = 2, 8, 16, 64
"""As in ``re``."""

_MOST = 400  # patterns that are kept: where there are more, other versions left them

_MOST_BYTES = 1 << 22
_HASH = 8  # bytes

_patterns: dict[tuple[str | bytes, int], Pattern[Any]] = {}
_kept: dict[tuple[str | bytes, int], bytes] | None = None  # what other processes compiled; None: not read yet
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
    path = _path()
    if not _new or path is None:
        return
    import marshal

    try:
        made = {(pattern, int(flags)): _code(pattern, int(flags)) for pattern, flags in _new}
        kept = (_kept or {}) if len(_kept or {}) + len(made) <= _MOST else {}
        data = marshal.dumps((sys.version, {**kept, **made}))
        data = _hash(data) + data
    except Exception:  # of internals nothing is promised
        return
    beside = f"{path}.{os.getpid()}"  # renamed when it is whole: others may read and write at the same time
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(beside, "xb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError:
        _remove(beside)


def _anew(key: tuple[str | bytes, int]) -> Pattern[Any]:
    import re

    _new.append(key)
    return re.compile(*key)


def _from_kept(key: tuple[str | bytes, int]) -> Pattern[Any] | None:
    global _kept  # noqa: PLW0603 - a process reads it once
    if _kept is None:
        _kept = _read()
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


def _read() -> dict[tuple[str | bytes, int], bytes]:
    path = _path()
    if path is None:
        return {}
    import marshal

    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if status.st_mode & 0o170000 != 0o100000 or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
                return {}  # no file, or another's: it is code, so it has to be one's own
            data = file.read(_MOST_BYTES)
        if _hash(data[_HASH:]) != data[:_HASH]:
            return {}  # damaged; it would match something else, or nothing
        version, kept = marshal.loads(memoryview(data)[_HASH:])  # noqa: S302 - likewise
    except (ImportError, OSError, EOFError, ValueError, TypeError):
        return {}
    return kept if version == sys.version and isinstance(kept, dict) else {}


def _hash(data: bytes) -> bytes:
    """Eight bytes, as Python keeps them in front of the code of a module."""
    import _imp

    return _imp.source_hash(0, data)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _code(pattern: str | bytes, flags: int) -> bytes:
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


def _path() -> str | None:
    """The file of the patterns; a relative cache folder does not count, as the XDG base directory specification has it."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or ""
    if not os.path.isabs(folder):
        folder = os.path.join(os.environ.get("HOME", ""), ".cache")
    tag: str | None = sys.implementation.cache_tag
    return f"{folder}/promptguard/patterns.{tag}" if tag and os.path.isabs(folder) else None
