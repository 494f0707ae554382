"""What the documents show is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptguard.core.config import load_config
from promptguard.replaying.task import load_task

ROOT = Path(__file__).resolve().parents[2]


def block(document: str, language: str) -> str:
    """The first fenced block of a language in a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, f"{document} has no {language} block"
    return found[1]


def test_the_task_in_the_documentation_loads(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(block("docs/tasks.md", "yaml"), encoding="utf-8")
    (tmp_path / "system.md").write_text("You help.", encoding="utf-8")
    (tmp_path / "tools.json").write_text('[{"name": "get_status"}]', encoding="utf-8")
    task = load_task(tmp_path)
    assert (task.name, task.requests, task.history.keep_last) == ("my task", 2, 20)
    assert task.calls[0].arguments == {"site": "Saltholm"}


def test_the_configuration_in_the_readme_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "promptguard.toml").write_text(block("README.md", "toml"), encoding="utf-8")
    assert load_config(tmp_path).replay == {
        "system": "prompts/system.j2",
        "tools": "prompts/tools.json",
        "min-hit-rate": 0.85,
    }


def test_the_difference_in_the_readme_is_what_format_prints(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\$ promptguard format (--diff tools\.json)\n(.*?)(1 file .*?\n)```", text, re.DOTALL)
    assert found
    before = "".join(line[1:] for line in found[2].splitlines(keepends=True)[3:] if line[0] != "+")
    (tmp_path / "tools.json").write_text(before + "    }\n  }\n]\n", encoding="utf-8")
    command = [sys.executable, "-m", "promptguard", "format", *found[1].split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (1, found[2], found[3])


def test_the_readme_has_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = dict(re.findall(r"<!-- command: (\w+) -->\n```console\n(.*?)\n```", text, re.DOTALL))
    assert set(commands) == {"run", "test"}
    assert commands["run"] == 'pip install ".[replay]" && promptguard replay'
