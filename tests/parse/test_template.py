"""Places, recovery from errors, and hostile templates."""

from __future__ import annotations

import inspect
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.parse.template import parse_expression, parse_template
from promptguard.parse.template_nodes import (
    Attr,
    Block,
    Broken,
    Comment,
    Const,
    Expr,
    Filter,
    Keyword,
    Name,
    Output,
    Section,
    Tag,
    Template,
    Text,
)

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "chat_templates").glob("*.jinja"))


def check_places(template: Template) -> None:
    """Assert what holds of the places in any tree."""
    text = template.text
    for node in template.walk():
        ends = [node.start]
        for child in node.children():
            assert ends[-1] <= child.start <= child.end <= node.end
            ends.append(child.end)
        source = text[node.start : node.end]
        if isinstance(node, Name):
            assert source == node.name
        elif isinstance(node, Const):
            assert (source[0] in "'\"" and source[0] != source) == isinstance(node.value, str)
        elif isinstance(node, Attr):
            assert source.endswith(node.name)
        elif isinstance(node, Filter):
            assert text.startswith(node.name.split(".")[0], node.name_start)
        elif isinstance(node, (Tag, Output, Comment)):
            assert source.startswith({Tag: "{%", Output: "{{", Comment: "{#"}[type(node)])
        elif isinstance(node, Block):
            assert all(section.start == section.tag.start for section in node.sections)
            inner = [*node.sections, *([node.closing] if node.closing else [])]
            assert all(one.end == two.start for one, two in pairwise(inner))
            assert (node.start, node.end) == (inner[0].start, inner[-1].end)


def check_cover(template: Template) -> None:
    """Assert that the parts of the body cover the source without overlap; only raw tags lie between them."""
    position = 0
    parts = [node for node in template.walk() if isinstance(node, (Text, Comment, Output, Tag))]
    for part in [*parts, Text(len(template.text), len(template.text))]:
        between = template.text[position : part.start]
        assert position <= part.start
        assert not between or (between.startswith("{%") and between.endswith("%}") and "raw" in between)
        position = part.end


def names(expressions: list[Expr]) -> list[str]:
    return [node.name for expression in expressions for node in expression.walk() if isinstance(node, Name)]


SOURCES = [
    "\ufeffa {{- b.c | d(e, f='g') -}} h\r\n{# i #}\u0301\x85{% set ns.j = {'k': [1, (2, 3)]} %}",
    "{% if a is not b(1) and not (c) %}1{% elif -d ** e[1:2] %}2{% else %}{% for f, g in h if i %}{% endfor %}{% endif %}",
    "{% macro m(a, b='c' 'd') %}{% call(e) f(*g, **h) %}😀{{ '😀' ~ i }}{% endcall %}{% endmacro %}{% raw %}{{ j }}{% endraw %}",
    "{% set a | b.c | d %}{% filter e(f) | g %}x{% endfilter %}{% endset %}{% from 'h' import i as j %}{{ k if l else m, n }}",
    "{% trans 'a' b=c, d %}{{ b }}{% pluralize b %}e{% endtrans %}{% foo a b %}c{% endfoo %}{% with (a, b) = c %}",
]


@pytest.mark.parametrize("source", [*SOURCES, *(path.read_text(encoding="utf-8") for path in FIXTURES)])
def test_places_are_exact(source: str) -> None:
    template = parse_template(source)
    check_places(template)
    check_cover(template)


@given(st.lists(st.sampled_from(SOURCES + list("{}%#'\"()|-\\ \n")), max_size=4), st.integers(0, 150), st.integers(0, 150))
def test_places_are_exact_in_a_damaged_template(pieces: list[str], start: int, width: int) -> None:
    text = "".join(pieces)
    template = parse_template(text[:start] + text[start + width :])
    check_places(template)
    check_cover(template)


@given(
    st.one_of(st.text(), st.binary(max_size=80).map(lambda data: data.decode("latin-1")), st.text(alphabet="{}%#-+'\"ai =(|\\\n"))
)
def test_any_text_has_a_tree(text: str) -> None:
    template = parse_template(text)
    check_cover(template)
    assert template.errors == sorted(template.errors, key=lambda error: error[0])
    assert all(0 <= offset <= len(text) for offset, _ in template.errors)


