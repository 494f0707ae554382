"""How long ``promptguard lint`` takes on one small file, as a multiple of ``promptguard --version``; at most twice as long.

The commands are run as the scripts that pip writes for them: the one of pip 26, which imports nothing but the command, and the
one of earlier pips, whose ``import re`` makes ``--version`` slower. Two small files are checked: a clean one, and one with a
finding, for which tokens are counted too; each in a folder without a cache, with one of other files, with one that has them,
and with ``--no-cache``. With the script of pip 26 and ``--no-cache``, small files of all other kinds are checked as well, and one
with a configuration, two with the values of their variables in a file, and one for a program. Chat templates are not among them:
to check one it is rendered, in a process of its own.

Processor time is compared, each run with that of ``--version`` next to it, and the median of many is given: neither other work
nor the frequency of the processor shows. Clock time is printed too.

Patterns that do not come with promptguard are compiled in the first run and kept for the next, as modules are; some rows are of
runs that find nothing kept.
"""

from __future__ import annotations

import os
import random
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
PROMPT_FILE = """\
# The prompts of the support agent
name: support
version: 1.2
model:
  name: small
  temperature: 0.2
messages:
  - role: system
    content: |
      You are a support agent for {{ company }}.

      Use the tools.
  - role: user
    content: "{{ question }}"
"""
TOOL = '{"name":"a","description":"d","parameters":{"type":"object","properties":{}}}'
STALE = "Rates generated at 2026-01-02T03:04:05Z."
FOUND_TOOL = TOOL.replace('"d"', f'"{STALE}"')
TOOLS_FILE = """\
tools:
  - name: get_time
    description: The time in a city.
    parameters:
      type: object
      properties:
        city: {type: string, enum: [Berlin, Paris]}
      required: [city]
  - {name: stop, description: Ends it., parameters: {type: object, properties: {}}}
"""
COMPOSE = """\
services:
  model:
    image: llama.cpp:server
    ports: ["8080:8080"]
    volumes:
      - ./models:/models
    command:
      - --model
      - /models/a.gguf
      - --port
      - "8080"
"""
# What YAML has beside keys, lists and texts.
YAML_SHAPES = {
    "an anchor": "base: &base You are a helper for {{ company }}.\nsystem: *base\nuser: x\n",
    "two documents": "system: You are {{ a }}.\n---\nsystem: You are {{ b }}.\n",
    "a tab in a block": "system: |\n  You are a helper.\n  \tUse the tools.\nuser: x\n",
    "quotes over lines": 'system: "You are a helper\n  for {{ company }}.\\u0020"\nuser: x\n',
    "brackets over lines": (
        'messages: [\n  {"role": "system", "content": "You are a helper for {{ company }}."},\n  {role: user, content: x}]\n'
    ),
    "tags, dates, numbers": "system: !text You are a helper for {{ company }}.\nmade: 2026-01-02 03:04:05\nseed: 0x1F\n",
    "braces without quotes": "system: You are a helper for {{ company }}.\nuser: {{ question }}\n",
    "mixed line ends": "system: You are a helper.\r\nuser: x\n",
}
CONTEXTS = {"json": '{"company": "Acme", "language": "English"}\n', "yaml": "company: Acme\nlanguage: English\n"}
CONFIGURATION = '[lint]\nignore = ["PG106"]\n\n[[prompts]]\npath = "clean.j2"\nstable = ["company"]\n'
KINDS: dict[str, tuple[str, str, bool]] = {  # name, text, whether there is a finding
    "Markdown": ("clean.md", "You are a support agent for {{ company }}.\n\nUse the tools.\n", False),
    "text": ("system.txt", "You are a support agent.\n\nUse the tools.\n", False),
    "prompty": ("clean.prompty", "---\nname: x\n---\nsystem:\nYou are a helper for {{ company }}.\n", False),
    "prompts in JSON": ("prompt.json", '{"system":"You are a helper for {{ company }}.","user":"x"}\n', False),
    "tools in JSON": ("tools.json", f'{{"tools":[{TOOL}]}}\n', False),
    "tools of Gemini in JSON": ("gemini.tools.json", f'[{{"functionDeclarations":[{TOOL}]}}]\n', False),
    "tools in JSON Lines": ("tools.jsonl", f"{TOOL}\n", False),
    "prompts in YAML": ("prompts.yaml", PROMPT_FILE, False),
    "prompts in YAML with CR": ("crlf.yaml", PROMPT_FILE.replace("\n", "\r\n"), False),
    "a finding in YAML": ("found.yaml", PROMPT_FILE.replace("Use", "Today: {{ now() }}.\n      Use"), True),
    **{f"YAML with {shape}": (f"{shape.replace(' ', '_')}.yaml", text, False) for shape, text in YAML_SHAPES.items()},
    "a finding behind an anchor": (
        "found_anchor.yaml",
        YAML_SHAPES["an anchor"].replace("for {{", "at {{ now() }} for {{"),
        True,
    ),
    "a finding in quotes over lines": (
        "found_quotes.yaml",
        YAML_SHAPES["quotes over lines"].replace("for {{", "at {{ now() }} for {{"),
        True,
    ),
    "tools in YAML": ("tools.yaml", TOOLS_FILE, False),
    "a finding in tools in YAML": (
        "found.tools.yaml",
        TOOLS_FILE.replace("Ends it.", STALE),
        True,
    ),
    "a finding in tools in JSON": (
        "found.tools.json",
        f'{{"tools":[{FOUND_TOOL}]}}\n',
        True,
    ),
    "a finding in tools in JSON Lines": (
        "found.tools.jsonl",
        f"{FOUND_TOOL}\n",
        True,
    ),
    "a template in a tool": ("template.tools.jsonl", f"{TOOL}\n".replace('"d"', '"At {{ now() }}"'), True),
    "tools in JSON in another order": ("other.tools.json", f'[{{"description":"d","name":"b"}},{TOOL}]\n', True),
    "a finding in Markdown": ("found.md", f"# Role\n\n{FOUND}", True),
    "a finding in text": ("found_system.txt", "You are a support agent.\nCurrent date: 2026-01-02\n", True),
    "a finding in a script": ("found.sh", "#!/bin/sh\nexec llama-server -m a.gguf --no-cache-prompt\n", True),
    "a finding in YAML that is passed over": (
        "ignored.yaml",
        f"# promptguard: ignore[PG101]\n{YAML_SHAPES['an anchor'].replace('for {{', 'at {{ now() }} for {{')}",
        False,
    ),
    "text with a name in braces": ("names.txt", "You are a support agent of {company}.\n\nUse the tools.\n", False),
    "servers in YAML": ("compose.yaml", COMPOSE, False),
    "a script": ("run.sh", "#!/bin/sh\nexec llama-server -m a.gguf --port 8080\n", False),
    "a Dockerfile": ("Dockerfile", 'FROM llama\nCMD ["llama-server", "-m", "a.gguf"]\n', False),
}
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
SCRIPTS = {"newer": "pip 26", "promptguard": "earlier pips"}
NOTHING_KEPT = "nothing kept"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        files = {"clean.j2": CLEAN, "found.j2": FOUND, "promptguard": SCRIPT, "newer": NEWER}
        for name, text in {**files, **{name: text for name, text, _ in KINDS.values()}}.items():
            (Path(folder) / name).write_text(text, newline="")
        shutil.copytree(ROOT / "promptguard", f"{folder}/site/promptguard", ignore=shutil.ignore_patterns("__pycache__"))
        environment = {**os.environ, "PYTHONPATH": f"{folder}/site", "XDG_CACHE_HOME": f"{folder}/home"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
        found = {"found.j2", *(name for name, _, has_finding in KINDS.values() if has_finding)}
        commands: dict[tuple[str, str], list[str]] = {}
        for script, pip in SCRIPTS.items():
            commands[pip, "--version"] = [script, "--version"]
            for what, file in (("clean", "clean.j2"), ("a finding", "found.j2")):
                lint = [script, "lint", file]
                commands[pip, f"lint, {what}, no cache there"] = [*lint, "--cache-dir", "none"]
                commands[pip, f"lint, {what}, not in the cache"] = [*lint, "--cache-dir", "others"]
                commands[pip, f"lint, {what}, in the cache"] = [*lint, "--cache-dir", "all"]
                commands[pip, f"lint, {what}, --no-cache"] = [*lint, "--no-cache"]
                commands[pip, f"lint, {what}, {NOTHING_KEPT}"] = [*lint, "--no-cache"]
        kinds = {kind: [name] for kind, (name, _, _) in KINDS.items()}
        kinds["a configuration"] = ["clean.j2", "--config", "settings.toml"]
        for suffix in CONTEXTS:
            kinds[f"the context in {suffix.upper()}"] = ["clean.j2", "--config", f"context_{suffix}.toml"]
        kinds["a finding, as JSON"] = ["found.j2", "--output-format", "json"]
        for kind, arguments in kinds.items():
            commands[SCRIPTS["newer"], f"lint, {kind}, --no-cache"] = ["newer", "lint", "--no-cache", *arguments]
        os.chdir(folder)
        Path("settings.toml").write_text(CONFIGURATION)
        for suffix, text in CONTEXTS.items():
            Path(f"values.{suffix}").write_text(text)
            Path(f"context_{suffix}.toml").write_text(f'[[prompts]]\npath = "clean.j2"\ncontext = "values.{suffix}"\n')
        others = [f"other_{number}.j2" for number in range(OTHERS)]
        for name in others:
            Path(name).write_text(CLEAN)
        for arguments in commands.values():  # compiles all modules, as an installation does
            run([sys.executable, *arguments], environment, expected=int(not found.isdisjoint(arguments)))
        for cache, files in (("others", others), ("all", ["clean.j2", "found.j2", *others])):
            run([sys.executable, "promptguard", "lint", "--cache-dir", cache, *files], environment, expected=int(cache == "all"))
        # A folder that there cannot be keeps nothing.
        nothing_kept = {**environment, "XDG_CACHE_HOME": f"{folder}/clean.j2"}
        taken: dict[tuple[str, str], list[tuple[float, float]]] = {name: [] for name in commands}
        order = list(commands.items())
        for _ in range(ROUNDS):  # in turns, so that what happens on the machine happens to all alike
            random.shuffle(order)  # to run behind another command may be quicker or slower
            for name, arguments in order:
                where = nothing_kept if NOTHING_KEPT in name[1] else environment
                taken[name].append(run([sys.executable, *arguments], where, expected=int(not found.isdisjoint(arguments))))
        os.chdir(ROOT)
    missed = False
    for (pip, name), runs in taken.items():
        ratio, clock = (
            median(run[which] / own[which] for run, own in zip(runs, taken[pip, "--version"], strict=True)) for which in (0, 1)
        )
        missed |= ratio > LIMIT
        verdict = "MISSED" if ratio > LIMIT else "ok"
        processor = median(run[0] for run in runs)
        print(f"{pip:14} {name:36} {processor * 1000:6.1f} ms  {ratio:5.2f} times --version (clock {clock:.2f})  {verdict}")
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
