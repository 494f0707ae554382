"""Jinja templates with exact places: tokens and printing parts as spans of the source text.

Jinja's own lexer normalises line ends, drops the whitespace that ``-`` and ``lstrip_blocks`` remove and the final newline, and
its nodes know only their line. Here its tokens are aligned to the source, and an extension hands the exact offset of every token
to the nodes of the tree that is parsed from them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from jinja2 import Environment
from jinja2.ext import Extension
from jinja2.lexer import Token as LexerToken
from jinja2.lexer import TokenStream, ignored_tokens, newline_re

_NOT_PARSED = ignored_tokens | {"raw_begin", "raw_end"}
_END = re.compile(r"[-+]?[}%]\}")


@dataclass(frozen=True)
class Token:
    """A lexical token: its kind as jinja names it, and the half-open range of code points in the source that it covers.

    Tokens are in order and do not overlap. Between two of them lies only whitespace that jinja drops.
    """

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Part:
    """A part of a template that can print: literal text, or a tag.

    Attributes:
        start, end: the literal text, or the whole tag with its braces.
        code: for a tag the range between its braces, without surrounding whitespace; ``None`` for literal text.
    """

    start: int
    end: int
    code: tuple[int, int] | None = None


def tokens(text: str, environment: Environment) -> list[Token]:
    """All tokens of a template, whitespace inside tags and comments included.

    Raises:
        jinja2.TemplateSyntaxError: where the text cannot be split into tokens.
    """
    lines: list[str] = newline_re.split(text)
    plain = "\n".join(lines[::2])
    # offsets[i] is where code point i of the text with "\n" as its only line end stands in the source
    widths = (2 if char == "\r\n" else 1 for char in _units(lines))
    offsets = [0, *accumulate(widths)]
    found = []
    position = 0
    for _, kind, value in environment.lex(text):
        # between two tokens jinja drops nothing but whitespace, and only ahead of a tag, which starts with a brace
        start = plain.index(value, position)
        position = start + len(value)
        found.append(Token(kind, offsets[start], offsets[position]))
    return found


def _units(lines: Sequence[str]) -> Iterator[str]:
    """Code points and line ends of a text that was split into lines and the line ends between them."""
    for index, piece in enumerate(lines):
        if index % 2:
            yield piece
        else:
            yield from piece


def parts(text: str, found: Iterable[Token]) -> list[Part]:
    """Literal texts, ``{{ … }}`` and ``{% … %}`` tags of a template, in order; comments and raw tags print nothing."""
    result = []
    begin: Token | None = None
    for token in found:
        if token.kind == "data":
            result.append(Part(token.start, token.end))
        elif token.kind in ("variable_begin", "block_begin"):
            begin = token
        elif token.kind in ("variable_end", "block_end") and begin is not None:
            closing = _END.match(text, token.start)
            end = closing.end() if closing else token.end
            code = text[begin.end : token.start]
            start = begin.end + len(code) - len(code.lstrip())
            result.append(Part(begin.start, end, (start, start + len(code.strip()))))
    return result


class Offset(int):
    """A line number that also knows the offset of its token in the source: ``int`` is all that jinja asks of a line number."""

    start: int

    def __new__(cls, line: int, start: int) -> Offset:
        self = super().__new__(cls, line)
        self.start = start
        return self


class Positions(Extension):
    """Gives every node of the tree its exact offset: ``node.lineno.start``, and keeps the parts of the template."""

    parts: list[Part]

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        found = tokens(source, self.environment)
        self.parts = parts(source, found)
        self._starts = [token.start for token in found if token.kind not in _NOT_PARSED]
        return source

    def filter_stream(self, stream: TokenStream) -> Iterator[LexerToken]:
        for start, token in zip(self._starts, stream, strict=True):
            yield LexerToken(Offset(token.lineno, start), token.type, token.value)


def part_at(found: Sequence[Part], offset: int) -> int:
    """Index of the part that covers an offset, or -1 where none does."""
    index = bisect_right(found, offset, key=lambda part: part.start) - 1
    return index if index >= 0 and offset < found[index].end else -1
