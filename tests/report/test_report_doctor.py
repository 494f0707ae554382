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
    Check("host-cache", "ok", "1 of 2 tokens found", "", "--cache-ram 2048"),
    Check("slots", "in-the-way", "2 slots", "one takes the other's", "--parallel 1"),
)
FOUND = Diagnosis("http://h", SERVER, CHECKS, "four-tool", 5000, 7, 4321)
TEXT = """http://h: llama-server b9999, model.gguf, 2 slots of 4,096 tokens

The server
  ok           address           answers at http://h
  cannot tell  traffic           cannot be seen
               why  it is off
               set  --slots

Reuse
  ok           host-cache        1 of 2 tokens found
               tip  --cache-ram 2048
  in the way   slots             2 slots
               why  one takes the other's
               set  --parallel 1

7 prompts were sent, of which the server computed 4,321 tokens, 812 tokens a second
1 in the way: slots (1 could not be told)
"""


def test_text() -> None:
    assert render(FOUND, "text") == TEXT


def test_colour_is_for_terminals() -> None:
    assert "\x1b[1;31min the way \x1b[0m  slots" in render(FOUND, "text", color=True)


def test_json_is_as_its_schema_says() -> None:
    value = json.loads(render(FOUND, "json"))
    jsonschema.validate(value, json.loads(resource("docs/schemas/doctor-1.json").read_text(encoding="utf-8")))
    assert (value["verdict"], value["needed_tokens"], value["server"]["prefill_rate"]) == ("obstructed", 5000, 812.4)
    assert value["checks"][3] == {
        "name": "slots",
        "area": "reuse",
        "status": "in-the-way",
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


@pytest.mark.parametrize("form", FORMATS)
def test_an_error_is_the_verdict(form: str) -> None:
    text = render(Diagnosis("http://h", error="http://h: nobody there"), form)
    assert "nobody there" in text


def test_the_catalogue_has_each_name_once() -> None:
    assert len(AREA) == len(CATALOG)
    assert set(AREA.values()) == set(AREAS)
