"""A child process that ends with its parent and whose last words are kept."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson

from promptguard.core.child import Child
from promptguard.core.errors import EngineError

LOG_LINES = 12
# ggml's threads wait for each other in busy loops. For a tiny model that gains nothing, and on a machine with other work to do it
# costs a factor of ten; the files of real models start at some hundred megabytes.
ONE_THREAD_BELOW = 100 * 2**20


def threads_for(model: Path) -> int | None:
    """Number of threads to run a model with, ``None`` for the engine's own choice."""
    return 1 if model.stat().st_size < ONE_THREAD_BELOW else None


# A token takes less than a thousandth of the file in the cache, and less than this: 80 layers with 64 heads of full attention.
_CACHE_PER_TOKEN = 5 << 19
_LEAST_MEMORY = 4 << 30
_OUT_OF_MEMORY = re.compile(r"bad_alloc|MemoryError|insufficient memory|failed to allocate|Cannot allocate memory")


def memory_for(model: Path, context: int) -> int:
    """Bytes of memory that an engine may take beside the files that it maps: four times what it can need, and 4 GiB.

    What it can need is the weights once more, where it lays them out anew, and the cache of its context. The default model was
    measured to take 0.15 GB in all.
    """
    size = model.stat().st_size
    return _LEAST_MEMORY + 4 * (size + context * min(size >> 10, _CACHE_PER_TOKEN))


class ChildProcess:
    """A Python module run in a process of its own.

    It is given lines of JSON and answers each with one. Standard error goes to a nameless temporary file, so that nothing is left
    behind.

    Args:
        module: module to run.
        what: how messages name it.
        memory: bytes that it limits itself to, ``None`` where it does not.
    """

    def __init__(self, module: str, what: str, *, memory: int | None = None) -> None:
        self.what = what
        self._memory = memory
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self._child = Child(module, stderr=self._log)
        self._process = self._child.process

    @property
    def pid(self) -> int:
        return self._process.pid

    def gone(self, within: float = 0.5) -> bool:
        """Whether the child has ended; one that just broke a connection gets a moment to finish dying."""
        try:
            self._process.wait(timeout=within)
        except subprocess.TimeoutExpired:
            return False
        return True

    def send(self, message: dict[str, Any], doing: str = "starting") -> None:
        """Give one line of JSON to the child.

        Raises:
            EngineError: the child is gone.
        """
        try:
            self._child.stdin.write(orjson.dumps(message) + b"\n")
            self._child.stdin.flush()
        except OSError:
            raise self.died(f"died while {doing}") from None

    def receive(self, timeout: float, doing: str) -> dict[str, Any]:
        """One line of JSON from the child.

        Raises:
            EngineError: the child died, or said nothing for ``timeout`` seconds (it is killed then).
        """
        descriptor = self._child.stdout.fileno()
        deadline = time.monotonic() + timeout
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.close(kill=True)
                raise EngineError(
                    f"{self.what} did not answer within {timeout:g} s while {doing}",
                    hint="raise --timeout or try a smaller model",
                )
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise self.died(f"died while {doing}")
            line += chunk
        answer = orjson.loads(line)
        if not isinstance(answer, dict):
            raise EngineError(f"{self.what} gave an answer that makes no sense while {doing}")
        return answer

    def died(self, how: str) -> EngineError:
        """The error for a child that is gone, with how it ended and the last lines of its log."""
        try:
            code: int | None = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        self.close(kill=True)
        end = "" if code is None else f" ({_ending(code)})"
        return self.failed(f"{self.what} {how}{end}")

    def failed(self, what: str, *, where: str | None = None) -> EngineError:
        """The error for what a child says in its log, with the last lines of that; or that it ran out of memory."""
        log = self.last_words()
        if self._memory is not None and _OUT_OF_MEMORY.search(log):
            return EngineError(
                f"{self.what} ran out of memory, of which promptguard gives it {self._memory / 2**30:.1f} GiB",
                where=where,
                hint="lower --ctx-size, look for huge values in the chat template, or start a llama-server and use --server URL",
            )
        return EngineError(what + (f"; its last lines were:\n{log}" if log else ""), where=where)

    def last_words(self) -> str:
        """The last lines of what the child wrote to standard error."""
        if self._log.closed:
            return self._words
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 16384))
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        printable = ["".join(c if c.isprintable() else " " for c in line)[:200].rstrip() for line in lines]
        return "\n".join("  " + line for line in [line for line in printable if line.strip()][-LOG_LINES:])

    _words = ""

    def close(self, *, kill: bool = False) -> None:
        """End the child."""
        self._child.close(kill=kill)
        if not self._log.closed:
            self._words = self.last_words()
            self._log.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
