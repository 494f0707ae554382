"""How a builder is found from another process, and what it is given."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest
from probing_cases import Probe

from promptguard.probing.run import probe

RULES = "You are the agent of a small company."


def at_top_level(topic: str = "trains") -> str:
    return f"{RULES} You know about {topic}."


class Agent:
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def build(self) -> str:
        return at_top_level(self.topic)

    @classmethod
    def usual(cls) -> str:
        return cls("planes").build()

    def __call__(self) -> str:
        return self.build()


def test_functions_of_a_test_module() -> None:
    line = at_top_level.__code__.co_firstlineno
    for build, name in [
        (at_top_level, "test_targets:at_top_level"),
        (partial(at_top_level, topic="ships"), "test_targets:at_top_level"),
        (Agent("cars").build, "test_targets:Agent.build"),
        (Agent.usual, "test_targets:Agent.usual"),
        (Agent("cars"), "test_targets:Agent"),
    ]:
        result = probe(build, runs=1)
        assert (result.builder.rpartition(".")[2] if "." in name else result.builder, result.stable) == (
            name.rpartition(".")[2] if "." in name else name,
            True,
        )
        assert result.location is not None and result.location.path.endswith("test_targets.py")  # noqa: PT018
    assert probe(at_top_level, runs=1).location.line == line  # type: ignore[union-attr]


def test_arguments(probed: Probe) -> None:
    code = "def build(topic, *, words=1): return (RULES + topic) * words"
    assert probed(code, args={"topic": "x", "words": 3}).tokens > probed(code, args={"topic": "x"}).tokens


def test_a_file_in_a_package_imports_its_neighbours(folder: Path) -> None:
    (folder / "src" / "app" / "prompts").mkdir(parents=True)
    for package in ("app", "app/prompts"):
        (folder / "src" / package / "__init__.py").touch()
    (folder / "src/app/words.py").write_text(f"RULES = {RULES!r}")
    (folder / "src/app/prompts/system.py").write_text(
        "from ..words import RULES\nclass A:\n  @staticmethod\n  def build(): return RULES"
    )
    result = probe("src/app/prompts/system.py:A.build", runs=1)
    assert (result.stable, str(result.location)) == (True, "src/app/prompts/system.py:3:1")


def test_another_interpreter_and_no_installation(probed: Probe, folder: Path) -> None:
    wrapper = folder / "python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH= exec "{sys.executable}" -S "$@"\n')
    wrapper.chmod(0o755)
    assert probed("def build(): return RULES", python=str(wrapper)).stable


def test_modules_that_hide_those_of_python_are_the_users_own_matter(probed: Probe, folder: Path) -> None:
    for name in ("clock", "factors", "token_counts", "conftest"):
        (folder / f"{name}.py").write_text(f"NAME = 'mine: {name}'")
    assert probed("import clock, factors, conftest\ndef build(): return RULES + clock.NAME + factors.NAME").stable


def test_nothing_is_left_in_the_temporary_folder(probed: Probe, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    assert not probed("def build(): return os.getcwd()").stable
    assert list((folder / "tmp").iterdir()) == []
