"""Jinja expressions with exact places.

A tag is split into tokens by one regular expression, all in C. A token is its own text: names, keywords and operators are told
apart where the grammar asks. Operators are read with a stack of their own, so only brackets cost recursion, and that is bounded.
"""

from __future__ import annotations

from itertools import accumulate

from promptguard.core.light import TYPE_CHECKING, Any, Callable, regex
from promptguard.parse.template_nodes import (
    CONSTANTS,
    STRING,
    Attr,
    Call,
    Conditional,
    Const,
    Expr,
    Filter,
    IsTest,
    Item,
    Keyword,
    Name,
    Operation,
    Sequence,
    Slice,
)

if TYPE_CHECKING:
    from typing import TypeVar

    _Content = TypeVar("_Content")

# any run of letters, digits and characters beyond ASCII; whether it is an identifier is asked where a name is expected
_NAME = r"[^\s\x00-@\[-^`{-\x7f][^\s\x00-/:-@\[-^`{-\x7f]*"
_DIGITS = r"\d+(?:_\d+)*"
_FLOAT = rf"(?<!\.){_DIGITS}(?:\.{_DIGITS}(?:[eE][+-]?{_DIGITS})?|[eE][+-]?{_DIGITS})"
_INTEGER = r"0[xX]_?[\da-fA-F]+(?:_[\da-fA-F]+)*|0[bB]_?[01]+(?:_[01]+)*|0[oO]_?[0-7]+(?:_[0-7]+)*|[1-9]\d*(?:_\d+)*|0+(?:_0+)*"
_OPERATOR = r"\*\*|//|[=!<>]=|[-+*/%~\[\](){}<>=.:|,;]"
# what is no token takes the rest with it, so that a stray quote is looked at once; spaces behind a token belong to its match
_TOKENS = regex(rf"(?:{_NAME}|{STRING}|{_FLOAT}|{_INTEGER}|{_OPERATOR}|[\s\S]+)\s*")
OPERATORS = regex(_OPERATOR)
_STRINGS = regex(STRING)

DEPTH_LIMIT = 80
"""Nested brackets; jinja2 runs out of stack at about 70."""
UNCLOSED = "unclosed string"
"""Stands for the token that begins with a quote without another."""
_INTEGER_LIMIT = 4300  # decimal digits; Python converts no longer ones
QUOTES = frozenset("'\"")
DIGITS = frozenset("0123456789")
_LITERAL = QUOTES | DIGITS | frozenset("[{")
_BASES = frozenset("xXbBoO")
_SIGNS = {"-": "neg", "+": "pos"}
_PREFIXES = frozenset(("-", "+", "not"))
_NO_ARGUMENT = frozenset(("else", "or", "and"))
_NOT, _COMPARISON, _CONCATENATION = 3, 4, 6
_LEVELS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("in", "not", "==", "!=", "<", "<=", ">", ">="), _COMPARISON),  # "not" if "in" follows
    "+": 5,
    "-": 5,
    "~": _CONCATENATION,
    "*": 7,
    "/": 7,
    "//": 7,
    "%": 7,
    "**": 8,
}
_MANY_OPERANDS = frozenset((_COMPARISON, _CONCATENATION))


