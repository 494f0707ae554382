from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rule_cases import Case, Lint

from promptguard.cli.main import _run


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    """Write the file of a case into the working directory and lint it with its rule alone; gives the findings."""

    def run(case: Case, *flags: str) -> list[dict[str, Any]]:
        monkeypatch.chdir(tmp_path)
        path = tmp_path / case.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(case.text.encode())
        if case.config is not None:
            (tmp_path / "promptguard.toml").write_text(case.config, encoding="utf-8")
        _run(["lint", "--select", case.rule.code, "--pedantic", "--output-format", "json", *flags, case.path])
        captured = capsys.readouterr()
        assert captured.err == ""
        findings: list[dict[str, Any]] = json.loads(captured.out)["findings"]
        return findings

    return run
