"""The template parser against jinja2's: what it accepts, and the tree that it makes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from promptguard.parse import template_nodes as ours
from promptguard.parse.template import parse_expression, parse_template

Tree = tuple[Any, ...]

_OPERATORS = {
    "Add": "+", "And": "and", "Div": "/", "FloorDiv": "//", "Mod": "%", "Mul": "*", "Neg": "neg", "Not": "not", "Or": "or",
    "Pos": "pos", "Pow": "**", "Sub": "-",
}  # fmt: skip
_COMPARISONS = {"eq": "==", "gt": ">", "gteq": ">=", "in": "in", "lt": "<", "lteq": "<=", "ne": "!=", "notin": "not in"}


class Generation(Extension):
    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


ENVIRONMENT = Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", "jinja2.ext.i18n", Generation])


def jinja_parse(source: str) -> nodes.Template | None:
    """The tree that jinja2 makes, ``None`` where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an escape in a string that is none
        try:
            return ENVIRONMENT.parse(source)
        except Exception:  # besides its own: numbers that Python refuses
            return None


def jinja_tree(node: Any) -> Any:
    """A node of jinja2, with all below it."""
    if node is None or isinstance(node, (str, bool)):
        return node
    if isinstance(node, list):
        return tuple(jinja_tree(item) for item in node)
    kind = type(node).__name__
    if kind in _OPERATORS:
        operands = [node.node] if isinstance(node, nodes.UnaryExpr) else [node.left, node.right]
        return ("operation", _OPERATORS[kind], jinja_tree(operands))
    convert = _JINJA.get(kind)
    return convert(node) if convert else ("unknown", kind)


def _body(items: list[nodes.Node]) -> Tree:
    parts: list[Any] = []
    for item in items:
        if isinstance(item, nodes.Output):
            for part in item.nodes:
                if not isinstance(part, nodes.TemplateData):
                    parts.append(("output", jinja_tree(part)))
                elif text := part.data.strip():
                    parts.append(("text", text))
        else:
            parts.append(jinja_tree(item))
    return tuple(parts)


def _arguments(node: Any) -> Tree:
    starred = [("keyword", "*", jinja_tree(node.dyn_args))] if node.dyn_args else []
    double = [("keyword", "", jinja_tree(node.dyn_kwargs))] if node.dyn_kwargs else []
    return (*jinja_tree(node.args), *starred, *jinja_tree(node.kwargs), *double)


def _names(node: Any) -> list[str]:
    if isinstance(node, nodes.Tuple):
        return [name for item in node.items for name in _names(item)]
    return [f"{node.name}.{node.attr}" if isinstance(node, nodes.NSRef) else node.name]


def _if(node: nodes.If) -> Tree:
    branches = [("if", jinja_tree(node.test), _body(node.body))]
    branches += [("elif", jinja_tree(item.test), _body(item.body)) for item in node.elif_]
    return ("if", *branches, _body(node.else_))


def _import_names(node: nodes.FromImport) -> Tree:
    return tuple(name if isinstance(name, str) else name[1] for name in node.names)


