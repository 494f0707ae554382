"""Processes of our own run nothing of the folder they are started in, and end with their parent even when they are busy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from processes import gone

import promptguard

ROOT = str(Path(promptguard.__file__).resolve().parents[1])
# Starts a child that computes without end, once in Python and once in native code that keeps the interpreter, and says its id.
PARENT = """
import sys, time
from promptguard.core.child import Child
child = Child(sys.argv[1])
print(child.process.pid, child.stdout.readline(), flush=True)
time.sleep(60)
"""
SETTINGS = {"model": "none", "context": 1, "swa_full": True, "threads": 1, "chat_template": None, "api_key": "k"}
BUSY = {
    "busy_python": "def main(_):\n    print('busy', flush=True)\n    while True: pass\n",
    # one multiplication that takes minutes and never lets go of the interpreter
    "busy_native": "def main(_):\n    print('busy', flush=True)\n    a = 3 ** (10 ** 8)\n    print(a * a * a * a)\n",
}


@pytest.mark.parametrize("module", BUSY)
def test_a_busy_child_ends_with_its_killed_parent(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text(BUSY[module], encoding="utf-8")
    code = f"import sys; sys.path[1:1] = [{ROOT!r}, {str(tmp_path)!r}]\n{PARENT}"
    with subprocess.Popen([sys.executable, "-c", code, module], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline().split()[0])
        assert psutil.pid_exists(child)
        parent.kill()
        parent.wait()
    assert gone(child, within=5)


@pytest.mark.parametrize("engine", ["llama-server", "llama-cpp-python", "renderer"])
def test_nothing_of_the_current_folder_is_imported(tmp_path: Path, engine: str) -> None:
    for name in ("xllamacpp", "llama_cpp", "jinja2", "threading", "json", "ctypes"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')", encoding="utf-8")
    module = {
        "llama-server": "promptguard.engines._embedded_child",
        "llama-cpp-python": "promptguard.engines._llama_cpp_child",
        "renderer": "promptguard.prompts._render_worker",
    }[engine]
    # The parent runs as the installed command does: without the current folder on its path.
    code = (
        f"import sys; sys.path[:] = [entry for entry in sys.path if entry] + [{ROOT!r}]\n"
        "from promptguard.core.child import Child\n"
        f"child = Child({module!r}, '1000000000', '60')\n"
        'child.stdin.write(b\'{"model": "none", "context": 1, "swa_full": true, "threads": 1, "chat_template": null, \'\n'
        '                  b\'"api_key": "k"}\\n\'); child.stdin.flush()\n'
        "print(child.stdout.readline()); child.close(kill=True)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()
