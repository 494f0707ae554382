"""Look through many files with several processes, started in a millisecond: most files below a folder are nothing of ours."""

# ruff: noqa: PTH208 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os
import signal
import sys

from promptguard.core.light import TYPE_CHECKING, Callable, Sequence
from promptguard.core.signals import undisturbed

if TYPE_CHECKING:
    from collections.abc import Generator

    from promptguard.core.discover import Target

PAYS_FROM = 1_000
"""Files of a process from which it saves more time than it takes to start."""
_OUT, _KEEP = b"\1", b"\0"


def may_fork() -> bool:
    """Whether this process can be forked: a fork next to threads, also those of libraries, can inherit a lock that nobody
    releases.
    """
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def shared(targets: Sequence[Target], leaves_out: Callable[[Target], bool], workers: int) -> Generator[bool]:
    """What other processes say of files: whether they need no check.

    The first share of the files is for the caller, who looks through it while the others look through theirs. What the others do
    not answer, as they were ended or this process may not be forked, is for the caller too.

    Args:
        targets: the files.
        leaves_out: looks into one.
        workers: most processes, with this one.

    Yields:
        For each file ``True`` where another process has found that it needs no check. To be closed when it is not used up.
    """
    workers = min(workers, len(targets) // PAYS_FROM)
    if workers < 2 or not may_fork():
        yield from (False for _ in targets)
        return
    bounds = [len(targets) * number // workers for number in range(workers + 1)]

    def start() -> None:
        for share in others:
            share.start(leaves_out)

    others = [_Share(targets[bounds[number] : bounds[number + 1]]) for number in range(1, workers)]
    try:
        undisturbed(start)
        yield from (False for _ in range(bounds[1]))
        for share in others:
            yield from (answer == _OUT[0] for answer in share.answers())
    finally:
        for share in others:
            share.end()


class _Share:
    """A process that looks through some files."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._targets = targets
        self._process = 0
        self._pipe = -1

    def start(self, leaves_out: Callable[[Target], bool]) -> None:
        """Start it, with all signals blocked; without a process or a pipe to be had there are no answers."""
        try:
            self._pipe, writing = os.pipe()
        except OSError:
            return  # too many files are open
        parent = os.getpid()
        try:
            self._process = os.fork()
        except OSError:
            os.close(writing)
            return  # too many processes run
        if self._process == 0:
            try:
                os.close(self._pipe)  # so that writing fails where nobody else reads
                self._work(leaves_out, writing, parent)
            finally:
                os._exit(0)  # without anything that is done at the end of a run
        os.close(writing)

    def _work(self, leaves_out: Callable[[Target], bool], writing: int, parent: int) -> None:
        # A handler of the parent's would unwind into its code: who ends the parent ends this process, be it a little later.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        answers = bytearray()
        for target in self._targets:
            if os.getppid() != parent:
                return
            answers += _OUT if leaves_out(target) else _KEEP
        written = 0
        while written < len(answers):
            written += os.write(writing, answers[written : written + (1 << 16)])

    def answers(self) -> bytes:
        """``_OUT`` for each file that needs no check, ``_KEEP`` for another and where there is no answer."""
        parts: list[bytes] = []
        if self._pipe >= 0:
            while part := os.read(self._pipe, 1 << 16):
                parts.append(part)
        said = b"".join(parts)
        return said if len(said) == len(self._targets) else _KEEP * len(self._targets)

    def end(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
        if self._process:
            try:
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
            except OSError:  # somebody else has waited for it
                pass