_JINJA: dict[str, Any] = {
    "Assign": lambda n: ("set", tuple(_names(n.target)), jinja_tree(n.node)),
    "AssignBlock": lambda n: ("set body", tuple(_names(n.target)), jinja_tree(n.filter), _body(n.body)),
    "Block": lambda n: ("block", n.name, _body(n.body)),
    "Break": lambda n: ("break",),
    "Call": lambda n: ("call", jinja_tree(n.node), _arguments(n)),
    "CallBlock": lambda n: ("call body", tuple(a.name for a in n.args), jinja_tree([*n.defaults, n.call]), _body(n.body)),
    "Compare": lambda n: (
        "operation", " ".join(_COMPARISONS[op.op] for op in n.ops), jinja_tree([n.expr, *(op.expr for op in n.ops)]),
    ),
    "Concat": lambda n: ("operation", "~", jinja_tree(n.nodes)),
    "CondExpr": lambda n: ("conditional", jinja_tree(n.expr1), jinja_tree(n.test), jinja_tree(n.expr2)),
    "Const": lambda n: ("const", repr(n.value)),
    "Continue": lambda n: ("continue",),
    "Dict": lambda n: ("dict", jinja_tree([part for pair in n.items for part in (pair.key, pair.value)])),
    "ExprStmt": lambda n: ("do", jinja_tree(n.node)),
    "Extends": lambda n: ("extends", jinja_tree(n.template)),
    "Filter": lambda n: ("filter", n.name, jinja_tree(n.node), _arguments(n)),
    "FilterBlock": lambda n: ("filter body", jinja_tree(n.filter), _body(n.body)),
    "For": lambda n: (
        "for", tuple(_names(n.target)), jinja_tree([n.iter, *([n.test] if n.test else [])]), _body(n.body), _body(n.else_),
    ),
    "FromImport": lambda n: ("from", _import_names(n), jinja_tree(n.template)),
    "Getattr": lambda n: ("attribute", jinja_tree(n.node), n.attr),
    "Getitem": lambda n: ("item", jinja_tree(n.node), jinja_tree(n.arg)),
    "If": _if,
    "Import": lambda n: ("import", (n.target,), jinja_tree(n.template)),
    "Include": lambda n: ("include", jinja_tree(n.template)),
    "Keyword": lambda n: ("keyword", n.key, jinja_tree(n.value)),
    "List": lambda n: ("list", jinja_tree(n.items)),
    "Macro": lambda n: ("macro", n.name, tuple(a.name for a in n.args), jinja_tree(n.defaults), _body(n.body)),
    "Name": lambda n: ("name", n.name),
    "Scope": lambda n: ("scope", *_scope(n)),
    "Slice": lambda n: ("slice", jinja_tree([part for part in (n.start, n.stop, n.step) if part])),
    "Template": lambda n: _body(n.body),
    "Test": lambda n: ("is", n.name, jinja_tree(n.node), _arguments(n)),
    "Tuple": lambda n: ("tuple", jinja_tree(n.items)),
    "With": lambda n: ("with", tuple(name for t in n.targets for name in _names(t)), jinja_tree(n.values), _body(n.body)),
}  # fmt: skip


def _scope(node: nodes.Scope) -> Tree:
    first = node.body[0] if node.body else None
    if isinstance(first, nodes.ScopedEvalContextModifier):
        return (jinja_tree([first.options[0].value]), _body(first.body))
    return ((), _body(node.body))


def our_tree(template: ours.Template) -> Tree:
    """A tree of ours in the form of ``jinja_tree``."""
    return _our_body(template.body, template.text)


def _our_body(items: list[ours.Node], text: str) -> Tree:
    parts: list[Any] = []
    for item in items:
        if isinstance(item, ours.Text):
            if data := text[item.start : item.end].replace("\r\n", "\n").replace("\r", "\n").strip():
                parts.append(("text", data))
        elif isinstance(item, ours.Output):
            parts.append(("output", our_expression(item.expression)))
        elif isinstance(item, ours.Block):
            parts.append(_our_block(item, text))
        elif isinstance(item, ours.Tag) and item.name == "print":
            parts += [("output", our_expression(node)) for node in item.expressions]
        elif isinstance(item, ours.Tag):
            parts.append(_our_tag(item))
    return tuple(parts)


def _our_tag(tag: ours.Tag) -> Tree:
    bound = (tuple(tag.targets),) if tag.name in ("set", "import", "from") else ()
    return (tag.name, *bound, *map(our_expression, tag.expressions))


def _our_block(block: ours.Block, text: str) -> Tree:
    tag = block.sections[0].tag
    targets, expressions = tuple(tag.targets), _all(tag.expressions)
    body, *others = [_our_body(section.body, text) for section in block.sections]
    if block.name == "if":
        sections = block.sections
        last = others.pop() if sections[-1].tag.name == "else" else ()
        branches = zip(sections, [body, *others], strict=False)
        return ("if", *((s.tag.name, our_expression(s.tag.expressions[0]), part) for s, part in branches), last)
    if block.name == "for":
        return ("for", targets, expressions, body, others[0] if others else ())
    if block.name == "set":
        return ("set body", targets, expressions[0] if expressions else None, body)
    if block.name in ("filter", "call"):
        return (f"{block.name} body", *([targets, expressions] if block.name == "call" else expressions), body)
    if block.name in ("generation", "autoescape"):
        return ("scope", expressions, body)
    label = (tag.label,) if block.name in ("block", "macro") else ()
    return (block.name, *label, *([targets, expressions] if block.name != "block" else []), body)


