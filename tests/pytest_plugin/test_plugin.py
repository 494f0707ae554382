"""The plugin, in a pytest of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
HEAD = """\
import time
from datetime import datetime
from functools import partial

RULES = "You plan journeys by rail for a small company. " * 5
TOOL = {"type": "function", "function": {"name": "a", "description": "b", "parameters": {"type": "object", "properties": {}}}}
MESSAGES = [
    {"role": "system", "content": RULES},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "ho"},
    {"role": "user", "content": "bye"},
]

def stable(topic="trains"):
    return RULES + topic

def hang():
    time.sleep(600)

def dated():
    return f"{RULES} Now: {datetime.now()}"

"""
Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Pytest:
    """Run pytest on a file, with this plugin and no other that is installed."""

    def pytest_(code: str, *options: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
        (tmp_path / folder / "test_agent.py").write_text(HEAD + dedent(code), encoding="utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]\npromptguard_runs = 1\n")
        command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "promptguard.pytest_plugin", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        environment.pop("PYTEST_ADDOPTS", None)
        return subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path / folder, env=environment)

    return pytest_


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    return {
        word: int(number)
        for number, word in re.findall(r"(\d+) (passed|failed|errors?|deselected)", done.stdout.splitlines()[-1])
    }


def test_what_holds_passes_and_is_summed_up(run: Pytest) -> None:
    done = run("""
    class Agent:
        def build(self):
            return RULES
    def test_all(promptguard):
        result = promptguard.assert_stable(stable)
        assert result.passed and result.runs == 3
        promptguard.assert_stable(partial(stable, topic="ships"))
        promptguard.assert_stable(Agent().build)
        promptguard.assert_canonical([TOOL])
        promptguard.assert_prefix_preserving(MESSAGES, [TOOL])
    """)
    assert outcomes(done) == {"passed": 1}, done.stdout
    assert done.stderr == ""
    summary = done.stdout.partition("= promptguard =")[2]
    assert "test_agent.py::test_all: test_agent:stable is stable (62 tokens)\n" in summary
    assert "test_agent.py::test_all: <ChatML> keeps the prefix\n" in summary


def test_the_summary_says_what_the_failure_says(run: Pytest) -> None:
    done = run("""
    def beside():
        return {"system": RULES, "persona": str(datetime.now()), "mood": "good"}
    def test_a(promptguard): promptguard.assert_stable(beside)
    def test_b(promptguard): promptguard.assert_prefix_preserving(MESSAGES, chat_template="{{ now() }}")
    """)
    assert outcomes(done) == {"passed": 1, "failed": 1}, done.stdout
    assert "AssertionError: <chat template>: cannot be judged" in done.stdout
    summary = done.stdout.partition("= promptguard =")[2]
    assert "test_b: <chat template> cannot be judged\n" in summary
    assert "test_a: test_agent:beside is stable (61 tokens); key 'persona' was not compared, though it changes: " in summary
    assert "; key 'mood' was not compared\n" in summary


LAYOUT = """
def test_it(promptguard):
    promptguard.assert_stable("inner.app:build")
    promptguard.assert_stable("test_agent:stable")
