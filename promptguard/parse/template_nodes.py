"""The tree of a Jinja template, as promptguard's own parser makes it: every node knows its code points in the source.

Nodes are plain objects with slots, since a linter makes thousands of them. ``start`` and ``end`` are a half-open range of code
points in the text as it is in the file (line ends and byte order mark included).
"""

from __future__ import annotations

from promptguard.core.light import Iterator

STRING = r"""'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*\""""
"""A string literal, as a regular expression."""
CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
"""Literals that are written as names."""


class Node:
    """Base of all nodes."""

    __slots__ = ("end", "start")
    fields: tuple[str, ...] = ()
    """The attributes that hold nodes or lists of nodes, in source order."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def children(self) -> Iterator[Node]:
        """The nodes right below, in source order."""
        for name in self.fields:
            value: Node | list[Node] | None = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif value is not None:
                yield from value

    def walk(self) -> Iterator[Node]:
        """The node and all below it, each before those below it; nesting costs no recursion."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(list(node.children())))


# Expressions


class Expr(Node):
    __slots__ = ()


class Const(Expr):
    """A literal: str, int, float, bool or None; adjacent strings are one."""

    __slots__ = ("value",)

    def __init__(self, start: int, end: int, value: object) -> None:
        self.start = start
        self.end = end
        self.value = value


class Name(Expr):
    __slots__ = ("name",)

    def __init__(self, start: int, end: int, name: str) -> None:
        self.start = start
        self.end = end
        self.name = name


class Attr(Expr):
    """``value.name``."""

    __slots__ = ("name", "value")
    fields = ("value",)

    def __init__(self, start: int, end: int, value: Expr, name: str) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.name = name


class Item(Expr):
    """``value[index]``; a slice is an index of kind ``Slice``."""

    __slots__ = ("index", "value")
    fields = ("value", "index")

    def __init__(self, start: int, end: int, value: Expr, index: Expr) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.index = index


class Slice(Expr):
    __slots__ = ("parts",)
    fields = ("parts",)

    def __init__(self, start: int, end: int, parts: list[Expr]) -> None:
        self.start = start
        self.end = end
        self.parts = parts


class Keyword(Expr):
    """``name=value`` in a call; ``name`` is empty for ``**value`` and ``*`` for ``*value``."""

    __slots__ = ("name", "value")
    fields = ("value",)

    def __init__(self, start: int, end: int, name: str, value: Expr) -> None:
        self.start = start
        self.end = end
        self.name = name
        self.value = value


class Call(Expr):
    """``function(arguments)``; keyword arguments are ``Keyword`` among them."""

    __slots__ = ("arguments", "function")
    fields = ("function", "arguments")

    def __init__(self, start: int, end: int, function: Expr, arguments: list[Expr]) -> None:
        self.start = start
        self.end = end
        self.function = function
        self.arguments = arguments


class Filter(Expr):
    """``value | name(arguments)``; ``value`` is ``None`` in a ``{% filter %}`` tag. ``name_start``: where the name stands."""

    __slots__ = ("arguments", "name", "name_start", "value")
    fields = ("value", "arguments")

    def __init__(self, start: int, end: int, value: Expr | None, name: str, name_start: int, arguments: list[Expr]) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.name = name
        self.name_start = name_start
        self.arguments = arguments


class IsTest(Expr):
    """``value is name(arguments)``; ``negated`` for ``is not``."""

    __slots__ = ("arguments", "name", "negated", "value")
    fields = ("value", "arguments")

    def __init__(self, start: int, end: int, value: Expr, name: str, negated: bool, arguments: list[Expr]) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.name = name
        self.negated = negated
        self.arguments = arguments


class Operation(Expr):
    """An operator over its operands: ``+ - * / // % **``, ``~`` (two or more), ``and or not``, comparisons (``== < in``;
    chained ones have their signs in ``operator``, joined by spaces), unary ``neg`` and ``pos``.
    """

    __slots__ = ("operands", "operator")
    fields = ("operands",)

    def __init__(self, start: int, end: int, operator: str, operands: list[Expr]) -> None:
        self.start = start
        self.end = end
        self.operator = operator
        self.operands = operands


class Conditional(Expr):
    """``then if test else otherwise``; ``otherwise`` may be ``None``."""

    __slots__ = ("otherwise", "test", "then")
    fields = ("then", "test", "otherwise")

    def __init__(self, start: int, end: int, then: Expr, test: Expr, otherwise: Expr | None) -> None:
        self.start = start
        self.end = end
        self.then = then
        self.test = test
        self.otherwise = otherwise


