"""What a message quotes stands at the place that the finding names, whatever is around it and whatever the file is."""

from __future__ import annotations

import contextlib
import json

from hypothesis import example, given
from hypothesis import strategies as st

from promptguard.checks.base import shown
from promptguard.core.source import Source
from promptguard.linting.check import Checker
from promptguard.linting.result import Record
from promptguard.linting.settings import Settings

CHECKER = Checker(Settings(".", pedantic=True))
VALUES = [
    *("{{ now() }}", "{{now().isoformat()}}", "{{ uuid4() }}", "{{ user.name }}", "{{ memories | join(', ') }}", "{{ cwd }}"),
    *("{{ [1, 2] | random }}", "{{ tips | unique | list }}", "{% for x in set(y) %}{{ x }}{% endfor %}", "{{ request_id }}"),
    *("Today is 2026-11-29.", "Session ID: 7f3c2a9b1e4d", "Work in /tmp/tmpab12cd34/x.", "Current time: 10:11"),
    *("{% if a %}b {% else %}b{% endif %}", "{# promptguard: ignore[PG303] #}", "{{ x", "{% endfor %}", "{{ a.b(c)[1:] }}"),
]
AROUND = [
    *("You are a bot.", " ", "  ", "\t", "\n", "\r\n", "# A\n", "- ", '"', "\\", "'"),
    *("漢字", "é", "e\u0301", "👩\u200d💻", "\u200b", "\xa0"),
]
TEXTS = st.lists(st.sampled_from(VALUES) | st.sampled_from(AROUND), min_size=1, max_size=12).map("".join)


def in_json(text: str) -> str:
    return json.dumps({"name": "bot", "system_prompt": f"You are a bot. {text}"}, ensure_ascii=len(text) % 2 == 0, indent=1)


def in_yaml(text: str) -> str:
    return f"name: bot\nsystem_prompt: {json.dumps(f'You are a bot. {text}', ensure_ascii=False)}\n"


def in_yaml_block(text: str) -> str:
    lines = [line for line in text.replace("\r", "").split("\n") if line.strip()]
    return "name: bot\nsystem_prompt: |\n  You are a bot.\n" + "".join(f"  {line.strip()}\n" for line in lines)


def in_yaml_over_lines(text: str) -> str:
    return '{name: bot, # x\n "system_prompt":\n  "You are\n\n  a bot. \\\n  ' + json.dumps(text)[1:] + "}\n"


def in_yaml_tools(text: str) -> str:
    return f"- name: a\n  description: &a {json.dumps(text, ensure_ascii=False)}\n  input_schema: {{type: object, title: *a}}\n"


FORMS = {
    "prompts/a.j2": lambda text: f"You are a bot. {text}",
    "prompts/a.md": lambda text: f"You are a bot. {text}",
    "prompts/a.txt": lambda text: f"You are a bot. {text}".replace("{{ ", "{").replace(" }}", "}"),
    "prompts/a.prompt": lambda text: f"---\nmodel: x\n---\nsystem:\nYou are a bot. {text}",
    "prompts/a.json": in_json,
    "prompts/a.yaml": in_yaml,
    "prompts/b.yaml": in_yaml_block,
    "prompts/c.yaml": lambda text: f"a: &a\n- &b !t {json.dumps(f'You are a bot. {text}')}\nsystem_prompt: *b\n",
    "prompts/d.yaml": in_yaml_over_lines,
    "tools.yaml": in_yaml_tools,
    "tools.json": lambda text: json.dumps([{"name": "a", "description": text, "input_schema": {"type": "object"}}], indent=2),
}


def at(source: Source, record: Record) -> str:
    starts = [*source.line_starts, len(source.text)]
    return source.text[starts[record.line - 1] + record.column - 1 : starts[record.end_line - 1] + record.end_column - 1]


@given(text=TEXTS, path=st.sampled_from(list(FORMS)), bom=st.booleans())
@example(text="{{ now() }}", path="prompts/a.json", bom=True)
@example(text="漢字\t{{ now() }}\r\n\u200be\u0301{{ uuid4() }}", path="prompts/a.yaml", bom=False)
def test_what_a_message_quotes_stands_there(text: str, path: str, bom: bool) -> None:
    source = Source(path, FORMS[path](text))
    for record in CHECKER.check(path, source.text, bom=bom, named=True).records:
        found = at(source, record)
        spellings = {shown(found)}
        with contextlib.suppress(ValueError):
            spellings.add(shown(json.loads(f'"{found}"')))  # where it stands with escapes
        assert "`" not in record.message or any(f"`{spelling}`" in record.message for spelling in spellings), record
        if record.excerpt:
            number, column, line = record.excerpt[0]
            assert number == record.line
            first = found.split("\n")[0].split("\r")[0]
            assert line[record.column - column :].startswith(first[: 400 - record.column]), record


def test_most_of_them_are_found() -> None:
    for path, form in FORMS.items():
        text = "\n".join(VALUES[:14])
        assert len(CHECKER.check(path, form(text), named=True).records) >= 4, path
