"""What a step tells the runner: outputs, the summary, annotations, log lines. No value can be taken for a command."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

SUMMARY_BYTES = 1 << 20
"""Most bytes that GitHub takes as the summary of a step."""

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def set_outputs(values: Mapping[str, str]) -> None:
    """Give the step's outputs; a value may have several lines."""
    for name, value in values.items():
        end = f"end-{secrets.token_hex(16)}"  # nobody can write a value that holds it
        _append("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


def add_to_summary(markdown: str) -> None:
    """Write to the summary of the step, which is read as Markdown."""
    _append("GITHUB_STEP_SUMMARY", markdown)


def annotate(level: str, message: str, properties: Mapping[str, str | int] | None = None) -> None:
    """Write an annotation.

    Args:
        level: ``error``, ``warning`` or ``notice``.
        message: what is wrong.
        properties: where: ``file`` (relative to the root of the repository), ``line``, ``col``, ``title``.
    """
    where = ",".join(f"{name}={str(value).translate(_PROPERTY)}" for name, value in (properties or {}).items())
    say(f"::{level}{f' {where}' if where else ''}::{message.translate(_DATA)}")


def say(line: str) -> None:
    """Write a line to the log. What is not our own text belongs into ``quoted_log``."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@contextmanager
def quoted_log(title: str) -> Iterator[None]:
    """A group of log lines in which the runner looks for no commands, since they show what stands in files."""
    token = secrets.token_hex(16)
    say(f"::group::{title.translate(_DATA)}")
    say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        say(f"::{token}::")
        say("::endgroup::")


def _append(variable: str, text: str) -> None:
    with open(os.environ[variable], "a", encoding="utf-8", errors="replace", newline="\n") as file:  # noqa: PTH123 - appends
        file.write(text)
