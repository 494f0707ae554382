"""The trees of jinja2's parser and of ours in one form, for comparison."""

from __future__ import annotations

import warnings
from typing import Any

from jinja2 import Environment, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from promptguard.parse import template_nodes as ours

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
