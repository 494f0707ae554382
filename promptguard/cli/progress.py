"""How far a run is: a line on a terminal that is gone when the run ends, and a line now and then elsewhere, as in a log of CI."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from promptguard.report.plain import fit, visible, width

SECONDS = 10.0
"""Least time between two lines where there is no terminal: a run that is quicker says nothing."""
_BAR = 20


@contextlib.contextmanager
def progress(
    total: int,
    description: str,
    stream: TextIO | None = None,
    *,
    lines: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[str], None]]:
    """Show the progress of ``total`` steps on standard error.

    Args:
        total: the number of steps, at least about.
        description: what is going on.
        stream: another stream than standard error.
        lines: whether to write lines where the stream is not a terminal.
        clock: gives seconds.

    Yields:
        ``advance(label)``, to be called when the step named by ``label`` begins.
    """
    output = stream if stream is not None else sys.stderr
    if output is None or not output.isatty() or os.environ.get("TERM") == "dumb":
        yield _lines(total, description, output, clock) if lines and output is not None else lambda _label: None
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


def _lines(total: int, description: str, output: TextIO, clock: Callable[[], float]) -> Callable[[str], None]:
    step = 0
    said = clock()

    def advance(label: str) -> None:
        nonlocal step, said
        step += 1
        now = clock()
        if now - said >= SECONDS:
            said = now
            with contextlib.suppress(OSError):  # there is nowhere to say it, which is no reason to end
                output.write(f"promptguard: {description} {min(step, total)}/{total} {visible(label)}\n")
                output.flush()

    return advance


def _columns(output: TextIO) -> int:
    try:
        return max(20, os.get_terminal_size(output.fileno()).columns)
    except (OSError, ValueError):
        return 80
