from __future__ import annotations

import math
from pathlib import Path

import pytest
from command_line import Outcome, Replay
from tiny_task import write_task

from promptguard.cli.main import _run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a small task in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROMPTGUARD_API_KEY", raising=False)
    write_task(tmp_path)
    return tmp_path


@pytest.fixture
def replay(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Replay:
    """Run ``promptguard replay`` on the small task, in this process; however long it takes, it does not say how far it is."""
    monkeypatch.setattr("promptguard.cli.progress.SECONDS", math.inf)

    def run(*arguments: str, task: bool = True) -> Outcome:
        code = _run(["replay", *(["--task", "task"] if task else []), *arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        assert "internal error" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run
