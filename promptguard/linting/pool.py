"""Several processes that share some work. The one that deals it out has no threads, so that a signal finds nothing to break."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from promptguard.core.errors import PromptguardError
from promptguard.core.light import TYPE_CHECKING, Any, Callable, Sequence
from promptguard.core.signals import undisturbed
from promptguard.linting import shares

if TYPE_CHECKING:
    from collections.abc import Generator
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from typing import TypeVar

    Item = TypeVar("Item")
    Answer = TypeVar("Answer")

_AHEAD = 2  # chunks that a process has at a time, so that it need not wait for the next one
_TAKES, _SPARE = 6, 8  # open files: most that it takes to start a process, and what must be left for all else
_ENDS = ("SIGTERM", "SIGHUP")  # not on every system


class _ThereError(Exception):
    """What was going on in another process where it raised an exception, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def in_order(
    begin: Callable[[], Callable[[Sequence[Item]], list[Answer]]], chunks: Sequence[Sequence[Item]], most: int
) -> Generator[Answer]:
    """Let several processes answer, or this one where none can be started.

    Args:
        begin: makes, in each process, what answers the items of a chunk; both can be pickled.
        chunks: what the processes are given at a time.
        most: most processes.

    Yields:
        The answer to each item, in their order. To be closed when it is not used up; then all processes have ended.

    Raises:
        PromptguardError: a process ended unexpectedly.
        Exception: what ``begin`` or what it makes has raised, in its turn.
    """
    pool = _Pool(begin, chunks)
    try:
        pool.start(min(most, len(chunks)))
        if pool.workers:
            pool.deal()
            for number in range(len(chunks)):
                yield from pool.answers(number)
        else:
            answer = begin()
            for chunk in chunks:
                yield from answer(chunk)
    finally:
        undisturbed(pool.end)


class _Pool:
    """Processes that were started, by the pipes to them."""

    def __init__(self, begin: Callable[[], Any], chunks: Sequence[Any]) -> None:
        self._begin = begin
        self._chunks = chunks
        self._left = iter(range(len(chunks)))
        self._early: dict[int, tuple[list[Any], Exception | None, str]] = {}
        self._forks = shares.may_fork()  # a forked process starts at once, with all that this one has
        self.workers: dict[Connection, BaseProcess] = {}

    def start(self, count: int) -> None:
        """Start so many processes, or as many as can be started."""
        for number in range(count):
            undisturbed(self._start)
            if len(self.workers) == number:
                return

    def _start(self) -> None:
        import multiprocessing

        # One that its own starter will end without waiting for it may not start others.
        if multiprocessing.current_process().daemon or not _can_open(_TAKES + _SPARE):
            return
        context = multiprocessing.get_context("fork" if self._forks else "spawn")
        if not self._forks and hasattr(signal, "pthread_sigmask"):
            from multiprocessing import resource_tracker

            resource_tracker.ensure_running()  # which comes with the first process, and unblocks some signals
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        with suppress(OSError):  # too many processes run, or there is no memory left
            ours, theirs = context.Pipe()
            with theirs:  # which the next process must not inherit: its end is how the end of this one shows
                given = (theirs, self._begin, self._chunks if self._forks else None)
                process = context.Process(target=_work, args=given, daemon=True)  # type: ignore[attr-defined]
                process.start()
            self.workers[ours] = process

    def deal(self) -> None:
        """Give each process as many chunks as it may have."""
        if not self._forks:
            for pipe in self.workers:
                self._send(pipe, self._chunks)
        for pipe in [*self.workers] * _AHEAD:
            self._deal_to(pipe)

    def _deal_to(self, pipe: Connection) -> None:
        number = next(self._left, None)
        if number is not None:
            self._send(pipe, number)  # a few bytes, for which there is always room

    def _send(self, pipe: Connection, what: object) -> None:
        try:
            pipe.send(what)
        except OSError:
            raise self._lost(pipe) from None

    def answers(self, number: int) -> list[Any]:
        """The answers to a chunk, which are given once."""
        from multiprocessing.connection import wait

        while number not in self._early:
            for pipe in wait([*self.workers]):
                self._receive(pipe)  # type: ignore[arg-type]
        answers, error, trace = self._early.pop(number)
        if error is not None:
            raise error from _ThereError(trace)
        return answers

    def _receive(self, pipe: Connection) -> None:
        try:
            number, *outcome = pipe.recv()
        except (EOFError, OSError):
            raise self._lost(pipe) from None
        self._early[number] = tuple(outcome)
        self._deal_to(pipe)

    def _lost(self, pipe: Connection) -> PromptguardError:
        self.workers[pipe].join(1)  # a signal that was for both processes has come here too by then
        hint = "run it again with --jobs 1 to see where"
        return PromptguardError("a process that checks files ended unexpectedly", hint=hint)

    def end(self) -> None:
        """End all processes, whatever they do: it may take minutes, and nobody wants it any more."""
        for process in self.workers.values():
            process.kill()
        for pipe, process in self.workers.items():
            process.join()
            pipe.close()
            with suppress(ValueError):  # where SIGCHLD is ignored nobody can wait for a process, nor know that it has ended
                process.close()
        self.workers.clear()


def _can_open(count: int) -> bool:
    """Whether so many files more can be open."""
    files: list[int] = []
    try:
        while len(files) < count:
            files += os.pipe()
    except OSError:
        return False
    finally:
        for file in files:
            os.close(file)
    return True


def _work(pipe: Connection, begin: Callable[[], Callable[[Any], list[Any]]], chunks: Sequence[Any] | None) -> None:
    """What a process does, until it is ended; ``None`` where the chunks come through the pipe."""
    try:
        _leave_signals_to_parent()
        _end_with_parent()
        chunks = pipe.recv() if chunks is None else chunks
        answer = None
        while True:
            number = pipe.recv()
            try:
                answer = answer or begin()
                outcome: tuple[list[Any], Exception | None, str] = answer(chunks[number]), None, ""
            except Exception as error:
                import traceback

                outcome = [], error, traceback.format_exc()
            pipe.send((number, *outcome))
    finally:
        os._exit(1)  # without a word: the parent, if it is still there, says what there is to say


def _leave_signals_to_parent() -> None:
    ends = [getattr(signal, name) for name in _ENDS if hasattr(signal, name)]
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL if number in ends else signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _end_with_parent() -> None:
    import multiprocessing
    import threading

    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    with suppress(RuntimeError):  # too many threads run; the end of the pipe ends it too, if only after a chunk
        threading.Thread(target=watch, daemon=True).start()