def _all(items: list[ours.Expr]) -> Tree:
    return tuple(our_expression(item) for item in items)


def _our_arguments(items: list[ours.Expr]) -> Tree:
    # jinja2 keeps starred arguments apart from the others
    order = {"*": 1, "": 3}
    return _all(sorted(items, key=lambda item: order.get(item.name, 2) if isinstance(item, ours.Keyword) else 0))


def our_expression(node: ours.Expr | None) -> Any:
    if node is None:
        return None
    if isinstance(node, ours.Sequence):
        return (node.kind, _all(node.items))
    convert = _OURS.get(type(node).__name__)
    return convert(node) if convert else ("unknown", type(node).__name__)


def _our_test(node: ours.IsTest) -> Tree:
    test = ("is", node.name, our_expression(node.value), _our_arguments(node.arguments))
    return ("operation", "not", (test,)) if node.negated else test


_OURS: dict[str, Any] = {
    "Attr": lambda n: ("attribute", our_expression(n.value), n.name),
    "Call": lambda n: ("call", our_expression(n.function), _our_arguments(n.arguments)),
    "Conditional": lambda n: ("conditional", our_expression(n.then), our_expression(n.test), our_expression(n.otherwise)),
    "Const": lambda n: ("const", repr(n.value)),
    "Filter": lambda n: ("filter", n.name, our_expression(n.value), _our_arguments(n.arguments)),
    "IsTest": _our_test,
    "Item": lambda n: ("item", our_expression(n.value), our_expression(n.index)),
    "Keyword": lambda n: ("keyword", n.name, our_expression(n.value)),
    "Name": lambda n: ("name", n.name),
    "Operation": lambda n: ("operation", n.operator, _all(n.operands)),
    "Slice": lambda n: ("slice", _all(n.parts)),
}


def agrees(source: str) -> bool:
    """Assert that both parsers say the same of a template; return whether they accept it."""
    expected, found = jinja_parse(source), parse_template(source)
    assert (expected is None) == bool(found.errors), found.errors
    # the translation extension makes calls of its blocks
    if expected is not None and "trans" not in source:
        assert our_tree(found) == jinja_tree(expected)
    return expected is not None


