"""Models in GGUF form, as far as a run over a folder needs to know of them: nothing of them is read here but four bytes."""

from __future__ import annotations

import os

from promptguard.core.errors import InputError
from promptguard.core.files import read_head

_MAGIC = b"GGUF"


def model_stamp(path: str, *, named: bool) -> bytes | None:
    """What tells whether a model is still the same, without reading it.

    Args:
        path: the file.
        named: the user named it; otherwise ``None`` for a file that only has the name of a GGUF file, such as a pointer to one.

    Raises:
        InputError: the file cannot be read.
    """
    if read_head(path, size=len(_MAGIC)) != _MAGIC and not named:
        return None
    try:
        status = os.stat(path)  # noqa: PTH116 - pathlib takes long to import
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror or error})", where=path) from None
    return f"gguf {status.st_size} {status.st_mtime_ns} {status.st_ino}".encode()
