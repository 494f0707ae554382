from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome, listing
from fake_server import PROPS, FakeLlamaServer
from jsonschema import Draft202012Validator
from pytest_httpserver import HTTPServer
from werkzeug import Response

from promptguard.cli.main import _run, main
from promptguard.linting import templates as stories
from promptguard.parse.gguf import Value, write_gguf

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "template-1.json").read_text(encoding="utf-8"))
CLEAN = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif -%}
{{ message.content or '' }}{% for call in message.tool_calls or [] %}<call>{{ call.function.name }} {{ call.function.arguments
   if call.function.arguments is string else call.function.arguments | tojson }}</call>{% endfor %}<|im_end|>
{% if loop.first and tools %}<tools>{{ tools | tojson }}</tools>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
DROPS = CLEAN.replace("{% if message.reasoning_content %}", "{% if message.reasoning_content and loop.last %}")
SWITCHED = CLEAN.replace("{% if message.reasoning_content %}", "{% if message.reasoning_content and (loop.last or keep) %}")

EACH = "{% for m in messages %}"

Check = Callable[..., Outcome]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Run ``promptguard template check`` in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROMPTGUARD_API_KEY", raising=False)

    def run(*arguments: str) -> Outcome:
        code = _run(["template", "check", *arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        assert "internal error" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run


def report(outcome: Outcome) -> dict[str, Any]:
    value = json.loads(outcome.out)
    Draft202012Validator(SCHEMA).validate(value)
    return value


@pytest.fixture
def server(httpserver: HTTPServer) -> FakeLlamaServer:
    return FakeLlamaServer(httpserver)


# -- verdicts


def test_a_template_that_keeps_the_prefix(check: Check) -> None:
    Path("a.jinja").write_text(CLEAN)
    outcome = check("a.jinja")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("a.jinja: keeps the prefix\n")
    assert "lost" not in outcome.out


def test_a_template_that_breaks_it(check: Check) -> None:
    Path("a.jinja").write_text(DROPS)
    outcome = check("a.jinja")
    assert outcome.code == 1
    assert "PG502 history-not-preserved: the reasoning of earlier turns is dropped" in outcome.out
    line = DROPS[: DROPS.index("<think>")].count("\n") + 1
    assert f"  --> a.jinja:{line}:" in outcome.out
    assert re.search(rf"^  {line} \| .*\n    \| +\^+$", outcome.out, re.MULTILINE)
    for label in ("when ", "seen ", "before", "after ", "lost ", "to do", "help "):
        assert f"\n  {label}" in outcome.out


def test_every_conversation_has_a_row(check: Check) -> None:
    Path("a.jinja").write_text(DROPS)
    rows = re.findall(
        r"^  (.{2,40}?) {2,}reasoning +((?:kept|lost [\d,]+)(?: +(?:kept|lost [\d,]+))*)$", check("a.jinja").out, re.MULTILINE
    )
    assert ("plain chat", ["lost", "lost"]) in [(name, re.findall("kept|lost", cells)) for name, cells in rows]
    assert len(rows) == 7


def test_a_template_that_refuses_tool_calls_keeps_the_prefix_of_the_rest(check: Check) -> None:
    Path("a.jinja").write_text(
        f"{EACH}{{% if m.role == 'tool' %}}{{{{ raise_exception('No tools!') }}}}{{% endif %}}{{% endfor %}}{CLEAN}"
    )
    outcome = check("a.jinja")
    assert outcome.code == 0
    assert outcome.out.startswith("a.jinja: keeps the prefix\n")
    assert "\nrefuses tool calls: the template refuses the request: No tools!\n" in outcome.out


def test_a_template_that_fails_on_some_conversations(check: Check) -> None:
    Path("a.jinja").write_text(f"{EACH}{{% if m.role == 'tool' %}}{{{{ m.nothing.there }}}}{{% endif %}}{{% endfor %}}{CLEAN}")
    outcome = check("a.jinja")
    assert outcome.code == 1
    assert outcome.out.startswith("a.jinja: keeps the prefix, but fails on some conversations\n")
    assert "\nPG507 cannot-render: fails on tool calls: " in outcome.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{% for message in messages %}{{ message.content }", "not a valid template"),
        ("{% for x in range(10 ** 9) %}{{ x }}{% endfor %}{{ messages[0].content }}", "counts to more than 100,000"),
        ("{{ ''.__class__.__mro__ }}{{ messages[0].content }}", "__class__"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}{{ messages[0].content }}", "calls itself too deeply"),
        ("{{ 'x' * 10 ** 9 }}{{ messages[0].content }}", "repeats a text or list to 1,000,000,000 items"),
        ("{{ messages[0].content.nothing.there }}", "has no attribute"),
    ],
)
def test_a_template_that_renders_nothing(check: Check, text: str, words: str) -> None:
    Path("a.jinja").write_text(text)
    started = time.monotonic()
    outcome = check("a.jinja")
    assert (outcome.code, outcome.err) == (2, "")
    assert outcome.out.startswith("a.jinja: cannot be judged\n")
    assert words in outcome.out
    assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tokenizer_config.json", '{"bos_token": "<s>"}'),
        ("tokenizer_config.json", "[]"),
        ("empty.jinja", "\n"),
        ("prompt.j2", "You are {{ name }}."),
    ],
)
def test_a_file_without_a_chat_template(check: Check, name: str, text: str) -> None:
    Path(name).write_text(text)
    outcome = check(name)
    assert (outcome.code, outcome.err) == (3, "")
    assert outcome.out.startswith(f"{name}: no chat template\n")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("nope.jinja", None, "the file does not exist"),
        ("a.json", b'{"chat_template": ', "not JSON"),
        ("a.json", b"[" * 200_000, "not JSON"),
        ("a.jinja", b"\xff\xfe", "not UTF-8"),
        ("a.jinja", b"a\0b", "null characters"),
        ("a.json", b" " * (8 << 20) + b"{}", "larger than 8,388,608 bytes"),
        ("a.gguf", b"GGUF\x03\0\0\0", "truncated"),
        ("a.gguf", b"version https://", "not a GGUF file"),
        (".", None, "is a folder"),
    ],
)
def test_a_file_that_cannot_be_read(check: Check, name: str, data: bytes | None, words: str) -> None:
    if data is not None:
        Path(name).write_bytes(data)
    outcome = check(name)
    assert (outcome.code, outcome.err) == (2, "")
    assert outcome.out.startswith(f"{name}: cannot be judged\n")
    assert words in outcome.out


