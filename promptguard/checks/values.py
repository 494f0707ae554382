"""Where the values come from that a prompt prints: what is known of its expressions, from the tree alone. Nothing is rendered."""

from __future__ import annotations

from promptguard.checks.base import PREFIX, Document
from promptguard.checks.origins import (
    Origin,
    changing,
    format_argument,
    has_code,
    joined,
    of_now,
    of_placeholder,
    without_orders,
    written,
)
from promptguard.checks.volatile import (
    CLOCK,
    CLOCK_METHODS,
    CONVERSATIONS,
    DAY_ATTRIBUTES,
    DRAWING_FILTERS,
    HASH_FILTERS,
    HASHED,
    LISTING,
    LISTING_FILTERS,
    NOW_FILTERS,
    PURE,
    RANDOM_CHOICE,
    RELATIVE_FILTERS,
    SORTING,
    TESTING,
    TIME_ATTRIBUTES,
    TIME_FILTERS,
    TURNS,
    UNKNOWN,
    UNORDERED,
    UNORDERED_FILTERS,
    WRITTEN_TIME,
    Nature,
    changes_of_format,
    of_call,
    of_declared,
    of_variable,
)
from promptguard.core.light import TYPE_CHECKING, Any, Callable, Collection, Iterable, Iterator, NamedTuple, bisect_right
from promptguard.parse.template_nodes import (
    Attr,
    Block,
    Call,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    Keyword,
    Name,
    Operation,
    Output,
    Sequence,
    Slice,
    Tag,
    Template,
    Text,
)
from promptguard.prompts.names import names_fixed_date

if TYPE_CHECKING:
    from typing import ClassVar

    from promptguard.checks.bindings import Branch, Loop, Macro

DEEPEST = 100
"""Nested statements and expressions together."""
BOOLEAN = frozenset(("and", "or", "not"))
_LONGEST_NAME = 200
_PRINTED = frozenset(("and", "or", "+", "-", "*", "/", "//", "%", "**", "~", "neg", "pos"))
_FILLING = frozenset(("append", "extend", "insert", "update", "add", "setdefault"))
_DAY_METHODS = frozenset(("date", "today", "toDateString", "toLocaleDateString"))
_CALENDAR_LENGTH = 10  # code points of 2026-11-29
_MINUTE_LENGTH = 16  # of 2026-11-29T10:11


class Print(NamedTuple):
    """A place that prints: a placeholder, or the tag of a ``call``; with the origins of what it prints."""

    start: int
    end: int
    origins: tuple[Origin, ...]


class _Unset:
    """No constant is known."""


_UNSET = _Unset()


class Value(NamedTuple):
    """What is known of a value.

    Attributes:
        origins: where it comes from; none for what is fixed.
        path: the dotted name, where it is a variable that the template does not bind.
        constant: its value where that is a literal.
        attributes: what is known of its parts, where it is a namespace or a dict.
        macro: where it is one, as a statement makes it.
    """

    origins: tuple[Origin, ...] = ()
    path: str = ""
    constant: object = _UNSET
    attributes: dict[str, Value] | None = None
    macro: Macro | None = None


FIXED = Value()