class Unreadable(Exception):  # noqa: N818 - never leaves the parser
    """The tokens are no expression: the index of the first that does not fit, and what is wrong."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


class Expressions:
    """Reads expressions from the tokens of one tag at a time.

    Attributes:
        errors: takes what does not fit: offsets and messages.
        tokens: the tokens of the tag, an empty one last.
        starts, ends: their places in the text.
        at: the index of the next token.
        depth: how many brackets are open.
    """

    __slots__ = ("at", "depth", "ends", "errors", "starts", "text", "tokens")

    def __init__(self, text: str, errors: list[tuple[int, str]]) -> None:
        self.text = text
        self.errors = errors
        self.tokens: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.at = self.depth = 0

    def load(self, start: int, end: int) -> None:
        """Take the tokens of a range of the text that does not begin with whitespace."""
        pieces: list[str] = _TOKENS.findall(self.text, start, end)
        tokens = [*map(str.rstrip, pieces)]
        if tokens and tokens[-1][0] in QUOTES and not _STRINGS.fullmatch(tokens[-1]):
            tokens[-1] = UNCLOSED
        tokens.append("")
        self.tokens = tokens
        self.starts = starts = [*accumulate(map(len, pieces), initial=start)]
        self.ends = [*map(int.__add__, starts, map(len, tokens))]
        self.at = self.depth = 0

    def whole(self, read: Callable[[Any], _Content]) -> _Content | None:
        """What a method makes of all tokens; ``None`` if they do not fit."""
        try:
            content = read(self)
            if self.tokens[self.at]:
                raise self.unexpected(self.at)
        except Unreadable as problem:
            self.errors.append((self.starts[problem.at], problem.message))
        except RecursionError:  # the caller left little room
            self.errors.append((self.starts[0], "brackets are nested too deeply"))
        else:
            return content
        return None

    def output(self) -> Expr | None:
        """What all tokens print; ``None`` if they do not fit."""
        return self.whole(Expressions.sequence)

    def unexpected(self, at: int) -> Unreadable:
        """That the token at an index does not fit there."""
        from promptguard.parse.template_broken import problem

        return Unreadable(at, problem(self.tokens[at], at))

    def expect(self, lexeme: str) -> None:
        """Step over a token.

        Raises:
            Unreadable: if another one is next.
        """
        if self.tokens[self.at] != lexeme:
            raise self.unexpected(self.at)
        self.at += 1

    def skip(self, lexeme: str) -> bool:
        """Step over a token if it is next."""
        if self.tokens[self.at] != lexeme:
            return False
        self.at += 1
        return True

    def name(self) -> str:
        """Step over a name.

        Raises:
            Unreadable: if there is none.
        """
        lexeme = self.tokens[self.at]
        if not lexeme.isidentifier():
            raise self.unexpected(self.at)
        self.at += 1
        return lexeme

    def sequence(self, conditional: bool = True) -> Expr:
        """An expression, or several with commas between them and perhaps one behind that ends the tag."""
        start = self.starts[self.at]
        node = self.expression() if conditional else self.operators()
        if self.tokens[self.at] != ",":
            return node
        items = [node]
        while self.skip(",") and self.tokens[self.at]:
            items.append(self.expression() if conditional else self.operators())
        return Sequence(start, self.ends[self.at - 1], "tuple", items)

    def expression(self) -> Expr:
        """A whole expression, without commas.

        Raises:
            Unreadable: if there is none.
        """
        start = self.starts[self.at]
        node = self.operators()
        if self.tokens[self.at] != "if":
            return node
        pending = []
        while self.skip("if"):
            test = self.operators()
            if self.skip("else"):
                pending.append((start, node, test))
                start = self.starts[self.at]
                node = self.operators()
            else:
                node = Conditional(start, self.ends[self.at - 1], node, test, None)
        end = self.ends[self.at - 1]
        for start, then, test in reversed(pending):
            node = Conditional(start, end, then, test, node)
        return node

    def operators(self) -> Expr:
        """An expression without ``if``: operands with operators around them."""
        tokens, starts = self.tokens, self.starts
        # operators that wait for their last operand: level, signs, operands so far, start
        pending: list[tuple[int, list[str], list[Expr], int]] = []
        while True:
            at = self.at
            start = starts[at]
            lexeme = tokens[at]
            if lexeme not in _PREFIXES:
                node = self._postfix()
            elif lexeme != "not":
                node = self._signed()
            elif pending and pending[-1][0] > _NOT:
                node = self._postfix()  # a name here
            else:
                pending.append((_NOT, ["not"], [], start))
                self.at = at + 1
                continue
            lexeme = tokens[self.at]
            if lexeme == "|" or lexeme == "is":
                node = self._filters(node, start)
                lexeme = tokens[self.at]
            level = _LEVELS.get(lexeme, 0)
            if lexeme == "not":
                if tokens[self.at + 1] == "in":
                    lexeme = "not in"
                else:
                    level = 0
            if pending:
                end = self.ends[self.at - 1]
                while pending:
                    top = pending[-1]
                    if top[0] < level or (top[0] == level and level in _MANY_OPERANDS):
                        break
                    pending.pop()
                    top[2].append(node)
                    start = top[3]
                    node = Operation(start, end, " ".join(top[1]), top[2])
            if not level:
                return node
            if pending and pending[-1][0] == level:
                pending[-1][2].append(node)
                if level == _COMPARISON:
                    pending[-1][1].append(lexeme)
            else:
                pending.append((level, [lexeme], [node], start))
            self.at += 2 if lexeme == "not in" else 1

    def filter(self, value: Expr | None, start: int) -> Filter:
        """The name of a filter and its arguments."""
        name_start = self.starts[self.at]
        name = self._dotted()
        arguments = self._arguments() if self.tokens[self.at] == "(" else []
        return Filter(start, self.ends[self.at - 1], value, name, name_start, arguments)

    def _signed(self) -> Expr:
        first = self.at
        while self.tokens[self.at] in _SIGNS:
            self.at += 1
        last = self.at
        node = self._postfix()
        end = self.ends[self.at - 1]
        for at in range(last - 1, first - 1, -1):
            node = Operation(self.starts[at], end, _SIGNS[self.tokens[at]], [node])
        return node

    def _postfix(self) -> Expr:
        """A name, a literal or something in brackets, with attributes, indices and calls behind it."""
        tokens = self.tokens
        at = self.at
        start = self.starts[at]
        lexeme = tokens[at]
        node: Expr
        if lexeme.isidentifier():
            at += 1
            if lexeme in CONSTANTS:
                node = Const(start, start + len(lexeme), CONSTANTS[lexeme])
            else:
                node = Name(start, start + len(lexeme), lexeme)
        else:
            node = self._literal(lexeme)
            at = self.at
        while True:
            lexeme = tokens[at]
            if lexeme == ".":
                at += 1
                name = tokens[at]
                if name.isidentifier():
                    node = Attr(start, self.ends[at], node, name)
                else:
                    node = Item(start, self.ends[at], node, self._index_behind_dot(at))
                at += 1
            elif lexeme == "[":
                self.at = at
                index = self._index()
                at = self.at
                node = Item(start, self.ends[at - 1], node, index)
            elif lexeme == "(":
                self.at = at
                arguments = self._arguments()
                at = self.at
                node = Call(start, self.ends[at - 1], node, arguments)
            else:
                self.at = at
                return node

    def _literal(self, lexeme: str) -> Expr:
        at = self.at
        start = self.starts[at]
        first = lexeme[:1]
        if first in QUOTES:
            value = self.string()
            if self.tokens[self.at][:1] in QUOTES:
                parts = [value]
                while self.tokens[self.at][:1] in QUOTES:
                    parts.append(self.string())
                value = "".join(parts)
            return Const(start, self.ends[self.at - 1], value)
        if first in DIGITS:
            self.at = at + 1
            return Const(start, self.ends[at], self._number(at))
        if first == "(":
            return self.parentheses()
        if first == "[":
            items, _ = self._bracketed("]")
            return Sequence(start, self.ends[self.at - 1], "list", items)
        if first == "{":
            items, _ = self._bracketed("}", pairs=True)
            return Sequence(start, self.ends[self.at - 1], "dict", items)
        raise self.unexpected(at)

    def parentheses(self) -> Expr:
        """What stands in parentheses: an expression, or a tuple."""
        first = self.at
        items, comma = self._bracketed(")")
        if len(items) == 1 and not comma:
            return items[0]
        return Sequence(self.starts[first], self.ends[self.at - 1], "tuple", items)

    def _open_bracket(self) -> None:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise Unreadable(self.at, "brackets are nested too deeply")
        self.at += 1

    def _bracketed(self, closing: str, pairs: bool = False) -> tuple[list[Expr], bool]:
        """Expressions in brackets, or the keys and values of a dict, and whether a comma stands behind the last."""
        self._open_bracket()
        items: list[Expr] = []
        comma = True
        while not self.skip(closing):
            if not comma:
                raise self.unexpected(self.at)
            items.append(self.expression())
            if pairs:
                self.expect(":")
                items.append(self.expression())
            comma = self.skip(",")
        self.depth -= 1
        return items, comma

    def _index(self) -> Expr:
        """What stands in the brackets behind a value: an expression, a slice, or several."""
        self._open_bracket()
        start = self.starts[self.at]
        items: list[Expr] = []
        end = start
        while not self.skip("]"):
            if items:
                self.expect(",")
            items.append(self._index_or_slice())
            end = self.ends[self.at - 1]
        self.depth -= 1
        return items[0] if len(items) == 1 else Sequence(start, end, "tuple", items)

    def _index_or_slice(self) -> Expr:
        start = self.starts[self.at]
        parts = []
        if self.tokens[self.at] != ":":
            node = self.expression()
            if self.tokens[self.at] != ":":
                return node
            parts.append(node)
        for _ in range(2):
            if self.skip(":") and self.tokens[self.at] not in (":", "]", ","):
                parts.append(self.expression())  # noqa: PERF401 - each looks at what the one ahead left
        return Slice(start, self.ends[self.at - 1], parts)

    def _index_behind_dot(self, at: int) -> Const:
        if self.tokens[at][:1] in DIGITS:
            value = self._number(at)
            if isinstance(value, int):
                return Const(self.starts[at], self.ends[at], value)
        raise self.unexpected(at)

    def _arguments(self) -> list[Expr]:
        tokens = self.tokens
        self._open_bracket()
        arguments: list[Expr] = []
        named = starred = False
        comma = True
        while not self.skip(")"):
            at = self.at
            lexeme = tokens[at]
            if not comma:
                raise self.unexpected(at)
            if lexeme == "**" or (lexeme == "*" and not starred):
                starred = True
                self.at = at + 1
                name = "" if lexeme == "**" else "*"
            elif lexeme.isidentifier() and tokens[at + 1] == "=":
                named = True
                self.at = at + 2
                name = lexeme
            elif named or starred:
                raise Unreadable(at, "positional argument behind a keyword argument")
            else:
                arguments.append(self.expression())
                comma = self.skip(",")
                continue
            value = self.expression()
            arguments.append(Keyword(self.starts[at], self.ends[self.at - 1], name, value))
            comma = self.skip(",")
            if lexeme == "**" and tokens[self.at] != ")":  # nothing may follow
                raise self.unexpected(self.at)
        self.depth -= 1
        return arguments

    def _filters(self, node: Expr, start: int) -> Expr:
        """Filters, tests and calls behind a value."""
        while True:
            lexeme = self.tokens[self.at]
            if lexeme == "|":
                self.at += 1
                node = self.filter(node, start)
            elif lexeme == "is":
                node = self._test(node, start)
            elif lexeme == "(":
                arguments = self._arguments()
                node = Call(start, self.ends[self.at - 1], node, arguments)
            else:
                return node

    def _test(self, value: Expr, start: int) -> IsTest:
        self.at += 1
        negated = self.skip("not")
        name = self._dotted()
        lexeme = self.tokens[self.at]
        arguments: list[Expr] = []
        if lexeme == "(":
            arguments = self._arguments()
        elif lexeme == "is":
            raise self.unexpected(self.at)
        elif lexeme[:1] in _LITERAL or (lexeme.isidentifier() and lexeme not in _NO_ARGUMENT):
            arguments = [self._postfix()]
        return IsTest(start, self.ends[self.at - 1], value, name, negated, arguments)

    def _dotted(self) -> str:
        name = self.name()
        if self.tokens[self.at] != ".":
            return name
        parts = [name]
        while self.skip("."):
            parts.append(self.name())
        return ".".join(parts)

    def _number(self, at: int) -> int | float:
        digits = self.tokens[at].replace("_", "")
        if digits[1:2] in _BASES:
            return int(digits, 0)
        if "." in digits or "e" in digits or "E" in digits:
            if digits.isascii():
                return float(digits)
        elif len(digits) <= _INTEGER_LIMIT:
            return int(digits, 0)
        raise Unreadable(at, "unreadable number")

    def string(self) -> str:
        """Step over a string and return its value.

        Raises:
            Unreadable: if an escape in it is none.
        """
        at = self.at
        self.at = at + 1
        value = self.tokens[at][1:-1]
        if "\\" not in value and "\r" not in value:
            return value
        from promptguard.parse.template_escapes import unescaped  # few strings need it

        try:
            return unescaped(value)
        except UnicodeDecodeError:
            raise Unreadable(at, "unreadable escape in a string") from None