def test_the_worst_verdict_is_the_exit_code(check: Check) -> None:
    Path("clean.jinja").write_text(CLEAN)
    Path("drops.jinja").write_text(DROPS)
    Path("none.json").write_text("{}")
    assert check("clean.jinja", "none.json").code == 3
    assert check("clean.jinja", "none.json", "drops.jinja").code == 1
    outcome = check("drops.jinja", "nope.jinja", "none.json")
    assert outcome.code == 2
    assert outcome.out.endswith("\n3 templates: 1 breaks the prefix, 1 cannot be judged, 1 no chat template\n")
    assert check("drops.jinja", "none.json", "--exit-zero", "-q") == Outcome(0, "", "")
    assert check("nope.jinja", "--exit-zero", "-q").code == 2


def test_quiet_still_says_why_there_is_no_verdict(check: Check) -> None:
    Path("none.json").write_text("{}")
    Path("cut.jinja").write_text("{% if a %}")
    said = "nope.jinja: the file does not exist; check the path", "none.json: holds no chat template", "cut.jinja: not a valid"
    outcome = check("nope.jinja", "none.json", "cut.jinja", "-q")
    assert (outcome.code, outcome.out) == (2, "")
    for line, words in zip(outcome.err.splitlines(), said, strict=True):
        assert line.startswith(f"promptguard: error: {words}")


def test_a_date_that_a_system_message_replaces(check: Check) -> None:
    date = "{{ strftime_now('%d %B %Y') }}"
    Path("a.jinja").write_text("{% if messages[0].role != 'system' %}" + date + "{% endif %}" + CLEAN)
    assert "\n  when    every day, where there is no system message (" in check("a.jinja").out
    Path("a.jinja").write_text(date + CLEAN)
    assert "\n  when    every day (" in check("a.jinja").out


def test_an_hour_that_is_printed_changes_every_hour(check: Check) -> None:
    Path("a.jinja").write_text("{{ strftime_now('%d %B, %I %p') }}" + CLEAN)
    assert "\n  when    every hour (" in check("a.jinja").out
    (defect,) = report(check("a.jinja", "--output-format", "json"))["templates"][0]["defects"]
    assert defect["changes"] == "hour"


def test_verdicts_are_counted(check: Check) -> None:
    for name, text in (("a", CLEAN), ("b", CLEAN), ("c", DROPS), ("d", DROPS)):
        Path(f"{name}.jinja").write_text(text)
    outcome = check("a.jinja", "b.jinja", "c.jinja", "d.jinja")
    assert outcome.out.endswith("\n4 templates: 2 keep the prefix, 2 break the prefix\n")
    outcome = check("a.jinja", "c.jinja", "d.jinja", "--output-format", "json")
    assert report(outcome)["summary"] == {"preserving": 1, "breaking": 2, "failing": 0, "unjudged": 0, "missing": 0}


