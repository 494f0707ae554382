"""What one process works out and the next would work out again: kept in the user's cache folder, as Python keeps the code of
modules. It holds for the very interpreter that made it.
"""

# ruff: noqa: PTH103, PTH105, PTH108, PTH117, PTH118, PTH120 - pathlib takes longer to import than all that is done here
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # which type checkers take for true

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_MOST_BYTES = 1 << 22
_HASH = 8  # bytes


def kept_path(name: str) -> str | None:
    """The file of what is kept under a name; ``None`` where nothing can be.

    A relative cache folder does not count, as the XDG base directory specification has it.
    """
    folder = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or ""
    if not os.path.isabs(folder):
        folder = os.path.join(os.environ.get("HOME", ""), ".cache")
    tag: str | None = sys.implementation.cache_tag
    return f"{folder}/promptguard/{name}.{tag}-{sys.hexversion:x}" if tag and os.path.isabs(folder) else None


def read_kept(name: str) -> dict[Any, bytes]:
    """What is kept under a name: values in the form of ``marshal`` by their keys. Where anything is not as expected, nothing."""
    path = kept_path(name)
    if path is None:
        return {}
    import marshal

    try:
        with open(path, "rb", opener=_open) as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o170000 != 0o100000 or _is_others(status):
                return {}  # no file, or another's: it may be code, so it has to be one's own
            data = file.read(_MOST_BYTES)
        if _hash(data[_HASH:]) != data[:_HASH]:
            return {}  # damaged
        version, kept = marshal.loads(memoryview(data)[_HASH:])  # noqa: S302 - of the user's own
    except (ImportError, OSError, EOFError, ValueError, TypeError):
        return {}
    return kept if version == sys.version and isinstance(kept, dict) else {}


def _open(path: str, flags: int) -> int:
    """Open a file to read, without waiting where it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_others(status: os.stat_result) -> bool:
    """Whether somebody else may have written a file."""
    return hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or bool(status.st_mode & 0o022))


def write_kept(name: str, values: Mapping[Any, bytes]) -> None:
    """Keep values instead of those that are kept under the name; where that cannot be, nothing is."""
    path = kept_path(name)
    if path is None:
        return
    import marshal

    beside = f"{path}.{os.getpid()}"  # renamed when it is whole: others may read and write at the same time
    try:
        data = marshal.dumps((sys.version, dict(values)))
        data = _hash(data) + data
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
        os.replace(beside, path)
    except (ImportError, OSError):
        _remove(beside)


def hash_of(text: str) -> bytes:
    """A key for a text: its hash and its length; not proof against texts that are made to have the same."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        return _hash(data) + len(data).to_bytes(8, "little")
    except ImportError:  # another Python, which keeps nothing
        return b""


def _hash(data: bytes) -> bytes:
    """Eight bytes, as Python keeps them in front of the code of a module."""
    import _imp

    return _imp.source_hash(0, data)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
