"""Errors on standard error."""

from __future__ import annotations

import sys


def complain(message: str) -> None:
    """Print an error. Parts of it can come from a template, a server or a file name, so what is not printable is escaped."""
    lines = ("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line) for line in message.split("\n"))
    say("promptguard: error: " + "\n".join(lines))


def say(line: str) -> None:
    """Print a line on standard error, if there is one."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except OSError:
        return  # there is nowhere left to say it