EXPRESSIONS = [
    "a", "a.b", "a.b.c[0]", "a['b']", "a[1:2]", "a[:]", "a[::2]", "a[1:]", "a[:b, c]", "a[]", "a[1, 2]", "a.0.b", "a.1.2",
    "a.0x1f", "1", "0", "00", "1_000", "0x1F_f", "0b1_0", "0o17", "1e3", "1.5", "1.5.2", "1.5e-3", "1_0.0_1", "0.5E+2",
    "1if a else 2", "1e3.b", "'a'", '"a"', "'a' \"b\" 'c'", "'\\n\\t\\\\'", "'\\x41\\u00e9\\U0001f600\\N{BULLET}'",
    "'\\101\\0'", "'\\q'", "'\\é'", "'a\\'b'", "\"'\"", "''", "'😀é'", "true", "True", "false", "False", "none", "None",
    "null", "in", "is", "if", "else", "recursive", "é", "été_1", "_", "[]", "[1]", "[1, 2,]", "()", "(a)", "(a,)", "(a, b)",
    "((a))", "{}", "{'a': 1}", "{'a': 1, b: {'c': [2,]},}", "a, b", "a,", "(a, b), c", "-a", "+a", "--a", "-a ** b",
    "a ** -b", "a ** b ** c", "-a.b", "-f(a)[0]", "- 1", "a - -b", "a + b - c", "a * b / c // d % e", "a + b * c",
    "(a + b) * c", "a ~ b ~ c", "a ~ b + c", "a ~ b * c", "a - b ~ c - d", "a or b and not c", "not a or b", "not not a",
    "not a == b", "not (a and b)", "a and not b and c", "a == not", "a < b", "a < b <= c != d", "a in b", "a not in b",
    "a not in b in c", "a == b > c >= d", "a + 1 == b * 2", "not a in b", "a if b else c", "a if b",
    "a if b else c if d else e", "a if b if c else d", "(a if b else c) if d else e", "a or b if c and d else not e", "f()",
    "f(a)", "f(a, b,)", "f(a=1)", "f(a, b=1, *c, **d)", "f(*a, b=1)", "f(**a,)", "f(*a)", "f(b=1, *a)", "f(a)(b)[c].d(e)",
    "f(not=1)", "a | b", "a|b|c(1)|d.e(f=2)", "a.b | c | d", "-a | abs", "(a, b) | c", "a + b | c", "a | b(1)(2)",
    "'a' | upper ~ 'b'", "f(a | b)", "a is b", "a is not b", "a is b(1)", "a is b 1", "a is b 'c'", "a is b c.d", "a is b.c",
    "a is not b [1]", "a is b and c", "a is b(1) is c", "a is defined or b is none", "not a is b", "a is divisibleby 3 == b",
    "a is sameas true", "a is b {}", "a is b | c", "a.b is c | d is e",
]  # fmt: skip


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_an_expression_is_read_as_jinja_reads_it(source: str) -> None:
    assert agrees("{{ " + source + " }}")


NO_EXPRESSIONS = [
    "", "not", "a b", "a.", "a..b", "a. 1.5", "a[", "a[1,]", "a[1:2:3:4]", "(,)", "[,]", "{,}", "{a}", "{a: }", "(a", "a)",
    "[a)", "f(,)", "f(a b)", "f(a=1, b)", "f(*a, b)", "f(*a, *b)", "f(**a, b=1)", "f(**a, *b)", "f(a=)", "a |", "a | b.",
    "a | 1", "a | b[0]", "a is", "a is not", "a is b is c", "a is 1", "a +", "* a", "a == ", "a < < b", "a if", "a if b else",
    "a ** ", "a not b", "a = b", "a ; b", "a ! b", "a ? b : c", "a & b", "'a", "'a\\'", "'\\x4'", "'\\u12'", "'\\N{NO SUCH}'",
    "1 2", "007", "0x", "1__0", "a\u2019b", "\u0301a", "\ufeffa", "\u0663.5", "1\u0663.5", "a is b if c", ", a", "a:b",
    "a.b.'c'", "@a", "a.é→",
]  # fmt: skip


@pytest.mark.parametrize("source", NO_EXPRESSIONS)
def test_no_expression_is_an_error_as_in_jinja(source: str) -> None:
    assert not agrees("{{ " + source + " }}")


def test_a_number_too_long_for_python_is_an_error_as_in_jinja() -> None:
    assert not agrees("{{ " + "1" * 5000 + " }}")


@pytest.mark.parametrize("source", EXPRESSIONS + NO_EXPRESSIONS)
def test_a_range_is_an_expression_where_jinja_compiles_one(source: str) -> None:
    text = "((" + source + " ))"
    expected = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parser = Parser(ENVIRONMENT, source, state="variable")
            tree = jinja_tree(parser.parse_expression())
            if parser.stream.eos:
                expected = tree
        except Exception:  # no expression, or a number that Python refuses
            pass
    assert our_expression(parse_expression(text, 2, len(text) - 2)) == expected


