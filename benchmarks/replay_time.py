"""How long the default replay takes, and which part of it is promptguard's own: all but waiting for the engine."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5


def main() -> None:
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "replay.json"
        command = [sys.executable, "-m", "promptguard", "replay", "--quiet", "--report", f"json={report}", *sys.argv[1:]]
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            code = subprocess.run(command).returncode
            total = time.perf_counter() - begin
            measured = json.loads(report.read_text(encoding="utf-8"))["totals"]
            engine = measured["seconds_engine"]
            shares.append((total - engine) / total)
            print(
                f"exit {code}: {total:5.2f} s in all (process start to end), {engine:5.2f} s waiting for the engine, "
                f"{total - engine:5.2f} s promptguard's own: {shares[-1]:.1%}"
            )
    print(f"own share, median of {ROUNDS}: {statistics.median(shares):.1%}")


if __name__ == "__main__":
    main()
