"""What a signal does that would kill the process, and when it has to wait."""

from __future__ import annotations

import sys

from promptguard.core.light import Callable

EXIT_SIGNAL = 128  # plus the number of the signal, as shells say it


def unwind_on_signals() -> None:
    """Let what would kill the process end it as Ctrl-C does: temporary files go, and started processes end at once."""
    import signal

    def end(number: int, _frame: object) -> None:
        sys.exit(EXIT_SIGNAL + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(getattr(signal, name), end)


def undisturbed(work: Callable[[], object]) -> None:
    """Do what must not be left half done, nor be done with a handler of a signal in between: signals have to wait."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        work()
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())  # now, as the handler of a signal may raise out of the next call
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        work()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