TEMPLATES = [
    "", "a", "}} %} #}", "{ { a } }", "a\n\n", "\ufeffa{{ b }}", "a\r\n{{ b\r\n}}\rc\x85",
    "{{a}}{{-a-}}{{+a}}{{--1}}{{- -1 -}}", "{#a#}b{#- c -#}", "{#", "{#-", "{#\n", "{##}", "{#{{#}",
    "{% raw %}{{ {% a %} {# {% endraw %}", "{%-raw-%} {{ {%+endraw+%}", "{% raw %}", "{%raw-%} \n\n", "{% raw %}\n",
    "{% raw %}{% raw %}{% endraw %}", "{{ '}}' }}{% if '%}' %}{% endif %}", "{{{}}}", "{{{'a':{}}}}", "{{ {'a':{'b':{}}}}}",
    "{% set x = {'a':{}} %}", "{% set x = {{}:1} %}", "{{ a }}}", "{% if a %}}{% endif %}", "{{ '\r\n' }}",
    "{{ 'a\\\r\nb' }}", "{% if a %}1{% endif %}", "{%- if a -%} 1 {%+ elif b +%} 2 {%- else -%} 3 {% endif %}",
    "{% if a: %}{% elif b: %}{% else: %}{% endif %}", "{% if a, b %}{% endif %}", "{%if(a)%}{%endif%}",
    "{% if a %}{% elif b %}{% elif c %}{% endif %}", "{% for a in b %}{{ a }}{% endfor %}",
    "{% for a, b in c %}{% else %}d{% endfor %}", "{% for (a, (b, c)), d in e %}{% endfor %}",
    "{% for a in b if c %}{% endfor %}", "{% for a in b recursive %}{{ loop(a) }}{% endfor %}",
    "{% for a in b, c if d recursive: %}{% endfor %}", "{% for not in a %}{% endfor %}", "{% for in in a %}{% endfor %}",
    "{% for a in recursive %}{% endfor %}", "{% for a in b, recursive %}{% endfor %}", "{% for () in a %}{% endfor %}",
    "{% for a in b if c if d else e %}{% break %}{% continue %}{% endfor %}", "{% set a = 1 %}", "{% set a, b = 1, 2 %}",
    "{% set a.b = c if d else e %}", "{% set a.b, c = d %}", "{% set (a, b) = c %}", "{% set a %}1{% endset %}",
    "{% set a | upper | b(c=1) %}1{% endset %}", "{% set a: %}{% endset %}", "{% set a, %}{% endset %}", "{% set not = 1, %}",
    "{% set a.b %}{% endset %}", "{% with %}{% endwith %}", "{% with a = 1, b = a %}{% endwith %}",
    "{% with a, b = c %}{% endwith %}", "{% with (a, b), c = d %}{% endwith %}", "{% macro a() %}{% endmacro %}",
    "{% macro a(b, c=1, d=e | f): %}{{ b }}{% endmacro %}", "{% call a() %}b{% endcall %}",
    "{% call(a, b=1) c.d(e) %}f{% endcall %}", "{% call a | b(1)(2) %}{% endcall %}", "{% filter a %}{% endfilter %}",
    "{% filter a.b(1) | c: %}d{% endfilter %}", "{% block a %}b{% endblock %}",
    "{% block a scoped required: %} {# b #}\n{% endblock a %}", "{% block required %}{% endblock required %}",
    "{% block scoped %}{% block b required %}{% raw %} {% endraw %}{% endblock %}{% endblock %}", "{% extends 'a' %}",
    "{% extends a if b else c %}", "{% include 'a' %}", "{% include ['a', b] ignore missing %}",
    "{% include a without context %}", "{% include 'a' ignore missing with context %}", "{% import 'a' as b %}",
    "{% import a as b with context %}", "{% from 'a' import b %}", "{% from 'a' import b, c as d, e without context %}",
    "{% from 'a' import with context %}", "{% from 'a' import b, with context %}", "{% from 'a' import with, without as b %}",
    "{% do a.b(c) %}", "{% do a, b %}", "{% print %}", "{% print a, b %}", "{% generation %}a{% endgeneration %}",
    "{% generation: %}{% if a %}{% endif %}{% endgeneration %}", "{% autoescape true %}a{% endautoescape %}",
    "{% autoescape a if b: %}{% endautoescape %}", "{% trans %}a{{ b }}c{% endtrans %}",
    "{% trans 'a' b, c=d | e, trimmed %}{{ true }}{% endtrans %}", "{% trans trimmed a %}{# b #}{% endtrans %}",
    "{% trans a=b %}{{ a }}{% pluralize %}{{ c }}{% endtrans %}", "{% trans : %}{% endtrans %}",
    "{% trans a, : %}{% endtrans %}", "{% trans %}{{ a }}{% pluralize %}b{% endtrans %}",
    "{% trans a, b %}c{% pluralize b %}d{% endtrans %}", "{% trans notrimmed trimmed %}{% endtrans %}",
]  # fmt: skip


