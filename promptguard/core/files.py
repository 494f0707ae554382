"""Reading the user's files, bounded, and replacing them whole."""

# ruff: noqa: PTH101, PTH105, PTH108, PTH116, PTH118, PTH123 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os
import stat

from promptguard.core.errors import InputError
from promptguard.core.light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    StrPath = str | os.PathLike[str]

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: StrPath, *, what: str = "the file") -> BinaryIO:
    """Open a regular file to read; a pipe or a device could block for ever or never end.

    Raises:
        InputError: it is missing, unreadable, or not a regular file.
    """
    return os.fdopen(_open(path, what)[0], "rb")


def _open(path: StrPath, what: str) -> tuple[int, int]:
    """The descriptor of a regular file, and its size as the file system says it."""
    where = str(path)
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise InputError(f"{what} does not exist", where=where, hint="check the path") from None
    except IsADirectoryError:
        raise InputError(f"{what} is a folder", where=where, hint="name a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{what} cannot be read ({reason})", where=where) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{what} is a folder", where=where, hint="name a file")
        raise InputError(f"{what} is not a regular file", where=where)
    return descriptor, status.st_size


def read_bytes(path: StrPath, *, limit: int, what: str = "the file") -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises:
        InputError: as ``open_regular``, or it is too large.
    """
    data = read_head(path, size=limit + 1, what=what)
    if len(data) > limit:
        raise InputError(f"{what} is larger than {limit:,} bytes", where=str(path))
    return data


def read_head(path: StrPath, *, size: int, what: str = "the file") -> bytes:
    """The first ``size`` bytes of a regular file, all of it where it is shorter.

    Raises:
        InputError: as ``open_regular``.
    """
    descriptor, expected = _open(path, what)
    try:  # without a file object: thousands of files may be read
        data = os.read(descriptor, min(size, expected + 1))
        if len(data) != expected:  # there is more of it, or it has changed
            parts = [data]
            left = size - len(data)
            while left > 0 and (more := os.read(descriptor, min(left, 1 << 20))):
                parts.append(more)
                left -= len(more)
            data = b"".join(parts)
    except OSError as error:
        raise InputError(f"{what} cannot be read ({error.strerror or error})", where=str(path)) from None
    finally:
        os.close(descriptor)
    return data


def read_found(path: str, *, size: int) -> bytes:
    """The same for a file that a walk through its folder has shown to be a regular one, ``size`` small: with the fewest calls.

    Raises:
        InputError: as ``open_regular``.
    """
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            return os.read(descriptor, size)
        finally:
            os.close(descriptor)
    except OSError:
        return read_head(path, size=size)  # says what is wrong


def read_text(path: StrPath, *, limit: int, what: str = "the file") -> str:
    """The content of a UTF-8 file, line ends as they are, a byte order mark removed.

    Raises:
        InputError: as ``read_bytes``, or it is not UTF-8.
    """
    return decode_text(read_bytes(path, limit=limit, what=what), where=str(path), what=what).removeprefix("\ufeff")


def decode_text(data: bytes, *, where: str, what: str = "the file") -> str:
    """Decode UTF-8; line ends and a byte order mark stay.

    Raises:
        InputError: it is not UTF-8; names the place.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8")) + 1
        raise InputError(
            f"{what} is not UTF-8 (byte {error.start})", where=f"{where}:{line}:{column}", hint="save it as UTF-8"
        ) from None


def rewrite_file(path: StrPath, before: bytes, after: bytes, *, doing: str) -> None:
    """Replace the content of a file whole, if it is still what it was; links and permissions stay.

    Args:
        path: the file.
        before: its content when it was read.
        after: its new content.
        doing: what is done to it, for errors: ``formatted``.

    Raises:
        InputError: it is write-protected, has changed meanwhile or cannot be written; it is as it was.
    """
    where = os.fspath(path)
    try:
        real = os.path.realpath(path)
        if not os.access(real, os.W_OK):
            raise InputError("the file is write-protected", where=where, hint="nothing is written")
        if read_head(real, size=len(before) + 1) != before:
            raise InputError(f"the file changed while it was being {doing}", where=where, hint="run it again")
        replace_file(real, after)
    except OSError as error:
        raise InputError(f"the file cannot be written ({error.strerror or error})", where=where) from None


def replace_file(target: StrPath, data: bytes) -> None:
    """Write a file so that it is either the old one or the whole new one, with the permissions and owner of the old one.

    Args:
        target: a regular file or nothing yet, with symbolic links resolved. A new file has the permissions that the umask gives.
        data: its new content.

    Raises:
        OSError: it cannot be written; the old file is as it was and nothing else is left in the folder.
    """
    import contextlib  # which most runs that only read do without

    folder, name = os.path.split(os.fspath(target))
    temporary = os.path.join(folder, f".{name[:50]}.{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            old = os.stat(target)
            if hasattr(os, "chown"):
                with contextlib.suppress(PermissionError):  # only root can give a file away
                    os.chown(temporary, old.st_uid, old.st_gid)
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
