"""Prompts in which nothing is wrong: whatever is reported on one of them at the default level is a false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptguard.linting.load import make_plan
from promptguard.linting.run import collect, find_targets, lint_files

CLEAN = Path(__file__).resolve().parents[2] / "fixtures" / "clean"


def test_clean_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CLEAN)
    plan = make_plan({})
    result = collect(lint_files(find_targets((), plan), plan.settings, jobs=1))
    assert [f"{record.path}:{record.line}:{record.column}: {record.code} {record.message}" for record in result.records] == []
    assert (result.files, result.suppressed) == (55, 0)
