from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from command_line import Outcome
from jsonschema import Draft202012Validator

from promptguard.cli.main import _run

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "probe-1.json").read_text(encoding="utf-8"))
AGENT = """\
from datetime import datetime

RULES = "You plan journeys by rail for a small company. " * 20


def stable(topic="trains"):
    return [{"role": "system", "content": RULES + topic}, {"role": "user", "content": str(datetime.now())}]


def dated():
    return f"{RULES}\\nToday is {datetime.now():%A}.\\nBe brief."


def beside():
    return {"system": RULES, "persona": f"It is {datetime.now()}.", "mood": "good", "temperature": datetime.now().second}


def broken():
    raise ValueError("no such prompt")
"""
NOTED = "key 'persona' was not compared, though it changes: what a model reads belongs into system, messages or tools"
Probe = Callable[..., Outcome]


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Probe:
    """Run ``promptguard probe`` beside ``agent.py``, with one run in other surroundings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")

    def run(*arguments: str) -> Outcome:
        code = _run(["probe", "--runs", "1", *arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


def test_a_stable_prompt(probe: Probe) -> None:
    outcome = probe("agent:stable")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(
        "agent:stable (agent.py:6): stable\n  246 tokens compared (promptguard-tiny), built in 3 processes\n"
    )


def test_a_prompt_that_changes_is_explained(probe: Probe) -> None:
    outcome = probe("agent:dated")
    assert (outcome.code, outcome.err) == (1, "")
    lines = [line for line in outcome.out.splitlines() if not line.startswith("  note: ")]
    assert lines[0] == "agent:dated (agent.py:10): changes"
    assert lines[3].startswith("  K1 clock: a date or time in the prompt changed from ")
    assert [line[4:12].strip() for line in lines[4:11]] == ["changes", "at", "source", "before", "after", "lost", "to do"]
    assert lines[4] == "    changes with the clock, every day"
    assert lines[6] == "    source  agent.py:11:32"
    assert re.fullmatch(r"    lost    \d+ tokens from here on are computed again", lines[9])


def test_the_last_user_message_counts_with_whole(probe: Probe) -> None:
    outcome = probe("agent:stable", "--whole")
    assert outcome.code == 1
    assert "K1 clock: a date or time in message 2 (user) changed" in outcome.out
    assert "block user" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["agent:stable", "agent:dated"], 1),
        (["agent:stable", "agent:dated", "agent:broken"], 2),
        (["agent:dated", "--exit-zero"], 0),
        (["agent:broken", "--exit-zero"], 2),
        (["agent:stable", "--args", '{"topic": "planes"}', "-q"], 0),
    ],
)
def test_exit_codes(arguments: list[str], code: int, probe: Probe) -> None:
    assert probe(*arguments).code == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'BUILDER...'"),
        (["agent:stable", "--args", "{"], "--args: is no JSON"),
        (["agent:stable", "--args", "[]"], '--args: is no JSON object; write it as {"name": value}'),
        (["agent:stable", "--report", "xml=a"], "unknown report format 'xml'"),
        (["agent:stable", "--report", "json=no/folder/a"], "there is no such folder"),
        (["agent:stable", "--runs", "0"], "0 is not in the range"),
    ],
)
def test_usage(arguments: list[str], message: str, probe: Probe) -> None:
    outcome = probe(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_the_reports_of_one_run(probe: Probe, tmp_path: Path) -> None:
    forms = ("json", "github", "markdown", "junit", "text")
    builders = ("agent:stable", "agent:dated", "agent:broken")
    outcome = probe(*builders, *(word for form in forms for word in ("--report", f"{form}=out.{form}")))
    texts = {form: (tmp_path / f"out.{form}").read_text(encoding="utf-8") for form in forms}
    assert outcome.out == texts["text"]
    assert texts["text"].endswith("3 builders: 1 stable, 1 changing, 1 not judged\n")
    report = json.loads(texts["json"])
    Draft202012Validator(SCHEMA).validate(report)
    assert [one["verdict"] for one in report["builders"]] == ["stable", "unstable", "unjudged"]
    (difference,) = report["builders"][1]["differences"]
    assert (difference["factors"], difference["changes"], difference["cause"]["code"]) == (["clock"], "day", "K1")
    assert report["builders"][2]["error"] == "agent:broken: failed: ValueError: no such prompt (agent.py:19)"
    annotations = texts["github"].splitlines()
    assert annotations[0].startswith(
        "::error file=agent.py,line=11,title=K1 clock::agent:dated (agent.py:10) changes with the clock"
    )
    assert annotations[1] == "::error title=agent%3Abroken cannot be judged::failed: ValueError: no such prompt (agent.py:19)"
    suite = ET.fromstring(texts["junit"])
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert "| <code>agent&#58;stable (agent.py&#58;6)</code> | stable |" in texts["markdown"]


def test_what_cannot_be_judged_is_said_where_no_text_is_printed(probe: Probe) -> None:
    for options in (["-q"], ["--output-format", "github"]):
        outcome = probe("agent:broken", *options)
        assert outcome.err == "promptguard: error: agent:broken: failed: ValueError: no such prompt (agent.py:19)\n"


def test_what_is_not_compared_is_noted_in_each_format(probe: Probe) -> None:
    outcome = probe("agent:beside")
    assert outcome.code == 0
    assert outcome.out.endswith(f"  note: {NOTED}\n  note: key 'mood' was not compared\n")
    (builder,) = json.loads(probe("agent:beside", "--output-format", "json").out)["builders"]
    assert (builder["verdict"], builder["notes"][-2:]) == ("stable", [NOTED, "key 'mood' was not compared"])
    first = f"::notice file=agent.py,line=14,title=not compared::agent:beside (agent.py:14): {NOTED}\n"
    assert probe("agent:beside", "--output-format", "github").out.startswith(first)
    assert "key 'mood' was not compared\n" in probe("agent:beside", "--output-format", "markdown").out
    case = ET.fromstring(probe("agent:beside", "--output-format", "junit").out).find(".//testcase/system-out")
    assert case is not None
    assert case.text == f"{NOTED}\nkey 'mood' was not compared"
