"""What ``promptguard format`` prints: files and differences on standard output, errors and notes on standard error."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TextIO

from promptguard.formatting.result import Outcome
from promptguard.report.plain import encodable, visible

Mode = Literal["write", "check", "diff", "wire"]


class Printer:
    """Print the outcomes of a run as they come.

    Args:
        mode: what the run does.
        output, messages: standard output and standard error, ``None`` where it is closed.
        quiet: print nothing but errors, and the text that ``wire`` and standard input ask for.

    Attributes:
        failure: why standard output could not be written, ``None`` if it could or if its reader has seen enough.
    """

    def __init__(self, mode: Mode, output: TextIO | None, messages: TextIO | None, *, quiet: bool) -> None:
        self._mode = mode
        self._output = output
        self._messages = messages
        self._quiet = quiet
        self._silent = False
        self.failure: str | None = None

    def show(self, outcome: Outcome) -> None:
        """One file."""
        if self._mode == "wire":
            self.show_stream(outcome)
            return
        if self._mode == "diff" and outcome.status == "reformatted" and not self._quiet:
            self._print(diff(outcome))
        elif outcome.status == "reformatted":
            self._say("formatted" if self._mode == "write" else "would format", outcome.path)
        self._about(outcome)

    def show_stream(self, outcome: Outcome) -> None:
        """A text that is asked for on standard output; one that is refused is not printed, one without tools as it is."""
        if self._mode in ("write", "wire") and outcome.status != "refused":
            if self._mode == "write" or outcome.status != "no-tools":
                self._print(outcome.after)
        elif outcome.status == "reformatted" and not self._quiet:
            if self._mode == "diff":
                self._print(diff(outcome))
            else:
                self._say("would format", outcome.path)
        self._about(outcome)

    def summary(self, outcomes: Sequence[Outcome]) -> None:
        """How many files there were of each kind."""
        if self._quiet or self._mode == "wire":
            return
        line = summary(outcomes, written=self._mode == "write")
        if self._mode == "diff":
            self._report(line)
        else:
            self._print_line(line)

    def _about(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            self._message("error", str(outcome.error))
        if self._quiet:
            return
        if outcome.status == "no-tools" and outcome.named:
            self._message("note", f"{outcome.path}: {outcome.reason}: left as it is")
        if outcome.note is not None:
            self._message("note", str(outcome.note))
        for warning in outcome.warnings:
            self._message("warning", str(warning))
        for note in outcome.normalized:
            self._message("unsafe fix", str(note))

    def _message(self, kind: str, text: str) -> None:
        self._report(f"promptguard: {kind}: {visible(text)}")

    def _report(self, line: str) -> None:
        if self._messages is not None:
            with contextlib.suppress(OSError):  # there is nowhere left to say it
                self._messages.write(encodable(line + "\n", self._messages.encoding or "utf-8"))

    def _say(self, what: str, path: str) -> None:
        if not self._quiet:
            self._print_line(f"{what} {visible(path)}")

    def _print_line(self, line: str) -> None:
        encoding = (self._output.encoding if self._output is not None else None) or "utf-8"
        self._print(encodable(line + "\n", encoding), encoding)

    def _print(self, text: str, encoding: str = "utf-8") -> None:
        """Print text with its own line ends. Where that fails nothing more is printed; files go on being formatted."""
        if self._output is None:
            self.failure = "it is closed"
        elif not self._silent:
            try:
                _write(self._output, text, encoding)
            except OSError as error:
                self._silent = True
                if not isinstance(error, BrokenPipeError):
                    self.failure = error.strerror or str(error)
                with contextlib.suppress(OSError):  # else the interpreter complains when it exits
                    os.dup2(os.open(os.devnull, os.O_WRONLY), self._output.fileno())


def summary(outcomes: Sequence[Outcome], *, written: bool) -> str:
    """One line on all files that hold tool schemas."""
    counts = Counter(outcome.status for outcome in outcomes)
    would = "" if written else "would be "
    parts = [
        (counts["reformatted"], f"{would}reformatted"),
        (counts["unchanged"], f"{would}left unchanged"),
        (counts["kept"], "not canonical and not rewritten"),
        (counts["refused"], "refused"),
    ]
    named = [(count, what) for count, what in parts if count]
    if not named:
        return "no tool schemas found"
    (first, what), *rest = named
    return ", ".join([f"{first} file{'' if first == 1 else 's'} {what}", *(f"{count} {what}" for count, what in rest)])


def diff(outcome: Outcome) -> str:
    """The change of a file as a unified diff."""
    return unified_diff(outcome.path, outcome.before, outcome.after)


def unified_diff(path: str, before: str, after: str) -> str:
    """The change of a text as a unified diff."""
    name = visible(path)
    lines = difflib.unified_diff(_lines(before), _lines(after), name, name)
    return "".join(_ended(lines))


def _lines(text: str) -> list[str]:
    """Lines as diff and patch see them: only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _write(stream: TextIO, text: str, encoding: str) -> None:
    stream.flush()
    if hasattr(stream, "buffer"):
        stream.buffer.write(text.encode(encoding, "surrogateescape"))
        stream.buffer.flush()
    else:
        stream.write(text)