@pytest.mark.parametrize("source", TEMPLATES)
def test_a_template_is_read_as_jinja_reads_it(source: str) -> None:
    assert agrees(source)


NO_TEMPLATES = [
    "{{", "{{ a", "{%", "{% if", "{# a", "{# a\n\n", "{#}", "{% raw %}a", "{%raw-%} a", "{% raw %} \n",
    "{% raw +%}{% endraw %}", "{% endraw %}", "{% %}", "{%- -%}", "{% 'if' %}", "{% 1 %}", "{% é %}", "{% foo %}",
    "{% foo %}{% endfoo %}", "{{ a +}}", "{{ {'a': 1 }}", "{{ a %} }}", "{{ ( }}", "{% set x = {'a': 1 %}",
    "{% set x = {'a': 1 %} %}", "{{ 'a }} b' c }}", "{{ don't }}", "{{ a } }}", "{% if a }}{% endif %}", "{{ {a:{}} }",
    "{{ \\ }}", "{% if %}{% endif %}", "{% if a %}", "{% endif %}", "{% if a %}{% endfor %}",
    "{% if a %}{% else %}{% else %}{% endif %}", "{% if a b %}{% endif %}", "{% if a %}{% else %}{% elif b %}{% endif %}",
    "{% if a %}{% endif b %}", "{% if a %}{% endif: %}", "{% if a if b else c %}{% endif %}", "{% else %}", "{% elif a %}",
    "{% if a %}{% elif %}{% endif %}", "{% if a %}{% for b in c %}{% endif %}{% endfor %}",
    "{% if a %}{% else b %}{% endif %}", "{% if\u0301 a %}{% endif\u0301 %}", "{% if a: b %}{% endif %}",
    "{% if a %}{% endif %}{% endif %}", "{% for %}{% endfor %}", "{% for a %}{% endfor %}", "{% for a in %}{% endfor %}",
    "{% for a.b in c %}{% endfor %}", "{% for 1 in a %}{% endfor %}", "{% for a, in b %}{% endfor %}",
    "{% for [a] in b %}{% endfor %}", "{% for a in b if %}{% endfor %}", "{% for true in a %}{% endfor %}",
    "{% for a in b %}{% else %}{% else %}{% endfor %}", "{% for a in b, %}{% endfor b %}",
    "{% for a in b if c else d %}{% endfor %}", "{% for a in b %}", "{% for (not) in a %}{% endfor %}",
    "{% for (a if b) in c %}{% endfor %}", "{% for a b in c %}{% endfor %}", "{% for a in b %}{% elif c %}{% endfor %}",
    "{% set %}", "{% set a %}", "{% set a = %}", "{% set a = 1: %}", "{% set a. = 1 %}", "{% set a.b.c = 1 %}",
    "{% set (a.b) = 1 %}", "{% set a, = 1 %}", "{% set 'a' = 1 %}", "{% set none = 1 %}", "{% set true.a = 1 %}",
    "{% set a() = 1 %}", "{% set a = 1 %}{% endset %}", "{% set a | %}{% endset %}", "{% set a upper %}{% endset %}",
    "{% set a %}{% endset a %}", "{% set (a = 1 %}", "{% set a == 1 %}", "{% with a %}{% endwith %}",
    "{% with a = 1, %}{% endwith %}", "{% with a = 1: %}{% endwith %}", "{% with: %}{% endwith %}",
    "{% with a.b = 1 %}{% endwith %}", "{% macro %}{% endmacro %}", "{% macro a %}{% endmacro %}",
    "{% macro a(b,) %}{% endmacro %}", "{% macro a(b=1, c) %}{% endmacro %}", "{% macro true() %}{% endmacro %}",
    "{% macro a(none) %}{% endmacro %}", "{% macro a(*b) %}{% endmacro %}", "{% macro a() b %}{% endmacro %}",
    "{% macro a() %}{% endmacro a %}", "{% call a %}{% endcall %}", "{% call %}{% endcall %}",
    "{% call a() | b %}{% endcall %}", "{% call (a) %}{% endcall %}", "{% filter %}{% endfilter %}",
    "{% filter 1 %}{% endfilter %}", "{% filter a | %}{% endfilter %}", "{% block %}{% endblock %}",
    "{% block a-b %}{% endblock %}", "{% block a %}{% endblock b %}", "{% block a required %}b{% endblock %}",
    "{% block a required %}{{ b }}{% endblock %}", "{% block %}{% endblock a %}",
    "{% block a required scoped %}{% endblock %}", "{% block a required %}{% raw %}b{% endraw %}{% endblock %}",
    "{% block a required %}{% if b %}{% endif %}{% endblock %}", "{% extends %}", "{% extends 'a', 'b' %}", "{% include %}",
    "{% include 'a' ignore %}", "{% include 'a' with %}", "{% include 'a' with context ignore missing %}", "{% import 'a' %}",
    "{% import 'a' as %}", "{% import 'a' as true %}", "{% import 'a' as b, c %}", "{% from 'a' %}", "{% from 'a' import %}",
    "{% from 'a' import b, %}", "{% from 'a' import _b %}", "{% from 'a' import b as none %}", "{% from 'a' import b c %}",
    "{% from 'a' import b with context, c %}", "{% do %}", "{% break a %}", "{% continue: %}", "{% print a, %}",
    "{% print a b %}", "{% generation a %}{% endgeneration %}", "{% generation %}", "{% autoescape %}{% endautoescape %}",
    "{% autoescape a, b %}{% endautoescape %}", "{% pluralize %}", "{% endtrans %}", "{% trans %}",
    "{% trans %}{{ a.b }}{% endtrans %}", "{% trans %}{{ 1 }}{% endtrans %}",
    "{% trans %}{% if a %}{% endif %}{% endtrans %}", "{% trans a, a %}{% endtrans %}",
    "{% trans %}{% trans %}{% endtrans %}{% endtrans %}", "{% trans %}a{% pluralize %}b{% endtrans %}",
    "{% trans a %}b{% pluralize c %}{% endtrans %}", "{% trans a %}b{% pluralize %}c{% pluralize %}d{% endtrans %}",
    "{% trans a: %}{% endtrans %}", "{% trans 'a' 'b' %}{% endtrans %}", "{% trans 1 %}{% endtrans %}",
    "{% trans trimmed, a %}{% endtrans %}", "{% trans a %}{% pluralize 1 %}{% endtrans %}", "{% trans %}{% endtrans a %}",
    "{% trans %}{% break %}{% endtrans %}",
]  # fmt: skip