@pytest.mark.parametrize(
    ("source", "spans"),
    [
        ("(a).b", ["(a).b", "a"]),
        ("(a) + b * c", ["(a) + b * c", "a", "b * c", "b", "c"]),
        ("- a . b | c", ["- a . b | c", "- a . b", "a . b", "a"]),
        ("not a is b c", ["not a is b c", "a is b c", "a", "c"]),
        ("a < b < c ~ d", ["a < b < c ~ d", "a", "b", "c ~ d", "c", "d"]),
        ("'a' \"b\"", ["'a' \"b\""]),
        ("f( a, b = c, *d)", ["f( a, b = c, *d)", "f", "a", "b = c", "c", "*d", "d"]),
        ("a[ b : ]", ["a[ b : ]", "a", "b :", "b"]),
        ("a, (b, )", ["a, (b, )", "a", "(b, )", "b"]),
        ("{ a : [ ] }", ["{ a : [ ] }", "a", "[ ]"]),
        ("a if b else c if d", ["a if b else c if d", "a", "b", "c if d", "c", "d"]),
        ("a.1", ["a.1", "a", "1"]),
    ],
)
def test_an_expression_spans_its_own_source(source: str, spans: list[str]) -> None:
    text = "{{\t" + source + " }}"
    (output,) = parse_template(text).body
    assert isinstance(output, Output)
    assert [text[node.start : node.end] for node in output.expression.walk()] == spans


def test_keywords_of_a_call_are_told_apart() -> None:
    node = parse_expression("f(a, b=c, *d, **e)", 0, 18)
    assert node
    assert [item.name for item in node.children() if isinstance(item, Keyword)] == ["b", "*", ""]


def test_an_expression_inside_another_text_has_places_in_that_text() -> None:
    node = parse_expression("hello ${ user.name } x", 8, 18)
    assert isinstance(node, Attr)
    assert (node.start, node.end) == (9, 18)


def test_a_range_that_ends_inside_a_string_is_no_expression() -> None:
    assert parse_expression("'a' + 'b'", 0, 8) is None


@pytest.mark.parametrize(
    ("source", "targets", "read", "label"),
    [
        ("for a, (b, c) in d if e", ["a", "b", "c"], ["d", "e"], ""),
        ("set a, ns.b = c", ["a", "ns.b"], ["c"], ""),
        ("set a | f(b)", ["a"], ["b"], ""),
        ("with a = b, c = d", ["a", "c"], ["b", "d"], ""),
        ("macro m(a, b=c)", ["a", "b"], ["c"], "m"),
        ("call(a, b=c) d(e)", ["a", "b"], ["c", "d", "e"], ""),
        ("block b scoped", [], [], "b"),
        ("include 'x.j2' ignore missing", [], [], "x.j2"),
        ("include a", [], ["a"], ""),
        ("import 'x' as a", ["a"], [], "x"),
        ("from 'x' import a, b as c", ["a", "c"], [], "x"),
        ("extends 'x'", [], [], "x"),
        ("trans a, b=c", ["a", "b"], ["a", "c"], ""),
        ("do a.b(c)", [], ["a", "c"], ""),
    ],
)
def test_a_tag_knows_what_it_binds_and_reads(source: str, targets: list[str], read: list[str], label: str) -> None:
    tag = next(node for node in parse_template("{%- " + source + " -%}").walk() if isinstance(node, Tag))
    assert (tag.name, tag.targets, names(tag.expressions), tag.label) == (source.split()[0].split("(")[0], targets, read, label)


def test_a_block_has_a_section_for_each_of_its_tags() -> None:
    text = "{% if a %}1{% elif b %}2{% else %}3{% endif %}"
    (block,) = parse_template(text).body
    assert isinstance(block, Block)
    assert [text[section.start : section.end] for section in block.sections] == ["{% if a %}1", "{% elif b %}2", "{% else %}3"]
    assert block.closing
    assert text[block.closing.start : block.end] == "{% endif %}"


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ("{{ a", [(0, "unclosed tag")]),
        ("{{ }}", [(3, "expected an expression")]),
        ("{{ 'a }}", [(3, "unclosed string")]),
        ("{{ a b }}", [(5, "unexpected 'b'")]),
        ("{{ a ?! }}", [(5, "unexpected '?'")]),
        ("{{ (a }}", [(6, "unexpected end of the tag")]),
        ("{{ '\\x' }}", [(3, "unreadable escape in a string")]),
        ("{# a", [(0, "unclosed comment")]),
        ("{% raw %}a", [(9, "unclosed raw block")]),
        ("{% %}", [(3, "expected the name of a tag")]),
        ("{% foo %}", [(0, "unknown tag 'foo'")]),
        ("{% if a %}", [(0, "unclosed 'if'")]),
        ("{% if a %}{% endfor %}{% endif %}", [(10, "unexpected 'endfor'")]),
        ("{% if a %}{% for b in c %}{% endif %}", [(10, "unclosed 'for'")]),
        ("{% if a %}{% else %}{% elif b %}{% endif %}", [(20, "unexpected 'elif'")]),
        ("{% set true = 1 %}{% else %}", [(7, "cannot assign to 'true'"), (18, "unexpected 'else'")]),
    ],
)
def test_an_error_says_where_and_what(source: str, errors: list[tuple[int, str]]) -> None:
    assert parse_template(source).errors == errors


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("{{ now() ~ }}{{ b }}", ["b"]),
        ("{{ a b }}{{ c }}", ["a", "b", "c"]),
        ("{{ 'a }}{{ b }}", ["b"]),
        ("{% if a b %}{{ c }}{% endif %}", ["a", "b", "c"]),
        ("{{ a }{{ b }}", ["a", "b"]),
        ("{% if a %}{% for b in c %}{{ d }}{% endif %}{{ e }}", ["a", "c", "d", "e"]),
        ("{% custom a, b=c %}{{ d }}{% endcustom %}", ["a", "b", "c", "d"]),
        ("{{ ) ] , a", ["a"]),
    ],
)
def test_the_tree_holds_what_could_be_read(source: str, found: list[str]) -> None:
    assert [node.name for node in parse_template(source).walk() if isinstance(node, Name)] == found


