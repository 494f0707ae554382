from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, TemplateSyntaxError, nodes

from promptguard.parse.jinja import Part, Positions, part_at, parts, tokens

PLAIN = Environment()
CHAT = Environment(trim_blocks=True, lstrip_blocks=True, extensions=[Positions])


def texts(source: str, environment: Environment = PLAIN) -> list[str]:
    return [source[part.start : part.end] for part in parts(source, tokens(source, environment))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a{{ b }}c", ["a", "{{ b }}", "c"]),
        ("a \n {{- b -}} \n c", ["a", "{{- b -}}", "c"]),
        ("\ufeffa\r\n{{ b\r\n}}\rc\r\n", ["\ufeffa\r\n", "{{ b\r\n}}", "\rc"]),
        ("a{# {{ no }} #}b", ["a", "b"]),
        ("{% raw -%} {{ r }} {%- endraw %}", ["{{ r }}"]),
        ("\U0001f600{{ '}}' }}", ["\U0001f600", "{{ '}}' }}"]),
        ("a\n\n", ["a\n"]),
        ("", []),
    ],
)
def test_parts_are_exact_stretches_of_the_source(source: str, expected: list[str]) -> None:
    assert texts(source) == expected


def test_chat_templates_lose_the_newline_behind_and_the_indentation_ahead_of_a_block_tag() -> None:
    assert texts("x\n  {% if a %}\ny\n  {% endif %}\nz\n", CHAT) == ["x\n", "{% if a %}", "y\n", "{% endif %}", "z"]


def test_code_of_a_tag_is_what_stands_between_its_braces() -> None:
    source = "{{- now() |upper -}}  {%+ if x\n%}{% endif %}"
    found = [part.code for part in parts(source, tokens(source, PLAIN))]
    assert [source[code[0] : code[1]] for code in found if code] == ["now() |upper", "if x", "endif"]


def test_tokens_name_their_kind() -> None:
    assert [(token.kind, token.start, token.end) for token in tokens("a\r\n{{ b }}", PLAIN)] == [
        ("data", 0, 3),
        ("variable_begin", 3, 5),
        ("whitespace", 5, 6),
        ("name", 6, 7),
        ("whitespace", 7, 8),
        ("variable_end", 8, 10),
    ]


def test_text_that_cannot_be_split_is_a_syntax_error() -> None:
    with pytest.raises(TemplateSyntaxError, match="unexpected char"):
        tokens("{{ ? }}", PLAIN)


def test_nodes_know_their_offset() -> None:
    source = "\r\n{{ a }} {% if b %}\r\n{{ c + d }}{% endif %}"
    tree = CHAT.parse(source)
    names = {node.name: node.lineno.start for node in tree.find_all(nodes.Name)}
    assert {name: source[start] for name, start in names.items()} == {name: name for name in "abcd"}


def test_part_at_an_offset() -> None:
    found = [Part(0, 2), Part(5, 9)]
    assert [part_at(found, offset) for offset in (0, 1, 2, 4, 5, 8, 9)] == [0, 0, -1, -1, 1, 1, -1]


@given(
    st.lists(
        st.sampled_from(["a", " ", "\n", "\r\n", "\r", "\t", "{{ x }}", "{{- x -}}", "{% if x -%}", "{%- endif %}", "{# c #}"])
    )
)
def test_between_tokens_there_is_only_whitespace(bits: list[str]) -> None:
    source = "".join(bits)
    for environment in (PLAIN, CHAT):
        position = 0
        for token in tokens(source, environment):
            assert source[position : token.start].strip() == ""
            assert token.start < token.end
            position = token.end
        assert source[position:].strip() == ""
