"""Write the codes of the patterns that small files need, for the Python that runs this; ``--check`` only compares.

    for python in python3.10 python3.11 python3.12 python3.13; do $python scripts/build_patterns.py; done

They are those for the files below, for the cases of the rules and for the clean files of the tests. It needs no package: what is
done by one is no matter of small files. A pattern that changed and is not in the file is compiled by each process that needs it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import marshal
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "rules")]  # the checkout, not an installed package

from rule_cases import CASES  # type: ignore[import-not-found]  # of the tests

from promptguard.cli.main import main as promptguard
from promptguard.core import patterns
from promptguard.core.light import regex
from promptguard.core.option_tables import OPTIONS, PROMPT_OPTIONS

JINJA = (
    "You are a support agent for {{ company }}.\nAnswer in {{ user.language | upper }}.\n\n{% if tools %}Use them.{% endif %}\n"
)
YAML = 'name: support\nsystem: |\n  You are a support agent for {{ company }}.\n\n  Use the tools.\nuser: "{{ question }}"\n'
TOOL = '{"name": "a", "description": "The time.", "input_schema": {"type": "object", "properties": {"b": {"type": "string"}}}}'
TOOLS_IN_YAML = "- name: a\n  description: The time.\n  parameters:\n    type: object\n    properties: {}\n"
COMPOSE = "services:\n  model:\n    image: llama\n    command: llama-server -m a.gguf --port 8080\n"
NOW = "Today: {{ now() }}\nUse"
IGNORE = "# promptguard: ignore[PG101]\n"
VALUES = (  # that change, and what says what they are
    "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "Current time: 10:11",
    "Working directory: /home/ann/proj",
    "https://a.b/c?token=abcdef123456&t=1767322800",
    "Trace: 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "Trace: 4bf92f3577b34da6a3ce929d0e0e4736, /tmp/tmpk3x9f2qa/out",
    "Run: 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "Session: 3f2504e0-4f89-41d3-9a0c-0305e82c3301, 2026-01-02T03:04:05Z ",
)
LISTED = "You are a helper.\n" + "".join(f"{value}\n" for value in VALUES)
CHARACTERS = (  # invisible ones, odd spaces, emoji of several of them
    "You\u200bare\u00a0a\u202ehelper.\u2060 Be\u00adbrief.\u2028\n\u8fbb\U000e0100\u3000x 1\u202f000\n",
    "Flags: \U0001f1e9\U0001f1ea \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f, keycap: 1\ufe0f\u20e3\n",
)
PLACEHOLDERS = "You help {a} and ${b}.\n", "You help {a}.\n", "You help ${b}.\n", "Hi <%= x %>\n", "{{#a}}x {{b}}{{/a}}{{>p}}\n"
FILES: dict[str, tuple[str, ...]] = {  # texts of files of every kind, without findings and with some
    "a.j2": (
        JINJA,
        JINJA.replace("Use", NOW),
        JINJA.replace("Use", "{# v2 #}At {{ now().strftime('%Y-%m-%d %H:%M') }}, {{ then | date('d.m.Y') }}, {{ x['a b'] }}"),
        JINJA.replace("You", "{% set a = 1 %}Language: Deutsch für\u200b {{ user_name }} <|im_end|>\n").replace("Use", NOW),
        "{# promptguard: block=user #}\n{{ now() }} {# promptguard: ignore[PG101] #}\n",
        "{% raw %}{{ a }}{% endraw %}\n{% cache 10 %}x{% endcache %}\n",
        '{{ "a" if x else "b" }} {{ {"a": 1} | tojson }} {{ a[1:2] ~ 1.5 }}\n',
        '{{ now("utc") }}\n{% now "utc", "%H:%M" %}\n{{ d | date("Y-m-d H:i:s") }}\n{{ d.strftime("%S.%f") }}\n',
        "{{ a b }} {{ 'a' }}{% 1 %} {{ a\n",
        "{{ now().strftime('%H:%M:%S') }} {{ d | date('H:i') }} {{ ['a'] | random }}\nUse the tools.\n",
        "Be brief. </div>\n",
        "Read the messages by their role.\n",
        "\u200b\r\n\u200b\r\nYou {{ now() }}\r\n",
        "{% for a in b | shuffle %}{{ loop.index }}{% endfor %}{% include 'b.j2' %}\n",
        LISTED,
        *CHARACTERS,
    ),
    "prompts/a.md": (
        "# Role\n\nYou are a support agent for {{ company }}.\n\n```\nx\n```\n\nUse the `tools`.\n",
        "{% if a %}x{% endif %}\n",
        *PLACEHOLDERS,
        LISTED,
        *CHARACTERS,
    ),
    "prompts/a.txt": ("You are a support agent.\n\nUse the tools.\n", JINJA, *PLACEHOLDERS, LISTED, *CHARACTERS),
    "a.prompty": (
        "---\nname: x\n---\nsystem:\nYou are a helper for {{ company }}.\n",
        "---\nname: x\n---\nsystem:\n{# promptguard: ignore[PG101] #}\n{{ now() }}\n",
    ),
    "a.prompt": ('---\nmodel: x\n---\n{{role "system"}}\n{{! promptguard: ignore }}\n{{#each a}}{{this}}{{/each}} {{>b}}\n',),
    "prompt.json": (
        '{"system": "You are a helper for {{ company }}.\\n", "user": "x"}\n',
        '{"system": "You help {name} with ${x}.", "user": "{x}"}\n',
        '{"system": "{# promptguard: ignore[PG101] #}{{ now() }}\\n\\u007b"}\n',
        '{"_type": "prompt", "input_variables": ["a"], "template_format": "f-string", "template": "You help {a}."}\n',
    ),
    "tools.json": (
        f"[{TOOL}]\n",
        f"[{TOOL.replace('The time', '{{ now() }} at 2026-01-02T03:04:05Z')}, {TOOL}]\n",
        f"[{TOOL.replace('The time', chr(92) + 'ud83d' + chr(92) + 'ude00 ' + chr(92) + 'n {# promptguard: ignore #}')}]\n",
        f"[{TOOL.replace('The time', ', '.join(VALUES))}]\n",
        *(f"[{TOOL.replace('The time', value)}]\n" for value in VALUES),
        f'[{{"functionDeclarations": [{TOOL}]}}]\n',
    ),
    "app.json": (f"[{TOOL},\n",),
    "tools.jsonl": (f"{TOOL}\n",),
    "prompts.yaml": (
        YAML,
        YAML.replace("Use", NOW.replace("\n", "\n  ")),
        f"{IGNORE}{YAML.replace('Use', NOW.replace(chr(10), chr(10) + '  '))}",
        "a: 2024-01-01 10:00:00\nb: 0x1F\nsystem: \"You are\\n\n  {{ now() }}\u200d\u2066\"\nuser: 'a\n  b'\n",
        "system: 'You''re\n  a helper at {{ now() }}.\n\n  x'\nuser: 'it''s {{ x }}'\n",
        "system: You help ${x} and {y}.\nuser: ${x}\n",
        "_type: prompt\ninput_variables: [a]\ntemplate_format: f-string\ntemplate: You help {a}.\n",
        "writer:\n  role: A writer of {topic}\n  goal: >\n    Write on {topic}\n  backstory: You know {topic}.\n",
    ),
    "tools.yaml": (TOOLS_IN_YAML, f"{IGNORE}{TOOLS_IN_YAML.replace('The time', 'At 2026-01-02T03:04:05Z')}"),
    "compose.yaml": (
        COMPOSE,
        COMPOSE.replace("    command", f"    {IGNORE}    command").replace("8080", "8080 --no-cache-prompt"),
    ),
    "run.sh": (
        "#!/bin/sh\nexec llama-server -m a.gguf --port 8080 -c 8192 -np 4 --cache-reuse 256\n",
        "llama-server -m a.gguf --ctx-size=4k --cache-reuse 256 -np 2 # promptguard: ignore\n",
        "export OLLAMA_KEEP_ALIVE=5m\nollama run x --keepalive 5m\n",
    ),
    "start": ("#!/usr/bin/env bash\nexec llama-server -m a.gguf --no-cache-prompt\n",),
    "Dockerfile": ('FROM llama\nENV OLLAMA_KEEP_ALIVE=0\nCMD ["llama-server", "-m", "a.gguf"]\n',),
}
CHAT_TEMPLATES = "PG5"  # they are rendered, by a library


def files() -> Iterator[tuple[str, str]]:
    """Paths and texts."""
    for path, texts in FILES.items():
        yield from ((path, text) for text in texts)
    yield from ((case.path, case.text) for case in CASES if not case.rule.code.startswith(CHAT_TEMPLATES))
    clean = ROOT / "fixtures" / "clean"
    for file in sorted(clean.rglob("*")):
        if file.is_file() and file.suffix != ".toml":
            yield str(file.relative_to(clean)), file.read_text(encoding="utf-8")


def compile_constants() -> None:
    """Those of the modules that were needed so far, used or not."""
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            if type(value) is regex:
                value.flags  # noqa: B018 - the first look at it compiles it


def compile_options() -> None:
    """Those of the options of the configuration. No such file is read here: Python 3.10 has nothing that parses one."""
    for table in (*OPTIONS.values(), PROMPT_OPTIONS):
        for option in table:
            for pattern in (option.pattern, *(field.pattern for field in option.fields)):
                if pattern:
                    patterns.compile(pattern)


def content() -> bytes:
    """The content of the file for this Python."""
    patterns._delivered = patterns._kept = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in files():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8", newline="")
            for flags in ((), ("--as-found",)):
                with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.suppress(SystemExit):
                    promptguard(["lint", "--no-cache", *flags, name])
        os.chdir(before)
    compile_constants()
    compile_options()
    keys = sorted(patterns._patterns, key=lambda key: (isinstance(key[0], bytes), key))
    codes = {(pattern, int(flags)): patterns.pattern_code(pattern, int(flags)) for pattern, flags in keys}
    return marshal.dumps((patterns.code_form(), codes), 2)  # a form that does not depend on what else refers to a value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the file differs from what would be built"
    )
    check = parser.parse_args().check
    path = Path(patterns.delivered_path())
    data = content()
    if not check:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        print(f"{path}: {len(data)} bytes")
        return 0
    same = path.is_file() and path.read_bytes() == data
    print(f"{path}: {'is current' if same else 'differs, run scripts/build_patterns.py'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