@pytest.mark.parametrize("source", NO_TEMPLATES)
def test_what_jinja_refuses_is_an_error(source: str) -> None:
    assert not agrees(source)


FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "chat_templates").glob("*.jinja"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_chat_template_is_read_as_jinja_reads_it(path: Path) -> None:
    assert agrees(path.read_text(encoding="utf-8"))


NAMES = st.sampled_from(["a", "b1", "ns", "é", "true", "none", "loop", "in", "is"])
LITERALS = st.sampled_from(["'s'", '"}}"', "'%}' '{{'", "'\\n\\x41'", "0", "12", "1_0", "0x1F", "1.5", "2e3", "True", "None"])
OPERATORS = st.sampled_from(
    ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">=", " and ", " or ", " in ", " not in "]
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, max_size=3).map(", ".join)
    pairs = st.lists(st.tuples(inner, inner).map(": ".join), max_size=2).map(",".join)
    return st.one_of(
        st.tuples(inner, OPERATORS, inner).map("".join),
        st.tuples(st.sampled_from(["-", "+", "not "]), inner).map("".join),
        st.builds("{}.{}".format, inner, NAMES),
        st.builds("{}[{}]".format, inner, st.one_of(inner, st.builds("{}:{}".format, inner, inner), st.just("::"))),
        st.builds("{}({})".format, inner, several),
        st.builds("f({}, k={}, *{}, **{})".format, inner, inner, inner, inner),
        st.builds("{} | {}({})".format, inner, NAMES, several),
        st.builds("{}|{}".format, inner, NAMES),
        st.builds("{} is {}{}".format, inner, st.sampled_from(["", "not "]), NAMES),
        st.builds("{} is {} {}".format, inner, NAMES, LITERALS),
        st.builds("{} if {} else {}".format, inner, inner, inner),
        st.builds("({})".format, inner),
        st.builds("({},)".format, inner),
        st.builds("[{}]".format, several),
        pairs.map(lambda text: "{" + text + "}"),
    )


