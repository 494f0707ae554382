"""Every traced piece really was printed by its place: what is put there is printed there, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptguard.prompts.rendering import ChatCall, Renderer
from promptguard.prompts.request import Piece, Traced, chat_template_source

CLOCK = datetime(2026, 3, 4, 10, 11, 12)  # noqa: DTZ001
MESSAGES = [{"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"}, {"role": "user", "content": "q2"}]
HEAD = (
    "{% macro wrap(text, mark='*') %}{{ mark }}{{ text }}{{ mark }}{% endmacro %}"
    "{% macro box(kind) %}<{{ kind }}>{{ caller() }}</>{% endmacro %}"
    "{% set ns = namespace(seen='') %}{% set held %}kept {{ one }}{% endset %}"
)
LITERAL = st.sampled_from(
    ["a", "b c", "\n", "x\n", "  y", "\r\nz\r\n", "\U0001f600", "{# none #}", "{% raw %}{{ r }}{% endraw %}"]
)
EXPRESSION = st.sampled_from(
    [
        *("{{ one }}", "{{- two -}}", "{{ one ~ two }}", "{{ [one] | tojson }}", "{{ wrap(one) }}", "{{ wrap(two, mark='!') }}"),
        *(
            "{{ held }}",
            "{{ held | upper }}",
            "{{ ns.seen }}",
            "{{ messages | length }}",
            "{{ 'yes' if one else 'no' }}",
            "{{ none_at_all }}",
        ),
    ]
)
BLOCKS = [
    ("{% if one %}", "{% endif %}"),
    ("{%- if not one -%}", "{% else %}else{% endif %}"),
    ("{% for m in messages %}\n  {{ m.role }}", "{% endfor %}"),
    ("{% for m in messages if m.role == 'user' -%}", "{{ loop.index }}{%- endfor %}"),
    ("{% for i in [1, 2, 3] %}{% if i == 3 %}{% break %}{% endif %}", "{% endfor %}"),
    ("{% for n in [[[]], []] recursive %}({{ loop(n) }})", "{% endfor %}"),
    ("{% set block %}", "{% endset %}{{ block }}{{ block }}"),
    ("{% set ns.seen %}", "{% endset %}"),
    ("{% filter upper %}", "{% endfilter %}"),
    ("{% call box('k') %}", "{% endcall %}"),
    ("{% macro own(text) %}{{ text }}", "{% endmacro %}{{ own(two) }}{{ own(1) }}"),
    ("{% generation %}", "{% endgeneration %}"),
    ("{% with one = 'other' %}", "{% endwith %}"),
]
TEMPLATES = st.recursive(
    st.one_of(LITERAL, EXPRESSION),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5).map("".join),
        st.tuples(st.sampled_from(BLOCKS), inner).map(lambda pair: pair[0][0] + pair[1] + pair[0][1]),
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def render(renderer: Renderer, text: str) -> Traced:
    call = ChatCall(MESSAGES, None, True, CLOCK, kwargs={"one": "seven", "two": "z"})
    return renderer.render_chat(chat_template_source(text, "c.jinja"), call)


def literals(traced: Traced, leave_out: Piece) -> list[str]:
    return [
        traced.text[piece.start : piece.end]
        for piece in traced.pieces
        if piece.expression is None and piece.place.span != leave_out.place.span
    ]


def replaced(text: str, piece: Piece) -> tuple[str, str]:
    """The template with a mark in the place of a piece, as long as what stood there, and what it prints then."""
    start, end = piece.place.span.start, piece.place.span.end
    if piece.expression is None:
        kept = text[end - 1 : end] if text[end - 1 : end] == "\n" else ""  # what follows may be at the start of a line
        mark = "§" * (end - start - len(kept)) + kept
        return text[:start] + mark + text[end:], mark
    inside = text.index(piece.expression, start)
    code = "'§'".ljust(len(piece.expression))
    return text[:inside] + code + text[inside + len(piece.expression) :], "§"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(TEMPLATES, st.data())
def test_what_is_put_at_the_place_of_a_piece_is_printed_in_its_stead(renderer: Renderer, body: str, data: st.DataObject) -> None:
    text = HEAD + body
    before = render(renderer, text)
    pieces = [piece for piece in before.pieces if piece.expression is None or text[piece.place.span.start :].startswith("{{")]
    if not pieces:
        return
    piece = data.draw(st.sampled_from(pieces))
    changed, mark = replaced(text, piece)
    after = render(renderer, changed)
    printed = [after.text[each.start : each.end] for each in after.pieces if each.place.span == piece.place.span]
    assert printed == [mark] * sum(each.place.span == piece.place.span for each in before.pieces)
    assert literals(after, piece) == literals(before, piece)
