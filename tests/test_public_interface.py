from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_task import write_task

import promptguard
from promptguard.core.option_tables import REPLAY_OPTIONS

ROOT = Path(__file__).resolve().parents[1]


def test_the_public_names_are_there() -> None:
    assert set(promptguard.__all__) <= set(dir(promptguard))
    for name in promptguard.__all__:
        assert getattr(promptguard, name) is getattr(promptguard, name)
    assert promptguard.canonical_json([]) == b"[]"
    assert issubclass(promptguard.ToolSchemaError, promptguard.PromptguardError)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'promptguard' has no attribute 'canonical'"):
        _ = promptguard.canonical  # type: ignore[attr-defined]


def test_the_import_of_the_package_imports_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import promptguard; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["__future__", "promptguard"]


def test_lint(tmp_path: Path) -> None:
    (tmp_path / "system.j2").write_text("Now: {{ now() }}\nYou are an agent.\n")
    result = promptguard.lint(tmp_path)
    assert (result.passed, [finding.code for finding in result.findings]) == (False, ["PG101"])
    assert promptguard.lint([tmp_path], ignore=["clock"]).passed
    assert list(tmp_path.iterdir()) == [tmp_path / "system.j2"]


def test_lint_takes_one_text_for_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("system.j2").write_text("Now: {{ now() }}, {{ uuid4() }}\nYou are an agent.\n")

    def codes(**options: str) -> list[str]:
        return [finding.code for finding in promptguard.lint(**options).findings]  # type: ignore[arg-type]

    assert codes(select="PG101,PG102") == ["PG101", "PG102"]
    assert (
        codes(select="PG102")
        == codes(ignore="PG101")
        == codes(select="clock", extend_select="PG102", ignore="PG101")
        == ["PG102"]
    )
    assert codes(exclude="*.j2") == []


def test_replay(tmp_path: Path) -> None:
    write_task(tmp_path)
    result = promptguard.replay(task=tmp_path / "task", min_hit_rate=0.1)
    assert (result.passed, result.prompt_loss, result.error) == (True, 0, None)
    assert 0.1 < result.hit_rate <= result.ceiling < 1
    assert result.turns[0].prompt == result.turns[0].cached + result.turns[0].prefilled
    assert not promptguard.replay(task=tmp_path / "task", min_hit_rate=0.1, inject="clock-head").passed


def test_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text("import time\ndef build(): return f'You are an agent. {time.time()}'")
    result = promptguard.probe("agent:build", runs=1)
    assert (result.stable, result.differences[0].cause.name) == (False, "clock")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: promptguard.replay(min_hit_rate=7), "min_hit_rate: must be between 0 and 1"),
        (
            lambda: promptguard.replay(server="jetson"),
            "server: 'jetson' is not an http or https URL, such as http://127.0.0.1:8080",
        ),
        (lambda: promptguard.replay(task="no/such"), "no/such"),
        (lambda: promptguard.lint(select=["PG000"]), "PG000"),
        (lambda: promptguard.lint(jobs=0), "jobs: must be between 1 and 1024"),
        (lambda: promptguard.lint(select="PG000"), "^select: there is no rule 'PG000'"),
        (lambda: promptguard.lint(tokenizer="no/such"), "^tokenizer: there is no file no/such"),
        (lambda: promptguard.lint(3), "^paths: must be a path, and is an int"),
        (lambda: promptguard.lint([b"x"]), "^paths: must be a path, and is a bytes"),
        (lambda: promptguard.lint(None), "^paths: must be a path or a list of paths, and is None; leave it out"),
        (lambda: promptguard.lint(select=3), "^select: must be a text or a list of texts"),
        (lambda: promptguard.lint(ignore=[3]), "^ignore: must be a list of strings"),
        (lambda: promptguard.lint(exclude=None), "^exclude: must be a text or a list of texts"),
        (lambda: promptguard.lint(baseline=3), "^baseline: must be a path, and is an int"),
        (lambda: promptguard.replay(task=3), "^task: must be a path, and is an int"),
        (lambda: promptguard.replay(config=3), "^config: must be a path, and is an int"),
        (lambda: promptguard.replay(slot=1), "^slot= goes with server="),
        (lambda: promptguard.replay(inject="x"), "^inject: there is no defect 'x'"),
        (lambda: promptguard.lint(b"b"), "^paths: must be a path, and is a bytes"),
        (lambda: promptguard.replay(server="ftp://x"), "^server: 'ftp://x' is not an http or https URL, such as http"),
        (
            lambda: promptguard.probe("a:b", tokenizer="nope.json"),
            "^tokenizer=nope.json: the tokenizer does not exist; check the",
        ),
        (lambda: promptguard.probe("x"), "'x' names no function"),
    ],
)
def test_arguments_that_cannot_be_used(call: object, message: str) -> None:
    with pytest.raises(promptguard.PromptguardError, match=message):
        call()  # type: ignore[operator]


def test_replay_takes_the_options_of_the_command() -> None:
    printed = {"output_format", "report"}
    options = {option.name.replace("-", "_") for option in REPLAY_OPTIONS} - printed
    assert set(inspect.signature(promptguard.replay).parameters) == options | {"inject", "config", "engines"}


def test_type_checkers_know_what_comes_back(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "import promptguard\n"
        "reveal_type(promptguard.lint('.').findings[0].tokens_lost)\n"
        "reveal_type(promptguard.replay(min_hit_rate=0.8).hit_rate)\n"
        "reveal_type(promptguard.probe('a:b').differences)\n"
        "promptguard.replay(min_hit_rat=0.8)\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--no-incremental",
        "--follow-imports=silent",
        "use.py",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": "", "MYPYPATH": str(ROOT)})
    said = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if "use.py" in line]
    assert said[:3] == [
        'note: Revealed type is "int | None"',
        'note: Revealed type is "float"',
        'note: Revealed type is "tuple[promptguard.probing.result.Difference, ...]"',
    ]
    assert said[3].startswith('error: Unexpected keyword argument "min_hit_rat" for "replay"')
