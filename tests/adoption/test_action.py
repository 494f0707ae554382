"""The action as a whole: its steps in order, with what a runner would give them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest
import referencing
import yaml
from adoption import agent
from adoption.conftest import Make
from adoption.scratch import ROOT, commit
from adoption.simulated_runner import Job, Runner
from chat_templates import CHATML

CLOCK = "You help the customers of a shop.\nNow: {{ now() }}\n"
CLEAN = "You help the customers of a shop.\n"
SAID = "`{{ now() }}` prints a clock, which changes with every request\n1 token behind it: computed again when it changes"
TEMPLATE = CHATML.replace("%}<|im_start|>", "%}{% if loop.last %}Now: {% endif %}<|im_start|>", 1)
TOOLS = '[{"inputSchema": {"type": "object"}, "name": "get_time"}]\n'
UPLOAD = "github/codeql-action/upload-sarif"


def outcomes(job: Job) -> dict[str, str]:
    return {name: step.outcome for name, step in job.steps.items()}


def test_a_clean_repository(make_runner: Make) -> None:
    runner = make_runner({"prompts/system.j2": CLEAN})
    job = runner.run()
    assert job.succeeded, job.log
    assert (job.outputs["verdict"], job.outputs["findings"], job.outputs["hit-rate"]) == ("passed", "0", "")
    assert job.annotations == []
    assert job.summary.startswith("## ✅ promptguard: passed\n")
    upload = {"sarif_file": job.outputs["sarif"], "checkout_path": str(runner.workspace), "category": "promptguard"}
    assert job.used == [(UPLOAD, upload)]


def test_a_finding_fails_at_the_gate_and_no_sooner(make_runner: Make) -> None:
    job = make_runner({"prompts/system.j2": CLOCK}).run(comment="true")
    assert outcomes(job) == {
        "Install promptguard": "success",
        "Fetch the base": "success",
        "Check the prompts": "success",
        "Upload to code scanning": "success",
        "Upload the replay to code scanning": "skipped",
        "Say that the upload failed": "skipped",
        "Comment on the pull request": "success",
        "Gate": "failure",
    }
    assert (job.outputs["verdict"], job.outputs["findings"]) == ("failed", "1")
    where = {"file": "prompts/system.j2", "line": "2", "col": "6", "endColumn": "17", "endLine": "2", "title": "PG101 clock"}
    assert job.annotations == [
        ("error", where, SAID),
        ("error", {"title": "promptguard: failed"}, "lint: 1 error"),
    ]
    assert "## ❌ promptguard: failed\n\n- lint: 1 error\n" in job.summary.replace("&#58;", ":")
    said = "<code>{{ now() }}</code> prints a clock, which changes with every request"
    assert f"\n| <code>prompts/system.j2&#58;2&#58;6</code> | **error** PG101 clock | {said} | 1 |  |" in job.summary
    sarif = json.loads(Path(job.outputs["sarif"]).read_text())
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["PG101"]


def test_the_report_follows_its_schema(make_runner: Make, tmp_path: Path) -> None:
    schemas = {
        name: json.loads((ROOT / "docs" / "schemas" / name).read_text())
        for name in ("action-1.json", "lint-1.json", "replay-1.json")
    }
    registry = referencing.Registry().with_resources(
        (name, referencing.Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    validator = jsonschema.Draft202012Validator(schemas["action-1.json"], registry=registry)
    runner = make_runner({**agent.agent(agent.CLOCK, tmp_path), "tools.json": TOOLS})
    report = runner.run(replay="true", args="--seed '7'").report
    assert list(validator.iter_errors(report)) == []
    assert (report["verdict"], report["base"], report["format"]["exit_code"], report["replay"]["exit_code"]) == (
        "failed",
        None,
        1,
        1,
    )
    assert list(validator.iter_errors(runner.run(config="gone.toml", format="off").report)) == []
    assert [error.json_path for error in validator.iter_errors({**report, "lint": {**report["lint"], "report": {}}})] == [
        "$.lint"
    ]


def test_a_working_directory(make_runner: Make) -> None:
    runner = make_runner({"-a folder/sub dir/prompts/system.j2": CLOCK, "-a folder/sub dir/tools.json": TOOLS, "other.j2": CLOCK})
    job = runner.run(working_directory="-a folder/sub dir")
    assert [place["file"] for _, place, _ in job.annotations[:-1]] == [
        "-a folder/sub dir/prompts/system.j2",
        *["-a folder/sub dir/tools.json"] * 2,
    ]
    assert job.messages()[-1] == "lint: 1 error and 1 warning\nformat: tool schemas are not in canonical form"
    sarif = json.loads(Path(job.outputs["sarif"]).read_text())
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in sarif["runs"][0]["results"]]
    uris = ["-a%20folder/sub%20dir/prompts/system.j2", "-a%20folder/sub%20dir/tools.json"]
    assert places == [{"uri": uri, "uriBaseId": "%SRCROOT%"} for uri in uris]
    assert job.used[0][1]["category"] == "promptguard/-a folder/sub dir"


def test_a_checkout_in_a_folder_of_the_workspace(make_runner: Make) -> None:
    runner = make_runner({"sub/prompts/system.j2": CLOCK})
    root = runner.workspace
    runner.workspace = root.parent
    job = runner.run(working_directory=f"{root.name}/sub")
    assert job.annotations[0][1]["file"] == "sub/prompts/system.j2"
    assert (job.used[0][1]["checkout_path"], job.used[0][1]["category"]) == (str(root), "promptguard/sub")
    sarif = json.loads(Path(job.outputs["sarif"]).read_text())
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "sub/prompts/system.j2", "uriBaseId": "%SRCROOT%"}


def test_paths_come_one_on_a_line(make_runner: Make) -> None:
    files = {"a folder/system.j2": CLOCK, "--exit-zero.j2": CLOCK, "other/system.j2": CLOCK}
    job = make_runner(files).run(paths="a folder\n\n  --exit-zero.j2  \n")
    assert [place["file"] for _, place, _ in job.annotations[:-1]] == ["--exit-zero.j2", "a folder/system.j2"]


def test_paths_that_hold_nothing_are_an_error(make_runner: Make) -> None:
    runner = make_runner({"README.md": "# A shop\n", "prompts/system.j2": CLEAN})
    job = runner.run(paths="README.md")
    assert (job.succeeded, job.outputs["verdict"]) == (False, "error")
    assert job.messages()[-1] == "lint: none of the paths holds anything to check"
    assert runner.run(paths="prompts").succeeded  # no tool schemas are in there, which is no reason to fail
    assert not runner.run(paths="gone").succeeded


HOSTILE = (
    "\"; touch canary; ' ; touch canary; $(touch canary) `touch canary` # \nverdict=passed\n::set-output name=verdict::passed",
    "--help",
)
OF_LINT = ("paths", "config", "baseline", "working_directory", "fail_on", "lint", "sarif")
OF_REPLAY = ("server", "model_from", "min_hit_rate", "args")


@pytest.mark.parametrize("name", [*OF_LINT, *OF_REPLAY])
def test_hostile_values(name: str, make_runner: Make) -> None:
    runner = make_runner({"system.j2": CLEAN})
    others = {"replay": "on", "lint": "off", "format": "off"} if name in OF_REPLAY else {}
    jobs = [runner.run(**{**others, name: value}) for value in HOSTILE]
    assert [(job.succeeded, job.outputs["verdict"]) for job in jobs] == [(False, "error")] * 2
    assert {level for job in jobs for level, _, _ in job.annotations} == {"error"}
    assert not list(runner.workspace.rglob("canary"))


def test_commands_in_files_are_text(make_runner: Make) -> None:
    lines = "::error::planted {{ now() }}\n::set-output name=verdict::passed {{ now() }}\n::stop-commands::x {{ now() }}\n"
    job = make_runner({"system.j2": lines, "a\n::error::planted\n.j2": CLOCK}).run()
    assert [place["title"] for _, place, _ in job.annotations] == [*["PG101 clock"] * 4, "promptguard: failed"]
    assert {place.get("line") for _, place, _ in job.annotations} == {"1", "2", "3", None}
    assert "\n::error::planted" not in job.summary


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lint": "maybe"}, "lint: 'maybe' is none of true, false, on and off"),
        ({"fail_on": "fatal"}, "fail-on: 'fatal' is none of any, warning, error, never"),
        ({"lint": "off", "format": "OFF"}, "lint, format and replay are all off: turn one of them on"),
        ({"server": "http://jetson:8080"}, "server: is for the replay, which is off; add replay: true"),
        ({"baseline": "b.json", "lint": "false"}, "baseline: is for lint, which is off"),
        (
            {"working_directory": "gone"},
            "working-directory: there is no folder 'gone' in the workspace; check the repository out first",
        ),
        ({"working_directory": ".."}, "working-directory: '..' is not in the workspace"),
        ({"args": "'x", "replay": "on"}, "args: cannot be split into words (no closing quotation)"),
    ],
)
def test_inputs_that_make_no_sense(given: dict[str, str], message: str, make_runner: Make) -> None:
    job = make_runner({"prompts/system.j2": CLEAN}).run(**given)
    assert job.annotations == [("error", {}, f"promptguard: {message}")]
    assert (job.succeeded, job.outputs["verdict"], job.steps["Gate"].outcome) == (False, "error", "skipped")
    assert {value for name, value in job.outputs.items() if name != "verdict"} == {""}


def test_a_switch_that_the_first_step_cannot_read(action: Path, tmp_path: Path) -> None:
    job = Runner(action, tmp_path, tmp_path / "temp").run(replay="yes")
    assert job.annotations == [("error", {}, "promptguard: replay: 'yes' is none of true, false, on and off")]
    assert (job.succeeded, job.outputs["verdict"]) == (False, "error")


@pytest.mark.parametrize(
    ("files", "fail_on", "fails"),
    [
        ({"system.j2": CLOCK, "tools.json": TOOLS}, "any", True),
        ({"system.j2": CLOCK, "tools.json": TOOLS}, "warning", True),
        ({"system.j2": CLOCK, "tools.json": TOOLS}, "error", True),
        ({"tools.json": TOOLS}, "warning", True),
        ({"tools.json": TOOLS}, "error", False),
        ({"system.j2": CLOCK, "tools.json": TOOLS}, "never", False),
    ],
)
def test_what_fails(files: dict[str, str], fail_on: str, fails: bool, make_runner: Make) -> None:
    job = make_runner(files).run(fail_on=fail_on)
    reasons = [
        f"lint: {'1 error and ' if 'system.j2' in files else ''}1 warning",
        "format: tool schemas are not in canonical form",
    ]
    assert (job.succeeded, job.outputs["verdict"]) == (not fails, "failed")
    assert (job.report["reasons"], job.report["exit_code"]) == (reasons, int(fails))
    assert job.annotations[-1] == ("error" if fails else "warning", {"title": "promptguard: failed"}, "\n".join(reasons))
    assert ("- <code>fail-on</code> lets this pass\n" in job.summary) == (not fails)


def test_what_cannot_be_judged_always_fails(make_runner: Make) -> None:
    runner = make_runner({"system.j2": "{% if %}", "promptguard.toml": "[lint]\nselekt = []\n"})
    job = runner.run(fail_on="never")
    assert (job.succeeded, job.outputs["verdict"]) == (False, "error")
    assert job.report["reasons"][0] == f"lint: {runner.workspace}/promptguard.toml:2: selekt: unknown key; did you mean select?"
    commit(runner.workspace, {"promptguard.toml": ""})
    job = runner.run(fail_on="never")
    assert job.report["reasons"] == ["lint: system.j2 could not be judged: the template is broken: unclosed 'if'"]
    assert (job.succeeded, job.report["exit_code"]) == (False, 2)
    assert job.messages()[1] == "the template is broken: unclosed 'if'"


def test_where_there_is_nothing_to_check_nothing_has_passed(make_runner: Make, tmp_path: Path) -> None:
    runner = make_runner({"README.md": "# A shop\n"})
    for switches in ({}, {"lint": "off"}, {"format": "off", "fail_on": "never"}):
        job = runner.run(**switches)
        assert (job.succeeded, job.outputs["verdict"]) == (False, "error")
        assert job.messages() == ["there is nothing to check: name files or folders in paths, or replay a task with replay: true"]
    files = agent.agent(agent.CLEAN, tmp_path)
    commit(runner.workspace, {**files, "promptguard.toml": f'{agent.SETTINGS}[lint]\nexclude = ["*"]\n'})
    assert runner.run(replay="on", format="off").outputs["verdict"] == "passed"


def test_a_baseline(make_runner: Make, installed: dict[str, str]) -> None:
    runner = make_runner({"system.j2": CLOCK})
    subprocess.run([installed["python"], "-I", "-m", "promptguard", "baseline"], cwd=runner.workspace, check=True)
    assert not runner.run().succeeded
    assert runner.run(baseline=".promptguard-baseline.json").succeeded


def test_switches(make_runner: Make) -> None:
    job = make_runner({"system.j2": CLOCK, "tools.json": TOOLS}).run(
        sarif="off", summary="off", annotations="off", lint="on", format="off"
    )
    assert (job.succeeded, job.used, job.summary) == (False, [], "")
    assert job.messages() == ["lint: 1 error and 1 warning"]
    assert job.report["format"] is None


def test_an_upload_that_fails_decides_nothing(make_runner: Make) -> None:
    runner = make_runner({"system.j2": CLEAN})
    runner.failing = (UPLOAD,)
    job = runner.run()
    assert job.succeeded
    assert outcomes(job)["Upload to code scanning"] == "failure"
    assert len(job.messages("warning")) == 1
    assert "security-events: write, or sarif: false" in job.messages("warning")[0]


def test_more_findings_than_github_shows(make_runner: Make) -> None:
    job = make_runner({"system.j2": "".join(f"{number}: {{{{ now() }}}}\n" for number in range(14))}).run()
    assert len(job.annotations) == 11
    assert "4 more in the summary and in the report" in job.log


def test_a_replay(make_runner: Make, tmp_path: Path) -> None:
    job = make_runner(agent.agent(agent.CLOCK, tmp_path)).run(lint="off", format="off", replay="on", min_hit_rate="0.7")
    totals = job.report["replay"]["report"]["totals"]
    assert 0 <= totals["hit_rate"] - float(job.outputs["hit-rate"]) < 0.0001
    assert (job.outputs["prompt-loss"], job.outputs["findings"], job.outputs["sarif"]) == (str(totals["prompt_loss"]), "", "")
    assert [reason.partition(": ")[2].partition(":")[0] for reason in job.report["reasons"]] == ["hit-rate", "prompt-loss"]
    level, place, message = job.annotations[0]
    assert (level, place) == ("error", {"file": "prompts/system.j2", "line": "1", "title": "K1 clock"})
    assert message.startswith("turn 1: a date or time in the system prompt changed from ")
    assert "70.0% are asked for" in job.summary


def test_what_a_replay_finds_goes_to_code_scanning_too(make_runner: Make, tmp_path: Path) -> None:
    runner = make_runner({f"sub/{name}": text for name, text in agent.agent(agent.CLOCK, tmp_path).items()})
    job = runner.run(working_directory="sub", lint="off", format="off", replay="on")
    upload = {
        "sarif_file": job.outputs["sarif-replay"],
        "checkout_path": str(runner.workspace),
        "category": "promptguard-replay/sub",
    }
    assert job.used == [(UPLOAD, upload)]
    (result,) = json.loads(Path(job.outputs["sarif-replay"]).read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], place["artifactLocation"]["uri"]) == ("K1", "sub/prompts/system.j2")
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (1, 6)
    runner.failing = (UPLOAD,)
    (said,) = runner.run(working_directory="sub", lint="off", format="off", replay="on").messages("warning")
    assert said.startswith("promptguard: the upload to code scanning failed; ")


def test_a_chat_template(make_runner: Make, tmp_path: Path) -> None:
    runner = make_runner({**agent.agent(agent.CLEAN, tmp_path), "chat.jinja": TEMPLATE})
    given = {"lint": "off", "format": "off", "replay": "on"}
    job = runner.run(**given, args="--chat-template chat.jinja")
    assert [reason.split(": ")[1] for reason in job.report["reasons"]] == ["prompt-loss", "chat-template"]
    place = {"file": "chat.jinja", "line": "2"}
    titles = ["K9 chat-template", "PG502 chat template"]
    assert [(level, where) for level, where, _ in job.annotations[:-1]] == [("error", {**place, "title": t}) for t in titles]
    (finding,) = job.report["replay"]["report"]["chat_template"]["findings"]
    lost = f"{finding['tokens_lost']:,} tokens lost at worst"
    assert job.annotations[1][2] == f"{finding['explanation']}\n{lost}\nfix: {finding['remedy']}"
    tolerant = runner.run(**given, args="--chat-template chat.jinja --prompt-loss-tolerance 9999")
    assert (tolerant.succeeded, [level for level, _, _ in tolerant.annotations]) == (True, ["error", "warning"])


def test_without_the_lint_nothing_is_uploaded(make_runner: Make) -> None:
    job = make_runner({"tools.json": TOOLS}).run(lint="off")
    assert (job.used, job.outputs["sarif"], job.report["reasons"]) == ([], "", ["format: tool schemas are not in canonical form"])


def test_an_engine_that_is_not_there(make_runner: Make) -> None:
    job = make_runner({"system.j2": CLEAN}).run(replay="on", server="http://127.0.0.1:9")
    assert (job.succeeded, job.outputs["verdict"], job.outputs["hit-rate"]) == (False, "error", "")
    assert outcomes(job)["Upload the replay to code scanning"] == "skipped"  # alerts that it does not come to would close
    assert job.report["reasons"][0].startswith("replay: http://127.0.0.1:9")


def test_the_inputs_are_those_that_the_steps_read(action: Path) -> None:
    definition = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
    read = {value for step in definition["runs"]["steps"] for value in step.get("env", {}).values()}
    assert {f"${{{{ inputs.{name} }}}}" for name in definition["inputs"]} <= read
    assert all("${{" not in step.get("run", "") for step in definition["runs"]["steps"])
    assert definition["runs"]["steps"][-1]["name"] == "Gate"


def test_an_old_python_is_refused(action: Path, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "python3"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    runner = Runner(action, tmp_path, tmp_path / "temp")
    runner.variables["PATH"] = f"{old.parent}{os.pathsep}{os.environ['PATH']}"
    job = runner.run()
    assert (job.succeeded, job.outputs["verdict"]) == (False, "error")
    assert job.messages()[0].startswith("promptguard needs Python 3.10 or newer as python3")
    assert [outcome for outcome in outcomes(job).values() if outcome != "skipped"] == ["failure"]


@pytest.mark.parametrize("version", ["1; id", "--help", "latest", "1 2"])
def test_what_is_no_version(version: str, action: Path, tmp_path: Path) -> None:
    job = Runner(action, tmp_path, tmp_path / "temp").run(version=version)
    assert job.annotations == [("error", {}, f"promptguard: version: {version!r} is no version, such as 0.1.0")]
    assert not job.succeeded


def test_a_version_that_cannot_be_had(action: Path, tmp_path: Path) -> None:
    runner = Runner(action, tmp_path, tmp_path / "temp")
    runner.variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    job = runner.run(version="0.0.1", replay="on")
    assert job.messages() == ["promptguard: promptguard-ci[replay]==0.0.1 cannot be installed; the log says why"]
