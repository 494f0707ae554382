"""Starting processes that can be interrupted, and waiting for them to end."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

import psutil


def gone(pid: int, within: float = 10.0) -> bool:
    """Whether a process ends within some seconds."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def interruptible(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """A process with the default answer to Ctrl-C, which whoever runs the tests in the background has turned off."""

    def restore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(command, preexec_fn=restore, **options)  # noqa: PLW1509 - no threads here
