"""What the names in a template are bound to, and so where the values come from that it prints: data flow from the tree alone.

``set``, ``with``, ``for``, macros and their arguments, namespaces and captured blocks are followed. What each branch of an ``if``
may bind counts, a branch that can never run does not. Nothing is rendered.
"""

from __future__ import annotations

from promptguard.checks.base import PREFIX, Document
from promptguard.checks.origins import (
    Origin,
    changing,
    format_argument,
    has_code,
    joined,
    of_now,
    of_now_tag,
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
from promptguard.core.light import Any, Callable, Collection, Iterable, Iterator, NamedTuple, bisect_right
from promptguard.parse.template_nodes import (
    Attr,
    Block,
    Call,
    Conditional,
    Const,
    Expr,
    Filter,
    IsTest,
    Item,
    Keyword,
    Name,
    Node,
    Operation,
    Output,
    Section,
    Sequence,
    Slice,
    Tag,
    Text,
)
from promptguard.prompts.names import names_fixed_date

_DEEPEST_BODY = 40  # nested statements
_DEEPEST = 100  # nested statements and expressions together
_MACRO_DEPTH = 8  # a call of a macro counts as so many, since it takes so many frames
_LONGEST_NAME = 200
_BOOLEAN = frozenset(("and", "or", "not"))
_PRINTED = frozenset(("and", "or", "+", "-", "*", "/", "//", "%", "**", "~", "neg", "pos"))
_EXISTENCE = frozenset(("defined", "undefined", "none", "callable", "string", "mapping", "sequence", "iterable"))
_FILLING = frozenset(("append", "extend", "insert", "update", "add", "setdefault"))
_DAY_METHODS = frozenset(("date", "today", "toDateString", "toLocaleDateString"))
_CALENDAR_LENGTH = 10  # code points of 2026-11-29
_MINUTE_LENGTH = 16  # of 2026-11-29T10:11


class Print(NamedTuple):
    """A place that prints: a placeholder, or the tag of a ``call``; with the origins of what it prints."""

    start: int
    end: int
    origins: tuple[Origin, ...]


class Loop(NamedTuple):
    """The value that a ``for`` goes through, with its origins."""

    start: int
    end: int
    iterated: Expr
    origins: tuple[Origin, ...]


class Branch(NamedTuple):
    """The test of an ``if`` or ``elif``, with the origins of what it compares."""

    start: int
    end: int
    origins: tuple[Origin, ...]


class _Unset:
    """No constant is known."""


_UNSET = _Unset()


class Macro:
    """A macro, with the scope that it stands in; what it prints is found out when it is first called."""

    __slots__ = ("called", "printed", "scope", "section")

    def __init__(self, section: Section, scope: Scope) -> None:
        self.section = section
        self.scope = scope
        self.printed: tuple[Print, ...] | None = None
        self.called = False


class Value(NamedTuple):
    """What is known of a value.

    Attributes:
        origins: where it comes from; none for what is fixed.
        path: the dotted name, where it is a variable that the template does not bind.
        constant: its value where that is a literal.
        attributes: what is known of its parts, where it is a namespace or a dict.
        macro: where it is one.
    """

    origins: tuple[Origin, ...] = ()
    path: str = ""
    constant: object = _UNSET
    attributes: dict[str, Value] | None = None
    macro: Macro | None = None


_FIXED = Value()


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
        self._macros: list[Macro] = []
        self._sink = self.prints
        self._capturing = 0
        self._depth = 0
        if document.template is not None:
            self._body(document.template.body, Scope(_BUILT_IN))
            self._uncalled_macros()
        else:
            self._placeholders()
        for found in (self.prints, self.loops, self.branches):
            found.sort(key=lambda place: place[:2])

    # Bodies

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

    def _body(self, nodes: list[Node], scope: Scope) -> None:
        for node in nodes:
            kind = type(node)
            if kind is Text:
                if not self._capturing:
                    self.texts.extend(self._prefix.parts(node.start, node.end))
            elif isinstance(node, Output):
                self._print(node.start, node.end, node.expression, scope)
            elif isinstance(node, Block):
                if self._depth < _DEEPEST_BODY:
                    self._depth += 1
                    self._block(node, scope)
                    self._depth -= 1
            elif isinstance(node, Tag):
                self._tag(node, scope)

    def _print(self, start: int, end: int, expression: Expr, scope: Scope) -> None:
        if self._capturing or self._prefix.range_at(start):
            origins = self.evaluate(expression, scope).origins
            if origins:
                self._sink.append(Print(start, end, origins))

    def _tag(self, tag: Tag, scope: Scope) -> None:
        if tag.name == "set":
            if self._depth == 0:
                self.rebound.extend((target, tag.start) for target in tag.targets)
            if tag.expressions:
                self._bind(tag.targets, tag.expressions[0], scope)
        elif tag.name in ("import", "from"):
            for target in tag.targets:
                scope.names[target] = _FIXED
        elif tag.name == "print":
            for expression in tag.expressions:
                self._print(tag.start, tag.end, expression, scope)
        elif tag.name == "do":
            for expression in tag.expressions:
                self.evaluate(expression, scope)
        elif tag.name == "now" and self._prefix.range_at(tag.start):
            self._sink.append(Print(tag.start, tag.end, of_now_tag(tag)))

    def _block(self, block: Block, scope: Scope) -> None:
        if block.name == "if":
            self._if(block, scope)
        elif block.name == "for":
            self._for(block, scope)
        elif block.name == "macro" and block.sections:
            section = block.sections[0]
            macro = Macro(section, scope)
            self._macros.append(macro)
            self.composed.add(section.tag.label)
            scope.names[section.tag.label] = Value(macro=macro)
        elif block.name == "set" and block.sections:
            self._capture(block.sections[0], scope)
        else:
            for section in block.sections:
                self._plain(section, scope)

    def _plain(self, section: Section, scope: Scope) -> None:
        """A body that runs once: of ``with``, ``call``, ``filter``, ``block``, ``trans``, ``generation``."""
        tag = section.tag
        inner = scope if tag.name in ("generation", "autoescape") else Scope(scope)
        if tag.name == "call":
            for expression in tag.expressions[-1:]:
                self._print(tag.start, tag.end, expression, scope)
            for target in tag.targets:
                inner.names[target] = _FIXED
        elif len(tag.targets) == len(tag.expressions):
            for target, expression in zip(tag.targets, tag.expressions, strict=True):
                inner.names[target] = self._bound(expression, scope)
        self._body(section.body, inner)

    def _if(self, block: Block, scope: Scope) -> None:
        branches: list[Scope] = []
        exhaustive = False
        for section in block.sections:
            tag = section.tag
            truth: bool | None = True
            if tag.name != "else":
                test = tag.expressions[0] if tag.expressions else None
                truth = self._truth(test, scope) if test is not None else None
                if truth is None and test is not None:
                    self._branch(test, scope)
            if truth is False:
                continue
            inner = Scope(scope)
            self._body(section.body, inner)
            branches.append(inner)
            if truth:
                exhaustive = True
                break
        for name in dict.fromkeys(name for branch in branches for name in branch.names):
            values = [branch.names.get(name) or scope.lookup(name) or Value(path=name) for branch in branches]
            if not exhaustive:
                values.append(scope.lookup(name) or Value(path=name))
            scope.names[name] = self._merge(values)

    def _branch(self, test: Expr, scope: Scope) -> None:
        if self._prefix.range_at(test.start):
            origins = self._compared(test, scope)
            if origins:
                self.branches.append(Branch(test.start, test.end, origins))

    def _for(self, block: Block, scope: Scope) -> None:
        for section in block.sections:
            inner = Scope(scope)
            tag = section.tag
            if tag.name == "for":
                if not tag.expressions:
                    continue
                iterated = tag.expressions[0]
                value = self.evaluate(iterated, scope)
                if value.origins and self._prefix.range_at(iterated.start):
                    self.loops.append(Loop(iterated.start, iterated.end, iterated, value.origins))
                element = Value(tuple(origin._replace(element=True) for origin in without_orders(value.origins)))
                for target in tag.targets:
                    inner.names[target] = element
                inner.names["loop"] = _FIXED
            self._body(section.body, inner)

    def _capture(self, section: Section, scope: Scope) -> None:
        """``{% set name %}…{% endset %}``: what the body prints is printed where the name is."""
        printed = self._captured(section.body, Scope(scope))
        value = Value(joined(found.origins for found in printed))
        self.composed.update(section.tag.targets)
        for target in section.tag.targets:
            scope.names[target] = value
            if self._depth == 1:
                self.rebound.append((target, section.start))

    def _captured(self, body: list[Node], scope: Scope) -> tuple[Print, ...]:
        outer, self._sink = self._sink, []
        self._capturing += 1
        self._body(body, scope)
        self._capturing -= 1
        printed, self._sink = self._sink, outer
        return tuple(printed)

    # Names

    def _bind(self, targets: list[str], expression: Expr, scope: Scope) -> None:
        if len(targets) > 1:
            items = expression.items if isinstance(expression, Sequence) and expression.kind != "dict" else []
            if len(items) != len(targets):
                value = self.evaluate(expression, scope)
                values = [Value(value.origins)] * len(targets)
            else:
                values = [self._bound(item, scope) for item in items]
        else:
            values = [self._bound(expression, scope)]
        for target, value in zip(targets, values, strict=False):
            base, _, attribute = target.partition(".")
            if not attribute:
                scope.names[target] = value
                continue
            holder = scope.lookup(base)
            if holder is not None and holder.attributes is not None:
                before = holder.attributes.get(attribute)
                holder.attributes[attribute] = self._merge([before, value]) if before is not None else value

    def _bound(self, expression: Expr, scope: Scope) -> Value:
        """A value with what is known of its parts."""
        value = self.evaluate(expression, scope)
        parts: dict[str, Value] | None = None
        if isinstance(expression, Sequence) and expression.kind == "dict":
            parts = {}
            for key, item in zip(expression.items[::2], expression.items[1::2], strict=False):
                if isinstance(key, Const) and isinstance(key.value, str):
                    parts[key.value] = self.evaluate(item, scope)
        elif isinstance(expression, Call) and _dotted(expression.function) in ("namespace", "dict"):
            keywords = [argument for argument in expression.arguments if isinstance(argument, Keyword)]
            parts = {keyword.name: self.evaluate(keyword.value, scope) for keyword in keywords}
        return value._replace(attributes=parts) if parts is not None else value

    def _merge(self, values: list[Value]) -> Value:
        """One of several values, nobody knows which."""
        if all(value is values[0] for value in values):
            return values[0]
        origins = (self._free(value.path, -1, -1).origins if value.path else value.origins for value in values)
        macro = next((value.macro for value in values if value.macro is not None), None)
        return Value(joined(origins), macro=macro)

    def _free(self, name: str, start: int, end: int) -> Value:
        """The value of a variable that the template does not bind; ``name`` is dotted."""
        document = self._document
        if len(name) > _LONGEST_NAME:
            return _FIXED
        if _covers(document.stable, name) or _covers(document.known, name):
            return Value(path=name)
        if _covers(document.dynamic, name):
            return Value((Origin(of_declared(name), start, end, name, declared=True),), name)
        nature = of_variable(name) or _UNKNOWN_VARIABLE
        return Value((Origin(nature, start, end, name),), name)

    def _uncalled_macros(self) -> None:
        """Macros that nobody calls here are there for other templates: what they print on their own counts where it stands."""
        for macro in self._macros:
            if not macro.called:
                for start, end, origins in self._printed_by(macro):
                    own = tuple(origin for origin in origins if origin.parameter is None and origin.nature.code != UNKNOWN)
                    if own and self._prefix.range_at(start):
                        self.prints.append(Print(start, end, own))

    def _printed_by(self, macro: Macro) -> tuple[Print, ...]:
        """What a macro prints; its parameters are origins of their own."""
        if macro.printed is None:
            macro.printed = ()  # a macro that calls itself prints nothing more
            scope = Scope(macro.scope)
            for number, target in enumerate(macro.section.tag.targets):
                scope.names[target] = Value((Origin(_UNKNOWN_VARIABLE, -1, -1, parameter=number),))
            scope.names["caller"] = _FIXED
            self._depth += _MACRO_DEPTH
            macro.printed = self._captured(macro.section.body, scope)
            self._depth -= _MACRO_DEPTH
        return macro.printed

    # Expressions

    def evaluate(self, expression: Expr, scope: Scope) -> Value:
        """What is known of the value of an expression."""
        handler = _HANDLERS.get(type(expression))
        if handler is None or self._depth >= _DEEPEST:
            return _FIXED
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
        called = _dotted(function)
        bound = scope.lookup(called.partition(".")[0]) if called else None
        if bound is not None and bound.macro is not None and isinstance(function, Name):
            return self._macro_call(node, bound.macro, scope)
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
                return Value(arguments or (Origin(_UNKNOWN_VARIABLE, node.start, node.end, called),))
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

    def _macro_call(self, node: Call, macro: Macro, scope: Scope) -> Value:
        macro.called = True
        tag = macro.section.tag
        given: dict[int, tuple[Origin, ...]] = {}
        names = {name: number for number, name in enumerate(tag.targets)}
        position = 0
        for argument in node.arguments:
            if isinstance(argument, Keyword):
                if argument.name in names:
                    given[names[argument.name]] = self.evaluate(argument.value, scope).origins
            else:
                given[position] = self.evaluate(argument, scope).origins
                position += 1
        first_default = len(tag.targets) - len(tag.expressions)
        found: list[tuple[Origin, ...]] = []
        for printed in self._printed_by(macro):
            for origin in printed.origins:
                if origin.parameter is None:
                    found.append((origin,))
                elif origin.parameter in given:
                    found.append(given[origin.parameter])
                elif origin.parameter >= first_default >= 0:
                    default = tag.expressions[origin.parameter - first_default]
                    found.append(self.evaluate(default, macro.scope).origins)
        return Value(joined(found))

    def _filter(self, node: Filter, scope: Scope) -> Value:
        name = node.name
        if node.value is None:
            return _FIXED
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
        value = self.evaluate(node.value, scope) if node.value is not None else _FIXED
        if value.path.rpartition(".")[2] not in CONVERSATIONS or not value.origins:
            return _FIXED
        return Value((Origin(TURNS, node.start, node.end),))

    def _operation(self, node: Operation, scope: Scope) -> Value:
        if node.operator not in _PRINTED:
            return _FIXED
        return Value(self._all(node.operands, scope))

    def _conditional(self, node: Conditional, scope: Scope) -> Value:
        truth = self._truth(node.test, scope)
        chosen = [node.then] if truth is not False else []
        if node.otherwise is not None and truth is not True:
            chosen.append(node.otherwise)
        if len(chosen) == 1:
            return self.evaluate(chosen[0], scope)
        return Value(self._all(chosen, scope))

    def _sequence(self, node: Sequence, scope: Scope) -> Value:
        return Value(self._all(node.items, scope))

    def _keyword(self, node: Keyword, scope: Scope) -> Value:
        return Value(self.evaluate(node.value, scope).origins)

    def _truth(self, test: Expr, scope: Scope) -> bool | None:
        """Whether a test always holds or never does; ``None`` where that is not known."""
        if isinstance(test, Operation) and test.operator in _BOOLEAN and self._depth < _DEEPEST:
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

    def _compared(self, test: Expr, scope: Scope) -> tuple[Origin, ...]:
        """The origins of what a test looks at, more than whether it is there."""
        if isinstance(test, Operation) and self._depth < _DEEPEST:
            if test.operator not in _BOOLEAN:
                return self._all(test.operands, scope)
            self._depth += 1
            found = joined([self._compared(operand, scope) for operand in test.operands])
            self._depth -= 1
            return found
        if isinstance(test, IsTest):
            return self.evaluate(test.value, scope).origins if test.name not in _EXISTENCE else ()
        return self.evaluate(test, scope).origins if isinstance(test, Call) else ()


_BUILT_IN = Scope()
_BUILT_IN.names.update(dict.fromkeys(("self", "super", "caller", "varargs", "kwargs", "loop"), _FIXED))
_UNKNOWN_VARIABLE = Nature(UNKNOWN, "a variable", "conversation", "low")

_HANDLERS: dict[type[Expr], Callable[[Flow, Any, Scope], Value]] = {
    Const: Flow._const,
    Name: Flow._name,
    Attr: Flow._attr,
    Item: Flow._item,
    Call: Flow._call,
    Filter: Flow._filter,
    Operation: Flow._operation,
    Conditional: Flow._conditional,
    Sequence: Flow._sequence,
    Keyword: Flow._keyword,
}


def _add(name: str, value: Value, arguments: tuple[Origin, ...], scope: Scope) -> None:
    """``name.append(…)``: from here on the variable holds what the arguments hold, too."""
    if not arguments:
        return
    holder: Scope | None = scope
    while holder is not None and name not in holder.names:
        holder = holder.outer
    target = holder if holder is not None and holder is not _BUILT_IN else scope
    target.names[name] = value._replace(origins=joined((value.origins, arguments)), path="", constant=_UNSET)


def _covers(names: Collection[str], name: str) -> bool:
    """Whether names hold a dotted name or one above it."""
    while names and name:
        if name in names:
            return True
        name = name.rpartition(".")[0]
    return False


def _dotted(node: Expr) -> str:
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
