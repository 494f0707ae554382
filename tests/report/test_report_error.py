"""Every format of the report of a run that could not begin."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from promptguard.replaying.result import Result
from promptguard.report.files import FORMATS, render

RESULT = Result.without_run("http://127.0.0.1:1: cannot be reached")


@pytest.mark.parametrize("name", FORMATS)
def test_the_error_is_in_the_report(name: str) -> None:
    assert "http://127.0.0.1:1: cannot be reached" in render(RESULT, name)


def test_junit_has_one_error() -> None:
    suite = ET.fromstring(render(RESULT, "junit"))
    assert len(list(suite.iter("error"))) == 1


def test_markdown_says_that_nothing_was_measured() -> None:
    assert "Nothing could be measured" in render(RESULT, "markdown")
    assert "What was measured" not in render(RESULT, "markdown")
