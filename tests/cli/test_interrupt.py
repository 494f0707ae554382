"""Ctrl-C at any moment: while modules are imported, and while the interpreter exits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import interruptible

ROOT = Path(__file__).resolve().parents[2]
HEAD = "import atexit, os, signal, sys, threading, weakref\ndef interrupt(*_): os.kill(os.getpid(), signal.SIGINT)\n"
AT_IMPORT = """
class Hook:
    def find_spec(self, name, *_):
        if name == {module!r}: {action}
sys.meta_path.insert(0, Hook())
"""
PLAIN = "interrupt()"
IN_EXEC = "exec('interrupt()')"  # as named tuples and data classes are made; with -m the interpreter takes it for unhandled
LOST = "watched = Hook(); Hook.kept = weakref.ref(watched, interrupt); del watched"  # as in the import system itself
IN_THREAD = "threading.Thread(target=lambda: (threading.main_thread().join(), interrupt())).start()\n"
AT_EXIT = "atexit.register(interrupt)\n"
INTERRUPTED = b"promptguard: interrupted\n"

Interrupted = Callable[..., "tuple[int, bytes, bytes]"]


@pytest.fixture
def interrupted(tmp_path: Path) -> Interrupted:
    """Run a command with some code in front of it; its exit code and what it printed, the line that Ctrl-C stands on left out."""

    def run(code: str, *arguments: str) -> tuple[int, bytes, bytes]:
        (tmp_path / "sitecustomize.py").write_text(HEAD + code)
        command = [sys.executable, "-m", "promptguard", *arguments]
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        process = interruptible(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err.lstrip(b"\n")

    return run


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("promptguard.core.errors", ["replay"]),
        ("click", ["replay"]),
        ("promptguard.cli.commands", ["replay"]),
        ("promptguard.cli.replay", ["replay"]),
        ("promptguard.replaying.command", ["replay"]),
        ("promptguard.cli.lint", ["lint", "."]),
        ("promptguard.linting.run", ["lint", "."]),
    ],
)
@pytest.mark.parametrize("action", [PLAIN, IN_EXEC], ids=["plain", "exec"])
def test_ctrl_c_during_an_import(interrupted: Interrupted, module: str, arguments: list[str], action: str) -> None:
    assert interrupted(AT_IMPORT.format(module=module, action=action), *arguments) == (130, b"", INTERRUPTED)


def test_ctrl_c_before_the_first_line_of_main(interrupted: Interrupted) -> None:
    assert interrupted(AT_IMPORT.format(module="promptguard.cli.main", action=PLAIN), "replay") == (130, b"", b"")


def test_ctrl_c_where_an_exception_would_get_lost(interrupted: Interrupted) -> None:
    assert interrupted(AT_IMPORT.format(module="click", action=LOST), "replay") == (130, b"", INTERRUPTED)


@pytest.mark.parametrize(("code", "expected"), [(IN_THREAD, (130, INTERRUPTED)), (AT_EXIT, (0, b""))], ids=["threads", "exit"])
def test_ctrl_c_while_the_interpreter_exits(interrupted: Interrupted, code: str, expected: tuple[int, bytes]) -> None:
    found, _, err = interrupted(code, "config")
    assert (found, err) == expected


def test_an_ignored_ctrl_c_stays_ignored(interrupted: Interrupted) -> None:
    ignore = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    code, _, err = interrupted(ignore + AT_IMPORT.format(module="click", action=PLAIN) + IN_THREAD, "config")
    assert (code, err) == (0, b"")


def test_a_caller_in_the_same_process_keeps_its_handler() -> None:
    code = "import signal; from promptguard.cli.main import main\ntry: main(['config'])\nexcept SystemExit: pass\n"
    code += "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    process = interruptible([sys.executable, "-c", code], stdout=subprocess.DEVNULL, env={"PYTHONPATH": str(ROOT)})
    assert process.wait(timeout=60) == 0
