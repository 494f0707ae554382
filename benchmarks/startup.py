"""How long ``promptguard --version`` and ``--help`` take, as multiples of the time that Python itself takes to start."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 30
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "promptguard --version": ["-m", "promptguard", "--version"],
    "promptguard --help": ["-m", "promptguard", "--help"],
    "promptguard replay --help": ["-m", "promptguard", "replay", "--help"],
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):  # in turns, so that other work on the machine hits all alike
        for name, arguments in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians["python -c pass"]
    for name, seconds in medians.items():
        print(f"{name:28} {seconds * 1000:7.1f} ms  {seconds / base:5.2f} times python -c pass")


if __name__ == "__main__":
    main()