def test_a_reply_that_no_model_gives_is_not_judged(check: Check) -> None:
    Path("a.jinja").write_text(CLEAN.replace("<|im_start|>assistant\n", "<|im_start|>assistant\n<think>"))
    assert re.search(r"^  plain chat +reasoning +kept +kept\n +no reasoning +- +-$", check("a.jinja").out, re.MULTILINE)
    told = report(check("a.jinja", "--output-format", "json"))["templates"][0]["conversations"]
    assert {(each["mode"], turn["judged"]) for each in told for turn in each["turns"]} == {
        ("reasoning", True),
        ("plain", False),
        ("thinking off", False),
    }


def test_no_fix_is_offered_for_a_template_that_lint_passes_over(check: Check) -> None:
    named = [{"name": name, "template": DROPS} for name in ("default", "rag")]
    Path("tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    found = report(check("tokenizer_config.json", "--output-format", "json"))["templates"]
    assert [each["defects"][0]["correction"] for each in found] == [
        "Print it wherever the message stands in the conversation",
        None,
    ]


# -- sources


def test_all_templates_of_a_tokenizer_config(check: Check) -> None:
    named = [{"name": "default", "template": CLEAN}, {"name": "tool_use", "template": DROPS}]
    Path("tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>", "chat_template": named}, indent=2))
    outcome = check("tokenizer_config.json", "--output-format", "json")
    assert outcome.code == 1
    found = report(outcome)["templates"]
    assert [(each["name"], each["pointer"], each["verdict"]) for each in found] == [
        ("default", "/chat_template/0/template", "preserving"),
        ("tool_use", "/chat_template/1/template", "breaking"),
    ]
    assert found[1]["special_tokens"] == {"eos_token": "<|im_end|>"}
    place = found[1]["defects"][0]["place"]
    assert (place["path"], place["line"]) == ("tokenizer_config.json", 10)
    assert place["text"].startswith(DROPS.split("\n")[place["template_line"] - 1][place["template_column"] - 1 :][:9])


def test_one_template_by_its_name(check: Check) -> None:
    Path("chat_template.json").write_text(json.dumps({"chat_template": {"default": CLEAN, "tool_use": DROPS}}))
    assert check("chat_template.json", "--name", "default", "-q").code == 0
    assert check("chat_template.json", "--name", "tool_use", "-q").code == 1
    outcome = check("chat_template.json", "--name", "rag")
    assert (outcome.code, outcome.out.splitlines()[1]) == (3, "  holds no chat template named rag")


def test_the_place_in_a_json_file_is_said_with_the_place_in_the_template(check: Check) -> None:
    Path("chat_template.json").write_text(json.dumps({"chat_template": DROPS}))
    assert re.search(
        r"^  --> chat_template\.json:1:\d+ \(/chat_template, line 3, column \d+ of it\)$",
        check("chat_template.json").out,
        re.MULTILINE,
    )


def test_the_tokens_of_a_template_that_stands_alone_come_from_the_file_beside_it(check: Check) -> None:
    Path("chat_template.jinja").write_text("{{ bos_token }}" + CLEAN)
    Path("tokenizer_config.json").write_text(json.dumps({"bos_token": {"content": "<s>"}, "eos_token": None}))
    assert report(check("chat_template.jinja", "--output-format", "json"))["templates"][0]["special_tokens"] == {
        "bos_token": "<s>"
    }


def test_a_model_is_checked_by_its_header(check: Check) -> None:
    keys = {"tokenizer.chat_template": Value.string(DROPS), "tokenizer.chat_template.x": Value.string(CLEAN)}
    write_gguf("m.gguf", keys, [])
    with Path("m.gguf").open("r+b") as stream:
        stream.truncate(1 << 36)
    outcome = check("m.gguf")
    assert outcome.code == 1
    assert re.search(r"^  --> m\.gguf:3:\d+ \(/tokenizer\.chat_template\)$", outcome.out, re.MULTILINE)
    assert "\nm.gguf (x): keeps the prefix\n" in outcome.out


