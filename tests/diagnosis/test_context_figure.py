"""Doctor and replay name the same context for a task, and it is the right one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llama_server import serve
from tiny_task import write_task

from promptguard.cli.main import _run
from promptguard.models.default import default_model


def said(capsys: pytest.CaptureFixture[str], command: str, *arguments: str) -> tuple[int, int | None]:
    """The exit code, and the tokens that the task takes, where it says so."""
    code = _run([command, *arguments])
    printed = "".join(capsys.readouterr())
    found = re.search(r"(?:needs a context of|the task \S+ takes) ([\d,]+)", printed)
    return code, int(found[1].replace(",", "")) if found else None


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.delenv("PROMPTGUARD_API_KEY", raising=False)
    return "--task", str(write_task(tmp_path))


@pytest.mark.parametrize("options", [(), ("--live",)])
def test_one_number_whatever_the_context(
    options: tuple[str, ...], task: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = set()
    for context in (256, 512):
        with serve(default_model(), context) as server:
            asked = ("--server", server.address, *task)
            numbers.add(said(capsys, "replay", *asked, *options))
            if not options:
                numbers.add((2, said(capsys, "doctor", *asked, "--no-requests")[1]))
    assert len(numbers) == 1
    assert numbers.pop()[0] == 2


def test_the_built_in_task(capsys: pytest.CaptureFixture[str]) -> None:
    for context in (4096, 8192):
        with serve(default_model(), context) as server:
            assert said(capsys, "replay", "--server", server.address) == (2, 11135)
            assert said(capsys, "doctor", "--server", server.address, "--no-requests") == (1, 11135)
