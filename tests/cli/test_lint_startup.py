"""What lint of one small file does without."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from promptguard.core.patterns import delivered_path

ROOT = Path(__file__).resolve().parents[2]
_BENCHMARK = runpy.run_path(str(ROOT / "benchmarks" / "lint_startup.py"))
KINDS: dict[str, tuple[str, str, bool]] = _BENCHMARK["KINDS"]
CONTEXTS: dict[str, str] = _BENCHMARK["CONTEXTS"]
CLOCK = "Today: {{ now() }}.\n"
HEAVY = (
    "click",
    "collections",
    "dataclasses",
    "difflib",
    "enum",
    "functools",
    "jinja2",
    "json",
    "msgspec",
    "multiprocessing",
    "orjson",
    "pathlib",
    "re",
    "rich",
    "tomllib",
    "typing",
    "yaml",
)
# For a Python without codes of the patterns (see core/patterns.py): re, and what it imports.
NEEDED = () if Path(delivered_path()).exists() else ("collections", "enum", "functools", "re")


def heavy(folder: Path, *arguments: str, ahead: str = "") -> tuple[int, list[str]]:
    """The exit code of lint in a process of its own that finds nothing kept at first, and what of ``HEAVY`` it imports."""
    code = (
        f"import sys; sys.path[:0] = {[str(ROOT), *sys.path]!r}\n{ahead}\nfrom promptguard.cli.main import main\n"
        f"try: main(['lint', *{arguments!r}])\n"
        f"except SystemExit as stop: print(stop.code, *sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    environment = {"XDG_CACHE_HOME": str(folder / "kept")}  # -S: what site-packages import does not count
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True)
    exit_code, *modules = done.stdout.splitlines()[-1].split()
    return int(exit_code), [module for module in modules if module not in NEEDED]


def test_a_small_file_needs_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "small.j2").write_text(CLOCK)
    cached = "from promptguard.cli import lint; from promptguard.linting import cache; cache._WORTH = lint._SMALL = 0"
    for _ in range(2):  # without results in the cache and with them
        assert heavy(tmp_path, "small.j2", ahead=cached) == (1, [])


@pytest.mark.parametrize(("name", "text", "has_finding"), KINDS.values(), ids=KINDS)
def test_a_small_file_of_every_kind_needs_nothing_heavy(tmp_path: Path, name: str, text: str, has_finding: bool) -> None:
    (tmp_path / name).write_text(text, newline="")
    assert heavy(tmp_path, "--no-cache", name) == (int(has_finding), [])


@pytest.mark.parametrize(("suffix", "text"), CONTEXTS.items())
def test_values_of_variables_need_nothing_heavy(tmp_path: Path, suffix: str, text: str) -> None:
    (tmp_path / "clean.j2").write_text("You help {{ company }}.\n")
    (tmp_path / f"values.{suffix}").write_text(text)
    (tmp_path / "promptguard.toml").write_text(f'[[prompts]]\npath = "clean.j2"\ncontext = "values.{suffix}"\n')
    heavy(tmp_path, "--no-cache", "clean.j2")  # reads the configuration, with tomllib, for all that follow
    assert heavy(tmp_path, "--no-cache", "clean.j2") == (0, [])


def test_what_one_small_prompt_without_a_cache_does_without(tmp_path: Path) -> None:
    (tmp_path / "system.j2").write_text(CLOCK)
    (tmp_path / "chat.jinja").write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    code = "import sys; from promptguard.cli.main import _run; _run({!r}); print('promptguard.linting.cache' in sys.modules)"

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def loads_cache(*arguments: str) -> bool:
        command = [sys.executable, "-c", code.format(["lint", *arguments])]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True).stdout.endswith("True\n")

    assert not loads_cache("system.j2")
    assert loads_cache("chat.jinja")
    assert loads_cache("system.j2", "chat.jinja")
    (tmp_path / ".promptguard_cache").mkdir(exist_ok=True)
    assert loads_cache("system.j2")
