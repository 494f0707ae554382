"""Where what is checked lies in its file, and what is known of it."""

import json
import tracemalloc
from pathlib import Path

import pytest

from promptguard.checks.base import Document
from promptguard.core.errors import ConfigError, InputError
from promptguard.linting.reading import is_declared, read_documents
from promptguard.linting.settings import PromptDeclaration, Settings
from promptguard.parse.template_nodes import Attr, Name


def read(path: str, text: str, *declared: PromptDeclaration, root: str = "/w", named: bool = False) -> list[Document]:
    return read_documents(path, text, Settings(root, prompts=declared), named=named)


def printed(document: Document) -> list[tuple[str, str]]:
    """Each placeholder in the document, and what stands at its place in the file."""
    return [(document.text[item.start : item.end], document.place(item.start, item.end).text) for item in document.placeholders]


@pytest.mark.parametrize(
    ("path", "text", "syntax", "found"),
    [
        ("a.j2", "é {{ a }}\r\n{% if b %}{{ b.c | d }}{% endif %}", "jinja", ["{{ a }}", "{{ b.c | d }}"]),
        ("prompts/a.md", "{{ a }} and `{{ b }}`", "jinja", ["{{ a }}", "{{ b }}"]),
        ("prompts/a.md", "{user_name} `{b}`\n```\n{c}\n```\n", "format", ["{user_name}"]),
        ("prompts/a.md", "Hello {name}", None, []),
        ("prompts/a.txt", "{name} is {age:>3} of {{all}}", "format", ["{name}", "{age:>3}"]),
        ("prompts/a.txt", '{a_b} gives {"a": {"b": 1}}, not {c: 1}', None, []),
        ("prompts/a.txt", '{a_b} gives {"a": {"b": 1}}.', "format", ["{a_b}"]),
        ("prompts/a.txt", '{a_b} gives {{"a": {"b": 1}}}', None, []),
        ("prompts/a.txt", '{a} and {b} give {"a": 1}', None, []),
        ("prompts/a.txt", 'Reply with {"a": "{a_b}"}.', None, []),
        ("prompts/a.md", '```\n{a_b}\n```\ngives {"a": 1}', None, []),
        ("prompts/a.txt", "It is now {now}.", "format", ["{now}"]),
        ("prompts/a.txt", "Today: {currentDate}.", "format", ["{currentDate}"]),
        ("prompts/a.txt", "Today: {CURRENT_DATE}, {TIME}", "format", ["{CURRENT_DATE}", "{TIME}"]),
        ("prompts/a.txt", 'Session: {uuid}\nReturn JSON such as {"a": 1}.', "format", ["{uuid}"]),
        ("prompts/a.txt", 'It is {date}. Return {{"a": 1}}.', "format", ["{date}"]),
        ("prompts/a.txt", "It is {date}.\nDo not use f(x) { return 1 }", "format", ["{date}"]),
        ("prompts/a.txt", 'Return {"a": {time}}.', None, []),
        ("prompts/a.txt", "Write function f(x) { return {date}; }.", None, []),
        ("prompts/a.txt", "Write log-{date}.", None, []),
        ("prompts/a.txt", "Write {date}.txt.", None, []),
        ("prompts/a.txt", "Call /at/{time}.", None, []),
        ("prompts/a.txt", "Write \\text{time}.", None, []),
        ("prompts/a.txt", "Write `{date}`, never {NAME}.", None, []),
        ("prompts/a.txt", "The ticket {id} is open.", None, []),
        ("prompts/a.txt", "It is {{time}}. Set ${HOME} first.", "jinja", ["{{time}}"]),
        ("prompts/a.txt", "It is {{time}}, {now}.", "format", ["{now}"]),
        ("prompts/a.yaml", "system_prompt: It is {{time}}. Cost ${price}.", "jinja", ["{{time}}"]),
        ("prompts/a.yaml", "system_prompt: It is {time}. Be nice.", "format", ["{time}"]),
        ("prompts/a.txt", "${new Date().toISOString()} ${id}", "dollar", ["${new Date().toISOString()}", "${id}"]),
        ("prompts/a.txt", "Set ${HOME:-/root} and ${id}.", None, []),
        ("prompts/a.txt", "It is {current_time:%H:%M}.", "format", ["{current_time:%H:%M}"]),
        ("prompts/a.txt", "Hello ${user.name}, $$", "dollar", ["${user.name}"]),
        ("prompts/a.txt", "Hello <%= name %><%# x %>", "erb", ["<%= name %>"]),
        ("prompts/a.txt", "{{#a}}{{b}}{{/a}}{{{c}}}", "mustache", ["{{b}}", "{{{c}}}"]),
        ("AGENTS.md", "Use {{ a }} and ${{ b }}.", None, []),
        ("prompts/a.md", "Use ${{ secrets.A }}.", None, []),
        ("a.prompty", "---\nx: '{{ a }}{%'\n---\n{{ b }}", "jinja", ["{{ b }}"]),
        ("a.prompty", "---\ntemplate: mustache\n---\n{{b}}", "mustache", ["{{b}}"]),
    ],
)
def test_placeholders(path: str, text: str, syntax: str | None, found: list[str]):
    (document,) = read(path, text)
    assert document.syntax == syntax
    assert printed(document) == [(item, item) for item in found]


