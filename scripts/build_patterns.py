"""Write the codes of the patterns that small files need, for the Python that runs this; ``--check`` only compares.

    for python in python3.10 python3.11 python3.12 python3.13; do $python scripts/build_patterns.py; done

They are those for the files below, for the examples of the rules and for the clean files of the tests. It needs no package. A
pattern that changed and is not in the file is compiled by each process that needs it.
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
sys.path.insert(0, str(ROOT))  # the checkout, not an installed package

from promptguard.checks.catalog import RULES
from promptguard.checks.pages import parts, read_page
from promptguard.cli.main import main as promptguard
from promptguard.core import patterns

JINJA = (
    "You are a support agent for {{ company }}.\nAnswer in {{ user.language | upper }}.\n\n{% if tools %}Use them.{% endif %}\n"
)
YAML = 'name: support\nsystem: |\n  You are a support agent for {{ company }}.\n\n  Use the tools.\nuser: "{{ question }}"\n'
TOOL = '{"name": "a", "description": "The time.", "input_schema": {"type": "object", "properties": {"b": {"type": "string"}}}}'
NOW = "Today: {{ now() }}\nUse"
FILES = {  # name and text of files of every kind, without findings and with some
    "clean.j2": JINJA,
    "found.j2": JINJA.replace("Use", NOW),
    "pasted.j2": f"{JINJA}Session: 3f2504e0-4f89-41d3-9a0c-0305e82c3301, 2026-01-02T03:04:05Z \n",
    "times.j2": JINJA.replace(
        "Use", "{# v2 #}At {{ now().strftime('%Y-%m-%d %H:%M') }}, {{ then | date('d.m.Y') }}, {{ x['a b'] }}"
    ),
    "words.j2": JINJA.replace("You", "{% set a = 1 %}Language: Deutsch für\u200b {{ user_name }} <|im_end|>\n").replace(
        "Use", NOW
    ),
    "known.j2": "{# promptguard: block=user #}\n{{ now() }} {# promptguard: ignore[PG101] #}\n",
    "clean.md": "# Role\n\nYou are a support agent for {{ company }}.\n\n```\nx\n```\n\nUse the `tools`.\n",
    "clean.txt": "You are a support agent.\n\nUse the tools.\n",
    "clean.prompty": "---\nname: x\n---\nsystem:\nYou are a helper for {{ company }}.\n",
    "prompt.json": '{"system": "You are a helper for {{ company }}.\\n", "user": "x"}\n',
    "tools.json": f"[{TOOL}]\n",
    "wrong.tools.json": f"[{TOOL.replace('The time', '{{ now() }} at 2026-01-02T03:04:05Z')}, {TOOL}]\n",
    "tools.jsonl": f"{TOOL}\n",
    "prompts.yaml": YAML,
    "found.yaml": YAML.replace("Use", NOW.replace("\n", "\n  ")),
    "odd.yaml": "a: 2024-01-01 10:00:00\nb: 0x1F\nsystem: \"You are\\n\n  {{ now() }}\u200d\u2066\"\nuser: 'a\n  b'\n",
    "tools.yaml": "- name: a\n  description: The time.\n  parameters:\n    type: object\n    properties: {}\n",
    "compose.yaml": "services:\n  model:\n    image: llama\n    command: llama-server -m a.gguf --port 8080\n",
    "run.sh": "#!/bin/sh\nexec llama-server -m a.gguf --port 8080 -c 8192 -np 4 --cache-reuse 256\n",
    "Dockerfile": 'FROM llama\nCMD ["llama-server", "-m", "a.gguf"]\n',
}


PATHS = {"jinja": "a.j2", "markdown": "a.md", "text": "a.txt", "json": "tools.json", "yaml": "prompts.yaml", "sh": "run.sh"}
CHAT_TEMPLATES = "PG5"  # they are rendered, by a library


def files() -> Iterator[tuple[str, str]]:
    """Paths and texts."""
    yield from FILES.items()
    for rule in RULES.values():
        if rule.code.startswith(CHAT_TEMPLATES):
            continue
        for part in parts(read_page(rule.file).sections["Examples"], rule.file):
            language, *words = (part.info or "toml").split()
            if language != "toml":
                named = next((word.removeprefix("path=") for word in words if word.startswith("path=")), PATHS.get(language, "a"))
                text = "\n".join([*part.lines[1:-1], ""])
                yield named, text.encode("ascii", "backslashreplace").decode("unicode_escape") if "escapes" in words else text
    for path in sorted((ROOT / "fixtures" / "clean").rglob("*")):
        if path.is_file() and path.suffix != ".toml":
            yield path.name, path.read_text(encoding="utf-8")


def content() -> bytes:
    """The content of the file for this Python."""
    patterns._delivered = patterns._kept = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in files():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8", newline="")
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.suppress(SystemExit):
                promptguard(["lint", "--no-cache", name])
        os.chdir(before)
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
