"""The table of report formats, and reports written to files and streams."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TextIO

from promptguard.core.errors import ConfigError, InputError
from promptguard.core.files import replace_file
from promptguard.replaying.result import Result
from promptguard.report import json, junit, markdown, text
from promptguard.report.plain import encodable


def _sarif(result: Result) -> str:
    from promptguard.report import sarif  # it needs the catalog of rules, which the other formats do without

    return sarif.render(result)


FORMATS: dict[str, Callable[[Result], str]] = {
    "text": text.render,
    "json": json.render,
    "sarif": _sarif,
    "markdown": markdown.render,
    "junit": junit.render,
}


def render(result: Result, format: str) -> str:  # noqa: A002
    """The report in one of ``FORMATS``.

    Raises:
        ConfigError: there is no such format.
    """
    return FORMATS[_known(format, "--output-format", FORMATS)](result)


def show(result: Result, format: str, stream: TextIO) -> None:  # noqa: A002
    """Write the report to a stream: text in colour on a terminal, every format but text always as UTF-8."""
    if format == "text" and stream.isatty():
        text.print_to_terminal(result, stream)
        return
    report = render(result, format)
    if format == "text":
        stream.write(encodable(report, stream.encoding or "utf-8"))
    elif hasattr(stream, "buffer"):
        stream.flush()
        stream.buffer.write(report.encode())
        stream.buffer.flush()
    else:
        stream.write(report)


def parse_report_option(option: str, formats: Collection[str] = tuple(FORMATS)) -> tuple[str, Path]:
    """The format and the file of ``--report FORMAT=FILE``.

    Raises:
        ConfigError: the format is unknown, the file name is missing, or it is ``-``, which would not be standard output.
    """
    name, equals, file = option.partition("=")
    where = f"--report {option}"
    _known(name, where, formats)
    if not equals or not file:
        raise ConfigError("the file name is missing", where=where, hint=f"write it as {name}=FILE")
    if file == "-":
        raise ConfigError("a report does not go to standard output", where=where, hint=f"write it as {name}=FILE")
    return name, Path(file)


def parse_report_options(options: Iterable[str], formats: Collection[str] = tuple(FORMATS)) -> list[tuple[str, Path]]:
    """All ``--report`` options; no two may name the same file.

    Args:
        options: their values.
        formats: those that the command has.

    Raises:
        ConfigError: an option is wrong, or two would overwrite each other.
    """
    reports: dict[Path, tuple[str, Path]] = {}
    for option in options:
        name, path = parse_report_option(option, formats)
        target = Path(os.path.realpath(path))
        if target in reports:
            raise ConfigError(f"two reports would be written to {path}", where=f"--report {option}", hint="name another file")
        reports[target] = (name, path)
    return list(reports.values())


def check_target(path: Path) -> None:
    """See that a report can be written to ``path``, so that a long run does not end in an error that was there at its start.

    Raises:
        InputError: its folder does not exist or cannot be written to, or ``path`` is a folder.
    """
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):  # noqa: PTH112 - unlike that of pathlib it never fails
        raise InputError("this is a folder", where=str(path), hint="name a file in it")
    if not os.path.isdir(target.parent):  # noqa: PTH112
        raise InputError("there is no such folder", where=str(path.parent), hint="create it, or name another file for the report")
    if _replaceable(path) and not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError("the folder cannot be written to", where=str(path.parent), hint="name another file for the report")


def write_report(path: Path, report: str) -> None:
    """Write a report so that the file is either the old one or the whole new one.

    A symbolic link stays one: its target is replaced. A new file has the permissions that the umask gives, a replaced one keeps
    its own. A pipe or a device is written to in place.

    Raises:
        InputError: it cannot be written; nothing half-written is left.
    """
    check_target(path)
    try:
        if _replaceable(path):
            replace_file(Path(os.path.realpath(path)), report.encode("utf-8", "replace"))
        else:
            path.write_bytes(report.encode("utf-8", "replace"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"the report cannot be written: {reason}", where=str(path), hint="name another file for it") from error


def _replaceable(path: Path) -> bool:
    """Whether ``path`` is a regular file or nothing yet; ``/dev/stdout`` is neither, whatever it leads to."""
    if str(path).startswith(("/dev/std", "/dev/fd/", "/proc/")):
        return False
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True


def _known(name: str, where: str, formats: Collection[str]) -> str:
    if name in formats:
        return name
    close = difflib.get_close_matches(name, formats, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the formats are {', '.join(formats)}"
    raise ConfigError(f"unknown report format {name!r}", where=where, hint=hint)