@pytest.mark.parametrize(
    ("path", "text", "pointer", "pairs"),
    [
        ("p/prompts/a.yaml", "k:\n  - prompt: 'it''s {{ x[''y''] }}'", "/k/0/prompt", [("{{ x['y'] }}", "{{ x[''y''] }}")]),
        ("prompts/a.yaml", "😀: |\r\n  é\r\n  {{ x\r\n  }} y\r\n", "/😀", [("{{ x\n}}", "{{ x\r\n  }}")]),
        ("prompts/a.yaml", "a~b:\n  system: >-\n    one {{ x\n    }} two", "/a~0b/system", [("{{ x }}", "{{ x\n    }}")]),
        (
            "a.json",
            '{"system_prompt": "\\u00e9 \\ud83d\\ude00 {{ x[\\"y\\"] }}"}',
            "/system_prompt",
            [('{{ x["y"] }}', '{{ x[\\"y\\"] }}')],
        ),
    ],
)
def test_embedded_placeholders(path: str, text: str, pointer: str, pairs: list[tuple[str, str]]):
    (document,) = read(path, text)
    assert document.pointer == pointer
    assert printed(document) == pairs


def test_a_tools_file_and_the_templates_in_it():
    text = json.dumps([{"name": "a", "description": "é {{ now }}", "parameters": {"type": "object"}}])
    tools, inner = read("t.json", text.replace("{{ now }}", "\\u007b\\u007B now }}"))
    assert [(item.start, item.end) for item in inner.placeholders] == [(2, 11)]
    tools, inner = read("t.json", text)
    assert (tools.kind, tools.text, [region.block for region in tools.regions]) == ("tools", text, ["tools"])
    assert (inner.pointer, inner.regions[0].block, printed(inner)) == ("/0/description", "tools", [("{{ now }}", "{{ now }}")])


def test_the_templates_in_lines_of_tools():
    line = json.dumps({"name": "a", "description": "é {{ now }}", "parameters": {"type": "object"}}, ensure_ascii=False)
    _, first, second = read("t.jsonl", f"{line}\n\n{line}\n")
    assert [str(document.place(2, 3)) for document in (first, second)] == ["t.jsonl:1:33", "t.jsonl:3:33"]
    assert (second.pointer, printed(second)) == ("/description", [("{{ now }}", "{{ now }}")])


def test_tools_that_are_merged_in():
    text = "d: &d\n  tools:\n  - {name: a, input_schema: {type: object}}\n<<: *d\nsystem_prompt: You are kind.\n"
    assert [(document.kind, document.pointer) for document in read("agent.yaml", text)] == [
        ("tools", "/tools"),
        ("prompt", "/system_prompt"),
    ]
    (tools,) = read("tools.yaml", "tools:\n- name: a\n  <<: {description: b, input_schema: {type: object}}\n", named=True)
    assert tools.kind == "tools"


def test_an_edit_of_an_embedded_prompt():
    text = '{"system_prompt": "You are {{ x }}.  "}'
    (document,) = read("a.json", text)
    edit = document.edit(16, 18, '"\n')
    assert edit is not None
    assert text[: edit.span.start] + edit.text + text[edit.span.end :] == '{"system_prompt": "You are {{ x }}.\\"\\n"}'


def test_the_prompts_of_a_file():
    one = read("prompts/a.yaml", "system: Be brief, you.\nuser: Ask me now.\n")
    assert {document.prompt for document in one} == {"prompts/a.yaml"}
    two = read("prompts/a.yaml", "a:\n  system: Be brief, you.\nb:\n  system: Be long, you.\n---\nuser: Ask me now.\n")
    assert [document.prompt for document in two] == ["prompts/a.yaml#0/a", "prompts/a.yaml#0/b", "prompts/a.yaml#1"]


def test_an_alias_is_where_its_anchor_is():
    documents = read("prompts/a.yaml", "a: &x\n  system: Be brief, you.\nb: *x\n")
    assert [str(document.place(0, 2)) for document in documents] == ["prompts/a.yaml:2:11"]


def test_expressions_have_their_place_in_the_document():
    (document,) = read("prompts/a.txt", "Hello {user.name!r:>10} of {x}")
    first, second = (item.expression for item in document.placeholders)
    assert isinstance(first, Attr)
    assert (first.name, document.text[first.start : first.end]) == ("name", "user.name")
    assert isinstance(second, Name)
    assert document.text[second.start : second.end] == "x"


