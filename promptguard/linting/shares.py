"""Look through many files with several processes, started in a millisecond: most files below a folder are nothing of ours."""

# ruff: noqa: PTH208 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os
import sys

from promptguard.core.light import TYPE_CHECKING, Callable, Sequence

if TYPE_CHECKING:
    from collections.abc import Generator

    from promptguard.core.discover import Target

PAYS_FROM = 1_000
"""Files of a process from which it saves more time than it takes to start."""
_OUT, _KEEP = b"\1", b"\0"
_LOOK_UP = 256  # files after which a process looks whether the one that wants to know is still there


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


def left_out(targets: Sequence[Target], leaves_out: Callable[[Target], bool], workers: int) -> Generator[bool]:
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
    others: list[_Share] = []
    try:
        others.extend(_Share(targets, bounds[number], bounds[number + 1], leaves_out) for number in range(1, workers))
        for _ in range(bounds[1]):
            yield False
        for share in others:
            yield from (answer == _OUT[0] for answer in share.answers())
    finally:
        for share in others:
            share.end()


class _Share:
    """A process that looks through the files from ``begin`` to ``end``."""

    def __init__(self, targets: Sequence[Target], begin: int, end: int, leaves_out: Callable[[Target], bool]) -> None:
        self._count = end - begin
        self._process = 0
        self._pipe = -1
        try:
            self._pipe, writing = os.pipe()
        except OSError:
            return  # too many files are open
        try:
            reading = self._pipe
            self._process = _fork(lambda parent: _look(targets, begin, end, leaves_out, reading, writing, parent))
        except OSError:
            pass  # too many processes run
        finally:
            os.close(writing)

    def answers(self) -> bytes:
        """``_OUT`` for each file that needs no check, ``_KEEP`` for another and where there is no answer."""
        parts: list[bytes] = []
        if self._pipe >= 0:
            while part := os.read(self._pipe, 1 << 16):
                parts.append(part)
        said = b"".join(parts)
        return said if len(said) == self._count else _KEEP * self._count

    def end(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
        if self._process:
            try:
                os.kill(self._process, 9)
                os.waitpid(self._process, 0)
            except OSError:  # somebody else has waited for it
                pass


def _fork(work: Callable[[int], None]) -> int:
    """Start a process that does some work and ends, whatever happens in it, without anything that is done at the end of a run."""
    from _signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask, valid_signals  # type: ignore[import-not-found]

    parent = os.getpid()
    before = pthread_sigmask(SIG_BLOCK, valid_signals())  # a handler of the parent's would unwind into its code
    try:
        process = os.fork()
        if process == 0:
            try:
                work(parent)
            finally:
                os._exit(0)
    finally:
        pthread_sigmask(SIG_SETMASK, before)
    return process


def _look(
    targets: Sequence[Target],
    begin: int,
    end: int,
    leaves_out: Callable[[Target], bool],
    reading: int,
    writing: int,
    parent: int,
) -> None:
    os.close(reading)  # so that writing fails where nobody else reads
    answers = bytearray()
    for at in range(begin, end):
        if at % _LOOK_UP == 0 and os.getppid() != parent:
            return
        answers += _OUT if leaves_out(targets[at]) else _KEEP
    written = 0
    while written < len(answers):
        written += os.write(writing, answers[written : written + (1 << 16)])
