import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.parse.placeholders import find_placeholders
from promptguard.parse.template import parse_template
from promptguard.parse.template_nodes import Attr, Call, Expr, Item, Name, outputs


def found(text: str, syntax: str, **options) -> list[tuple[str, str | None]]:
    """Each placeholder, and the text of its expression."""
    return [
        (text[start:end], text[expression.start : expression.end] if expression else None)
        for start, end, expression in find_placeholders(text, syntax, **options)
    ]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("{a} {b.c}", [("{a}", "a"), ("{b.c}", "b.c")]),
        ("{a!r:>10} {b:{width}}", [("{a!r:>10}", "a"), ("{b:{width}}", "b")]),
        ("{a[0].b}", [("{a[0].b}", "a[0].b")]),
        ("{} {0}", [("{}", None), ("{0}", None)]),
        ("{{a}} {{{a}}}", [("{a}", "a")]),
        ("{a b} {\n} {a:\n}", []),
        ('{"a": 1}', []),
    ],
)
def test_format_strings(text: str, printed: list[tuple[str, str | None]]):
    assert found(text, "format") == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("{{a}} {{ b.c }}", [("{{a}}", "a"), ("{{ b.c }}", "b.c")]),
        ("{{{a}}} {{& b}}", [("{{{a}}}", "a"), ("{{& b}}", "b")]),
        ("{{#a}}{{b}}{{/a}}{{^a}}c{{/a}}", [("{{b}}", "b")]),
        ("{{#each a.b}}{{#if c}}{{this}}{{/if}}{{/each}}{{this}}", [("{{this}}", "a.b"), ("{{this}}", None)]),
        ("{{#a}}{{.}}{{/a}}", [("{{.}}", "a")]),
        ("{{> part}}{{! note }}{{=<% %>=}}{{else}}", []),
        ("{{.}} {{this}} {{format now}}", [("{{.}}", None), ("{{this}}", None), ("{{format now}}", None)]),
        ("{{\n a\n}}", [("{{\n a\n}}", "a")]),
    ],
)
def test_mustache(text: str, printed: list[tuple[str, str | None]]):
    assert found(text, "mustache") == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("${a} ${ b.c }", [("${a}", "a"), ("${ b.c }", "b.c")]),
        ("$${a} $${b}${c}", [("${c}", "c")]),
        ("${Date.now()}", [("${Date.now()}", "Date.now()")]),
        ("${new Date()} ${}", [("${new Date()}", "Date()")]),
        ("${new Date(at)}", [("${new Date(at)}", None)]),
    ],
)
def test_dollars(text: str, printed: list[tuple[str, str | None]]):
    assert found(text, "dollar") == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("<%= a %> <%= b -%>", [("<%= a %>", "a"), ("<%= b -%>", "b")]),
        ("<%# c %><% if d %><%% e %>", []),
        ("<%= Time.now %>", [("<%= Time.now %>", "Time.now")]),
    ],
)
def test_erb(text: str, printed: list[tuple[str, str | None]]):
    assert found(text, "erb") == printed


def test_ranges_are_skipped():
    assert found("{a} {b} {c}", "format", skip=[(0, 3), (5, 8)]) == [("{b}", "b"), ("{c}", "c")]
    assert found("{a} {b}", "format", start=1) == [("{b}", "b")]


@pytest.mark.parametrize(
    ("text", "syntax", "kind"),
    [("{a.b}", "format", Attr), ("{{a}}", "mustache", Name), ("${a[0]}", "dollar", Item), ("<%= a() %>", "erb", Call)],
)
def test_kinds_of_expressions(text: str, syntax: str, kind: type[Expr]):
    ((_, _, expression),) = find_placeholders(text, syntax)
    assert type(expression) is kind


def test_the_outputs_of_a_template():
    text = "{{ a }}{% if b %}{{ c }}{% for d in e %}{{ d }}{% else %}{{ f }}{% endfor %}{% else %}{{ g }}{% endif %}{# {{ h }} #}"
    assert "".join(text[node.start + 3] for node in outputs(parse_template(text))) == "acdfg"


@given(st.text(st.sampled_from("{}$<%=ab.! \n#:[]`"), max_size=40), st.sampled_from(["format", "mustache", "dollar", "erb"]))
def test_placeholders_stand_in_order_and_apart(text: str, syntax: str):
    at = 0
    for start, end, expression in find_placeholders(text, syntax):
        assert at <= start < end <= len(text)
        assert expression is None or start < expression.start < expression.end < end
        at = end


def test_what_handlebars_does_not_print() -> None:
    text = r"{{!-- {{now}} --}} {{~a~}} \{{b}} {{../c.d}} {{! {{e}} f }} {{{g}}} {{~!-- -- {{h}} --~}}{{i}} {{!-- {{j}}"
    assert [name for _, name in found(text, "mustache")] == ["a", "c.d", "g", "i"]
