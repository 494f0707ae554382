"""How long ``promptguard lint`` takes on one small file, as a multiple of ``promptguard --version``; at most twice as long."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 40
LIMIT = 2.0
TEMPLATE = "You are a support agent for {{ company }}.\nAnswer in {{ language }}.\n\nToday: {{ now() }}.\nUse the tools.\n"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "small.j2").write_text(TEMPLATE)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
        lint = ["-m", "promptguard", "lint", "small.j2"]
        commands = {
            "promptguard --version": ["-m", "promptguard", "--version"],
            "promptguard lint, cold cache": [*lint, "--cache-dir", "{}"],
            "promptguard lint, warm cache": [*lint, "--cache-dir", "warm"],
            "promptguard lint --no-cache": [*lint, "--no-cache"],
        }
        best = dict.fromkeys(commands, float("inf"))
        for number in range(ROUNDS):  # in turns, so that other work on the machine hits all alike
            for name, arguments in commands.items():
                command = [sys.executable, *(argument.format(f"cold{number}") for argument in arguments)]
                begin = time.perf_counter()
                done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
                best[name] = min(best[name], time.perf_counter() - begin)
                assert done.returncode == ("lint" in command), name
    base = best["promptguard --version"]
    missed = False
    for name, seconds in best.items():
        ratio = seconds / base
        missed |= ratio > LIMIT
        print(f"{name:30} {seconds * 1000:6.1f} ms  {ratio:5.2f} times --version  {'MISSED' if ratio > LIMIT else 'ok'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