class Broken(Expr):
    """Code that is no expression; ``parts`` are those expressions that could be read of it."""

    __slots__ = ("parts",)
    fields = ("parts",)

    def __init__(self, start: int, end: int, parts: list[Expr]) -> None:
        self.start = start
        self.end = end
        self.parts = parts


class Sequence(Expr):
    """A list, a tuple, or a dict (its items are keys and values in turn): ``kind`` says which."""

    __slots__ = ("items", "kind")
    fields = ("items",)

    def __init__(self, start: int, end: int, kind: str, items: list[Expr]) -> None:
        self.start = start
        self.end = end
        self.kind = kind
        self.items = items


# Parts of a template


class Text(Node):
    """Literal text, as it stands in the source (what ``-`` and ``trim_blocks`` remove is in it). ``raw``: between raw tags."""

    __slots__ = ("raw",)

    def __init__(self, start: int, end: int, raw: bool = False) -> None:
        self.start = start
        self.end = end
        self.raw = raw


class Comment(Node):
    """``{# … #}``."""

    __slots__ = ()


class Output(Node):
    """``{{ expression }}``, braces included; the expression is ``Broken`` where the template has an error there."""

    __slots__ = ("expression",)
    fields = ("expression",)

    def __init__(self, start: int, end: int, expression: Expr) -> None:
        self.start = start
        self.end = end
        self.expression = expression


class Tag(Node):
    """One ``{% … %}``, braces included.

    Attributes:
        name: its first word: ``if``, ``elif``, ``for``, ``set``, ``endif``, ``generation``, a custom tag's.
        targets: names that it binds: of ``for``, ``set`` (``ns.a`` for a namespace), ``with``, ``macro`` and ``call`` (its
            parameters), ``import``.
        expressions: those in it, in source order: the test of ``if`` and ``elif``; the iterated value of ``for``, then its
            ``if``; the value of ``set``; values of ``with``; the defaults of ``macro`` parameters; the call of ``call``; the
            filter of ``filter`` (a ``Filter`` without value); whatever could be read of a custom tag.
        label: the name of a ``macro`` or ``block``, the file of ``include``, ``import``, ``extends`` where it is a literal.
    """

    __slots__ = ("expressions", "label", "name", "targets")
    fields = ("expressions",)

    def __init__(self, start: int, end: int, name: str, targets: list[str], expressions: list[Expr], label: str = "") -> None:
        self.start = start
        self.end = end
        self.name = name
        self.targets = targets
        self.expressions = expressions
        self.label = label


class Section(Node):
    """A tag and what stands behind it, up to the next tag of the same block statement.

    It is a branch of an ``if``, the body of a ``for`` or its ``else``, the body of a ``macro``.

    ``start``: the start of the tag. ``end``: where the next tag of the statement begins.
    """

    __slots__ = ("body", "tag")
    fields = ("tag", "body")

    def __init__(self, start: int, end: int, tag: Tag, body: list[Node]) -> None:
        self.start = start
        self.end = end
        self.tag = tag
        self.body = body


class Block(Node):
    """A statement with bodies: ``if``, ``for``, ``macro``, ``call``, ``filter``, ``block``, ``with``, ``set`` without a value,
    ``autoescape``, ``generation``, ``trans``; from its first tag to the end of its end tag. ``closing`` is ``None`` where the end
    tag is missing.
    """

    __slots__ = ("closing", "name", "sections")
    fields = ("sections", "closing")

    def __init__(self, start: int, end: int, name: str, sections: list[Section], closing: Tag | None) -> None:
        self.start = start
        self.end = end
        self.name = name
        self.sections = sections
        self.closing = closing


class Template(Node):
    """A whole template.

    Attributes:
        body: texts, comments, outputs, tags without a body, and blocks, in source order; together they cover the source, raw
            tags apart.
        errors: what is wrong with it (offset, message), in source order; the tree holds whatever could be read all the same.
    """

    __slots__ = ("body", "errors", "text")
    fields = ("body",)

    def __init__(self, text: str, body: list[Node], errors: list[tuple[int, str]]) -> None:
        self.start = 0
        self.end = len(text)
        self.text = text
        self.body = body
        self.errors = errors


def outputs(template: Template) -> Iterator[Output]:
    """Every ``{{ … }}`` of a Jinja template, in source order."""
    stack = [iter(template.body)]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
        elif isinstance(node, Output):
            yield node
        elif isinstance(node, Block):
            stack.extend(iter(section.body) for section in reversed(node.sections))