def test_what_is_declared(tmp_path: Path):
    (tmp_path / "c.json").write_text('{"city": "Rome"}')
    declared = PromptDeclaration(
        "/in/*.html.j2", "user", None, ("a", "b.c"), ("d",), context="c.json", name="bot"
    )  # fmt: skip
    path = f"{tmp_path}/in/a.html.j2"
    (document,) = read(path, "<div>{{ a }}", declared, root=str(tmp_path))
    assert (document.stable, document.dynamic, document.known) == ({"a", "b.c"}, {"d"}, {"city": "Rome"})
    assert (document.prompt, document.regions[0].block) == ("bot", "user")
    assert not is_declared(f"{tmp_path}/b/in/a.html.j2", Settings(str(tmp_path), prompts=(declared,)))


def test_the_last_declaration_counts():
    first, last = PromptDeclaration("*.md", "user"), PromptDeclaration("a*", "tools", "dollar")
    (document,) = read("/w/x/a.md", "Hello ${x} {y_z}", first, last)
    assert (document.regions[0].block, printed(document)) == ("tools", [("${x}", "${x}")])


@pytest.mark.parametrize(
    ("path", "text"), [("/w/a.tmpl", "Hi {{ a }}"), ("/w/docs/a.md", "Hi {{ a }}"), ("/w/a.yaml", "x: Hi there, {{ a }}")]
)
def test_a_declared_file_is_a_prompt(path: str, text: str):
    (document,) = read(path, text, PromptDeclaration("a.*"))
    assert [document.text[item.start : item.end] for item in document.placeholders] == ["{{ a }}"]


@pytest.mark.parametrize("content", [None, "[1]", "{"])
def test_a_context_file_that_cannot_be_used(tmp_path: Path, content: str | None):
    if content is not None:
        (tmp_path / "c.json").write_text(content)
    with pytest.raises(ConfigError, match=r"c\.json.*the context file"):
        read(f"{tmp_path}/a.j2", "a", PromptDeclaration("a.j2", context="c.json"), root=str(tmp_path))


@pytest.mark.parametrize(
    ("path", "text", "named", "where"),
    [
        ("a.json", '{"a": 1,}', True, "a.json:1:8"),
        ("prompts/a.json", "{\n]", False, "prompts/a.json:2:1"),
        ("a.yaml", "a: [1", True, "a.yaml:2:1"),
        ("prompts/a.yaml", "a: 'x\n", False, "prompts/a.yaml:2:1"),
    ],
)
def test_what_cannot_be_read(path: str, text: str, named: bool, where: str):
    with pytest.raises(InputError) as caught:
        read(path, text, named=named)
    assert caught.value.where == where


def test_a_byte_order_mark_is_known():
    (document,) = read_documents("a.j2", "Hi", Settings("/"), bom=True)
    assert document.bom


BOMB = "a0: &a0 [x,x,x,x,x,x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 6)}]\n" for n in range(1, 20))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("prompts/a.yaml", "[" * 5000),
        ("prompts/a.yaml", BOMB),
        ("prompts/a.json", "[" * 100_000),
    ],
)  # fmt: skip
def test_what_unfolds_or_nests_too_far_is_refused(path: str, text: str):
    with pytest.raises(InputError):
        read(path, text)


LONG = 20_000


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("prompts/a.md", "{" * LONG),
        ("prompts/a.md", "{a" * LONG),
        ("prompts/a.md", "`" * LONG),
        ("prompts/a.md", "```\n" * LONG),
        ("prompts/a.md", "{{}}" * LONG),
        ("prompts/a.txt", "<%" * LONG),
        ("prompts/a.txt", "${" * LONG),
        ("prompts/a.txt", "{{ " * LONG),
        ("prompts/a.txt", " " * LONG + "user:"),
        ("prompts/a.txt", "# " * LONG),
        ("a.prompty", "---\n" + "--- x\n" * LONG),
        ("a.j2", "{# promptguard: block=" * LONG),
        ("a.j2", "<|im_start|>" * LONG),
        ("prompts/a.yaml", "prompt: |\n" + "  a {{ x }}\n" * 3_000),
        ("prompts/a.yaml", "prompt: '" + " " * LONG + "\n a b {{ x }}'"),
        ("prompts/a.yaml", "prompt: >\n" + " " * LONG + "a b {{ x }}\n"),
        ("a.json", '{"system_prompt": "' + "\\n" * LONG + ' a {{ x }}"}'),
    ],
)
def test_long_texts_take_memory_in_proportion(path: str, text: str):
    tracemalloc.start()
    documents = read(path, text)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(documents) == 1
    assert used < 1000 * len(text)
