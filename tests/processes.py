"""Starting processes that can be interrupted, and waiting for them to end."""

from __future__ import annotations

import re
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
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:  # a zombie that vanishes while it is looked at too
            return True
        time.sleep(0.05)
    return False


def without_progress(errors: str) -> str:
    """Standard error without the lines that a replay writes where it takes long, as it may on a slow machine."""
    return re.sub(r"^promptguard: replay \d+/\d+ .*\n", "", errors, flags=re.MULTILINE)


def interruptible(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """A process with the default answers to Ctrl-C and hanging up, which a shell in the background or ``nohup`` has off."""

    def restore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    return subprocess.Popen(command, preexec_fn=restore, **options)  # noqa: PLW1509 - no threads here
