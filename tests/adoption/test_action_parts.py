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


def report(rate: float, *prefilled: int, template: int | None = None) -> dict[str, Any]:
    prompt = 100 * len(prefilled)
    totals = {
        "hit_rate": rate,
        "prompt_tokens": prompt,
        "prefill_tokens": sum(prefilled),
        "prompt_loss": 1234,
        "engine_loss": 0,
    }
    checks = [{"name": "hit-rate", "value": rate}, *[{"name": "chat-template", "value": template}] * (template is not None)]
    turns = [{"number": number, "prefilled": count} for number, count in enumerate(prefilled, 1)]
    return {"totals": totals, "turns": turns, "checks": checks}


def test_a_comparison(part: Any) -> None:
    table = part("compare").comparison(report(0.9, 1000, 20), report(0.7999, 1000, 1020))
    assert table.splitlines() == [
        "| | base | head | change |",
        "|---|---:|---:|---:|",
        "| hit rate | 90.0% | 79.9% | −10.0 points |",  # noqa: RUF001 - a minus sign
        "| prompt tokens per turn | 100 | 100 | 0 |",
        "| tokens computed per turn | 510 | 1,010 | +500 |",
        "| prompt loss, all turns | 1,234 | 1,234 | 0 |",
        "| engine loss, all turns | 0 | 0 | 0 |",
        "",
        "<details><summary>Tokens computed on each turn</summary>",
        "",
        "| turn | base | head | change |",
        "|---:|---:|---:|---:|",
        "| 1 | 1,000 | 1,000 | 0 |",
        "| 2 | 20 | 1,020 | +1,000 |",
        "",
        "</details>",
    ]
    table = part("compare").comparison(report(1, 4, template=91), report(1, 4, template=0))
    assert "| tokens lost to the chat template, at worst | 91 | 0 | −91 |" in table.splitlines()  # noqa: RUF001 - a minus sign


def replayed(*names: str, turns: int = 3, **subject: object) -> dict[str, Any]:
    return {
        "settings": dict.fromkeys(names, "a/file"),
        "subject": {"task": "shop", "model": "tiny.gguf", "live": False, **subject},
        "turns": [{}] * turns,
    }


@pytest.mark.parametrize(
    ("base", "head", "reason"),
    [
        (replayed("task", "system"), replayed("task", "system", "chat-template", "context", model="tiny.gguf"), None),
        (
            replayed(),
            replayed("system", "task", "tools"),
            "the base has no configuration that sets task, system and tools, so it replays another task",
        ),
        (replayed("task", "system"), replayed("task"), "the head no longer sets system, so it replays another task"),
        (replayed(), replayed(task="desk"), "task is shop in the base and desk in the head"),
        (replayed(model="a.gguf"), replayed(model="b.gguf"), "model is a.gguf in the base and b.gguf in the head"),
        (replayed(turns=13), replayed(turns=14), "the task has 13 turns in the base and 14 in the head"),
        (
            {**replayed(), "settings": {"context": "/w/shop/context.json"}},
            replayed(),
            "the base sets context to an absolute path, at which the head's file lies; make it relative",
        ),
        ({**replayed(), "settings": {"context": "/w/shopping/context.json"}}, replayed(), None),
        ({**replayed(model=None), "turns": None}, replayed(), None),
    ],
)
def test_what_cannot_be_compared(base: dict[str, Any], head: dict[str, Any], reason: str | None, part: Any) -> None:
    assert part("compare").obstacle(base, head, Path("/w/shop")) == reason


def test_paths_in_the_repository_are_moved(part: Any, tmp_path: Path) -> None:
    root, link = tmp_path / "shop", tmp_path / "link"
    root.mkdir()
    link.symlink_to(root)
    words = {
        f"{root}/a b.toml": "/base/a b.toml",
        f"{root}/x/../a=b.toml": "/base/a=b.toml",
        f"--system={link}/a.j2": "--system=/base/a.j2",
        str(root): "/base",
        f"{root}/../other": f"{root}/../other",
        f"{root}ping/a.j2": f"{root}ping/a.j2",
        **{word: word for word in ("a.toml", "../a.toml", "--live", "--seed=7", "", "http://jetson:8080")},
    }
    assert {word: part("commands").moved(word, root, Path("/base")) for word in words} == words


def inputs(part: Any, workspace: Path, **given: str) -> Any:
    (workspace / ".git").mkdir(parents=True, exist_ok=True)
    switches = dict.fromkeys(("lint", "format", "replay", "sarif", "summary", "annotations", "comment"), "on")
    values = {f"INPUT_{name.upper()}": value for name, value in {**switches, "fail_on": "any", **given}.items()}
    return part("inputs").read_inputs({"GITHUB_WORKSPACE": str(workspace), **values})


USES: list[dict[str, str]] = [
    {},
    {"paths": "a"},
    {"paths": "a\nb"},
    {"config": "a"},
    {"baseline": "a"},
    {"lint": "off"},
    {"format": "off"},
    {"server": "http://a"},
    {"model_from": "a"},
    {"args": "--seed 1"},
]


def test_uses_of_the_action_are_told_apart(part: Any, tmp_path: Path) -> None:
    identity = part("identity")
    uses = [inputs(part, tmp_path, **given) for given in USES]
    assert len({identity.identity(use) for use in uses}) == len(uses)
    categories = [identity.category(use) for use in uses]
    assert categories[0] == "promptguard"
    assert len(set(categories[:5])) == 5
    assert set(categories[5:]) == {"promptguard"}
    of_replay = [identity.category_of_replay(use) for use in uses]
    assert (of_replay[0], len({*of_replay})) == ("promptguard-replay", 5)  # config, server, model-from, args, and none of them
    assert not {*of_replay} & {*categories}


def test_a_use_is_the_same_on_another_machine_and_with_another_limit(part: Any, tmp_path: Path) -> None:
    found = set()
    for workspace, rate in ((tmp_path / "a", "0.8"), (tmp_path / "b", "0.9")):
        use = inputs(part, workspace, config=f"{workspace}/promptguard.toml", args=f"--task={workspace}/task", min_hit_rate=rate)
        found.add((part("identity").category(use), part("identity").identity(use)))
    assert found == {("promptguard:be86d4bb", "d1842247")}


@pytest.mark.parametrize(
    ("rate", "percent", "output"),
    [
        (0.79999, "79.9%", "0.7999"),
        (0.7902977, "79.0%", "0.7902"),
        (0.8, "80.0%", "0.8000"),
        (1.0, "100.0%", "1.0000"),
        (0.0, "0.0%", "0.0000"),
        (1e-5, "0.0%", "0.0000"),
        (0.0029, "0.2%", "0.0029"),  # times 10,000 it is less than 29 in binary
    ],
)
def test_rates_are_rounded_down(rate: float, percent: str, output: str, part: Any) -> None:
    compare = part("compare")
    assert (compare.percent(rate), compare.rounded_down(rate, 4)) == (percent, output)


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
