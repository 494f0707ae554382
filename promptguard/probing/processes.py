"""Runs of a builder in processes of their own, many at a time, with limits on time and output."""

# ruff: noqa: PTH100, PTH118, PTH120 - paths here are texts to compare

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from promptguard.core.errors import PromptguardError
from promptguard.probing.child import MAX_ANSWER
from promptguard.probing.factors import Places, Surroundings
from promptguard.probing.targets import Target

_START = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
if sys.version_info < (3, 10):
    sys.exit("too old")
import importlib.util
spec = importlib.util.spec_from_file_location("promptguard", sys.argv[1])
sys.modules["promptguard"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from promptguard.probing import child
child.main()
"""
INSIDE = "PROMPTGUARD_PROBE"
"""The environment variable that a builder's process, and all that it starts, is known by."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MOST_ERROR_OUTPUT = 1 << 16
_SHOWN = 200
_GRACE = 5.0  # seconds beyond the limit, for the process to say where it hangs
_LIBRARY = re.compile(r"/lib(?:64)?/python3\.\d+/")  # of any interpreter, and what is installed in it
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in ', re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One run to be made."""

    surroundings: Surroundings
    calls: int = 1
    watch: bool = False


@dataclass(frozen=True)
class Failure:
    """Why a run gave no prompt.

    Attributes:
        what: in words, behind the name of the builder.
        hint: what to do.
        place: file and line in the user's code.
        told: whether the process lived to tell it.
    """

    what: str
    hint: str | None = None
    place: tuple[str, int] | None = None
    told: bool = False

    def error(self, name: str) -> PromptguardError:
        """The same as an error about the builder ``name``."""
        where = f" ({shown(self.place[0])}:{self.place[1]})" if self.place is not None else ""
        return PromptguardError(f"{self.what}{where}", where=name, hint=self.hint)


@dataclass(frozen=True)
class Built:
    """What a run gave.

    Attributes:
        prompts: each different prompt as JSON text, in the order of the calls.
        place: file and line of the builder.
        files: that were imported or read.
        started: programs, where that was watched.
        unchanged: what of the clock could not be replaced.
    """

    prompts: tuple[str, ...]
    place: tuple[str, int] | None
    files: tuple[str, ...]
    started: tuple[str, ...]
    unchanged: str | None


def shown(path: str) -> str:
    """A path as reports show it: relative to the current folder where it lies in it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative.replace(os.sep, "/")


class Launcher:
    """Makes runs of one builder.

    Args:
        target: the builder.
        kwargs: what it is called with.
        places: the folders that it sees.
        python: the interpreter.
        timeout: seconds that one run may take.
    """

    def __init__(self, target: Target, kwargs: dict[str, Any], places: Places, *, python: str | None, timeout: float) -> None:
        self._target = target
        self._kwargs = kwargs
        self._places = places
        self._python = python or sys.executable
        self._timeout = timeout
        self._at_once = max(1, _cpus())

    def run(self, runs: Sequence[Run], *, needed: int = 0) -> list[Built | Failure]:
        """Make runs, as many at a time as there are CPUs; the results are in the order of ``runs``.

        Where one of the first ``needed`` runs fails, that failure is the only result.
        """
        waiting = list(enumerate(runs))[::-1]
        done: dict[int, Built | Failure] = {}
        going: dict[int, _Process] = {}
        with selectors.DefaultSelector() as selector:
            try:
                while waiting or going:
                    while waiting and len(going) < self._at_once:
                        number, run = waiting.pop()
                        going[number] = self._start(run, selector)
                    soonest = min(process.deadline for process in going.values()) - time.monotonic()
                    for key, _ in selector.select(max(0.0, soonest)):
                        key.data.read(key.fileobj, selector)
                    for number, process in list(going.items()):
                        if process.ended or time.monotonic() > process.deadline:
                            done[number] = made = going.pop(number).finish(selector, self._timeout)
                            if number < needed and isinstance(made, Failure):
                                return [made]
            finally:
                for process in going.values():
                    process.kill()
        return [done[number] for number in range(len(runs))]

    def _start(self, run: Run, selector: selectors.BaseSelector) -> _Process:
        job = {
            "target": self._target.job,
            "kwargs": self._kwargs,
            "path": list(self._target.path),
            "root": self._places.root,
            "calls": run.calls,
            "watch": run.watch,
            "timeout": self._timeout,
            "surroundings": run.surroundings.job(),
        }
        try:
            process = subprocess.Popen(
                [self._python, "-c", _START, os.path.join(_PACKAGE, "__init__.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**self._places.environment(run.surroundings), INSIDE: "1"},
                cwd=self._places.directory(run.surroundings),
                start_new_session=True,
            )
        except OSError as error:
            raise PromptguardError(f"cannot be started: {error.strerror or error}", where=self._python) from None
        except ValueError:
            raise PromptguardError("can be no path", where=f"python: {self._python!a}") from None
        return _Process(process, json.dumps(job).encode() + b"\n", time.monotonic() + self._timeout + _GRACE, selector)


@dataclass
class _Process:
    process: subprocess.Popen[bytes]
    job: bytes
    deadline: float
    selector: selectors.BaseSelector
    answer: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    ended: bool = False

    def __post_init__(self) -> None:
        events = (selectors.EVENT_WRITE, selectors.EVENT_READ, selectors.EVENT_READ)
        for stream, event in zip(self._streams, events, strict=True):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, event, self)

    def read(self, stream: Any, selector: selectors.BaseSelector) -> None:
        """Take or give what there is for one of the pipes."""
        stdin, stdout, _ = self._streams
        if stream is stdin:
            with suppress(OSError):  # it says on its own why it ended
                self.job = self.job[os.write(stdin.fileno(), self.job) :]
                if self.job:
                    return
            selector.unregister(stdin)  # it stays open: its end would be the end of the process
            return
        data: bytes = os.read(stream.fileno(), 1 << 16)
        if stream is stdout:
            self.answer += data
            self.ended = not data or data.endswith(b"\n") or len(self.answer) > 3 * MAX_ANSWER
        else:
            self.errors += data
            del self.errors[:-_MOST_ERROR_OUTPUT]
        if not data:
            selector.unregister(stream)

    def finish(self, selector: selectors.BaseSelector, timeout: float) -> Built | Failure:
        """End the process and say what it gave."""
        late = not self.ended
        status = None
        if not late and not self.answer:  # it has ended, or is about to
            with suppress(subprocess.TimeoutExpired):
                status = self.process.wait(timeout=1)
        self._drain()
        for stream in self._streams:
            with suppress(KeyError):
                selector.unregister(stream)
        self.kill()
        output = self.errors.decode("utf-8", "replace")
        if self.answer.endswith(b"\n"):
            answer = json.loads(self.answer)
            if "error" in answer:
                told = answer["error"]
                return Failure(told["what"], told["hint"], tuple(told["place"]) if told["place"] else None, told=True)
            place = answer["place"]
            return Built(
                prompts=tuple(answer["prompts"]),
                place=tuple(place) if place else None,
                files=tuple(answer["files"]),
                started=tuple(answer["started"]),
                unchanged=answer["unchanged"],
            )
        return self._without_answer(output, timeout, late=late, status=status)

    def _without_answer(self, output: str, timeout: float, *, late: bool, status: int | None) -> Failure:
        if output.startswith("too old"):
            return Failure("needs Python 3.10 or later to be probed", "name another interpreter")
        _, mark, trace = output.rpartition("Timeout (")
        if mark or late:
            hint = "let it do less, or give it more time with --timeout"
            return Failure(f"did not end within {timeout:g} seconds", hint, _frame(trace))
        _, mark, trace = output.rpartition("Fatal Python error: ")
        if mark:
            return Failure(f"ended its process ({trace.splitlines()[0]})", place=_frame(trace))
        how = f"exit status {status}" if status is not None and status >= 0 else _signal_name(status)
        said = next((f': "{line.strip()[:_SHOWN]}"' for line in reversed(output.splitlines()) if line.strip()), "")
        return Failure(f"ended its process ({how}){said}")

    @property
    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self.process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: PT018
        return process.stdin, process.stdout, process.stderr

    def _drain(self) -> None:
        """The last of what it printed."""
        with suppress(OSError):
            while data := os.read(self._streams[2].fileno(), 1 << 16):
                self.errors += data
                del self.errors[:-_MOST_ERROR_OUTPUT]

    def kill(self) -> None:
        """End the process, and whatever it started."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in self._streams:
            with suppress(OSError):
                stream.close()


def _frame(trace: str) -> tuple[str, int] | None:
    """The innermost frame of a trace of ``faulthandler`` that is in no library, where there is one."""
    frames = [(file, int(line)) for file, line in _FRAME.findall(trace)]
    return next((frame for frame in frames if not frame[0].startswith((_PACKAGE, "<")) and not _LIBRARY.search(frame[0])), None)


def _signal_name(status: int | None) -> str:
    if status is None:
        return "for an unknown reason"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
