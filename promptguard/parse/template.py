"""Jinja templates with exact places, for the linter: a parser that is faster than jinja2 and knows where every node stands.

It accepts what jinja2's parser accepts with its default delimiters, its extensions ``do``, ``loopcontrols`` and ``i18n``, and the
``generation`` tag of chat templates, makes the same tree of it, and has an error where jinja2 refuses. The exceptions:

- Blocks nest to any depth and brackets to a depth of eighty; jinja2 runs out of stack at some depth below that.
- Identifiers are those of the running Python; jinja2 has a list of its own of characters.
- ``{% from 'a' import b 'with' context %}``, with the quotes, is an error here only.

What jinja2 finds when it compiles a template (a block name twice, an unknown filter, an assignment to ``loop``) is no error.
The parser never raises, takes time linear in the source, and imports nothing that takes time.
"""

from __future__ import annotations

from promptguard.core import patterns as re
from promptguard.core.light import TYPE_CHECKING, regex
from promptguard.parse.template_nodes import (
    CONSTANTS,
    STRING,
    Broken,
    Call,
    Comment,
    Const,
    Expr,
    Name,
    Node,
    Output,
    Template,
    Text,
)

if TYPE_CHECKING:
    from promptguard.parse.template_expressions import Expressions

# An output up to its end where that takes no counting of braces. No part can match what the part behind it matches too, so a
# failed attempt costs no more than the characters it has seen.
OUTPUT = rf"""
    \{{\{{ [-+]? \s* (?!\s) (?:
        (?P<name> (?!not\b) [A-Za-z_][A-Za-z0-9_]* ) \s* -? \}}\}}
      | (?P<code> [^'"{{}}]* (?: (?:{STRING}) [^'"{{}}]* )* ) \}}\}}
    )
"""
"""An output as a verbose regular expression: its ``name``, or its ``code`` where it is more than that."""
_MARKUP = regex(rf"{OUTPUT} | \{{[{{#]", re.VERBOSE)
_OPENING = regex(r"\{[{%#]")
_BRACES = regex(r"\{[{%#]|[}%]\}")
_CODE = regex(r"\{[{%][-+]?\s*")
_STRING = regex(STRING)
_SPACE = regex(r"\s*")
_IN_BRACES = regex(r"""['"{}]""")
_IN_PERCENT = regex(r"""['"]|%\}""")
_WORDS = frozenset((*CONSTANTS, "and", "else", "if", "in", "is", "not", "or"))  # names that are more than that
LAST_LINE_END = ("", "\n", "\r\n", "\r")
"""Jinja does not miss the end of a comment or raw block that has no more in it."""


def parse_template(text: str) -> Template:
    """The tree of a template, whatever the text: what is wrong with it stands in ``errors``."""
    if "{%" not in text:
        return Outputs(text).template()
    from promptguard.parse.template_tags import Tags  # many prompts have none

    return Tags(text).template()


def parse_expression(text: str, start: int, end: int) -> Expr | None:
    """The expression that a range of a text is, without the braces around it; ``None`` where it is none."""
    space = _SPACE.match(text, start, end)
    assert space
    start = space.end()
    name = text[start:end].rstrip()
    if name.isidentifier() and name != "not":
        return _named(start, name)
    from promptguard.parse.template_expressions import Expressions

    reader = Expressions(text, [])
    reader.load(start, end)
    return reader.whole(Expressions.expression)


def _named(start: int, name: str) -> Expr:
    end = start + len(name)
    return Const(start, end, CONSTANTS[name]) if name in CONSTANTS else Name(start, end, name)


