from __future__ import annotations

import json

import jsonschema
import pytest

from promptguard.core.resources import resource
from promptguard.diagnosis.catalog import AREA, AREAS, CATALOG
from promptguard.diagnosis.result import Check, Diagnosis, Server
from promptguard.report.doctor import FORMATS, render

SERVER = Server("llama-server", "b9999", "model.gguf", 2, 4096, 812.4)
CHECKS = (
    Check("address", "ok", "answers at http://h"),
    Check("traffic", "unknown", "cannot be seen", "it is off", "--slots"),
    Check("prompt-cache", "in-the-way", "1 of 9 tokens found", "it is off", "--cache-prompt"),
    Check("slots", "at-risk", "2 slots", "one takes the other's", "--parallel 1"),
    Check("window", "ok", "1 of 2 tokens found", "", "--swa-full"),
)
FOUND = Diagnosis("http://h", SERVER, CHECKS, "four-tool", 5000, 7, 4321)
TEXT = """http://h: llama-server b9999, model.gguf, 2 slots of 4,096 tokens

The server
  ok           address           answers at http://h
  cannot tell  traffic           cannot be seen
               why  it is off
               set  --slots

Reuse
  in the way   prompt-cache      1 of 9 tokens found
               why  it is off
               set  --cache-prompt
  at risk      slots             2 slots
               why  one takes the other's
               set  --parallel 1
  ok           window            1 of 2 tokens found
               tip  --swa-full

7 prompts were sent, of which the server computed 4,321 tokens, 812 tokens a second
1 in the way: prompt-cache; 1 at risk: slots (1 could not be told)
"""


def test_text() -> None:
    assert render(FOUND, "text") == TEXT


def test_colour_is_for_terminals() -> None:
    text = render(FOUND, "text", color=True)
    assert "\x1b[1;31min the way \x1b[0m  prompt-cache" in text
    assert "\x1b[33mat risk    \x1b[0m  slots" in text


def test_json_is_as_its_schema_says() -> None:
    value = json.loads(render(FOUND, "json"))
    jsonschema.validate(value, json.loads(resource("docs/schemas/doctor-1.json").read_text(encoding="utf-8")))
    assert (value["verdict"], value["needed_tokens"], value["server"]["prefill_rate"]) == ("obstructed", 5000, 812.4)
    assert value["checks"][3] == {
        "name": "slots",
        "area": "reuse",
        "status": "at-risk",
        "found": "2 slots",
        "why": "one takes the other's",
        "remedy": "--parallel 1",
    }


def test_markdown_escapes_what_a_server_says() -> None:
    check = Check("address", "in-the-way", "<b>|@team", "", "--server `x`|")
    text = render(Diagnosis("http://h", None, (check,)), "markdown")
    row = next(line for line in text.splitlines() if line.startswith("| address"))
    assert row == (
        "| address | **in the way** | &#60;b&#62;&#124;&#64;&#8203;team |  | <code>--server &#96;x&#96;&#124;</code> |"
    )


def test_what_is_only_at_risk_does_not_obstruct() -> None:
    found = Diagnosis("http://h", SERVER, CHECKS[3:])
    assert json.loads(render(found, "json"))["verdict"] == "clear"
    assert render(found, "text").endswith("\nnothing in the way; 1 at risk: slots\n")
    assert "### promptguard doctor: nothing in the way\n" in render(found, "markdown")
    assert "| slots | **at risk** | 2 slots | one takes the other's | <code>--parallel 1</code> |" in render(found, "markdown")


@pytest.mark.parametrize("form", FORMATS)
def test_an_error_is_the_verdict(form: str) -> None:
    text = render(Diagnosis("http://h", error="http://h: nobody there"), form)
    assert "nobody there" in text


def test_the_catalogue_has_each_name_once() -> None:
    assert len(AREA) == len(CATALOG)
    assert set(AREA.values()) == set(AREAS)
