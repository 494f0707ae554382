"""A line on a terminal that says how far a run is, and is gone when the run ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from promptguard.report.plain import fit, visible, width

_BAR = 20


@contextlib.contextmanager
def progress(total: int, description: str, stream: TextIO | None = None) -> Iterator[Callable[[str], None]]:
    """Show the progress of ``total`` steps on standard error; nothing at all where that is not a terminal.

    Yields:
        ``advance(label)``, to be called when the step named by ``label`` begins.
    """
    output = stream if stream is not None else sys.stderr
    if not output.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _label: None
        return
    cells = _columns(output) - 1
    step = 0

    def write(text: str) -> None:
        # Overwriting with spaces, and no escape sequence, works on every terminal.
        line = fit(text, cells)
        output.write("\r" + line + " " * (cells - width(line)) + "\r")
        output.flush()

    def advance(label: str) -> None:
        nonlocal step
        step += 1
        done = _BAR * min(step - 1, total) // max(total, 1)
        line = f"{description} [{'#' * done}{'.' * (_BAR - done)}] {min(step, total)}/{total} {visible(label)}"
        encoding = output.encoding or "ascii"
        write(line.encode(encoding, "replace").decode(encoding))

    try:
        yield advance
    finally:
        write("")


def _columns(output: TextIO) -> int:
    try:
        return max(20, os.get_terminal_size(output.fileno()).columns)
    except (OSError, ValueError):
        return 80