class Outputs:
    """Reads a template that has no tags from its start to its end.

    Attributes:
        body: the nodes so far.
        errors: what is wrong with it: offsets and messages.
        unclosed: a tag or a string without an end was met: looking for ends with care might cost the whole rest each time.
    """

    __slots__ = ("_expressions", "body", "errors", "text", "unclosed")
    markup = _MARKUP
    """What is no text, or at least what opens it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.body: list[Node] = []
        self.errors: list[tuple[int, str]] = []
        self.unclosed = False
        self._expressions: Expressions | None = None

    def template(self) -> Template:
        """The tree."""
        self._walk()
        self.errors.sort(key=lambda error: error[0])
        return Template(self.text, self.body, self.errors)

    def _walk(self) -> None:
        text = self.text
        position = 0
        search = self.markup.search
        while match := search(text, position):
            start = match.start()
            if start > position:
                self.body.append(Text(position, start))
            kind = match.lastgroup
            if kind == "name":
                position = match.end()
                self._output(Output(start, position, _named(match.start("name"), match["name"])))
            elif kind == "code":
                position = match.end()
                self._code(start, position, *match.span("code"))
            elif kind is None and text[start + 1] == "#":
                position = self._comment(start)
            else:
                position = self._other(match)
                if self.unclosed:
                    search = _OPENING.search
        if position < len(text):
            self.body.append(Text(position, len(text)))

    def _other(self, match: re.Match[str]) -> int:
        """Read an output that the regular expression gave up on; return where it ends."""
        start = match.start()
        code, last, end = self._bounds(start)
        self._code(start, end, code, last)
        return end

    def _comment(self, start: int) -> int:
        end = self.text.find("#}", start + 2) + 2
        if end < 2:
            sign = self.text[start + 2 : start + 3]
            if self.text[start + 2 + (sign in ("-", "+")) :] not in LAST_LINE_END:
                self.errors.append((start, "unclosed comment"))
            end = len(self.text)
        self.body.append(Comment(start, end))
        return end

    def _bounds(self, start: int) -> tuple[int, int, int]:
        """Where the code of a tag or an output begins and ends, and where the whole does."""
        text = self.text
        opening = _CODE.match(text, start)
        assert opening
        code = opening.end()
        closing = "}}" if text[start + 1] == "{" else "%}"
        last = -1 if self.unclosed else self._end_of_tag(code, closing)
        if last < 0:
            # a quote or brace too many, or no end: the tag goes to the nearest braces
            self.unclosed = True
            braces = _BRACES.search(text, code)
            last = braces.start() if braces else len(text)
        if text.startswith(closing, last):
            return code, last, last + 2
        self.errors.append((start, "unclosed tag"))
        return code, last, last

    def _end_of_tag(self, position: int, closing: str) -> int:
        """Where the braces stand that close a tag, outside strings and inner braces; -1 if nowhere."""
        text = self.text
        braces = 0
        search = (_IN_BRACES if closing == "}}" else _IN_PERCENT).search
        while match := search(text, position):
            position = match.end()
            char = match[0]
            if char == "{":
                braces += 1
            elif char == "%}" or (char == "}" and not braces and text.startswith("}", position)):
                return match.start()
            elif char == "}":
                braces -= braces > 0
            elif string := _STRING.match(text, match.start()):
                position = string.end()
            else:
                return -1
        return -1

    def _code(self, start: int, end: int, code: int, last: int) -> None:
        """An output whose code is no bare name."""
        called = self.text[code:last].removesuffix("-").rstrip()
        name = called.removesuffix("()")
        if name != called and name.isascii() and name.isidentifier() and name not in _WORDS:  # ``now()``, as most calls are
            function = Name(code, code + len(name), name)
            self._output(Output(start, end, Call(code, code + len(called), function, [])))
            return
        if self._expressions is None:
            from promptguard.parse.template_expressions import Expressions

            self._expressions = Expressions(self.text, self.errors)
        if last > code and self.text[last - 1] == "-":
            last -= 1
        self._expressions.load(code, last)
        node = self._expressions.output()
        if node is None:
            from promptguard.parse.template_broken import salvaged

            node = Broken(code, last, salvaged(self._expressions))
        self._output(Output(start, end, node))

    def _output(self, output: Output) -> None:
        self.body.append(output)
