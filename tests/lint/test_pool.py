from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.popen_fork import Popen
from pathlib import Path
from typing import Any

import pytest
from processes import gone, interruptible

from promptguard.core.errors import ConfigError, PromptguardError
from promptguard.linting import pool, shares
from promptguard.linting.pool import in_order

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
CHUNKS = [[0, 1, 2], [3], [4, 5], [6], [7]]


@pytest.fixture(params=[True, False], ids=["fork", "spawn"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "may_fork", lambda: request.param)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of the test session are no reason not to fork."""
    monkeypatch.setattr(shares, "may_fork", lambda: True)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    files = open_files()
    yield
    assert multiprocessing.active_children() == []
    assert open_files() == files
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


def open_files() -> list[str]:
    """Without the one that tells the processes of ``spawn`` what to clean up, which is kept to the end."""
    links = {path: os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    from multiprocessing.resource_tracker import _resource_tracker

    return sorted(f"{path} {link}" for path, link in links.items() if path.name != str(_resource_tracker._fd) and "/fd" not in link)


def with_pid(each: Callable[[int], object] = lambda _: None) -> Callable[[Sequence[int]], list[tuple[int, int]]]:
    def answer(items: Sequence[int]) -> list[tuple[int, int]]:
        for item in items:
            each(item)
        return [(item, os.getpid()) for item in items]

    return answer


def fail(error: Exception, _item: int) -> None:
    raise error


def ask(each: Callable[[int], object] = lambda _: None, most: int = 2) -> list[tuple[int, int]]:
    return list(in_order(partial(with_pid, each), CHUNKS, most))


def processes(answers: list[tuple[int, int]]) -> int:
    """How many answered, in the right order, and this one not."""
    assert [item for item, _ in answers] == list(range(8))
    assert os.getpid() not in {process for _, process in answers}
    return len({process for _, process in answers})