EXPRESSION = st.recursive(st.one_of(NAMES, LITERALS), _compound, max_leaves=8)
SIMPLE = st.one_of(
    st.sampled_from(
        ["text", " ", "\n", "\r\n", "}}", "{", "'", "{# c #}", "{#- {{ -#}", "{% raw %}{{ '{% endraw %}", "\ufeff", "😀"]
    ),
    st.builds("{{{{ {} }}}}".format, EXPRESSION),
    st.builds("{{{{-{}-}}}}".format, EXPRESSION),
    st.builds("{{% set {} = {} %}}".format, st.sampled_from(["a", "a, b", "ns.a", "(a, b)"]), EXPRESSION),
    st.builds("{{%- do {} +%}}".format, EXPRESSION),
    st.builds("{{% include {} ignore missing %}}".format, EXPRESSION),
    st.builds("{{% from {} import a, b as c with context %}}".format, EXPRESSION),
)


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.builds(
            "{{% if {} %}}{}{{% elif {} -%}}{}{{% else %}}{}{{% endif %}}".format, EXPRESSION, inner, EXPRESSION, inner, inner
        ),
        st.builds(
            "{{% for {} in {} %}}{}{{% else %}}{}{{% endfor %}}".format, st.sampled_from(["a", "a, b"]), EXPRESSION, inner, inner
        ),
        st.builds("{{% for a in {} if {} recursive %}}{}{{% endfor %}}".format, EXPRESSION, EXPRESSION, inner),
        st.builds("{{% set a | f({}) %}}{}{{% endset %}}".format, EXPRESSION, inner),
        st.builds("{{% with a = {}, b = {} %}}{}{{% endwith %}}".format, EXPRESSION, EXPRESSION, inner),
        st.builds("{{% macro m(a, b={}) %}}{}{{% endmacro %}}".format, EXPRESSION, inner),
        st.builds("{{% call(a) f({}) %}}{}{{% endcall %}}".format, EXPRESSION, inner),
        st.builds("{{% filter f({}) | g %}}{}{{% endfilter %}}".format, EXPRESSION, inner),
        st.builds("{{% block b scoped %}}{}{{% endblock b %}}".format, inner),
        st.builds("{{% generation %}}{}{{% endgeneration %}}".format, inner),
    )


TEMPLATE = st.recursive(SIMPLE, _blocks, max_leaves=5)
PIECES = ["{{", "}}", "{%", "%}", "{#", "#}", "{% endif %}", "{% else %}", "{% endfor %}", "{% raw %}", "{% x %}", "{% trans %}"]
PIECES += ["{% endtrans %}", "not ", " in ", " is ", " if ", " else ", "", *"-+*%'\"()[]{},:=.|a1\\? "]


@given(TEMPLATE)
@settings(max_examples=200)
def test_a_generated_template_is_read_as_jinja_reads_it(source: str) -> None:
    agrees(source)


@given(TEMPLATE, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 6), st.sampled_from(PIECES)), min_size=1, max_size=3))
@settings(max_examples=300)
def test_a_damaged_template_is_refused_where_jinja_refuses_it(source: str, cuts: list[tuple[int, int, str]]) -> None:
    for place, width, piece in cuts:
        at = place % (len(source) + 1)
        source = source[:at] + piece + source[at + width :]
    agrees(source)
