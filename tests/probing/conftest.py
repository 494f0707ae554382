from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from promptguard.probing.result import ProbeResult
from promptguard.probing.run import probe

Probe = Callable[..., ProbeResult]
HEAD = """\
from __future__ import annotations
import datetime as dt
import os, random, time, uuid
from datetime import date, datetime
RULES = "You are the agent of a small company. Answer in one sentence."
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def probed(folder: Path) -> Probe:
    """Probe the function ``build`` of a module in the current folder, in one process with other surroundings if not told else."""

    def run(code: str, **options: object) -> ProbeResult:
        (folder / "agent.py").write_text(HEAD + dedent(code), encoding="utf-8")
        return probe("agent:build", **({"runs": 1} | options))  # type: ignore[arg-type]

    return run
