from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def promptguard(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "promptguard", *arguments], capture_output=True, text=True)


def test_the_stored_help_is_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "build_help.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_lists_the_commands() -> None:
    done = promptguard("--help")
    assert done.returncode == 0
    assert re.search("^  replay +Replay a four-tool agent task", done.stdout, re.MULTILINE)


def test_no_arguments_show_the_help_and_are_a_usage_error() -> None:
    done = promptguard()
    assert (done.returncode, done.stdout) == (2, promptguard("--help").stdout)


def test_version_and_help_import_nothing_heavy() -> None:
    for argument in ("--version", "--help"):
        code = (
            "import sys; from promptguard.cli.main import main\n"
            f"try: main([{argument!r}])\nexcept SystemExit: pass\n"
            "heavy = {'click', 'jinja2', 'httpx', 'rich', 'yaml', 'orjson', 'pathlib'} & set(sys.modules)\n"
            "sys.exit(repr(heavy) if heavy else 0)"
        )
        done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
        assert (done.returncode, done.stderr) == (0, "")
