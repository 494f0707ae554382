"""Errors on standard error."""

from __future__ import annotations

import click


def complain(message: str) -> None:
    """Print an error. Parts of it can come from a template, a server or a file name, so what is not printable is escaped."""
    lines = ("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line) for line in message.split("\n"))
    click.echo("promptguard: error: " + "\n".join(lines), err=True)
