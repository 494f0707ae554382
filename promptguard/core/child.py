"""Processes of our own: started apart from the current folder and the user's Python settings, and ended with their parent.

Nothing in the folder that a user happens to work in is imported, and the end of the parent, whatever its reason, is the end of
the child, however busy that is.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from promptguard.core import child; child.run(sys.argv[2:])"


class Child:
    """A module of this package whose ``main(arguments)`` runs in a process of its own.

    It has a session of its own, so that an interrupt from the keyboard reaches only the parent, which decides what becomes of it.

    Args:
        module: module to run.
        arguments: what its ``main`` gets.
        stderr: where its standard error goes.
    """

    def __init__(self, module: str, *arguments: str, stderr: int | IO[bytes] = subprocess.DEVNULL) -> None:
        line, self._life = os.pipe()  # the child holds the reading end; the writing end closes with this process
        environment = {name: value for name, value in os.environ.items() if name != "PROMPTGUARD_API_KEY"}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, json.dumps(_module_path()), module, str(line), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment,
                pass_fds=[line],
                start_new_session=True,
            )
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(line)

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None  # it is a pipe
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def ended_by(self, name: str) -> bool:
        """Whether a signal of this name has ended the process, which has just closed its output."""
        number = getattr(signal, name, None)
        try:
            return number is not None and self.process.wait(timeout=5) == -number
        except subprocess.TimeoutExpired:
            return False

    def close(self, *, kill: bool = False) -> None:
        """End the process: its life line is cut, and it is killed if asked for or when that does not help within five seconds."""
        if kill:
            self.process.kill()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        with contextlib.suppress(OSError):  # what was not yet written has nobody to go to
            self.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.stdout.close()


def run(arguments: list[str]) -> None:
    """The child's side: ``arguments`` are the module, the number of the life line, and the module's own arguments."""
    module, line, *own = arguments
    sys.dont_write_bytecode = True
    end_with_parent(int(line))
    importlib.import_module(module).main(own)


def end_with_parent(line: int) -> None:
    """End this process when the other end of the pipe ``line`` is closed."""
    try:
        import fcntl

        # On Linux the kernel sends SIGIO (default: terminate) when the other end of the pipe is closed, even while native code
        # holds the interpreter.
        fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
        asynchronous: Any = getattr(os, "O_ASYNC", 0o20000)
        fcntl.fcntl(line, fcntl.F_SETFL, fcntl.fcntl(line, fcntl.F_GETFL) | asynchronous)
    except (ImportError, OSError):
        pass  # the thread below does, when the interpreter is free

    def wait() -> None:
        while os.read(line, 4096):
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def _module_path() -> list[str]:
    """Where this interpreter finds its modules, without the current folder, and with this package in any case."""
    here = os.getcwd()  # noqa: PTH109 - compared as text with what stands in sys.path
    path = [entry for entry in sys.path if os.path.isabs(entry) and entry != here]  # noqa: PTH117 - as above
    root = str(Path(__file__).resolve().parents[2])
    return path if root in path else [*path, root]