def test_a_server_is_asked_for_its_templates(check: Check, server: FakeLlamaServer) -> None:
    server.answers["/props"] = {**PROPS, "chat_template": CLEAN, "chat_template_tool_use": DROPS}
    outcome = check(server.url + "/", "--output-format", "json")
    assert outcome.code == 1
    found = report(outcome)["templates"]
    assert [(each["name"], each["pointer"], each["verdict"]) for each in found] == [
        (None, "/chat_template", "preserving"),
        ("tool_use", "/chat_template_tool_use", "breaking"),
    ]
    assert found[0]["special_tokens"] == {"bos_token": "<s>", "eos_token": "</s>"}
    assert found[1]["defects"][0]["place"]["path"] == server.url + "/props"
    assert [path for path, _, _ in server.seen] == ["/props"]


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ({**PROPS, "chat_template": 7}, 2, "its chat_template is no text"),
        ({}, 3, "holds no chat template"),
        ([], 2, "does not answer like a llama-server"),
        ((404, b""), 2, "is not a llama-server (/props: HTTP 404)"),
        (b"<html>", 2, "the answer to /props is not JSON"),
        ((404, {"error": {"message": "gone\x1b[31m"}}), 2, "/props: gone?[31m"),
        ((401, {}), 2, "PROMPTGUARD_API_KEY"),
        ({**PROPS, "chat_template": "{% for x in range(10 ** 9) %}{{ x }}{% endfor %}"}, 2, "counts to more than 100,000"),
        ({**PROPS, "chat_template": "\ud800{{ messages[0].content }}"}, 2, "is not JSON"),
    ],
)
def test_a_server_that_lies(check: Check, server: FakeLlamaServer, answer: Any, code: int, words: str) -> None:
    server.answers["/props"] = answer
    outcome = check(server.url)
    assert (outcome.code, outcome.err) == (code, "")
    assert words in outcome.out


def test_the_address_that_other_clients_are_given(check: Check, server: FakeLlamaServer) -> None:
    outcome = check(server.url + "/v1")
    assert (outcome.code, outcome.err) == (2, "")
    assert "leave out /v1 at its end" in outcome.out


def test_a_server_that_drips(check: Check, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def drip() -> Any:
        for _ in range(600):
            time.sleep(0.05)
            yield b" "

    monkeypatch.setattr(stories, "_ANSWER_SECONDS", 0.5)
    httpserver.expect_request("/props").respond_with_handler(lambda _request: Response(drip(), content_type="application/json"))
    started = time.monotonic()
    outcome = check(httpserver.url_for(""))
    assert outcome.code == 2
    assert "no answer to /props within the time limit" in outcome.out
    assert time.monotonic() - started < 20


def test_an_address_that_cannot_be_used(check: Check) -> None:
    outcome = check("http://user:secret@127.0.0.1:1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "secret" not in outcome.err
    assert "FILE_OR_URL" in outcome.err


# -- options


def test_a_variable_for_the_template(check: Check) -> None:
    Path("a.jinja").write_text(SWITCHED)
    without = check("a.jinja")
    assert without.code == 1
    assert 'tried: chat_template_kwargs {"keep": true} keeps the prefix' in without.out
    assert check("a.jinja", "--kwargs", "keep=true", "-q").code == 0
    assert check("a.jinja", "--kwargs", "keep=yes", "-q").code == 0
    assert check("a.jinja", "--kwargs", "keep=false", "-q").code == 1


@pytest.mark.parametrize("given", ["keep", "=1", "a-b=1"])
def test_a_variable_that_is_none(check: Check, given: str) -> None:
    outcome = check("a.jinja", "--kwargs", given)
    assert (outcome.code, outcome.out) == (2, "")
    assert "write it as KEY=VALUE" in outcome.err


def test_reports_are_files(check: Check) -> None:
    Path("a.jinja").write_text(DROPS)
    shown = check("a.jinja", "--report", "json=a.json", "--report", "text=a.txt")
    assert Path("a.txt").read_text(encoding="utf-8") == shown.out
    value = json.loads(Path("a.json").read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(value)
    assert value["summary"] == {"preserving": 0, "breaking": 1, "failing": 0, "unjudged": 0, "missing": 0}
    assert listing(Path.cwd()) == ["a.jinja", "a.json", "a.txt"]


def test_another_tokenizer_counts_other_tokens(check: Check) -> None:
    Path("a.jinja").write_text(DROPS)
    outcome = check("a.jinja", "--tokenizer", "nope.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "there is no file nope.json" in outcome.err


def test_colours_only_where_they_are_asked_for(check: Check) -> None:
    Path("a.jinja").write_text(DROPS)
    plain = check("a.jinja").out
    colored = check("a.jinja", "--color", "always").out
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


def test_nothing_of_a_template_reaches_the_terminal_unescaped(check: Check) -> None:
    Path("a.jinja").write_text(DROPS.replace("<think>", "<th\x1b[31mink>"))
    outcome = check("a.jinja")
    assert outcome.code == 1
    assert "\x1b" not in outcome.out


def test_the_schema_is_closed() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert all(item["additionalProperties"] is False for item in SCHEMA["$defs"].values())


@pytest.mark.parametrize("group", ["template", "model"])
def test_a_group_without_a_command_prints_its_help_once(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([group])
    captured = capsys.readouterr()
    assert (stop.value.code, captured.out) == (2, "")
    assert captured.err.startswith(f"Usage: promptguard {group} [OPTIONS] COMMAND [ARGS]...\n")
    assert (captured.err.count("Usage:"), captured.err.count("error")) == (1, 0)
