"""The replay of a pull request beside that of its base."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
from adoption.agent import CLEAN, CLOCK, agent
from adoption.conftest import Make
from adoption.scratch import commit, git
from adoption.simulated_runner import Job, Runner
from pytest_httpserver import HTTPServer

from promptguard.models.default import default_model

TOKEN = "basic " + base64.b64encode(b"x-access-token:a-token").decode()
REPLAY = {"lint": "off", "format": "off", "replay": "on"}


@pytest.fixture
def runner(make_runner: Make, tmp_path: Path) -> Runner:
    """A pull request that plants a clock, checked out as its merge into a base branch that has gone on."""
    runner = make_runner(agent(CLEAN, tmp_path))
    git(runner.workspace, "checkout", "--quiet", "-b", "change")
    commit(runner.workspace, {"prompts/system.j2": CLOCK})
    git(runner.workspace, "checkout", "--quiet", "main")
    base = commit(runner.workspace, {"prompts/system.j2": CLEAN, "other.md": "More."})
    git(runner.workspace, "merge", "--quiet", "--no-ff", "--message", "merge", "change")
    runner.event = {"pull_request": {"number": 3, "base": {"sha": base}}}
    runner.variables["GITHUB_SHA"] = git(runner.workspace, "rev-parse", "HEAD")
    return runner


def shallow(runner: Runner, reference: str = "main") -> None:
    """Put a clone of depth 1 into the place of the workspace."""
    origin = runner.workspace.with_name("origin.git")
    git(runner.workspace, "clone", "--quiet", "--bare", ".", str(origin))
    shutil.rmtree(runner.workspace)
    git(origin, "clone", "--quiet", "--depth=1", "--branch", reference, f"file://{origin}", str(runner.workspace))


def tip(runner: Runner) -> str:
    """The newest commit of the base branch, as the event says it."""
    return str(runner.event["pull_request"]["base"]["sha"])


def fetched(runner: Runner) -> tuple[Job, dict[str, str]]:
    """What the step makes of it, without the replays."""
    runner.done["check"] = {}
    job = runner.run(**REPLAY)
    return job, job.steps["Fetch the base"].outputs


def test_the_change_is_shown(runner: Runner) -> None:
    job = runner.run(**REPLAY)
    base = tip(runner)
    before, after = job.report["base"]["report"]["totals"], job.report["replay"]["report"]["totals"]
    assert (job.report["base"]["commit"], job.report["base"]["report"]["verdict"], job.outputs["verdict"]) == (
        base,
        "passed",
        "failed",
    )
    assert f"### Compared with the base, {base[:12]}" in job.summary
    turns = len(job.report["replay"]["report"]["turns"])
    change = round(after["prefill_tokens"] / turns) - round(before["prefill_tokens"] / turns)
    assert change > 100
    assert f"| tokens computed per turn | {round(before['prefill_tokens'] / turns):,} |" in job.summary
    assert f" | +{change:,} |" in job.summary
    assert f"| prompt loss, all turns | 0 | {after['prompt_loss']:,} | +{after['prompt_loss']:,} |" in job.summary
    points = 100 * (after["hit_rate"] - before["hit_rate"])
    assert f"| −{-points:.1f} points |" in job.summary  # noqa: RUF001 - a minus sign


def test_nothing_is_left_in_the_repository(runner: Runner) -> None:
    def state() -> tuple[str, ...]:
        commands = (
            ("status", "--porcelain", "--ignored"),
            ("for-each-ref",),
            ("worktree", "list"),
            ("config", "--list", "--local"),
        )
        return tuple(git(runner.workspace, *command) for command in commands)

    before = state()
    _, outputs = fetched(runner)
    assert (Path(outputs["folder"]) / "prompts/system.j2").read_text() == CLEAN
    assert state() == before


def test_hooks_are_not_run(runner: Runner) -> None:
    hook = runner.workspace / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\ntouch canary\n")
    hook.chmod(0o755)
    assert fetched(runner)[1].keys() == {"folder", "commit"}
    assert not list(runner.workspace.rglob("canary"))


def test_a_shallow_checkout_is_deepened_by_one_commit(runner: Runner) -> None:
    shallow(runner)
    job, outputs = fetched(runner)
    assert (outputs["commit"], job.annotations) == (tip(runner), [])
    assert git(runner.workspace, "rev-list", "--all", "--count") == "1"
    assert (Path(outputs["folder"]) / "other.md").read_text() == "More."


def test_a_whole_clone_stays_whole(runner: Runner) -> None:
    origin = runner.workspace.with_name("origin.git")
    git(runner.workspace, "clone", "--quiet", "--bare", ".", str(origin))
    shutil.rmtree(runner.workspace)
    git(origin, "clone", "--quiet", "--single-branch", "--branch", "change", f"file://{origin}", str(runner.workspace))
    assert fetched(runner)[1]["commit"] == git(origin, "merge-base", tip(runner), "change")
    assert git(runner.workspace, "rev-parse", "--is-shallow-repository") == "false"


def test_the_head_alone_is_compared_with_the_merge_base(runner: Runner) -> None:
    git(runner.workspace, "checkout", "--quiet", "change")
    assert fetched(runner)[1]["commit"] == git(runner.workspace, "merge-base", "main^", "change")


def test_a_merge_within_the_pull_request_is_no_merge_of_it(runner: Runner) -> None:
    git(runner.workspace, "checkout", "--quiet", "change")
    git(runner.workspace, "merge", "--quiet", "--no-ff", "--message", "again", tip(runner))
    assert fetched(runner)[1]["commit"] == tip(runner)


def test_a_shallow_head_is_compared_with_the_tip_of_the_base_branch(runner: Runner) -> None:
    shallow(runner, "change")
    assert fetched(runner)[1]["commit"] == tip(runner)


def test_a_base_that_cannot_be_fetched_is_said_and_decides_nothing(runner: Runner) -> None:
    shallow(runner, "change")
    shutil.rmtree(runner.workspace.with_name("origin.git"))
    commit(runner.workspace, {"prompts/system.j2": CLEAN})
    job = runner.run(**REPLAY)
    (warning,) = job.messages("warning")
    assert warning.startswith(f"no comparison with the base: {tip(runner)} cannot be fetched (")
    assert warning.endswith("); check out with fetch-depth: 0")
    assert f"- no comparison with the base&#58; {tip(runner)} cannot" in job.summary
    assert (job.succeeded, job.report["base"]) == (True, None)


def test_a_base_that_cannot_be_replayed_is_said_and_decides_nothing(make_runner: Make, tmp_path: Path) -> None:
    runner = make_runner({"README.md": "# A shop\n"})
    base = git(runner.workspace, "rev-parse", "HEAD")
    commit(runner.workspace, {f"agent/{name}": text for name, text in agent(CLEAN, tmp_path).items()})
    runner.event = {"merge_group": {"base_sha": base}}
    job = runner.run(**REPLAY, working_directory="agent")
    assert (job.succeeded, job.report["base"]["error"]) == (True, "the folder does not exist there")
    assert "The base cannot be replayed: the folder does not exist there\n" in job.summary


def test_a_commit_that_is_none(runner: Runner) -> None:
    runner.event["pull_request"]["base"]["sha"] = "--upload-pack=touch canary"
    assert fetched(runner)[0].messages("warning") == ["no comparison with the base: the event names no commit"]


def test_no_repository(runner: Runner) -> None:
    shutil.rmtree(runner.workspace / ".git")
    said = "the working directory lies in no git repository; check out with actions/checkout"
    assert fetched(runner)[0].messages("warning") == [f"no comparison with the base: {said}"]


def test_no_folder(runner: Runner) -> None:
    runner.done["check"] = {}
    (warning,) = runner.run(**REPLAY, working_directory="gone").messages("warning")
    assert warning.startswith("no comparison with the base: working-directory: there is no folder 'gone' in the workspace")


def test_a_checkout_in_a_folder_of_the_workspace(runner: Runner) -> None:
    folder = runner.workspace
    runner.workspace = folder.parent
    job = runner.run(**REPLAY, working_directory=folder.name)
    assert job.annotations[0][1]["file"] == "prompts/system.j2"
    assert "| prompt loss, all turns | 0 | " in job.summary


def test_absolute_paths_are_those_of_the_base(runner: Runner) -> None:
    config, system = runner.workspace / "promptguard.toml", runner.workspace / "prompts" / "system.j2"
    job = runner.run(**REPLAY, config=str(config), args=f"'--system={system}'")
    head, base = (job.report[name]["report"] for name in ("replay", "base"))
    assert head["settings"]["system"] == str(system)
    assert Path(base["settings"]["system"]).parts[-3:] == ("files", "prompts", "system.j2")
    assert (head["totals"]["prompt_loss"] > 0, base["totals"]["prompt_loss"]) == (True, 0)
    assert "| prompt loss, all turns | 0 | " in job.summary


def test_the_model_is_that_of_the_head_and_a_report_too(runner: Runner, tmp_path: Path) -> None:
    shutil.copy(default_model(), runner.workspace / "model.gguf")
    own = tmp_path / "own.json"
    job = runner.run(**REPLAY, args=f"--model model.gguf --report 'json={own}'")
    assert json.loads(own.read_text())["subject"] == job.report["replay"]["report"]["subject"]
    assert job.report["base"]["report"]["subject"]["model"] == "model.gguf"
    assert "| prompt loss, all turns | 0 | " in job.summary


def test_a_base_without_the_configuration_is_not_compared(make_runner: Make, tmp_path: Path) -> None:
    files = agent(CLEAN, tmp_path)
    settings = files.pop("promptguard.toml")
    runner = make_runner(files)
    runner.event = {"merge_group": {"base_sha": git(runner.workspace, "rev-parse", "HEAD")}}
    commit(runner.workspace, {"promptguard.toml": settings})
    job = runner.run(**REPLAY)
    reason = "the base has no configuration that sets task and system, so it replays another task"
    assert f"\nNot compared&#58; {reason}.\n".replace("&#58;", ":") in job.summary
    assert ("| prompt loss, all turns" in job.summary, job.report["base"]) == (False, None)
    assert f"\nNot replayed, since it cannot be compared: {reason}.\n" in job.log


def test_a_base_with_another_task_is_not_replayed(runner: Runner) -> None:
    task = runner.workspace / "task" / "task.yaml"
    task.write_text(task.read_text() + "  - user: Thanks.\n    answer: { content: You are welcome. }\n")
    job = runner.run(**REPLAY)
    assert "\nNot compared: the task has 3 turns in the base and 4 in the head.\n" in job.summary
    assert job.report["base"] is None


def test_other_events_have_no_base(runner: Runner) -> None:
    runner.event = {"ref": "refs/heads/main"}
    job, outputs = fetched(runner)
    assert (outputs, job.annotations) == ({}, [])


def test_no_base_without_a_replay(runner: Runner) -> None:
    assert runner.run().steps["Fetch the base"].outputs == {}


def test_the_token_goes_to_the_server_of_the_runner_where_it_is_needed(runner: Runner, httpserver: HTTPServer) -> None:
    shallow(runner, "change")
    git(runner.workspace, "remote", "set-url", "origin", httpserver.url_for("/owner/shop"))
    httpserver.expect_request("/owner/shop/info/refs").respond_with_data("", status=404)
    for server, sent in ((httpserver.url_for("").rstrip("/"), {None, TOKEN}), ("https://git.example.org", {None})):
        httpserver.clear_log()
        runner.variables["GITHUB_SERVER_URL"] = server
        assert len(fetched(runner)[0].messages("warning")) == 1
        assert {request.headers.get("Authorization") for request, _ in httpserver.log} == sent