"""


@pytest.mark.parametrize(
    ("folder", "options"), [(".", ()), (".", ("-p", "xdist", "-n", "2")), ("tests", ()), (".", ("--import-mode=importlib",))]
)
def test_a_name_leads_where_an_import_of_the_test_leads(
    folder: str, options: tuple[str, ...], run: Pytest, tmp_path: Path
) -> None:
    for name in ("src/inner", "tests"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "src/inner/app.py").write_text("def build(): return 'You plan journeys.'")
    ini = ("-o", "pythonpath=src", "-o", "promptguard_runs=1", "--rootdir", str(tmp_path))
    done = run(LAYOUT, *ini, *options, folder=folder)
    assert outcomes(done) == {"passed": 1}, done.stdout


def test_a_test_module_that_probes_when_it_is_imported(run: Pytest) -> None:
    done = run("import promptguard as pg\npg.probe(stable, runs=1)\ndef test_it(): pass")
    assert outcomes(done) == {"error": 1}, done.stdout
    assert (
        "test_agent:stable: cannot be imported: probe was called while its builder was imported or run (test_agent."
        in done.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "tokenizer_config.json (default) keeps the prefix"),
        ("tools=[]", "tokenizer_config.json (default) keeps the prefix"),
        ("tools=[TOOL]", "tokenizer_config.json (tool_use) breaks the prefix"),
        ("tools=[TOOL], template_name='default'", "tokenizer_config.json (default) keeps the prefix"),
        ("template_name='tool_use'", "tokenizer_config.json (tool_use) breaks the prefix"),
        ("template_name='rag'", "tokenizer_config.json: holds no chat template named rag; it has default, tool_use"),
    ],
)
def test_of_several_templates_the_one_for_tools_is_taken(arguments: str, said: str, run: Pytest, tmp_path: Path) -> None:
    templates = [{"name": "default", "template": KEEPING}, {"name": "tool_use", "template": TEMPLATE}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
    done = run(f"def test_it(promptguard): promptguard.assert_prefix_preserving(MESSAGES, chat_template={FILE}, {arguments})\n")
    assert said in done.stdout


def test_none_of_several_templates_is_the_default(run: Pytest, tmp_path: Path) -> None:
    templates = [{"name": name, "template": KEEPING} for name in ("rag", "tool_use")]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
    done = run(f"def test_it(promptguard): promptguard.assert_prefix_preserving(MESSAGES, chat_template={FILE})\n")
    assert "holds the chat templates rag, tool_use, none of which is the default; name one with template_name=" in done.stdout


FILE = "'tokenizer_config.json'"
KEEPING = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
TEMPLATE = "{{ messages | length }}{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
FAILURES = {
    "promptguard.assert_stable(dated)": "AssertionError: test_agent:dated (test_agent.py:20): changes",
    "promptguard.assert_stable(lambda: RULES)": "is a lambda, which another process cannot find; define the builder at",
    "promptguard.assert_stable(time.sleep, args={'x': 1}, timeout=-1)": "cannot be judged: timeout: must be between",
    "promptguard.assert_stable(stable, runs=0)": "cannot be judged: runs: must be between 1 and 100",
    "promptguard.assert_stable(stable, timeout=0)": "cannot be judged: timeout: must be between 0.1 and 86400",
    "promptguard.assert_stable(hang, timeout=0.5)": "more time with timeout= or --promptguard-timeout",
    "promptguard.assert_stable([MESSAGES[1]].copy)": "may change; compare it too with whole=True",
    "promptguard.assert_hit_rate(min=90)": "cannot be judged: min: must be between 0 and 1",
    "promptguard.assert_hit_rate(min=1)": "use a longer task or lower min= or --promptguard-min-hit-rate",
    "promptguard.assert_stable('test_agent:none')": "AssertionError: cannot be judged: test_agent:none: ",
    "promptguard.assert_canonical([TOOL, {'name': 'A', 'parameters': {}}])": 'at /0 stands "a", where "A" belongs',
    "promptguard.assert_canonical([dict(reversed(TOOL.items()))])": 'at /0 stands "function", where "type" belongs',
    "promptguard.assert_canonical(3)": "AssertionError: cannot be judged: tools: a value of type int was given",
    f"promptguard.assert_prefix_preserving(MESSAGES, chat_template={TEMPLATE!r})": "<chat template>: breaks the prefix",
    "promptguard.assert_prefix_preserving(MESSAGES[:2])": "there is no reply with a message behind it; give at least two turns",
    "promptguard.assert_prefix_preserving(['x'])": "cannot be judged: messages/0: is no message with a role",
}


@pytest.mark.parametrize(("statement", "line"), FAILURES.items(), ids=map(str, range(len(FAILURES))))
def test_what_does_not_hold_fails_with_the_report_alone(statement: str, line: str, run: Pytest) -> None:
    done = run(f"def test_it(promptguard): {statement}\n")
    assert outcomes(done) == {"failed": 1}, done.stdout
    assert line in done.stdout
    assert "pytest_plugin.py" not in done.stdout
    assert re.search(r"^test_agent\.py:\d+: AssertionError$", done.stdout, re.MULTILINE)


def test_the_hit_rate_of_one_engine_for_all_tests(run: Pytest) -> None:
    done = run("""
    from promptguard.engines.embedded import EmbeddedServer
    started = []
    real = EmbeddedServer.__init__
    def count(self, *arguments, **named):
        started.append(self)
        real(self, *arguments, **named)
    EmbeddedServer.__init__ = count
    def test_good(promptguard):
        assert promptguard.assert_hit_rate(min=0.5).hit_rate > 0.9
    def test_bad(promptguard):
        promptguard.assert_hit_rate(inject="clock-head")
    def test_engines():
        assert len(started) == 1 and started[0].alive
    """)
    assert outcomes(done) == {"failed": 1, "passed": 2}, done.stdout
    assert "FAILED: hit-rate, prompt-loss" in done.stdout
    assert re.search(r"test_good: hit rate 9\d\.\d% of a possible 9\d\.\d%, prompt loss 0 tokens", done.stdout)


def test_rates_are_rounded_down_as_in_the_report(run: Pytest) -> None:
    done = run("""
    import dataclasses, promptguard.interface as interface
    from promptguard.replaying.result import Result
    real = interface.replay
    def replay(**options):
        result = real(**options)
        first = dataclasses.replace(result.turns[0], prompt=10_000, cached=8_159, prefilled=1_841, ideal=8_159, reusable=8_159)
        return dataclasses.replace(result, turns=(first,) * 2)
    interface.replay = replay
    def test_it(promptguard): promptguard.assert_hit_rate()
    """)
    assert "test_it: hit rate 81.5% of a possible 81.5%, prompt loss 0 tokens\n" in done.stdout


def test_the_options_come_from_the_command_line(run: Pytest) -> None:
    code = "def test_it(promptguard): promptguard.assert_hit_rate()"
    done = run(code, "--promptguard-server", "http://127.0.0.1:9", "--promptguard-timeout", "1")
    assert "cannot be judged: http://127.0.0.1:9" in done.stdout
    done = run("def test_it(promptguard): assert promptguard.assert_stable(stable).runs == 4", "--promptguard-runs", "2")
    assert outcomes(done) == {"passed": 1}, done.stdout


def test_an_option_of_nought_is_no_default(run: Pytest) -> None:
    done = run("def test_it(promptguard): promptguard.assert_stable(stable)", "--promptguard-runs", "0")
    assert "cannot be judged: runs: must be between 1 and 100" in done.stdout


def test_the_mark_selects_what_uses_the_fixture(run: Pytest) -> None:
    done = run(
        "def test_a(promptguard): promptguard.assert_canonical([TOOL])\ndef test_b(): pass\n",
        "-m",
        "promptguard",
        "--strict-markers",
    )
    assert outcomes(done) == {"passed": 1, "deselected": 1}


def test_nothing_is_said_where_it_is_not_used(run: Pytest) -> None:
    assert "promptguard" not in run("def test_it(): pass").stdout


def test_workers_bring_their_lines_home(run: Pytest) -> None:
    code = """
    def test_a(promptguard): promptguard.assert_canonical([TOOL])
    def test_b(promptguard): promptguard.assert_stable(stable)
    """
    done = run(code, "-p", "xdist", "-n", "2")
    assert outcomes(done) == {"passed": 2}, done.stdout
    summary = done.stdout.partition("= promptguard =")[2]
    assert (
        "test_agent.py::test_a: tools are canonical\ntest_agent.py::test_b: test_agent:stable is stable (62 tokens)\n" in summary
    )


def test_an_installed_plugin_is_loaded_by_its_entry_point_in_workers_too(tmp_path: Path) -> None:
    metadata = tmp_path / "installed" / "promptguard_ci-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: promptguard-ci\nVersion: 0\n")
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    lines = [f"{name} = {module}" for name, module in written.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]))
    code = "import os\n" + "".join(
        f"def test_{n}(promptguard): promptguard.assert_hit_rate(); print(os.environ['PYTEST_XDIST_WORKER'])\n" for n in "ab"
    )
    (tmp_path / "test_agent.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(metadata.parent), str(ROOT)]), "COLUMNS": "200"}
    for name in ("PYTEST_ADDOPTS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "pytest", "-n", "2", "-rP", "--promptguard-min-hit-rate", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert outcomes(done) == {"passed": 2}, done.stdout + done.stderr
    assert {"gw0", "gw1"} <= set(done.stdout.split())
    summary = done.stdout.partition("= promptguard =")[2]
    assert re.findall(r"^test_agent\.py::test_(.): hit rate 9\d\.\d% of a possible", summary, re.MULTILINE) == ["a", "b"]


def test_it_imports_nothing_but_pytest() -> None:
    script = (
        "import sys, pytest; old = set(sys.modules); import promptguard.pytest_plugin; print(*sorted(set(sys.modules) - old))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.stdout.split() == ["promptguard", "promptguard.pytest_plugin"]
