"""Parts of the action that a whole run does not show."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from adoption.scratch import ROOT
from adoption.simulated_runner import annotations, condition, fill, read_outputs


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a module of the action."""
    monkeypatch.syspath_prepend(str(ROOT / ".github" / "action"))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"promptguard_action.{name}")

    yield load
    for name in [name for name in sys.modules if name.split(".")[0] == "promptguard_action"]:
        del sys.modules[name]


def report(rate: float, *prefilled: int) -> dict[str, Any]:
    prompt = 100 * len(prefilled)
    totals = {
        "hit_rate": rate,
        "prompt_tokens": prompt,
        "prefill_tokens": sum(prefilled),
        "prompt_loss": 1234,
        "engine_loss": 0,
    }
    return {"totals": totals, "turns": [{"prefilled": count} for count in prefilled]}


def test_a_comparison(part: Any) -> None:
    table = part("compare").comparison(report(0.9, 1000, 20, 30), report(0.7999, 1000, 1020))
    assert table.splitlines() == [
        "| | base | head | change |",
        "|---|---:|---:|---:|",
        "| hit rate | 90.0% | 79.9% | −10.0 points |",  # noqa: RUF001 - a minus sign
        "| prompt tokens per turn | 100 | 100 | 0 |",
        "| tokens computed per turn | 350 | 1,010 | +660 |",
        "| prompt loss, all turns | 1,234 | 1,234 | 0 |",
        "| engine loss, all turns | 0 | 0 | 0 |",
        "",
        "<details><summary>Tokens computed on each turn</summary>",
        "",
        "| turn | base | head | change |",
        "|---:|---:|---:|---:|",
        "| 1 | 1,000 | 1,000 | 0 |",
        "| 2 | 20 | 1,020 | +1,000 |",
        "| 3 | 30 | | |",
        "",
        "</details>",
    ]
    assert "| 2 | | 5 | |" in part("compare").comparison(report(1, 4), report(1, 4, 5))


@pytest.mark.parametrize(("rate", "text"), [(0.79999, "79.9%"), (0.8, "80.0%"), (1.0, "100.0%"), (0.0, "0.0%")])
def test_rates_are_rounded_down(rate: float, text: str, part: Any) -> None:
    assert part("compare").percent(rate) == text


def test_what_fits(part: Any) -> None:
    fitting = part("summary").fitting
    parts = ["head\n", "a\nb\nc\n" * 20, "end\n"]
    assert fitting(parts, 1000) == "head\n\n" + "a\nb\nc\n" * 20 + "\nend\n\n"
    cut = fitting(parts, 80)
    assert len(cut) in range(75, 81)
    assert cut == "head\n\n" + "a\nb\nc\n" * 6 + "a\n\nThe rest is left out for its size.\n"
    assert fitting(["head\n", "```text\n" + "x" * 99 + "\n```\n"], 80) == "head\n\n\nThe rest is left out for its size.\n"
    assert len(fitting(["é" * 99], 80).encode()) <= 80


@pytest.mark.parametrize(
    ("version", "replay", "wanted"),
    [
        ("", False, "/a b"),
        ("", True, "/a b[replay]"),
        ("0.1.0rc1", False, "promptguard-ci==0.1.0rc1"),
        ("1", True, "promptguard-ci[replay]==1"),
    ],
)
def test_what_is_installed(version: str, replay: bool, wanted: str, part: Any) -> None:
    assert part("install").requirement("/a b", version, replay=replay) == wanted


def test_outputs_keep_what_looks_like_an_end(part: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    values = {"a": "x\nEOF\nb=c\nb<<EOF\ny\nEOF", "c": "", "d": "1"}
    part("runner").set_outputs(values)
    assert read_outputs((tmp_path / "output").read_text()) == values


def test_annotations_are_escaped(part: Any, capsys: pytest.CaptureFixture[str]) -> None:
    place = {"file": "a,b:c%0A\nd.j2", "line": 3}
    part("runner").annotate("error", "50% off\r\n::error::planted", place)
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert annotations(out.splitlines()) == [("error", {**place, "line": "3"}, "50% off\r\n::error::planted")]


def test_a_quoted_log_gives_no_commands(part: Any, capsys: pytest.CaptureFixture[str]) -> None:
    runner = part("runner")
    with runner.quoted_log("a title\n::error::planted"):
        runner.say("::error::planted\n::stop-commands::x\n::x::\n::error::planted")
    runner.annotate("warning", "ours")
    assert annotations(capsys.readouterr().out.splitlines()) == [("warning", {}, "ours")]


def test_the_simulated_runner_reads_what_a_runner_reads() -> None:
    context = {"inputs": {"sarif": "TRUE", "x": ""}, "steps": {"a": {"outputs": {"b-c": "d"}, "outcome": "failure"}}}
    assert fill("<${{ steps.a.outputs.b-c }}${{ steps.gone.outputs.x }}>", context) == "<d>"
    cases = {
        "inputs.sarif == 'true'": False,
        "${{ always() && inputs.sarif == 'true' }}": True,
        "!cancelled() && (inputs.x != '' || steps.a.outcome == 'failure')": True,
        "failure()": True,
        "success()": False,
    }
    assert {text: condition(text, context, succeeded=False) for text in cases} == cases
    log = ["::stop-commands::aa", "::error::no", "::aa::", "::warning file=a%2Cb::yes%0A::"]
    assert annotations(log) == [("warning", {"file": "a,b"}, "yes\n::")]
    with pytest.raises(AssertionError):
        annotations(log[:2])
