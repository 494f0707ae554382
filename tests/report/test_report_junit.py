from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from promptguard.replaying.result import Check, Result
from promptguard.report.junit import render


def suite(result: Result) -> ET.Element:
    return ET.fromstring(render(result).encode())


def test_a_case_for_each_check_and_turn(clean: Result) -> None:
    root = suite(clean)
    assert [case.get("name") for case in root] == [
        "hit-rate",
        "prompt-loss",
        "engine-loss",
        "01 user 1",
        "02 result of get_weather",
    ]
    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("time")) == ("5", "0", "0", "2.500")


def test_a_failed_turn_has_cause_and_place(clock: Result) -> None:
    root = suite(clock)
    failure = root.find("testcase[@name='01 user 1']/failure")
    assert failure is not None
    assert failure.get("message") == "prompt loss: 91 tokens; K1 clock at prompts/system.j2:2:7"
    assert failure.text is not None
    assert failure.text.splitlines()[1:3] == ['before: "Time: 12:00:01."', 'after: "Time: 12:00:02."']
    assert root.get("failures") == "5"


def test_an_engine_loss_is_told_apart(clean: Result) -> None:
    turns = (replace(clean.turns[0], cached=60, prefilled=60), clean.turns[1])
    failure = suite(replace(clean, turns=turns)).find("testcase[@name='01 user 1']/failure")
    assert failure is not None
    assert failure.get("message") == "engine loss: 40 tokens that the prompt allowed were not in the cache"


@pytest.mark.parametrize(("limit", "failures"), [(90, 1), (91, 0)])
def test_a_loss_within_the_tolerance_passes(clock: Result, limit: int, failures: int) -> None:
    check = Check("prompt-loss", True, 91, limit, "")
    assert suite(replace(clock, turns=clock.turns[:1], checks=(check,))).get("failures") == str(failures)


def test_a_run_that_broke_off(broken_off: Result) -> None:
    root = suite(broken_off)
    error = root.find("testcase[@name='complete']/error")
    assert error is not None
    assert error.get("message") == "the engine died (exit code -6)"
    assert error.text == "the engine died (exit code -6)\nlast log line"
    assert root.get("errors") == "1"


def test_what_xml_does_not_allow_is_escaped(clean: Result) -> None:
    turns = (replace(clean.turns[0], label="\x00\x0b<&\"'>]]>\ufffe\ud800"), clean.turns[1])
    names = [case.get("name") for case in suite(replace(clean, turns=turns))]
    assert names[3] == "01 \\x00\\x0b<&\"'>]]>\\ufffe\\ud800"
