"""Input that nobody means well: a finding or a skip comes of it, never a crash and never a hang."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptguard.linting.check import Checker, check_file
from promptguard.linting.contents import fix_data
from promptguard.linting.load import make_plan
from promptguard.linting.result import FileResult
from promptguard.linting.run import find_targets, lint_files
from promptguard.linting.settings import Settings

HERE = Settings(str(Path.cwd()), pedantic=True)
NAMES = (
    "system.j2",
    "prompts/system.md",
    "prompts/system.txt",
    "a.prompty",
    "prompts/a.yaml",
    "tools.json",
    "tools.jsonl",
    "serve.sh",
)
DEEP = 20_000
PIECES = [
    *(
        "{{ now() }}",
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{% if a %}",
        "{% endif %}",
        "{% for x in y %}",
        "{% endfor %}",
        "{% raw %}",
    ),
    *(
        "{{ user.name | upper }}",
        "{{ 'a",
        "\\",
        '"',
        "'",
        "\r\n",
        "\r",
        "\n",
        "\t",
        " ",
        "\u200b",
        "\ufeff",
        "\u2028",
        "e\u0301",
        "日本",
    ),
    *(
        "---\n",
        "a: b\n",
        "a: |\n  b\n",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '{"name": "a", "parameters": {}}',
        "# x",
        "<!-- x -->",
    ),
    *(
        "promptguard: ignore[PG101]",
        "{# promptguard: ignore #}",
        "{# promptguard: block=user #}",
        "2026-01-02T03:04:05Z",
        "\x00",
        "\x1b",
    ),
    *(
        "550e8400-e29b-41d4-a716-446655440000",
        "<%= a %>",
        "${a}",
        "{a}",
        "llama-server -m a.gguf",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ),
]


def check(text: str, path: str) -> FileResult:
    return check_file(path, text, HERE, named=True)


def failures(result: FileResult) -> list[str]:
    return [record.message for record in result.records if record.code == "PG999"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n" * DEEP,
        "{{ " + "(" * DEEP,
        "{{ " + "a." * DEEP + "b }}",
        "{{ " + "not " * DEEP + "a }}",
        "{{ a" + " | upper" * DEEP + " }}",
        "{{ a" + "[a" * DEEP,
        "{% if a %}" * DEEP,
        "{% for a in b %}" * DEEP + "{% endfor %}" * DEEP,
        "{% endif %}" * DEEP,
        "{{" * DEEP,
        "{#" * DEEP,
        "{% raw %}" * DEEP,
        "{{ '" + "\\'" * DEEP,
        "[" * DEEP,
        '{"a":' * DEEP,
        '{"tools": [{"name": "a", "parameters": ' + '{"properties": {"a": ' * DEEP,
        "- " * DEEP,
        "a: " + "{b: " * DEEP,
        "&a [*a, *a]\n",
        "a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        "---\n" * DEEP,
        "a" * 1_000_000,
        "a " * 500_000,
        "You are a bot. " + "{{ x }} " * DEEP,
        "\\" * DEEP,
        "\u200b" * DEEP,
        " \t" * DEEP + "x",
        "0" * DEEP,
        "2026-01-02T" * DEEP,
        "a-" * DEEP,
        "/tmp/" * DEEP,
        "llama-server " + "-x " * DEEP,
        "${" * DEEP,
        "<%" * DEEP,
        "<%= " * (20 * DEEP),
        "Today is May 5 2024 " * DEEP,
        "12:34 " * (10 * DEEP),
    ],
    ids=lambda text: text[:12],
)
def test_shapes_that_go_on_and_on(name: str, text: str) -> None:
    assert failures(check(text, name)) == []


def test_a_line_of_five_megabytes() -> None:
    text = "You are a bot. " + "Be brief and kind. " * 280_000 + "Today: {{ now() }}"
    assert ("PG101", 1, 5_320_023) in [(record.code, record.line, record.column) for record in check(text, "system.j2").records]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=60)
def test_texts_of_pieces(name: str, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(PIECES), max_size=30)))
    result = check(text, name)
    assert failures(result) == []
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for record in result.records:
        assert 1 <= record.line <= len(lines)
        assert 1 <= record.column <= len(lines[record.line - 1]) + 1
        assert (record.line, record.column) <= (record.end_line, record.end_column)
    assert failures(fix_data(name, text.replace("\0", "").encode(), Checker(HERE), unsafe=True)[0]) == []


def test_files_of_random_bytes(folder: Path) -> None:
    draw = random.Random(0)
    for number, name in enumerate([name.rpartition("/")[2] for name in NAMES] * 4):
        kind = draw.choice([lambda: draw.randbytes(3000), lambda: bytes(draw.choices(b'{}[]%#"\n :-a\xc3\xa9', k=3000))])
        path = folder / f"{number}" / name
        path.parent.mkdir()
        path.write_bytes(kind())
    plan = make_plan({})
    for paths in ((".",), tuple(target.path for target in find_targets((), plan))):
        results = list(lint_files(find_targets(paths, plan), plan.settings, jobs=1))
        assert len(results) >= 30
        assert [message for result in results for message in failures(result)] == []
