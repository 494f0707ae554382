"""How long ``promptguard lint`` takes on one small file, as a multiple of ``promptguard --version``; at most twice as long.

The commands are run as the script that pip before 26 writes for them, which comes with Python 3.10 to 3.14. Two small files are
checked: a clean one, and one with a finding, for which tokens are counted too; each in a folder without a cache, with one of
other files, with one that has them, and with ``--no-cache``. Processor time is compared, each run with that of ``--version``
next to it, and the median of many is given: neither other work nor the frequency of the processor shows. Clock time is printed
too. The script of pip 26 leaves out ``import re``, a third of what ``--version`` takes: its ratios stand at the end and are not
judged.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 100
LIMIT = 2.0
OTHERS = 70  # files that make a run large enough for its results to be kept
CLEAN = "You are a support agent for {{ company }}.\nAnswer in {{ language }}.\n\nUse the tools.\n"
FOUND = CLEAN.replace("Use", "Today: {{ now() }}.\nUse")
SCRIPT = """\
# -*- coding: utf-8 -*-
import re
import sys
from promptguard.cli.main import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
NEWER = SCRIPT.replace("import re\n", "").replace(
    "re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])", "sys.argv[0].removesuffix('.exe')"
)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("clean.j2", CLEAN), ("found.j2", FOUND), ("promptguard", SCRIPT), ("newer", NEWER)):
            (Path(folder) / name).write_text(text)
        shutil.copytree(ROOT / "promptguard", f"{folder}/site/promptguard", ignore=shutil.ignore_patterns("__pycache__"))
        environment = {**os.environ, "PYTHONPATH": f"{folder}/site"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
        commands = {"promptguard --version": ["promptguard", "--version"]}
        for what, file in (("clean", "clean.j2"), ("a finding", "found.j2")):
            lint = ["promptguard", "lint", file]
            commands[f"lint, {what}, no cache there"] = [*lint, "--cache-dir", "none"]
            commands[f"lint, {what}, not in the cache"] = [*lint, "--cache-dir", "others"]
            commands[f"lint, {what}, in the cache"] = [*lint, "--cache-dir", "all"]
            commands[f"lint, {what}, --no-cache"] = [*lint, "--no-cache"]
        newer = {"promptguard --version": ["newer", "--version"]}
        newer |= {f"lint, {name}": ["newer", "lint", f"{name}.j2", "--no-cache"] for name in ("clean", "found")}
        commands |= {f"{name} (pip 26)": arguments for name, arguments in newer.items()}
        os.chdir(folder)
        others = [f"other_{number}.j2" for number in range(OTHERS)]
        for name in others:
            Path(name).write_text(CLEAN)
        for cache, files in (("others", others), ("all", ["clean.j2", "found.j2", *others])):
            run([sys.executable, "promptguard", "lint", "--cache-dir", cache, *files], environment, expected=int(cache == "all"))
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(ROUNDS):  # in turns, so that what happens on the machine happens to all alike
            for name, arguments in commands.items():
                taken[name].append(run([sys.executable, *arguments], environment, expected=int("found.j2" in arguments)))
        os.chdir(ROOT)
    missed = False
    for name, runs in taken.items():
        judged = "pip 26" not in name
        base = taken["promptguard --version" if judged else "promptguard --version (pip 26)"]
        ratio, clock = (median(run[which] / own[which] for run, own in zip(runs, base, strict=True)) for which in (0, 1))
        missed |= judged and ratio > LIMIT
        verdict = "" if not judged else "MISSED" if ratio > LIMIT else "ok"
        processor = median(run[0] for run in runs)
        print(f"{name:34} {processor * 1000:6.1f} ms  {ratio:5.2f} times --version (clock {clock:.2f})  {verdict}")
    return int(missed)


def run(command: list[str], environment: dict[str, str], *, expected: int) -> tuple[float, float]:
    """Seconds of processor time, and by the clock."""
    begin = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == expected, command
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
