"""``promptguard replay`` as a user meets it: exit codes, what is said, and what is left behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml
from command_line import Replay, listing
from models_for_tests import with_chat_template, without_weights
from tiny_task import SYSTEM, TASK

from promptguard.core.resources import resource
from promptguard.models.default import default_model

SCHEMA = json.loads(resource("docs/schemas/replay-1.json").read_text(encoding="utf-8"))


def report(text: str) -> dict[str, object]:
    value = json.loads(text)
    jsonschema.validate(value, SCHEMA)
    return value


def name(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else ""


# -- exit codes and formats


def test_a_clean_prompt_passes(replay: Replay) -> None:
    outcome = replay()
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("PASSED\n")
    assert [line.split()[:2] for line in outcome.out.splitlines() if re.match(r"\d ", line)] == [
        ["1", "user"],
        ["2", "result"],
        ["3", "user"],
    ]


def test_a_defect_fails(replay: Replay) -> None:
    outcome = replay("--inject", "clock-head")
    assert (outcome.code, outcome.err) == (1, "")
    assert "K1" in outcome.out
    assert "FAILED" in outcome.out


TRIMS = resource("fixtures/chat_templates/trims_content.jinja").read_text(encoding="utf-8")
SAID = "PG506 chat.jinja:15:5: blanks at the ends of a reply are removed: 10 tokens lost"


def test_a_chat_template_that_breaks_the_prefix_of_another_conversation_fails(replay: Replay, folder: Path) -> None:
    (folder / "chat.jinja").write_text(TRIMS, encoding="utf-8")
    outcome = replay("--chat-template", "chat.jinja", "--report", "json=r.json")
    assert (outcome.code, outcome.err) == (1, "")
    assert SAID in outcome.out
    assert outcome.out.endswith("FAILED: chat-template\n")
    found = report((folder / "r.json").read_text(encoding="utf-8"))["chat_template"]
    assert [(each["code"], each["tokens_lost"], each["prefilled"]) for each in found["findings"]] == [("PG506", 10, 10)]


@pytest.mark.parametrize(
    ("comment", "config"),
    [
        ("{#- promptguard: ignore-file[PG506] no model here emits blanks -#}\n", ""),
        ("", "[lint]\nignore = ['PG506']\n"),
        ("", "[lint.per-file-ignores]\n'chat.jinja' = ['PG506']\n"),
    ],
)
def test_a_finding_in_a_chat_template_can_be_accepted(replay: Replay, folder: Path, comment: str, config: str) -> None:
    (folder / "chat.jinja").write_text(comment + TRIMS, encoding="utf-8")
    (folder / "promptguard.toml").write_text(config, encoding="utf-8")
    outcome = replay("--chat-template", "chat.jinja")
    assert (outcome.code, outcome.err) == (0, "")
    assert "nothing was found in the chat template but what is accepted: PG506" in outcome.out


def test_exit_zero_says_the_same_and_exits_with_0(replay: Replay) -> None:
    outcome = replay("--inject", "clock-head", "--exit-zero")
    assert outcome.code == 0
    assert "FAILED" in outcome.out


def test_exit_zero_does_not_hide_an_error(replay: Replay) -> None:
    assert replay("--system", "missing.md", "--exit-zero").code == 2


def test_quiet_prints_nothing(replay: Replay) -> None:
    outcome = replay("--inject", "clock-head", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "")


def test_json_on_standard_output_is_the_report_and_nothing_else(replay: Replay) -> None:
    outcome = replay("--output-format", "json")
    found = report(outcome.out)
    assert (outcome.code, found["verdict"], found["error"], len(found["turns"])) == (0, "passed", None, 3)


def test_the_report_says_how_the_run_was_made(replay: Replay) -> None:
    flags = ("--min-hit-rate", "0.5", "--prompt-loss-tolerance", "3", "--seed", "7", "--inject", "clock-tail")
    settings = report(replay(*flags, "--output-format", "json").out)["settings"]
    assert {name: settings[name] for name in ("min-hit-rate", "prompt-loss-tolerance", "seed", "inject")} == {
        "min-hit-rate": 0.5,
        "prompt-loss-tolerance": 3,
        "seed": 7,
        "inject": "clock-tail",
    }


def test_a_planted_clock_is_one_cause(replay: Replay) -> None:
    outcome = replay("--inject", "clock-head")
    assert outcome.out.count("system block: K1 clock") == 1
    assert "turns 1-3" in outcome.out.splitlines()[-1]


@pytest.mark.parametrize(("defect", "verdict"), [(None, "passed"), ("drop-history@3", "failed")])
def test_several_reports_at_once(replay: Replay, folder: Path, defect: str | None, verdict: str) -> None:
    before = listing(folder)
    names = {"json": "r.json", "markdown": "r.md", "junit": "r.xml", "text": "r.txt"}
    flags = [part for name, file in names.items() for part in ("--report", f"{name}={file}")]
    outcome = replay(*flags, *(["--inject", defect] if defect else []))
    assert outcome.code == (verdict == "failed")
    assert listing(folder) == sorted([*before, *names.values()])
    assert report((folder / "r.json").read_text())["verdict"] == verdict
    assert (folder / "r.txt").read_text() == outcome.out


def test_a_hit_rate_that_no_prompt_could_reach_fails_and_says_so(replay: Replay) -> None:
    outcome = replay("--min-hit-rate", "0.999")
    assert outcome.code == 1
    assert "no prompt could pass this task" in outcome.out


def test_a_loss_within_the_tolerance_passes(replay: Replay) -> None:
    flags = ("--inject", "extra-space@3", "--min-hit-rate", "0.5")
    assert (replay(*flags).code, replay(*flags, "--prompt-loss-tolerance", "1000").code) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--inject", "reorder-tools@9"), "--inject: there is no turn 9; the task has 3"),
        (("--inject", "drop-history@1"), "--inject: drop-history changes nothing on turn 1; try another turn or defect"),
        (("--min-hit-rate", "nan"), "Invalid value for '--min-hit-rate': nan is not a number"),
    ],
)
def test_what_cannot_be_meant_is_refused(replay: Replay, arguments: tuple[str, ...], message: str) -> None:
    outcome = replay(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_a_task_that_calls_a_tool_that_it_does_not_have_is_refused(replay: Replay, folder: Path) -> None:
    path = folder / "task" / "task.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("get_weather", "get_wether"), encoding="utf-8")
    outcome = replay()
    assert outcome.code == 2
    assert "calls the tool 'get_wether', which tools.json does not have; correct its name, or add the tool" in outcome.err


def test_two_tools_of_one_name_are_noted(replay: Replay, folder: Path) -> None:
    tools = json.loads((folder / "task" / "tools.json").read_text(encoding="utf-8"))
    (folder / "twice.json").write_text(json.dumps([*tools, tools[0]]), encoding="utf-8")
    outcome = replay("--tools", "twice.json")
    assert outcome.code == 0
    assert "note: 2 tools have the name get_weather" in outcome.out


def test_an_empty_system_prompt_and_an_empty_list_of_tools_are_noted(replay: Replay, folder: Path) -> None:
    (folder / "blank.md").write_text(" \n", encoding="utf-8")
    (folder / "none.json").write_text("[]", encoding="utf-8")
    assert "note: the system prompt is empty: none is sent\n" in replay("--system", "blank.md").out
    assert "note: there are no tools: none are sent\n" in replay("--tools", "none.json").out
    assert "note:" not in replay().out


def test_what_no_context_can_hold_is_refused_before_an_engine_starts(
    replay: Replay, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptguard.engines.embedded.EmbeddedServer.__init__", None)
    tool = {"name": "f", "description": "Looks it up. " * 90_000, "inputSchema": {"type": "object"}}
    (folder / "large.json").write_text(json.dumps([tool]), encoding="utf-8")
    outcome = replay("--tools", "large.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(
        r"promptguard: error: large\.json: the longest prompt has 1,17\d,\d+ characters, at least 146,\d+ tokens, and the model "
        r"has a context of at most 131,072; shorten the prompt or the task, or use a model with a larger context\n",
        outcome.err,
    )


def test_the_progress_in_a_log(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptguard.cli.progress.SECONDS", 0.0)
    labels = ["warm-up", "user 1", "result of get_weather", "user 2"]
    assert replay().err.splitlines() == [f"promptguard: replay {number}/4 {label}" for number, label in enumerate(labels, 1)]
    assert [replay(*flags).err for flags in (["-q"], ["--output-format", "json"], ["--output-format", "junit"])] == ["", "", ""]


def test_stand_ins_are_listed(replay: Replay, folder: Path) -> None:
    (folder / "s.j2").write_text("You work for {{ company }}. " + SYSTEM)
    outcome = replay("--system", "s.j2", "--output-format", "json")
    assert outcome.code == 0
    assert [item["name"] for item in report(outcome.out)["stand_ins"]] == ["company"]


def test_the_uncached_run_is_shown_beside_the_cached_one(replay: Replay) -> None:
    plain = report(replay("--output-format", "json").out)
    both = report(replay("--output-format", "json", "--compare-uncached").out)
    counts = ("prompt", "cached", "prefilled", "ideal", "reusable")
    assert [[turn[key] for key in counts] for turn in both["turns"]] == [[turn[key] for key in counts] for turn in plain["turns"]]
    assert all(turn["seconds_uncached"] is None for turn in plain["turns"])
    assert all(turn["seconds_uncached"] > 0 for turn in both["turns"])
    assert both["totals"]["uncached_ratio"] == pytest.approx(both["totals"]["seconds_uncached"] / both["totals"]["seconds"])


def test_the_text_report_gives_the_ratio_of_the_uncached_run(replay: Replay) -> None:
    assert re.search(r"with the cache off, \d+\.\d times as long", replay("--compare-uncached").out)


# -- bad input: one sentence, exit 2, nothing left behind

FILES = {
    "latin.txt": b"hello \xff\n",
    "broken.j2": b"x\n{{ now",
    "divides.j2": b"x\n{{ 1 / 0 }}",
    "endless.j2": b"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    "huge.j2": b"{% for i in range(90000) %}{% for j in range(90000) %}" + b"a" * 99 + b"{% endfor %}{% endfor %}",
    "cut.json": b"[1,",
    "other.json": b'{"a": 1}',
    "cut.json.j2": b"[{{ 1 }}",
    "third.json.j2": b"{% if turn == 2 %}?{% else %}[]{% endif %}",
    "nan.json.j2": b'[{"type": "function", "function": {"name": "f", "parameters": NaN}}]',
    "list.json": b"[1]",
    "text.gguf": b"hello, world, this is no model",
}
BAD_FILES = [
    (["--task", "missing"], r"missing: the task does not exist; check the path"),
    (["--task", "empty"], r"empty/task.yaml: the task does not exist; check the path"),
    (["--system", "missing"], r"missing: the system prompt does not exist; check the path"),
    (["--system", "task"], r"task: the system prompt is a folder; name a file"),
    (["--tools", "missing.json"], r"missing.json: the tools file does not exist; check the path"),
    (["--context", "missing.json"], r"missing.json: the context file does not exist; check the path"),
    (["--chat-template", "missing.j2"], r"missing.j2: the chat template does not exist; check the path"),
    (["--model", "missing.gguf"], r"missing.gguf: the model does not exist; check the path"),
    (["--model-from", "missing.gguf"], r"missing.gguf: the model does not exist; check the path"),
    (["--model-from", "missing.json"], r"missing.json: the file does not exist; check the path"),
    (["--config", "missing.toml"], r"missing.toml: the configuration file does not exist; check the path"),
    (["--task", "latin.txt"], r"latin.txt:1:7: the task is not UTF-8 \(byte 6\); save it as UTF-8"),
    (["--system", "latin.txt"], r"latin.txt:1:7: the system prompt is not UTF-8 \(byte 6\); save it as UTF-8"),
    (["--tools", "latin.txt"], r"latin.txt:1:7: the tools file is not UTF-8 \(byte 6\); save it as UTF-8"),
    (["--context", "latin.txt"], r"latin.txt:1:7: the context file is not UTF-8 \(byte 6\); save it as UTF-8"),
    (["--chat-template", "latin.txt"], r"latin.txt:1:7: the chat template is not UTF-8 \(byte 6\); save it as UTF-8"),
    (["--system", "broken.j2"], r"broken.j2:2:4: not a valid template: .*"),
    (["--chat-template", "broken.j2"], r"broken.j2:2:4: not a valid template: .*"),
    (["--tools", "broken.j2"], r"broken.j2:2:4: not a valid template: .*"),
    (["--system", "divides.j2"], r"divides.j2:2: the template does not render: .*division by zero"),
    (["--chat-template", "divides.j2"], r"divides.j2:2: the template does not render: .*division by zero"),
    (["--tools", "divides.j2"], r"divides.j2:2: the template does not render: .*division by zero"),
    (["--system", "huge.j2"], r"huge.j2:1: the template prints more than 4,194,304 characters"),
    (["--chat-template", "huge.j2"], r"huge.j2:1: the template prints more than 1,048,576 characters"),
    (["--tools", "huge.j2"], r"huge.j2:1: the template prints more than 4,194,304 characters"),
    (["--system", "endless.j2"], r"endless.j2:1: the template takes longer than 5 s to render"),
    (["--tools", "cut.json"], r"cut.json:1:4: not JSON: expecting value"),
    (["--tools", "other.json"], r"other.json: element 1 has no name; give OpenAI, Anthropic, MCP or Gemini tools"),
    (["--tools", "list.json"], r"list.json: element 1 is not an object; give a list of .*"),
    (["--tools", "cut.json.j2"], r"cut.json.j2: does not render to JSON on turn 0 \(.*\)"),
    (["--tools", "third.json.j2"], r"third.json.j2: does not render to JSON on turn 2 \(.*\)"),
    (["--tools", "nan.json.j2"], r"nan.json.j2: does not render to JSON on turn 0 \(NaN is not JSON\)"),
    (["--model", "text.gguf"], r"text.gguf: not a GGUF file: .*; give a .gguf file"),
    (["--model-from", "text.gguf"], r"text.gguf: not a GGUF file: .*; give a .gguf file"),
    (["--model", "cut.gguf"], r"cut.gguf: truncated: .*; fetch or copy the file again"),
    (["--model", "head.gguf"], r"head.gguf: truncated: .*; fetch or copy the file again"),
    (["--model-from", "head.gguf"], r"head.gguf: truncated: .*; fetch or copy the file again"),
    (["--model", "vocabulary.gguf"], r"vocabulary.gguf: .*vocabulary.*; .*"),
    (["--model", "bare.gguf"], r"bare.gguf: the model has no chat template; give one with --chat-template"),
    (
        ["--ctx-size", "300"],
        r"the task needs a context of \d+ tokens and the engine has 512; raise --ctx-size, or shorten the prompt or the task",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD_FILES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_bad_input_is_one_sentence_and_a_report_of_it(replay: Replay, folder: Path, arguments: list[str], message: str) -> None:
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    (folder / "empty").mkdir()
    model = default_model().read_bytes()
    (folder / "cut.gguf").write_bytes(model[:-1000])
    (folder / "head.gguf").write_bytes(model[:100])
    without_weights(folder / "vocabulary.gguf")
    with_chat_template(folder / "bare.gguf", None)
    before = listing(folder)
    outcome = replay(*arguments, "--report", "json=report.json", task="--task" not in arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(f"promptguard: error: {message}\n", outcome.err)
    if "--config" in arguments:  # which says where reports go
        assert listing(folder) == before
        return
    assert listing(folder) == sorted([*before, "report.json"])
    found = report((folder / "report.json").read_text(encoding="utf-8"))
    assert (found["verdict"], found["turns"]) == ("error", [])
    assert outcome.err.startswith("promptguard: error: ")


USAGE = [
    (["--bogus"], r"No such option '--bogus'\."),
    (["--ctx-siz", "5"], r"No such option '--ctx-siz'\. Did you mean '--ctx-size'\?"),
    (["--min-hit-rate", "2"], r"Invalid value for '--min-hit-rate': .*"),
    (["--engine", "vllm"], r"Invalid value for '--engine': .*"),
    (["--inject", "clock"], r"--inject: there is no defect 'clock'; .*"),
    (["--inject", "extra-space@0"], r"--inject: '0' is not the number of a turn; write extra-space@7"),
    (["--report", "jsn=x"], r"--report jsn=x: unknown report format 'jsn'; did you mean json\?"),
    (["--report", "json"], r"--report json: the file name is missing; write it as json=FILE"),
    (["--report", "json=x", "--report", "text=./x"], r"--report text=./x: two reports would be written to x; name another file"),
    (["--report", "json=no/x"], r"no: there is no such folder; create it, or name another file for the report"),
    (["--report", "json=task"], r"task: this is a folder; name a file in it"),
    (["--server", "localhost:8080"], r"--server 'localhost:8080': is not an http or https URL; give something like http://.*"),
    (["--server", "http://h", "--model", "x"], r"--model says how to start an engine, and --server uses one .*"),
    (["--slot", "1"], r"--slot goes with --server; .*"),
    (["--model", "a", "--model-from", "b"], r"--model and --model-from exclude each other; give one of the two"),
    (["--max-turns", "3"], r"--max-turns goes with --live"),
    (["--live", "--engine", "llama-cpp-python"], r"--live needs a llama-server, .*; leave out --engine"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=name)
def test_wrong_usage(replay: Replay, folder: Path, arguments: list[str], message: str) -> None:
    before = listing(folder)
    outcome = replay(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(f"(Usage: promptguard replay .*\n)?promptguard: error: {message}\n", outcome.err)
    assert listing(folder) == before


def test_a_task_with_one_measured_turn_proves_nothing(replay: Replay, folder: Path) -> None:
    task = yaml.safe_load(TASK)
    del task["conversation"][0]["steps"], task["conversation"][1:]
    (folder / "task" / "task.yaml").write_text(yaml.safe_dump(task))
    outcome = replay()
    assert outcome.code == 2
    assert "a run with one measured turn proves nothing" in outcome.err


@pytest.mark.parametrize("name", ["../secret.md", "/etc/hostname", "link.md"])
def test_a_task_cannot_name_files_outside_its_folder(replay: Replay, folder: Path, name: str) -> None:
    (folder / "secret.md").write_text("secret")
    (folder / "task" / "link.md").symlink_to(folder / "secret.md")
    (folder / "task" / "task.yaml").write_text(TASK.replace("system.md", name))
    outcome = replay()
    assert outcome.code == 2
    assert "system leads out of the task's folder; keep the files of a task beside it" in outcome.err


# -- templates of strangers

TRICKS = {
    "class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ cycler.__init__.__globals__.os.system('touch pwned') }}",
    "attr": "{{ (cycler | attr('__init__') | attr('__globals__')).os.system('touch pwned') }}",
    "memory": "{% for i in range(1000000000) %}{% endfor %}",
    "format": "{{ '{0.__class__.__init__.__globals__}'.format(raise_exception) }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}{{ os.system('touch pwned') }}",
}


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
@pytest.mark.parametrize("way", ["--system", "--chat-template", "--tools"])
def test_a_hostile_template_is_refused_before_an_engine_sees_it(replay: Replay, folder: Path, way: str, trick: str) -> None:
    (folder / "bad.j2").write_text(trick)
    before = listing(folder)
    outcome = replay(way, "bad.j2")
    assert (outcome.code, outcome.out) == (2, "")
    assert re.match(r"promptguard: error: bad\.j2:1", outcome.err)
    assert "root:" not in outcome.err
    assert listing(folder) == before


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_hostile_template_in_a_model_runs_nothing(replay: Replay, folder: Path, trick: str) -> None:
    with_chat_template(folder / "bad.gguf", trick)
    before = listing(folder)
    outcome = replay("--model", "bad.gguf")
    assert (outcome.code, outcome.out) == (2, "")
    assert "root:" not in outcome.err
    assert listing(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [["--system", "bad.j2"], ["--system", "\x1b[2J.md"], ["--\x1b[2J"], ["--inject", "\x1b[2J"], ["--server", "http://h/\x1b?"]],
    ids=["template", "file", "option", "value", "address"],
)
def test_an_error_holds_no_control_characters_of_strangers(replay: Replay, folder: Path, arguments: list[str]) -> None:
    (folder / "bad.j2").write_text("{{ raise_exception('\x1b[2J\x07') }}")
    outcome = replay(*arguments)
    assert outcome.code == 2
    assert outcome.err.replace("\n", "").isprintable()
    assert "x1b" in outcome.err


# -- configuration


def test_the_closest_configuration_file_holds_and_a_flag_beats_it(replay: Replay, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.promptguard.replay]\nmin-hit-rate = 0.999\noutput-format = "json"\n')
    outcome = replay()
    assert (outcome.code, report(outcome.out)["checks"][0]["limit"]) == (1, 0.999)
    outcome = replay("--min-hit-rate", "0.5")
    assert (outcome.code, report(outcome.out)["checks"][0]["limit"]) == (0, 0.5)


def test_a_file_of_its_own_goes_before_pyproject(replay: Replay, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.promptguard.replay]\nmin-hit-rate = 0.999\n")
    (folder / "promptguard.toml").write_text('[replay]\ntask = "task"\nreport = ["json=r.json"]\n')
    outcome = replay(task=False)
    assert outcome.code == 0
    assert report((folder / "r.json").read_text())["subject"]["task"] == "tiny"


def test_an_unknown_key_is_an_error_with_a_suggestion(replay: Replay, folder: Path) -> None:
    (folder / "promptguard.toml").write_text("[replay]\nmin-hitrate = 0.9\n")
    outcome = replay()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "promptguard: error: PATH:2: min-hitrate: unknown key; did you mean min-hit-rate?\n".replace(
        "PATH", str(folder / "promptguard.toml")
    )


def test_a_file_that_the_configuration_names_and_that_is_not_there(replay: Replay, folder: Path) -> None:
    (folder / "promptguard.toml").write_text('[replay]\nslot = 1\nsystem = "nope"\nmodel = "none.gguf"\n')
    outcome = replay("--model-from", "x")
    path = folder / "promptguard.toml"
    assert (outcome.code, outcome.err) == (2, f"promptguard: error: {path}:3: system: there is no file nope; correct the path\n")


def test_an_engine_on_the_command_line_replaces_the_one_of_the_file(replay: Replay, folder: Path) -> None:
    (folder / "promptguard.toml").write_text('[replay]\nserver = "http://127.0.0.1:9"\n')
    assert replay("--model", str(default_model())).code == 0


# -- reports in odd places


def test_a_report_through_a_link_replaces_what_it_leads_to(replay: Replay, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "r.json").write_text("old")
    (folder / "link.json").symlink_to(folder / "elsewhere" / "r.json")
    assert replay("--report", "json=link.json").code == 0
    assert (folder / "link.json").is_symlink()
    assert report((folder / "elsewhere" / "r.json").read_text())["verdict"] == "passed"
    assert listing(folder / "elsewhere") == ["r.json"]


def test_a_folder_that_vanishes_during_the_run_is_an_error(replay: Replay, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import promptguard.replaying.command as command

    execute: Callable[..., object] = command.execute

    def execute_and_remove(*arguments: object, **named: object) -> object:
        result = execute(*arguments, **named)
        (folder / "out").rmdir()
        return result

    (folder / "out").mkdir()
    before = listing(folder)
    monkeypatch.setattr(command, "execute", execute_and_remove)
    outcome = replay("--report", "json=out/r.json")
    assert outcome.code == 2
    assert outcome.err == "promptguard: error: out: there is no such folder; create it, or name another file for the report\n"
    assert listing(folder) == [name for name in before if name != "out"]


@pytest.mark.parametrize(
    "flags",
    [[], ["--model", str(default_model())], ["--model-from", str(default_model()), "--seed", "7"]],
    ids=["default", "model", "twin"],
)
def test_the_outline_says_what_the_report_of_the_run_says(replay: Replay, flags: list[str]) -> None:
    found = json.loads(replay("--outline", *flags).out)
    assert found.pop("version") == 1
    whole = json.loads(replay(*flags, "--output-format", "json").out)
    labels = [{name: turn[name] for name in ("number", "label")} for turn in whole["turns"]]
    subject = {name: whole["subject"][name] for name in ("task", "model", "live")}
    assert found == {"settings": whole["settings"], "subject": subject, "turns": labels}


def test_the_outline_starts_no_engine(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptguard.engines.embedded.EmbeddedServer.__init__", None)
    found = json.loads(replay("--outline", "--server", "http://127.0.0.1:9", "--live").out)
    assert (found["subject"], found["turns"]) == ({"task": "tiny", "model": None, "live": True}, None)
