"""Reading the user's files, bounded."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from promptguard.core.errors import InputError


def open_regular(path: Path, *, what: str = "the file") -> BinaryIO:
    """Open a regular file to read; a pipe or a device could block for ever or never end.

    Raises:
        InputError: it is missing, unreadable, or not a regular file.
    """
    where = str(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise InputError(f"{what} does not exist", where=where, hint="check the path") from None
    except IsADirectoryError:
        raise InputError(f"{what} is a folder", where=where, hint="name a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{what} cannot be read ({reason})", where=where) from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise InputError(f"{what} is a folder", where=where, hint="name a file")
        raise InputError(f"{what} is not a regular file", where=where)
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, *, limit: int, what: str = "the file") -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises:
        InputError: as ``open_regular``, or it is too large.
    """
    with open_regular(path, what=what) as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise InputError(f"{what} cannot be read ({error.strerror or error})", where=str(path)) from None
    if len(data) > limit:
        raise InputError(f"{what} is larger than {limit:,} bytes", where=str(path))
    return data


def read_text(path: Path, *, limit: int, what: str = "the file") -> str:
    """The content of a UTF-8 file, line ends as they are, a byte order mark removed.

    Raises:
        InputError: as ``read_bytes``, or it is not UTF-8.
    """
    data = read_bytes(path, limit=limit, what=what)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{what} is not UTF-8 (byte {error.start})", where=f"{path}:{line}", hint="save it as UTF-8") from None
    return text.removeprefix("\ufeff")