def test_code_that_is_no_expression_is_broken() -> None:
    text = "{{ a b -}}"
    (output,) = parse_template(text).body
    assert isinstance(output, Output)
    assert isinstance(output.expression, Broken)
    assert text[output.expression.start : output.expression.end] == "a b "


def test_an_unknown_tag_is_a_block_where_its_end_tag_follows() -> None:
    first, second, third = parse_template("{% a %}{% b %}x{% endb %}{% b %}").body
    assert isinstance(first, Tag)
    assert isinstance(second, Block)
    assert isinstance(second.sections[0], Section)
    assert isinstance(third, Tag)


def test_a_block_that_is_never_closed_ends_where_the_outer_one_closes() -> None:
    text = "{% if a %}{% for b in c %}d{% endif %}e"
    outer, _ = parse_template(text).body
    assert isinstance(outer, Block)
    (inner,) = outer.sections[0].body
    assert isinstance(inner, Block)
    assert (text[inner.start : inner.end], inner.closing) == ("{% for b in c %}d", None)


SIZE = 50_000
HOSTILE = {
    "parentheses": "{{ " + "(" * SIZE + ")" * SIZE + " }}",
    "calls": "{{ " + "a(" * SIZE,
    "braces": "{" * SIZE + "}" * SIZE,
    "ifs": "{% if a %}" * 30_000 + "{% endif %}" * 20_000,
    "ends": "{% if a %}" + "{% endfor %}{% else %}" * 20_000,
    "custom tags": "{% a %}" * 30_000 + "{% enda %}",
    "outputs without an end": "{{ a " * SIZE,
    "tags without an end": "{% if " * SIZE,
    "comments without an end": "{# " * SIZE,
    "raw tags without an end": "{% raw %}{% endraw " * SIZE,
    "strings without an end": "{{ '\\" * SIZE,
    "escaped quotes": "{{ '\\' }}{% if '\\' %}" * 10_000,
    "spaces": "{%" + " " * SIZE + "if" + " " * SIZE + "a",
    "letters": "{% " + "a" * SIZE,
    "digits": "{{ " + "1_" * SIZE + "1. }}",
    "minus signs": "{{ " + "-" * SIZE + "1 }}",
    "additions": "{{ a" + " + a" * SIZE + " }}",
    "comparisons": "{{ a" + " < a" * SIZE + " }}",
    "conditions": "{{ " + "a if b else " * SIZE + "c }}",
    "attributes": "{{ a" + ".b" * SIZE + " }}",
    "filters": "{{ a" + "|b" * SIZE + " }}",
    "strange characters": "{{ " + "\u0301\ufeff\x00" * SIZE + " }}",
    "many errors": "{{ " + "a b ) ? " * SIZE + "}}",
    "targets": "{% set " + "a, " * SIZE + "b = c %}",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_template_has_a_tree(source: str) -> None:
    check_cover(parse_template(source))


@pytest.mark.parametrize(("depth", "errors"), [(80, []), (81, [(83, "brackets are nested too deeply")])])
def test_brackets_nest_to_a_depth(depth: int, errors: list[tuple[int, str]]) -> None:
    assert parse_template("{{ " + "[" * depth + "]" * depth + " }}").errors == errors


def test_blocks_nest_to_any_depth() -> None:
    template = parse_template("{% if a %}" * 10_000 + "{% endif %}" * 10_000)
    assert template.errors == []
    assert sum(isinstance(node, Block) for node in template.walk()) == 10_000


def test_a_caller_deep_in_the_stack_gets_an_error_and_no_exception() -> None:
    text = "{{ " + "(" * 60 + "a" + ")" * 60 + " }}"
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        template, node = parse_template(text), parse_expression(text, 3, len(text) - 3)
    finally:
        sys.setrecursionlimit(limit)
    assert (template.errors, node) == ([(3, "brackets are nested too deeply")], None)


def test_the_parser_imports_neither_jinja_nor_typing() -> None:
    code = "import sys, promptguard.parse.template; print({'jinja2', 'typing', 'dataclasses', 'pathlib'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
