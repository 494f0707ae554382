"""What the documents show is what the files say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from adoption.scratch import ROOT, environment
from adoption.test_pre_commit import HOOKS
from llama_server import serve

from promptguard.models.default import default_model

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[str]:
    """The rows of a table."""
    table = text.split(f"{heading}\n|---", 1)[1].split("\n\n", 1)[0]
    return table.splitlines()[1:]


def test_the_inputs() -> None:
    defaults = {name: f"`{item['default']}`" if item["default"] else "" for name, item in ACTION["inputs"].items()}
    expected = [f"| `{name}` | {defaults[name]} | {item['description']} |" for name, item in ACTION["inputs"].items()]
    assert rows(document("github-action.md"), "| input | default | |") == expected


def test_the_outputs() -> None:
    expected = [f"| `{name}` | {item['description']} |" for name, item in ACTION["outputs"].items()]
    assert rows(document("github-action.md"), "| output | |") == expected


@pytest.mark.parametrize("name", ["prompts", "jetson"])
def test_the_workflows(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines(keepends=True) if "# of this repository alone" not in line]
    shown = "".join(lines).replace("uses: ./", "uses: OWNER/promptguard@COMMIT")
    assert f"```yaml\n{shown}```\n" in document("github-action.md")


def test_the_steps_that_are_shown_use_inputs_and_outputs_that_exist() -> None:
    text = document("github-action.md")
    for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        for step in steps(yaml.safe_load(block)):
            if "promptguard" in step.get("uses", ""):
                assert step.get("with", {}).keys() <= ACTION["inputs"].keys()
    used = set(re.findall(r"steps\.promptguard\.outputs\.([\w-]+)", text))
    assert used == {"hit-rate", "verdict"} & ACTION["outputs"].keys()


def steps(value: Any) -> list[dict[str, Any]]:
    return value if isinstance(value, list) else [step for job in value["jobs"].values() for step in job["steps"]]


def test_the_hooks() -> None:
    named = re.findall(r"^\| `(promptguard-[a-z-]+)` \|", document("pre-commit.md"), re.MULTILINE)
    assert sorted(named) == sorted(HOOKS)
    assert set(re.findall(r"- id: (\S+)", document("pre-commit.md"))) <= HOOKS.keys()
    for command in re.findall(r"`(promptguard (?:lint|format) --as-found)`", document("pre-commit.md")):
        assert command in {hook["entry"] for hook in HOOKS.values()}


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_other_actions_are_pinned_to_a_commit(path: Any) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    assert [use for use in used if use != "./" and not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_ask_for_no_more_than_they_need(path: Any) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["permissions"].pop("contents") == "read"
        assert job["permissions"] == ({"security-events": "write", "pull-requests": "write"} if path.stem == "prompts" else {})
        checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert [step["with"]["persist-credentials"] for step in checkouts] == [False]
        assert "timeout-minutes" in job


def test_the_board_is_for_one_run_at_a_time_and_for_no_fork() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "jetson.yml").read_text(encoding="utf-8"))
    assert workflow[True].keys() == {"push", "merge_group", "workflow_dispatch"}  # YAML 1.1 takes "on" for true
    assert workflow["concurrency"] == {"group": "jetson", "cancel-in-progress": False}
    (job,) = workflow["jobs"].values()
    assert (job["runs-on"], job["steps"][1]["with"]["server"]) == (["self-hosted", "jetson"], "http://127.0.0.1:8080")


LINTERS = {
    "zizmor": ["--offline --quiet --persona pedantic ."],
    "actionlint": [""],
    "check-jsonschema": [
        "--builtin-schema vendor.github-actions action.yml",
        f"--builtin-schema vendor.github-workflows {' '.join(str(path.relative_to(ROOT)) for path in WORKFLOWS)}",
        "--builtin-schema vendor.dependabot .github/dependabot.yml",
    ],
}


@pytest.mark.parametrize("failing", [*LINTERS, "mkdocs"])
def test_the_gate_runs_the_linters_of_workflows_and_fails_with_them(failing: str, tmp_path: Path) -> None:
    """With programs in the place of the real ones that note what they are called with; mkdocs comes right behind the linters."""
    names = ("python3", "python", "ruff", "mypy", "lint-imports", "mkdocs", *LINTERS)
    for name in names:
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho "$*" >> "$0.called"\n{"exit 7" if name == failing else ""}\n', encoding="utf-8")
        program.chmod(0o755)
    variables = environment(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}", PYTHON="python3", TMPDIR=str(tmp_path))
    done = subprocess.run([ROOT / ".ci" / "run"], env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (7, "")
    if failing == "mkdocs":
        assert {name: (tmp_path / f"{name}.called").read_text().splitlines() for name in LINTERS} == LINTERS


def test_the_workflow_runs_the_gate() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["gate"]["steps"][-1] == {"run": ".ci/run"}


def test_pins_and_packages_are_kept_current() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert [(update["package-ecosystem"], update["directory"]) for update in updates] == [("github-actions", "/"), ("pip", "/")]


def test_the_documents_show_the_pins_of_the_workflows() -> None:
    pin = re.compile(r"uses: (actions/[\w-]+)@(.*)")
    pins = {match[1]: match[2] for path in WORKFLOWS for match in pin.finditer(path.read_text(encoding="utf-8"))}
    shown = [match.groups() for text in (README, document("github-action.md")) for match in pin.finditer(text)]
    assert shown == [("actions/checkout", pins["actions/checkout"])] * 3


def test_the_look_at_the_board_goes_into_the_summary_and_stops_nothing(tmp_path: Path) -> None:
    block = re.findall(r"```yaml\n(.*?)```", document("jetson.md"), re.DOTALL)[-1]
    (step,) = yaml.safe_load(block)["jobs"]["replay"]["steps"]
    program, summary = tmp_path / "promptguard" / "bin" / "promptguard", tmp_path / "summary.md"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m promptguard "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    with serve(default_model(), 8192, slots=4) as server:
        run = step["run"].replace("http://127.0.0.1:8080", server.address)
        variables = environment(HOME=str(tmp_path), GITHUB_STEP_SUMMARY=str(summary))
        done = subprocess.run(["bash", "-e", "-c", run], env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert summary.read_text(encoding="utf-8").splitlines()[0] == "### promptguard doctor: something is in the way"