class Scope:
    """Names and what they are bound to, in front of those of an outer scope."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer

    def lookup(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None


class Prefix:
    """The ranges of a document that are in prefix blocks, joined where they touch."""

    __slots__ = ("ends", "starts")

    def __init__(self, document: Document) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for region in document.regions:
            if region.block not in PREFIX:
                continue
            if self.ends and self.ends[-1] == region.start:
                self.ends[-1] = region.end
            else:
                self.starts.append(region.start)
                self.ends.append(region.end)

    def range_at(self, offset: int) -> tuple[int, int] | None:
        """The range that holds an offset; ``None`` outside of all."""
        at = bisect_right(self.starts, offset) - 1
        return (self.starts[at], self.ends[at]) if at >= 0 and offset < self.ends[at] else None

    def parts(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """What of a range is in prefix blocks."""
        at = max(0, bisect_right(self.starts, start) - 1)
        while at < len(self.starts) and self.starts[at] < end:
            low, high = max(start, self.starts[at]), min(end, self.ends[at])
            if low < high:
                yield low, high
            at += 1


def flow_of(document: Document, prefix: Prefix) -> Flow:
    """What a document prints. Most templates have no statement, and do without what follows them."""
    if document.template is not None and any(isinstance(node, (Block, Tag)) for node in document.template.body):
        from promptguard.checks.bindings import Bindings

        return Bindings(document, prefix)
    return Flow(document, prefix)


class Flow:
    """Goes through a document once and collects what it prints, loops over and branches on in prefix blocks.

    Attributes:
        prints, loops, branches: in the order of the source.
        texts: the ranges of static text in prefix blocks, in order; that of macros is not among them.
        rebound: where names are bound anew by ``set`` outside of any block: (name, offset).
        composed: names of macros and captured blocks, which print static text too.
    """

    def __init__(self, document: Document, prefix: Prefix) -> None:
        self.prints: list[Print] = []
        self.loops: list[Loop] = []
        self.branches: list[Branch] = []
        self.texts: list[tuple[int, int]] = []
        self.rebound: list[tuple[str, int]] = []
        self.composed: set[str] = set()
        self._document = document
        self._prefix = prefix
        self._depth = 0
        if document.template is not None:
            self._template(document.template)
        else:
            self._placeholders()
        for found in (self.prints, self.loops, self.branches):
            found.sort(key=lambda place: place[:2])

    def _template(self, template: Template) -> None:
        scope = Scope(BUILT_IN)
        for node in template.body:
            if isinstance(node, Text):
                self.texts.extend(self._prefix.parts(node.start, node.end))
            elif isinstance(node, Output) and self._prefix.range_at(node.start):
                origins = self.evaluate(node.expression, scope).origins
                if origins:
                    self.prints.append(Print(node.start, node.end, origins))

    def _placeholders(self) -> None:
        scope = Scope()
        at = 0
        for placeholder in self._document.placeholders:
            self.texts.extend(self._prefix.parts(at, placeholder.start))
            at = max(at, placeholder.end)
            if placeholder.expression is not None and self._prefix.range_at(placeholder.start):
                value = self.evaluate(placeholder.expression, scope)
                self.prints.append(
                    Print(placeholder.start, placeholder.end, of_placeholder(self._document, placeholder, value.origins))
                )
        self.texts.extend(self._prefix.parts(at, len(self._document.text)))

    # Expressions

    def evaluate(self, expression: Expr, scope: Scope) -> Value:
        """What is known of the value of an expression."""
        handler = self._HANDLERS.get(type(expression))
        if handler is None or self._depth >= DEEPEST:
            return FIXED
        self._depth += 1
        value = handler(self, expression, scope)
        self._depth -= 1
        return value

    def _all(self, expressions: Iterable[Expr], scope: Scope) -> tuple[Origin, ...]:
        return joined(self.evaluate(expression, scope).origins for expression in expressions)

    def _const(self, node: Const, scope: Scope) -> Value:
        return Value(constant=node.value)

    def _name(self, node: Name, scope: Scope) -> Value:
        bound = scope.lookup(node.name)
        if bound is None:
            return self._free(node.name, node.start, node.end)
        return self._free(bound.path, node.start, node.end) if bound.path and not bound.origins else bound

    def _free(self, name: str, start: int, end: int) -> Value:
        """The value of a variable that the template does not bind; ``name`` is dotted."""
        document = self._document
        if len(name) > _LONGEST_NAME:
            return FIXED
        if _covers(document.stable, name) or _covers(document.known, name):
            return Value(path=name)
        if _covers(document.dynamic, name):
            return Value((Origin(of_declared(name), start, end, name, declared=True),), name)
        nature = of_variable(name) or UNKNOWN_VARIABLE
        return Value((Origin(nature, start, end, name),), name)

    def _attr(self, node: Attr, scope: Scope) -> Value:
        return self._part(node, self.evaluate(node.value, scope), node.name)

    def _item(self, node: Item, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        index = node.index
        if isinstance(index, Const) and isinstance(index.value, str):
            return self._part(node, value, index.value)
        if isinstance(index, Slice):
            stop = next((part.value for part in index.parts if isinstance(part, Const) and isinstance(part.value, int)), None)
            if isinstance(stop, int) and stop <= _CALENDAR_LENGTH:
                return Value(changing(value.origins, "day"))
            if isinstance(stop, int) and stop <= _MINUTE_LENGTH:
                return Value(changing(value.origins, "minute"))
            return Value(value.origins)
        return Value(joined((value.origins, self.evaluate(index, scope).origins)))

    def _part(self, node: Expr, value: Value, name: str) -> Value:
        """``value.name``."""
        if value.attributes is not None:
            return value.attributes.get(name, Value(value.origins))
        if name in DAY_ATTRIBUTES or name in TIME_ATTRIBUTES:
            refined = changing(value.origins, TIME_ATTRIBUTES.get(name, "day"))
            if refined != value.origins:
                return Value(refined)
        if value.path:
            return self._free(f"{value.path}.{name}", node.start, node.end)
        return Value(value.origins)

    def _call(self, node: Call, scope: Scope) -> Value:
        function = node.function
        called = dotted(function)
        bound = scope.lookup(called.partition(".")[0]) if called else None
        arguments = self._all(node.arguments, scope)
        method = function.name if isinstance(function, Attr) else ""
        pattern = format_argument(node.arguments)
        if called and bound is None:
            if _covers(self._document.stable, called):
                return Value(arguments)
            module_call = method == "strftime" and called in ("time.strftime", "datetime.strftime")
            nature = (
                CLOCK if module_call and len(node.arguments) == 1 else of_call(called) if method not in CLOCK_METHODS else None
            )
            if nature is not None:
                own: tuple[Origin, ...] = (
                    Origin(nature, node.start, node.end, declared=_covers(self._document.dynamic, called)),
                )
                if pattern is not None:
                    own = written(own, pattern)
                return Value(joined((own, arguments)))
            if not method:
                if called in PURE:
                    return Value(without_orders(arguments) if called in SORTING else arguments)
                if pattern is not None and "%" in str(pattern.value):
                    arguments = written(arguments, pattern)
                return Value(arguments or (Origin(UNKNOWN_VARIABLE, node.start, node.end, called),))
        if not isinstance(function, Attr):
            return Value(arguments)
        value = self.evaluate(function.value, scope)
        if method in _FILLING and isinstance(function.value, Name):
            _add(function.value.name, value, arguments, scope)
        if method == "get" and node.arguments and isinstance(node.arguments[0], Const):
            part = self._part(node, value, str(node.arguments[0].value))
            return Value(joined((part.origins, self._all(node.arguments[1:], scope))), part.path)
        origins = value.origins
        if method in CLOCK_METHODS and pattern is not None:
            origins = written(origins, pattern)
        elif method in _DAY_METHODS:
            origins = changing(origins, "day")
        elif method in ("union", "intersection", "difference", "symmetric_difference") and not has_code(origins, "PG201"):
            origins = (*origins, Origin(UNORDERED, node.start, node.end))
        return Value(joined((origins, arguments)))

    def _filter(self, node: Filter, scope: Scope) -> Value:
        name = node.name
        if node.value is None:
            return FIXED
        if name in TESTING:
            return self._size(node, scope)
        value = self.evaluate(node.value, scope)
        if name == "attr" and node.arguments and isinstance(node.arguments[0], Const):
            return self._part(node, value, str(node.arguments[0].value))
        origins = value.origins
        if name in SORTING:
            origins = without_orders(origins)
        elif name in DRAWING_FILTERS:
            origins = (Origin(RANDOM_CHOICE, node.start, node.end), *origins)
        elif name in RELATIVE_FILTERS:
            if value.constant is _UNSET:
                origins = (Origin(WRITTEN_TIME._replace(changes="minute"), node.start, node.end),)
        elif name in NOW_FILTERS:
            origins = of_now(node, format_argument([node.value, *node.arguments]))
        elif name in TIME_FILTERS:
            origins = _time_filter(node, value)
        elif name in HASH_FILTERS:
            if (
                origins
                and all(origin.nature.code == UNKNOWN for origin in origins)
                and all(o.name and not o.element for o in origins)
            ):
                origins = (Origin(HASHED, node.start, node.end),)
        elif name in UNORDERED_FILTERS:
            origins = (*origins, Origin(UNORDERED, node.start, node.end))
        elif name in LISTING_FILTERS:
            origins = (*origins, Origin(LISTING, node.start, node.end))
        return Value(joined((origins, self._all(node.arguments, scope))))

    def _size(self, node: Filter, scope: Scope) -> Value:
        """``messages | length``: the size of what grows with each turn; that of anything else stays."""
        value = self.evaluate(node.value, scope) if node.value is not None else FIXED
        if value.path.rpartition(".")[2] not in CONVERSATIONS or not value.origins:
            return FIXED
        return Value((Origin(TURNS, node.start, node.end),))

    def _operation(self, node: Operation, scope: Scope) -> Value:
        if node.operator not in _PRINTED:
            return FIXED
        return Value(self._all(node.operands, scope))

    def _conditional(self, node: Conditional, scope: Scope) -> Value:
        truth = self._truth(node.test, scope)
        chosen = [node.then] if truth is not False else []
        if node.otherwise is not None and truth is not True:
            chosen.append(node.otherwise)
        if len(chosen) == 1:
            return self.evaluate(chosen[0], scope)
        return Value(self._all(chosen, scope))

    def _truth(self, test: Expr, scope: Scope) -> bool | None:
        """Whether a test always holds or never does; ``None`` where that is not known."""
        if isinstance(test, Operation) and test.operator in BOOLEAN and self._depth < DEEPEST:
            self._depth += 1
            truths = [self._truth(operand, scope) for operand in test.operands]
            self._depth -= 1
            if test.operator == "not":
                return None if truths[0] is None else not truths[0]
            decisive = test.operator == "or"
            if decisive in truths:
                return decisive
            return None if None in truths else not decisive
        if isinstance(test, (Const, Name)):
            constant = self.evaluate(test, scope).constant
            return None if constant is _UNSET else bool(constant)
        return None

    def _sequence(self, node: Sequence, scope: Scope) -> Value:
        return Value(self._all(node.items, scope))

    def _keyword(self, node: Keyword, scope: Scope) -> Value:
        return Value(self.evaluate(node.value, scope).origins)

    _HANDLERS: ClassVar[dict[type[Expr], Callable[[Any, Any, Scope], Value]]] = {
        Const: _const,
        Name: _name,
        Attr: _attr,
        Item: _item,
        Call: _call,
        Filter: _filter,
        Operation: _operation,
        Conditional: _conditional,
        Sequence: _sequence,
        Keyword: _keyword,
    }


BUILT_IN = Scope()
BUILT_IN.names.update(dict.fromkeys(("self", "super", "caller", "varargs", "kwargs", "loop"), FIXED))
UNKNOWN_VARIABLE = Nature(UNKNOWN, "a variable", "conversation", "low")


def _add(name: str, value: Value, arguments: tuple[Origin, ...], scope: Scope) -> None:
    """``name.append(…)``: from here on the variable holds what the arguments hold, too."""
    if not arguments:
        return
    holder: Scope | None = scope
    while holder is not None and name not in holder.names:
        holder = holder.outer
    target = holder if holder is not None and holder is not BUILT_IN else scope
    target.names[name] = value._replace(origins=joined((value.origins, arguments)), path="", constant=_UNSET)


def _covers(names: Collection[str], name: str) -> bool:
    """Whether names hold a dotted name or one above it."""
    while names and name:
        if name in names:
            return True
        name = name.rpartition(".")[0]
    return False


def dotted(node: Expr) -> str:
    """``a.b.c`` for an expression that is nothing but that; empty for any other."""
    parts: list[str] = []
    while isinstance(node, Attr) and len(parts) < 20:
        parts.append(node.name)
        node = node.value
    return ".".join([node.name, *reversed(parts)]) if isinstance(node, Name) else ""


def _time_filter(node: Filter, value: Value) -> tuple[Origin, ...]:
    """What ``value | strftime('%Y')`` prints: a clock if the value is one, or a variable that may be."""
    pattern = format_argument(node.arguments)
    origins = value.origins
    if value.constant in ("now", "today"):
        origins = (Origin(CLOCK, node.start, node.end),)
    elif isinstance(value.constant, str) and "%" in value.constant and not node.arguments:
        return (Origin(CLOCK._replace(changes=changes_of_format(value.constant)), node.start, node.end),)
    elif origins and value.path and origins[0].nature.code == UNKNOWN and not names_fixed_date(value.path):
        origins = (Origin(WRITTEN_TIME, node.start, node.end),)
        if "time" not in node.name and pattern is None:
            origins = changing(origins, "day")
    return written(origins, pattern) if pattern is not None else origins
