"""The examples of docs/probe.md, docs/pytest.md and docs/python.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from test_examples import ROOT, block

from promptguard.checks.catalog import RULES
from promptguard.probing.factors import CAUSES, MAY_BE, Factor
from promptguard.prompts.causes import CAUSES as ALL

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder, env=ENVIRONMENT)


def test_the_probe_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(block("docs/probe.md", "python"), encoding="utf-8")
    command, _, shown = block("docs/probe.md", "console").partition("\n")
    done = run(tmp_path, *command.removeprefix("$ ").split())
    assert done.returncode == 1
    printed = re.sub(r"\n\n  note: no other locale .*", "", done.stdout)
    assert printed == shown


def test_the_factors_of_the_page() -> None:
    text = (ROOT / "docs" / "probe.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (.*) \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == list(get_args(Factor))
    for name, causes in rows:
        named = set(re.findall(r"K\d+", causes))
        assert CAUSES[name].code in named
        assert named <= {CAUSES[name].code, *(cause.code for cause in MAY_BE.get(name, ()))}


def test_the_table_of_causes_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("what catches it\n\n")[2].partition("\n\n")[0]
    header, _, *rows = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]
    marked = {
        command: {row[1].split()[0].removeprefix("[") for row in rows if row[at] == "●"} for at, command in enumerate(header)
    }
    rules = [(rule, "WS" if rule.area == "whitespace" else rule.cause) for rule in RULES.values()]
    assert marked["`lint`"] == {cause for _, cause in rules} - {"-"}
    assert marked["`format`"] == {cause for rule, cause in rules if rule.area == "tool-schemas" and rule.fix != "none"}
    assert marked["`template check`"] == {cause for rule, cause in rules if rule.area == "chat-templates"} - {"-"}
    assert [row[1].split()[0].removeprefix("[") for row in rows] == [cause.code for cause in ALL if cause.code != "K0"]
    proven = {cause.code for cause in CAUSES.values()} | {"K14"}  # of a prompt_cache_key
    guessed = {cause.code for others in MAY_BE.values() for cause in others}
    assert proven <= marked["`probe`"] <= proven | guessed


def test_the_tests_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "test_agent.py").write_text(block("docs/pytest.md", "python"), encoding="utf-8")
    done = run(tmp_path, "pytest", "-q", "-p", "promptguard.pytest_plugin", "-p", "no:cacheprovider")
    assert "4 passed" in done.stdout, done.stdout
    text = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
    options = re.findall(r"^\| `(--promptguard-[a-z-]+)", text, re.MULTILINE)
    helped = run(tmp_path, "pytest", "--help", "-p", "promptguard.pytest_plugin").stdout
    assert options == re.findall(r"^  (--promptguard-[a-z-]+)", helped, re.MULTILINE)


def test_the_python_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.j2").write_text("Now: {{ now() }}\nYou are an agent.\n")
    (tmp_path / "agent.py").write_text("def build(): return 'You are an agent.'")
    (tmp_path / "use.py").write_text(block("docs/python.md", "python") + "print(len(findings), result.passed, stable)\n")
    done = run(tmp_path, "use")
    assert (done.stdout, done.stderr) == ("1 True True\n", "")
