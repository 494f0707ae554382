"""What commands print on standard output."""

from __future__ import annotations

import os
import sys

from promptguard.core.errors import InputError
from promptguard.core.light import Any


def write_output(report: Any, encoding: str, *, errors: bool = False) -> None:
    """Let ``report`` write texts with their own line ends.

    Raises:
        InputError: the stream cannot be written to. One whose reader has seen enough is no error: the verdict stands.
    """
    stream = sys.stderr if errors else sys.stdout
    name = "standard error" if errors else "standard output"
    if stream is None:
        raise InputError(f"{name} cannot be written (it is closed)")
    try:
        stream.flush()
        report(lambda text: stream.buffer.write(text.encode(encoding, "surrogateescape")))
        stream.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # else the interpreter complains when it exits
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"{name} cannot be written ({error.strerror or error})") from None
