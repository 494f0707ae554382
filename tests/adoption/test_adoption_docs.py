"""What the documents show is what the files say."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from adoption.scratch import ROOT
from adoption.test_pre_commit import HOOKS

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
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
    shown = "".join(lines).replace("uses: ./", "uses: OWNER/promptguard@v0.1.0")
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


def test_ci_runs_the_linters_of_workflows() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in (
        "zizmor --offline ",
        "actionlint\n",
        "vendor.github-actions",
        "vendor.github-workflows",
        "build_hooks.py --check",
    ):
        assert command in script
