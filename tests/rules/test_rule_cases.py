"""Every example in a rule file says the truth about the rule."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from rule_cases import CASES, Case, Lint

from promptguard.checks.base import shown
from promptguard.core.source import Source

FIXES = {"none": set(), "safe": {"safe"}, "unsafe": {"unsafe"}, "safe or unsafe": {"safe", "unsafe"}}
QUOTES_NO_SPAN: dict[str, str] = {}
"""Rules whose messages quote another text than the one at their span, and why."""


def place(finding: dict[str, Any]) -> str:
    return "{line}:{column}-{end_line}:{end_column}".format(**finding)


def text_at(case: Case, finding: dict[str, Any]) -> str:
    starts = Source(case.path, case.text.removeprefix("\ufeff")).line_starts
    start = starts[finding["line"] - 1] + finding["column"] - 1
    end = starts[finding["end_line"] - 1] + finding["end_column"] - 1
    return case.text.removeprefix("\ufeff")[start:end]


def spellings(text: str) -> set[str]:
    """A text as a message shows it, also where it stands with escapes inside of a JSON string."""
    found = {shown(text)}
    with contextlib.suppress(ValueError):
        found.add(shown(json.loads(f'"{text}"')))
    return found


@pytest.mark.parametrize("case", [case for case in CASES if case.verdict == "good"], ids=str)
def test_good(case: Case, lint: Lint) -> None:
    assert lint(case) == []


@pytest.mark.parametrize("case", [case for case in CASES if case.verdict == "bad"], ids=str)
def test_bad(case: Case, lint: Lint) -> None:
    findings = lint(case)
    assert [place(finding) for finding in findings] == case.places
    assert {finding["code"] for finding in findings} == {case.rule.code}
    assert case.values.get("severity", findings[0]["severity"]) == findings[0]["severity"]
    fixes = [finding["fix"]["applicability"] for finding in findings if finding["fix"] is not None]
    assert {fix for fix in fixes if fix != "display"} <= FIXES[case.rule.fix]
    if "fix" in case.values:
        assert fixes[:1] == [case.values["fix"]]
    for finding in findings:
        quotes = "`" in finding["message"] and case.rule.code not in QUOTES_NO_SPAN
        assert not quotes or any(f"`{text}`" in finding["message"] for text in spellings(text_at(case, finding)))


@pytest.mark.parametrize("case", [case for case in CASES if case.verdict == "fixed"], ids=str)
def test_fixed(case: Case, lint: Lint, tmp_path: Path) -> None:
    assert case.bad is not None
    lint(case.bad, "--fix", "--unsafe-fixes")
    assert (tmp_path / case.path).read_bytes().decode() == case.text
    lint(case, "--fix", "--unsafe-fixes")
    assert (tmp_path / case.path).read_bytes().decode() == case.text
