"""What the statements of a template bind names to, and so what it prints: data flow from the tree alone.

``set``, ``with``, ``for``, macros and their arguments, namespaces and captured blocks are followed. What each branch of an ``if``
may bind counts, a branch that can never run does not. Nothing is rendered.
"""

from __future__ import annotations

from promptguard.checks.base import Document
from promptguard.checks.origins import Origin, joined, of_now_tag, without_orders
from promptguard.checks.values import (
    BOOLEAN,
    BUILT_IN,
    DEEPEST,
    FIXED,
    UNKNOWN_VARIABLE,
    Flow,
    Prefix,
    Print,
    Scope,
    Value,
    dotted,
)
from promptguard.checks.volatile import UNKNOWN
from promptguard.core.light import NamedTuple
from promptguard.parse.template_nodes import (
    Block,
    Call,
    Const,
    Expr,
    IsTest,
    Keyword,
    Name,
    Node,
    Operation,
    Output,
    Section,
    Sequence,
    Tag,
    Template,
    Text,
)

_DEEPEST_BODY = 40  # nested statements
_MACRO_DEPTH = 8  # a call of a macro counts as so many, since it takes so many frames
_EXISTENCE = frozenset(("defined", "undefined", "none", "callable", "string", "mapping", "sequence", "iterable"))


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


class Macro:
    """A macro, with the scope that it stands in; what it prints is found out when it is first called."""

    __slots__ = ("called", "printed", "scope", "section")

    def __init__(self, section: Section, scope: Scope) -> None:
        self.section = section
        self.scope = scope
        self.printed: tuple[Print, ...] | None = None
        self.called = False


class Bindings(Flow):
    """Goes through a template that has statements."""

    def __init__(self, document: Document, prefix: Prefix) -> None:
        self._macros: list[Macro] = []
        self._captures: list[list[Print]] = []  # of each body whose text is kept, the innermost last
        super().__init__(document, prefix)

    # Bodies

    def _template(self, template: Template) -> None:
        self._body(template.body, Scope(BUILT_IN))
        self._uncalled_macros()

    def _body(self, nodes: list[Node], scope: Scope) -> None:
        for node in nodes:
            kind = type(node)
            if kind is Text:
                if not self._captures:
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
        if self._captures or self._prefix.range_at(start):
            origins = self.evaluate(expression, scope).origins
            if origins:
                self._take(Print(start, end, origins))

    def _take(self, place: Print) -> None:
        (self._captures[-1] if self._captures else self.prints).append(place)

    def _tag(self, tag: Tag, scope: Scope) -> None:
        if tag.name == "set":
            if self._depth == 0:
                self.rebound.extend((target, tag.start) for target in tag.targets)
            if tag.expressions:
                self._bind(tag.targets, tag.expressions[0], scope)
        elif tag.name in ("import", "from"):
            for target in tag.targets:
                scope.names[target] = FIXED
        elif tag.name == "print":
            for expression in tag.expressions:
                self._print(tag.start, tag.end, expression, scope)
        elif tag.name == "do":
            for expression in tag.expressions:
                self.evaluate(expression, scope)
        elif tag.name == "now" and self._prefix.range_at(tag.start):
            self._take(Print(tag.start, tag.end, of_now_tag(tag)))

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
                inner.names[target] = FIXED
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
                inner.names["loop"] = FIXED
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
        self._captures.append([])
        self._body(body, scope)
        return tuple(self._captures.pop())

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
        elif isinstance(expression, Call) and dotted(expression.function) in ("namespace", "dict"):
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

    # Macros

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
                scope.names[target] = Value((Origin(UNKNOWN_VARIABLE, -1, -1, parameter=(macro.section.start, number)),))
            scope.names["caller"] = FIXED
            self._depth += _MACRO_DEPTH
            macro.printed = self._captured(macro.section.body, scope)
            self._depth -= _MACRO_DEPTH
        return macro.printed

    def _call(self, node: Call, scope: Scope) -> Value:
        bound = scope.lookup(node.function.name) if isinstance(node.function, Name) else None
        if bound is not None and bound.macro is not None:
            return self._macro_call(node, bound.macro, scope)
        return super()._call(node, scope)

    _HANDLERS = {**Flow._HANDLERS, Call: _call}  # noqa: RUF012 - as that of Flow

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
                owner, number = origin.parameter or (-1, -1)
                if owner != macro.section.start:  # it is none, or of a macro that this one stands in
                    found.append((origin,))
                elif number in given:
                    found.append(given[number])
                elif number >= first_default >= 0:
                    default = tag.expressions[number - first_default]
                    found.append(self.evaluate(default, macro.scope).origins)
        return Value(joined(found))

    # Tests

    def _compared(self, test: Expr, scope: Scope) -> tuple[Origin, ...]:
        """The origins of what a test looks at, more than whether it is there."""
        if isinstance(test, Operation) and self._depth < DEEPEST:
            if test.operator not in BOOLEAN:
                return self._all(test.operands, scope)
            self._depth += 1
            found = joined([self._compared(operand, scope) for operand in test.operands])
            self._depth -= 1
            return found
        if isinstance(test, IsTest):
            return self.evaluate(test.value, scope).origins if test.name not in _EXISTENCE else ()
        return self.evaluate(test, scope).origins if isinstance(test, Call) else ()
