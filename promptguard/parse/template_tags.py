"""The tags of Jinja templates: what stands in them, and which of them makes a block with which."""

from __future__ import annotations

from promptguard.core import patterns as re
from promptguard.core.light import Callable, regex
from promptguard.parse.template import LAST_LINE_END, OUTPUT, Outputs
from promptguard.parse.template_expressions import Expressions, Unreadable
from promptguard.parse.template_nodes import (
    CONSTANTS,
    STRING,
    Block,
    Call,
    Comment,
    Const,
    Expr,
    Name,
    Node,
    Output,
    Section,
    Sequence,
    Tag,
    Text,
)

# As with outputs, no part can match what the part behind it matches too.
_MARKUP = regex(
    rf"""
    {OUTPUT}
  | \{{% [-+]? \s* (?!\s) (?P<tag> [A-Za-z_][A-Za-z0-9_]* (?![A-Za-z0-9_]) ) \s* (?!\s)
    (?P<rest> [^'"%{{]* (?: (?: {STRING} | %(?!\}}) | \{{(?![{{%#]) ) [^'"%{{]* )* ) %\}}
  | \{{[{{%#]
    """,
    re.VERBOSE,
)
_TAG_NAME = regex(r"([A-Za-z_][A-Za-z0-9_]*)\s*")
_RAW = regex(r"\{%[-+]?\s*raw\s*-?%\}")
_END_OF_RAW = regex(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_CUSTOM_END = regex(r"\{%[-+]?\s*end(\w+)")

_BLOCKS = frozenset(("autoescape", "block", "call", "filter", "for", "generation", "if", "macro", "set", "trans", "with"))
_MIDDLES = {"elif": ("if",), "else": ("if", "for"), "pluralize": ("trans",)}


class _Open:
    """A block statement whose end tag has not come yet, with the body that it stands in."""

    __slots__ = ("name", "outer", "required", "sections", "tag")

    def __init__(self, tag: Tag, outer: list[Node], required: bool) -> None:
        self.name = tag.name
        self.outer = outer
        self.required = required
        self.sections: list[Section] = []
        self.tag = tag


class Tags(Outputs):
    """Reads a template with tags.

    Attributes:
        stack: the open blocks; ``body`` has the nodes of the innermost one so far.
        opened: how many of them there are of each name.
        custom: where the last end tag of each name stands, once an unknown tag asked.
    """

    __slots__ = ("_reader", "custom", "opened", "stack")
    markup = _MARKUP

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.stack: list[_Open] = []
        self.opened: dict[str, int] = {}
        self.custom: dict[str, int] | None = None
        self._expressions = self._reader = _Reader(text, self.errors, self.stack)

    def _walk(self) -> None:
        super()._walk()
        while self.stack:
            self._close(None, len(self.text))

    def _other(self, match: re.Match[str]) -> int:
        """Read a tag, too."""
        text = self.text
        start, end = match.span()
        if match.lastgroup is not None:
            name: str = match["tag"]
            code, last = match.span("rest")
        elif text[start + 1] != "%":
            return super()._other(match)
        else:
            code, last, end = self._bounds(start)
            found = _TAG_NAME.match(text, code, last)
            if found is None:
                self.errors.append((code, "expected the name of a tag"))
                self._reader.load(code, last)
                self.body.append(Tag(start, end, "", [], self._reader.salvaged()))
                return end
            name, code = found[1], found.end()
        if name == "raw" and (raw := _RAW.match(text, start)):
            return self._raw(raw.end())
        if last > code and text[last - 1] in "-+":  # the sign in front of the end
            last -= 1
        reader = self._reader
        reader.load(code, last)
        reader.required = False
        read = _READERS.get(name)
        if read is not None:
            content = reader.whole(read)
        else:
            content = None
            if not name.startswith("end"):
                self.errors.append((start, f"unknown tag {name!r}"))
        targets, expressions, label = content or ([], reader.salvaged(), "")
        self._place(Tag(start, end, name, targets, expressions, label))
        return end

    def _raw(self, start: int) -> int:
        text = self.text
        if match := _END_OF_RAW.search(text, start):
            end, after = match.span()
        else:
            end = after = len(text)
            rest = text[start:].lstrip() if text[start - 3] == "-" else text[start:]
            if rest not in LAST_LINE_END:
                self.errors.append((start, "unclosed raw block"))
        if end > start:
            self.body.append(Text(start, end, raw=True))
        return after

    def _output(self, output: Output) -> None:
        self.body.append(output)
        if self.stack and self.stack[-1].name == "trans":
            node = output.expression
            if not isinstance(node, Name) and not (isinstance(node, Const) and self.text[node.start : node.end] in CONSTANTS):
                self.errors.append((output.start, "only names can be printed in 'trans'"))

    def _place(self, tag: Tag) -> None:
        """Put a tag where it belongs: it opens, parts or closes a block, or stands for itself."""
        name = tag.name
        top = self.stack[-1] if self.stack else None
        if top and top.name == "trans" and name not in ("pluralize", "endtrans"):
            self.errors.append((tag.start, f"unexpected {name!r} in 'trans'"))
        if name in _MIDDLES:
            if top and top.name in _MIDDLES[name] and top.tag.name not in ("else", "pluralize"):
                if name == "pluralize":
                    self._check_plural(tag, top.tag)
                self._part(top, tag.start)
                top.tag = tag
                return
            self.errors.append((tag.start, f"unexpected {name!r}"))
        elif name.startswith("end"):
            if self.opened.get(name[3:]):
                while self.stack[-1].name != name[3:]:
                    self._close(None, tag.start)
                self._close(tag, tag.start)
                return
            self.errors.append((tag.start, f"unexpected {name!r}"))
        elif self._opens(tag):
            self.opened[name] = self.opened.get(name, 0) + 1
            self.stack.append(_Open(tag, self.body, self._reader.required))
            self.body = []
            return
        self.body.append(tag)

    def _opens(self, tag: Tag) -> bool:
        name = tag.name
        if name == "set":
            return not self._reader.assigned
        if name in _READERS:
            return name in _BLOCKS
        if self.custom is None:
            self.custom = {match[1]: match.start() for match in _CUSTOM_END.finditer(self.text)}
        return self.custom.get(name, -1) > tag.start

    def _part(self, block: _Open, at: int) -> None:
        block.sections.append(Section(block.tag.start, at, block.tag, self.body))
        self.body = []

    def _close(self, tag: Tag | None, at: int) -> None:
        """End the innermost block with its end tag, or without one ahead of an offset."""
        block = self.stack.pop()
        self.opened[block.name] -= 1
        body = self.body
        self._part(block, at)
        start = block.sections[0].start
        if tag is None:
            self.errors.append((start, f"unclosed {block.name!r}"))
        if block.required and not all(
            isinstance(node, Comment) or (isinstance(node, Text) and self.text[node.start : node.end].isspace()) for node in body
        ):
            self.errors.append((start, "a required block holds more than comments and whitespace"))
        self.body = block.outer
        self.body.append(Block(start, tag.end if tag else at, block.name, block.sections, tag))

    def _check_plural(self, tag: Tag, trans: Tag) -> None:
        if tag.targets:
            if tag.targets[0] not in trans.targets:
                self.errors.append((tag.start, f"unknown variable {tag.targets[0]!r}"))
        elif not trans.targets and not any(isinstance(node, Output) for node in self.body):
            self.errors.append((tag.start, "'pluralize' without a variable"))


class _Reader(Expressions):
    """Reads what stands behind the name of a tag: names that it binds, expressions and a label.

    Attributes:
        stack: the open blocks.
        assigned: whether the last ``set`` has its value in the tag.
        required: whether the last ``block`` is to be filled by others.
    """

    __slots__ = ("assigned", "required", "stack")

    def __init__(self, text: str, errors: list[tuple[int, str]], stack: list[_Open]) -> None:
        super().__init__(text, errors)
        self.stack = stack
        self.assigned = self.required = False

    def salvaged(self) -> list[Expr]:
        """What expressions can be read where the rest does not fit."""
        from promptguard.parse.template_broken import salvaged

        return salvaged(self)

    def _nothing(self) -> _Content:
        return [], [], ""

    def _body_follows(self) -> _Content:
        self.skip(":")
        return [], [], ""

    def _end_of_block(self) -> _Content:
        if self.tokens[0] and self.stack and self.stack[-1].name == "block":
            self.skip(self.stack[-1].tag.label)
        return [], [], ""

    def _condition(self) -> _Content:
        test = self.sequence(conditional=False)
        self.skip(":")
        return [], [test], ""

    def _for(self) -> _Content:
        targets = self._targets()
        self.expect("in")
        expressions = [self.sequence(conditional=False)]
        if self.skip("if"):
            expressions.append(self.expression())
        self.skip("recursive")
        self.skip(":")
        return targets, expressions, ""

    def _set(self) -> _Content:
        self.assigned = "=" in self.tokens  # as far as one can tell if the target is unreadable
        targets = self._targets(namespace=True)
        self.assigned = self.skip("=")
        if self.assigned:
            return targets, [self.sequence()], ""
        expressions = self._filters_of_body() if self.skip("|") else []
        self.skip(":")
        return targets, expressions, ""

    def _filter(self) -> _Content:
        expressions = self._filters_of_body()
        self.skip(":")
        return [], expressions, ""

    def _filters_of_body(self) -> list[Expr]:
        start = self.starts[self.at]
        node = self.filter(None, start)
        while self.skip("|"):
            node = self.filter(node, start)
        return [node]

    def _with(self) -> _Content:
        targets: list[str] = []
        values: list[Expr] = []
        while self.tokens[self.at]:
            if values:
                self.expect(",")
            targets += self._targets()
            self.expect("=")
            values.append(self.expression())
        return targets, values, ""

    def _autoescape(self) -> _Content:
        value = self.expression()
        self.skip(":")
        return [], [value], ""

    def _block(self) -> _Content:
        label = self.name()
        self.skip("scoped")
        self.required = self.skip("required")
        self.skip(":")
        return [], [], label

    def _macro(self) -> _Content:
        label = self._target()
        parameters, defaults = self._signature()
        self.skip(":")
        return parameters, defaults, label

    def _call(self) -> _Content:
        parameters, expressions = self._signature() if self.tokens[0] == "(" else ([], [])
        first = self.at
        call = self.expression()
        if not isinstance(call, Call):
            raise Unreadable(first, "expected a call")
        self.skip(":")
        return parameters, [*expressions, call], ""

    def _signature(self) -> tuple[list[str], list[Expr]]:
        """The parameters of a macro and their defaults."""
        self.expect("(")
        parameters: list[str] = []
        defaults: list[Expr] = []
        while not self.skip(")"):
            if parameters:
                self.expect(",")
            parameters.append(self._target())
            if self.skip("="):
                defaults.append(self.expression())
            elif defaults:
                raise Unreadable(self.at - 1, "parameter without a default behind one with a default")
        return parameters, defaults

    def _expressions(self) -> _Content:
        found: list[Expr] = []
        while self.tokens[self.at]:
            if found:
                self.expect(",")
            found.append(self.expression())
        return [], found, ""

    def _do(self) -> _Content:
        return [], [self.sequence()], ""

    def _extends(self) -> _Content:
        file = self.expression()
        return [], [file], _literal(file)

    def _include(self) -> _Content:
        file = self.expression()
        if self.tokens[self.at] == "ignore" and self.tokens[self.at + 1] == "missing":
            self.at += 2
        self._context()
        return [], [file], _literal(file)

    def _import(self) -> _Content:
        file = self.expression()
        self.expect("as")
        target = self._target()
        self._context()
        return [target], [file], _literal(file)

    def _from(self) -> _Content:
        file = self.expression()
        self.expect("import")
        targets: list[str] = []
        while not self._context():
            first = self.at
            target = self._target()
            if target.startswith("_"):
                raise Unreadable(first, "names with an underscore ahead cannot be imported")
            targets.append(self._target() if self.skip("as") else target)
            if self._context() or not self.skip(","):
                break
        return targets, [file], _literal(file)

    def _context(self) -> bool:
        """Step over ``with context`` or ``without context`` if it is next."""
        if self.tokens[self.at] not in ("with", "without") or self.tokens[self.at + 1] != "context":
            return False
        self.at += 2
        return True

    def _trans(self) -> _Content:
        variables: dict[str, None] = {}
        expressions: list[Expr] = []
        if self.tokens[0][:1] in ("'", '"'):
            expressions.append(Const(self.starts[0], self.ends[0], self.string()))
        trimmed = False
        while self.tokens[self.at]:
            if variables:
                self.expect(",")
            if self.skip(":"):
                break
            first = self.at
            name = self.name()
            if name in variables:
                raise Unreadable(first, f"{name!r} is given twice")
            if self.skip("="):
                expressions.append(self.expression())
            elif not trimmed and name in ("trimmed", "notrimmed"):
                trimmed = True
                continue
            else:
                expressions.append(Name(self.starts[first], self.ends[first], name))
            variables[name] = None
        return list(variables), expressions, ""

    def _pluralize(self) -> _Content:
        if not self.tokens[0]:
            return [], [], ""
        name = self.name()
        return [name], [Name(self.starts[0], self.ends[0], name)], ""

    def _target(self) -> str:
        if self.tokens[self.at] in CONSTANTS:
            raise Unreadable(self.at, f"cannot assign to {self.tokens[self.at]!r}")
        return self.name()

    def _targets(self, namespace: bool = False) -> list[str]:
        """The names that a tag assigns to, from one or from several with commas between them and perhaps in brackets."""
        names: list[str] = []
        while True:
            if self.tokens[self.at] == "(":
                names += self._names_in_brackets()
            else:
                names.append(self._target())
                if namespace and self.skip("."):
                    names[-1] += "." + self.name()
            if not self.skip(",") or not self.tokens[self.at]:
                return names

    def _names_in_brackets(self) -> list[str]:
        first = self.at
        nodes = [self.parentheses()]
        names = []
        while nodes:
            node = nodes.pop()
            if isinstance(node, Name):
                names.append(node.name)
            elif isinstance(node, Sequence) and node.kind == "tuple":
                nodes += reversed(node.items)
            else:
                raise Unreadable(first, "cannot assign to an expression")
        return names


_Content = tuple[list[str], list[Expr], str]
_READERS: dict[str, Callable[[_Reader], _Content]] = {
    **{"end" + name: _Reader._nothing for name in _BLOCKS},
    "autoescape": _Reader._autoescape,
    "block": _Reader._block,
    "break": _Reader._nothing,
    "call": _Reader._call,
    "continue": _Reader._nothing,
    "do": _Reader._do,
    "elif": _Reader._condition,
    "else": _Reader._body_follows,
    "endblock": _Reader._end_of_block,
    "extends": _Reader._extends,
    "filter": _Reader._filter,
    "for": _Reader._for,
    "from": _Reader._from,
    "generation": _Reader._body_follows,
    "if": _Reader._condition,
    "import": _Reader._import,
    "include": _Reader._include,
    "macro": _Reader._macro,
    "pluralize": _Reader._pluralize,
    "print": _Reader._expressions,
    "set": _Reader._set,
    "trans": _Reader._trans,
    "with": _Reader._with,
}


def _literal(node: Expr) -> str:
    return node.value if isinstance(node, Const) and isinstance(node.value, str) else ""
