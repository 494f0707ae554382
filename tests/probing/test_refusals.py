"""Builders that give no prompt: one sentence that says why and where."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from probing_cases import Probe
from processes import gone

from promptguard.core.errors import ConfigError, PromptguardError
from promptguard.probing.run import probe

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def build(): return {}['x']", "agent:build: failed: KeyError: 'x' (agent.py:6)"),
        (
            "import nothing_of_the_kind",
            "cannot be imported: ModuleNotFoundError: No module named 'nothing_of_the_kind' (agent.py:6)",
        ),
        ("def build(): return os.environ['NO_SUCH']", "agent:build: failed: KeyError: 'NO_SUCH' (agent.py:6)"),
        ("import json\ndef build(): return json.loads('{')", "double quotes: line 1 column 2 (char 1) (agent.py:7)"),
        ("def build(): return eval('1 +')", "failed: SyntaxError: invalid syntax (agent.py:6)"),
        (
            "from promptguard import lint\ndef build(): return lint(jobs=0)",
            "failed: jobs: must be between 1 and 1024 (agent.py:7)",
        ),
        ("def build(:", "cannot be imported: SyntaxError: invalid syntax (agent.py:6)"),
        ("def build(): raise SystemExit(3)", "failed: it left the process with sys.exit(3) (agent.py:6)"),
        ("def build(): os._exit(3)", "ended its process (exit status 3)"),
        ("import ctypes\ndef build(): return ctypes.string_at(0)", "ended its process (Segmentation fault) (agent.py:7)"),
        ("def build(): return None", "returned None; let it return the prompt"),
        ("def build(): return {1, 2}", "returned what is no prompt: a value of type set is no JSON value"),
        (
            "def build(): return [{'role': 'user', 'content': RULES, 'x': float('nan')}]",
            "returned what is no prompt: nan (at /0/x)",
        ),
        ("def build(): return {'system': {1: 2}}", "returned what is no prompt: the key 1, which is no text (at /system)"),
        ("def build(): return b'\\xff'", "returned what is no prompt: bytes that are not UTF-8"),
        ("def build(): return 3", "returned no prompt but 3; return a text, messages, tools or a request"),
        ("def build(): return ''", "returned an empty prompt"),
        ("def build(): return 'x' * (1 << 26)", "returned a prompt of more than 32 MiB"),
        (
            "def build(): return [{'role': 'user', 'content': 'x'}]",
            "a user message alone, which may change; compare it too with --whole",
        ),
        ("build = 3", "is an int, not a function"),
        ("def builds(): pass", "agent.py has no 'build'; did you mean 'builds'?"),
        (
            "def build(topic, *, tone, n=1): return topic",
            "agent:build: needs the arguments 'topic', 'tone' (agent.py:6); give it the arguments that it needs with --args",
        ),
        ("build = 'x'.replace", "agent:build: failed: TypeError: replace expected at least 2 arguments, got 0"),
        (
            "def build(): return 'a\\ud800'",
            "returned what is no prompt: a lone surrogate (U+D800), which UTF-8 cannot hold; decode",
        ),
        ("def build(): return [{'role': 'user', 'content': 'a\\udcff'}]", "which UTF-8 cannot hold (at /0/content)"),
        ("def build(): return {'system': {'\\ud800': 1}}", "which UTF-8 cannot hold (at /system)"),
    ],
)
def test_what_gives_no_prompt(code: str, message: str, probed: Probe) -> None:
    with pytest.raises(PromptguardError, match=re.escape(message)):
        probed(code)


def test_an_argument_that_it_does_not_take(probed: Probe) -> None:
    said = "agent:build: takes no argument 'tpic' (agent.py:6); it takes 'topic', 'n'"
    with pytest.raises(PromptguardError, match=re.escape(said)):
        probed("def build(topic, n=1): return topic", args={"topic": "x", "tpic": "y"})


def test_a_method_that_is_given_no_object(folder: Path) -> None:
    (folder / "agent.py").write_text("class B:\n    def m(self, topic): return 'x'\n")
    said = "agent:B.m: is a method that has no object (it needs 'self') (agent.py:2); name a function, a static method or"
    with pytest.raises(PromptguardError, match=re.escape(said)):
        probe("agent:B.m", runs=1)


def test_a_builder_that_hangs_is_ended_and_says_where(probed: Probe) -> None:
    with pytest.raises(PromptguardError, match=re.escape("did not end within 2 seconds (agent.py:6); let it do less")):
        probed("def build(): time.sleep(600)", timeout=2)


def test_what_a_builder_starts_ends_with_it(probed: Probe, folder: Path) -> None:
    probed("""
    import subprocess
    def build():
        child = subprocess.Popen(["sleep", "600"])
        open(f"{os.getpid()}.pid", "w").write(str(child.pid))
        return RULES
    """)
    started = [int(file.read_text()) for file in folder.glob("*.pid")]
    assert started
    assert all(map(gone, started))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("agent", "'agent' names no function; name it as package.module:function or path/to/file.py:function"),
        ("no/such.py:build", "no/such.py: there is no such file"),
        ("a-b:build", "'a-b:build' names no module"),
        ("no_such_module:build", "no_such_module:build: there is no module 'no_such_module'"),
        (3, "build: must be a function or its name, and is an int"),
    ],
)
def test_what_names_no_builder(name: Any, message: str, folder: Path) -> None:
    with pytest.raises(PromptguardError, match=re.escape(message)):
        probe(name)


def test_what_another_process_cannot_find() -> None:
    def nested() -> str:
        return ""

    advice = "define the builder at the top level of a module, and give it its arguments with functools.partial"
    for build, what in [
        (lambda: "", "is a lambda"),
        (nested, "is defined inside another function"),
        (partial(print, Lock()), "cannot be sent to another process"),
    ]:
        with pytest.raises(ConfigError, match=what) as caught:
            probe(build)
        assert caught.value.hint == advice


def test_what_cannot_be_given() -> None:
    for options, message in [
        ({"runs": 0}, "runs: must be between 1 and 100"),
        ({"timeout": 0}, "timeout: must be between 0.1 and 86400"),
        ({"args": {1: 2}}, "args: must have texts as keys"),
        ({"args": {"x": {1}}}, "args: cannot be written as JSON"),
        ({"python": sys.executable}, "python: another interpreter needs the name of a builder"),
    ]:
        with pytest.raises(ConfigError, match=message):
            probe(print, **options)  # type: ignore[arg-type]


def test_an_interpreter_that_is_none(folder: Path) -> None:
    (folder / "agent.py").write_text("")
    with pytest.raises(PromptguardError, match="no/python: cannot be started: No such file"):
        probe("agent:build", python="no/python")


@pytest.mark.parametrize("build", ["build", "'agent:build'"])
def test_a_script_that_probes_itself_without_a_guard(build: str, folder: Path) -> None:
    (folder / "agent.py").write_text(f"import promptguard\ndef build(): return 'x'\npromptguard.probe({build}, runs=1)\n")
    done = subprocess.run([sys.executable, "agent.py"], capture_output=True, text=True, cwd=folder, env=ENVIRONMENT)
    said = "cannot be imported: probe was called while its builder was imported or run (agent.py:3); put the call under"
    assert said in done.stderr.splitlines()[-1]
    with pytest.raises(PromptguardError, match=re.escape(said)):
        probe("agent:build", runs=1)


def test_a_probe_by_the_command_inside_of_a_builder(probed: Probe, folder: Path) -> None:
    probed("""
    import subprocess, sys
    done = subprocess.run([sys.executable, "-m", "promptguard", "probe", "agent:build"], capture_output=True, text=True)
    open(f"{os.getpid()}.log", "w").write(done.stdout)
    def build(): return RULES
    """)
    logs = [file.read_text() for file in folder.glob("*.log")]
    assert len(logs) >= 2  # the one with another working directory may write elsewhere
    assert all("probe was called while its builder was imported or run; put the call under" in log for log in logs)
