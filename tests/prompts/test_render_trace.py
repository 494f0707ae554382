"""Which place of a template printed which part of the text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import jinja2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptguard.core.source import Source
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Traced

CLOCK = datetime(2026, 3, 4, 10, 11, 12)  # noqa: DTZ001


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def render(renderer: Renderer, text: str, **context: object) -> Traced:
    return renderer.render_system(Source("p.jinja", text, "jinja"), context, clock=CLOCK, turn=1, seed=0).traced


def pairs(traced: Traced) -> list[tuple[str, str]]:
    """Each printed text with what printed it: the expression, or the literal text."""
    return [(traced.text[p.start : p.end], p.expression if p.expression is not None else p.place.text) for p in traced.pieces]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {{ x }} b", [("a ", "a "), ("7", "x"), (" b", " b")]),
        ("a\r\nb{{ x }}\r\n", [("a\nb", "a\r\nb"), ("7", "x")]),
        ("a \n{{- x -}}\n b", [("a", "a"), ("7", "x"), ("b", "b")]),
        ("{{ x }}{# no #}{{ x + 1 }}", [("7", "x"), ("8", "x + 1")]),
        ("{% for i in [1, 2] %}{{ i }},{% endfor %}", [("1", "i"), (",", ","), ("2", "i"), (",", ",")]),
        ("{% if x %}y{% else %}n{% endif %}", [("y", "y")]),
        ("{{ 'con' }}{{ 'stant' }}", [("con", "'con'"), ("stant", "'stant'")]),
        ("{% print x, 'b' %}", [("7", "print x, 'b'"), ("b", "print x, 'b'")]),
        ("{% raw %}{{ x }}{% endraw %}", [("{{ x }}", "{{ x }}")]),
        ("{{ '' }}{{ none_at_all.x if false }}a", [("a", "a")]),
    ],
)
def test_pieces(renderer: Renderer, text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(render(renderer, text, x=7)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}-{{ m(x) }}", [("-", "-"), ("<", "<"), ("7", "a"), (">", ">")]),
        ("{% set s %}<{{ x }}>{% endset %}{{ s }}{{ s }}", [("<", "<"), ("7", "x"), (">", ">")] * 2),
        ("{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}{{ x }}{% endcall %}", [("[", "["), ("7", "x"), ("]", "]")]),
        ("{% for n in [[1, []]] recursive %}{{ n[0] }}{{ loop(n[1]) }}{% endfor %}", [("1", "n[0]")]),
        ("{% block b %}{{ x }}{% endblock %}{{ self.b() }}", [("7", "x"), ("7", "x")]),
    ],
)
def test_a_captured_text_that_is_printed_unchanged_keeps_its_finer_trace(
    renderer: Renderer, text: str, expected: list[tuple[str, str]]
) -> None:
    assert pairs(render(renderer, text, x=7)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% set s %}a{{ x }}{% endset %}{{ s | upper }}", [("A7", "s | upper")]),
        ("{% set s %}a{{ x }}{% endset %}{{ s ~ '!' }}", [("a7!", "s ~ '!'")]),
        ("{% filter upper %}a{{ x }}{% endfilter %}", [("A7", "filter upper")]),
    ],
)
def test_a_captured_text_that_is_changed_belongs_to_what_changed_it(
    renderer: Renderer, text: str, expected: list[tuple[str, str]]
) -> None:
    assert pairs(render(renderer, text, x=7)) == expected


def test_a_place_is_a_line_and_a_column(renderer: Renderer) -> None:
    traced = render(renderer, "\U0001f600 a\r\n  b {{ x }}", x=7)
    assert str(traced.pieces[1].place) == "p.jinja:2:5"
    assert traced.pieces[1].place.text == "{{ x }}"


def test_plain_text_is_one_piece_and_is_not_a_template(renderer: Renderer) -> None:
    source = Source("p.txt", "a {{ b }}\n", "text")
    prompt = renderer.render_system(source, {}, clock=CLOCK, turn=1, seed=0)
    assert pairs(prompt.traced) == [("a {{ b }}\n", "a {{ b }}\n")]


LITERAL = st.sampled_from(["a", " ", "\n", "\r\n", " b \n", "\U0001f600", "{# c #}", "{% raw %}{{ r }}{% endraw %}"])
EXPRESSION = st.sampled_from(
    ["{{ x }}", "{{- x }}", "{{ y -}}", "{{ m(x) }}", "{{ s }}", "{{ s | upper }}", "{{ [x, y] }}", "{{ '' }}"]
)
BLOCKS = [
    ("{% if x %}", "{% endif %}"),
    ("{%- if not x -%}", "{%- endif %}"),
    ("{% for i in [1, 2] %}", "{% endfor %}"),
    ("{% set s %}", "{% endset %}"),
    ("{% filter upper %}", "{% endfilter %}"),
    ("{% call c() %}", "{% endcall %}"),
    ("{% macro k(a) %}{{ a }}", "{% endmacro %}{{ k(1) }}"),
]
TEMPLATES = st.recursive(
    st.one_of(LITERAL, EXPRESSION),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5).map("".join),
        st.tuples(st.sampled_from(BLOCKS), inner).map(lambda pair: pair[0][0] + pair[1] + pair[0][1]),
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(TEMPLATES)
def test_a_trace_covers_the_text_and_never_changes_it(renderer: Renderer, body: str) -> None:
    text = "{% macro c() %}({{ caller() }}){% endmacro %}{% set s = 'S' %}{% macro m(a) %}<{{ a }}>{% endmacro %}" + body
    traced = render(renderer, text, x=7, y="z")
    assert traced.text == jinja2.Template(text).render(x=7, y="z")
    assert "".join(printed for printed, _ in pairs(traced)) == traced.text
    for piece in traced.pieces:
        if piece.expression is None:
            assert traced.text[piece.start : piece.end] == piece.place.text.replace("\r\n", "\n")
