"""What a signal does that would kill the process."""

from __future__ import annotations

import sys

EXIT_SIGNAL = 128  # plus the number of the signal, as shells say it


def unwind_on_signals() -> None:
    """Let what would kill the process end it as Ctrl-C does: temporary files go, and started processes end at once."""
    import signal

    def end(number: int, _frame: object) -> None:
        sys.exit(EXIT_SIGNAL + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(getattr(signal, name), end)
