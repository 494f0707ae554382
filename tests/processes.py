"""Waiting for processes to end."""

from __future__ import annotations

import time

import psutil


def gone(pid: int, within: float = 10.0) -> bool:
    """Whether a process ends within some seconds."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False
