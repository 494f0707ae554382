"""What the documents show is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from promptguard.core.config import load_config
from promptguard.prompts.divergence import Divergence
from promptguard.replaying.result import Turn
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
    found = re.search(r"\$ promptguard format (--diff prompts/tools\.json)\n(.*?)(1 file .*?\n)\$", text, re.DOTALL)
    assert found
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "tools.json").write_text(block("README.md", "json"), encoding="utf-8")
    done = run(tmp_path, "promptguard", "format", *found[1].split())
    assert (done.returncode, done.stdout, done.stderr) == (1, found[2], found[3])


def test_the_quick_start_of_the_readme_ends_well(tmp_path: Path) -> None:
    """With the files that it shows and no others, and the sentence taken out that it says to take out."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    agent, use, test = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    taken = re.findall(r"^Take `( [^`]*)` out of `prompts/system.j2`", text, re.MULTILINE)
    system = block("README.md", "jinja")
    assert [system.count(part) for part in taken] == [1]
    (tmp_path / "prompts").mkdir()
    files = {
        "prompts/system.j2": system.replace(taken[0], ""),
        "agent.py": agent,
        "prompts/tools.json": block("README.md", "json"),
        "use.py": use,
        "promptguard.toml": block("README.md", "toml"),
        "test_agent.py": test,
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (fingerprint,) = re.findall(r"# (1-[0-9a-f]{16}): ", use)
    ends = {
        "promptguard lint prompts/system.j2": "All checks passed",
        "promptguard probe agent:build": "agent:build (agent.py:7): stable",
        "promptguard replay --system prompts/system.j2": "PASSED",
        "promptguard format prompts/tools.json": "1 file reformatted",
        "use": fingerprint,
        "promptguard lint": "All checks passed (2 files)",
        "promptguard replay": "PASSED",
        "pytest -p promptguard.pytest_plugin -p no:cacheprovider": "1 passed",
    }
    for command, end in ends.items():
        done = run(tmp_path, *command.split())
        assert (done.returncode, end in done.stdout) == (0, True), done.stdout + done.stderr


def test_nothing_is_installed_from_where_it_is_not() -> None:
    """promptguard-ci is not published: every line to type names a path, and no document the package but to say so."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    texts = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in pages}
    assert [name for name, text in texts.items() if "promptguard-ci" in text] == ["README.md"]
    assert texts["README.md"].count("promptguard-ci") == 1
    assert "Where a message of promptguard says `pip install 'promptguard-ci[replay]'`, do the same." in texts["README.md"]


def test_the_attributes_of_a_turn_are_named() -> None:
    (listed,) = re.findall(
        r"^A `Turn` has (.*?)\n\n", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    own, _, of_divergence = listed.partition("`divergence`, with ")
    names = {name for name in vars(Turn) if not name.startswith("_")} | {each.name for each in fields(Turn)}
    assert {*re.findall(r"`(\w+)`", own), "divergence"} == names
    assert set(re.findall(r"`(\w+)`", of_divergence)) <= {each.name for each in fields(Divergence)}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_readme_has_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = dict(re.findall(r"<!-- command: (\w+) -->\n```console\n(.*?)\n```", text, re.DOTALL))
    assert set(commands) == {"run", "test"}
    assert commands["run"] == 'pip install ".[replay]" && promptguard replay'
