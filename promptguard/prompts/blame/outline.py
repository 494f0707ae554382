"""The blocks of a template around a place, and what the names in an expression are bound to, as far as its tags say so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment, TemplateSyntaxError

from promptguard.core.source import Source
from promptguard.parse.jinja import Part, parts, tokens
from promptguard.prompts.names import chains

_MOST_BEHIND = 30  # expressions that are looked at behind one
_MOST_CALLS = 100  # calls of one macro whose arguments are looked at
_MOST_MACROS = 100
_LONGEST_TAG = 4_000
# Patterns for the code of a tag, in which white space is one space.
_FOR = re.compile(r"for ([\w ,()]+?) in (.+)")
_FOR_END = re.compile(r" (?:if .*|recursive)$")
_SET = re.compile(r"set ([\w. ,()]+?) ?=(?!=) ?(.+)")
_MACRO = re.compile(r"macro (\w+) ?\((.*)\)")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_BODIES = frozenset({"if", "for", "macro", "call", "filter", "block", "with", "autoescape", "generation", "set"})


@dataclass(frozen=True)
class Branch:
    """A stretch of a template that is printed or left out, or printed more than once.

    Attributes:
        start, end: half-open range of code points between two tags.
        kind: ``if`` or ``for``.
        tags: all tags of the chain: the opening one, then each ``elif`` and ``else``.
        position: index of the tag that opens this branch.
    """

    start: int
    end: int
    kind: str
    tags: Sequence[Part]
    position: int

    @property
    def chain(self) -> int:
        """Where the ``if`` or ``for`` stands that this branch belongs to."""
        return self.tags[0].start


@dataclass(frozen=True)
class _Binding:
    """A name that stands for an expression in a range of the template."""

    expression: str
    start: int
    end: int


class Outline:
    """What the tags of a template say about it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._branches: list[Branch] = []
        self._bindings: dict[str, list[_Binding]] = defaultdict(list)
        self._macros = 0
        try:
            found = parts(text, tokens(text, Environment()))  # noqa: S701  # only its lexer is used
        except (TemplateSyntaxError, ValueError):  # no template, though a source says so
            found = []
        self._tags = [part for part in found if part.code is not None]
        self._read()

    def code(self, tag: Part) -> str:
        """What stands between the braces of a tag, white space as one space."""
        start, end = tag.code or (0, 0)
        return " ".join(self.text[start : min(end, start + _LONGEST_TAG)].split())

    def condition(self, tag: Part) -> str:
        """What a tag asks or loops over; ``""`` for an ``else``."""
        code = self.code(tag)
        loop = _FOR.match(code)
        return _FOR_END.sub("", loop.group(2)) if loop is not None else code.partition(" ")[2]

    def path(self, offset: int) -> list[Branch]:
        """The branches around an offset, the outermost first."""
        return [branch for branch in self._branches if branch.start <= offset < branch.end]

    def behind(self, expression: str, offset: int) -> list[str]:
        """The expression and those that its names are bound to there, by loops, assignments and arguments; the best judge first.

        What a bare name is bound to says more than the name itself.
        """
        found = [expression]
        for one in found:
            for name in chains(one):
                bound = [
                    binding.expression
                    for key in (name.partition(".")[0], name)
                    for binding in self._bindings.get(key, ())
                    if binding.start <= offset < binding.end
                ]
                found += [other for other in dict.fromkeys(bound) if other not in found]
            if len(found) > _MOST_BEHIND:
                break
        return [*found[1:], expression] if expression.strip().isidentifier() else found

    def _read(self) -> None:
        opened: list[tuple[str, list[Part]]] = []
        for tag in self._tags:
            if not self.text.startswith("{%", tag.start):
                continue
            code = self.code(tag)
            name = re.split(r"\W", code, maxsplit=1)[0]
            if name in ("elif", "else") and opened:
                self._close(*opened[-1], tag)
                opened[-1][1].append(tag)
            elif name.startswith("end") and opened:
                self._close(*opened.pop(), tag)
            elif name == "set" and (assigned := _SET.match(code)):
                self._bind(assigned.group(1), assigned.group(2), 0, len(self.text))
            elif name in _BODIES:
                opened.append((name, [tag]))
        self._branches.sort(key=lambda branch: (branch.start, -branch.end))

    def _close(self, kind: str, tags: Sequence[Part], end: Part) -> None:
        """A body that starts behind the last of ``tags`` is complete."""
        start, code = tags[-1].end, self.code(tags[0])
        if kind in ("if", "for"):
            self._branches.append(Branch(start, end.start, kind, tags, len(tags) - 1))
        if kind == "for" and len(tags) == 1 and (loop := _FOR.match(code)):
            self._bind(loop.group(1), self.condition(tags[0]), start, end.start)
        if kind == "with":
            for keyword, value in _arguments(code.removeprefix("with")):
                self._bind(keyword, value, start, end.start)
        if kind == "macro" and self._macros < _MOST_MACROS and (macro := _MACRO.match(code)):
            self._macros += 1
            parameters = list(_arguments(macro.group(2)))
            for call in self._calls(macro.group(1)):
                for position, (keyword, value) in enumerate(call):
                    if keyword or position < len(parameters):
                        self._bind(keyword or parameters[position][0] or parameters[position][1], value, start, end.start)

    def _bind(self, names: str, expression: str, start: int, end: int) -> None:
        for name in re.findall(r"\w[\w.]*", names):
            self._bindings[name].append(_Binding(expression.strip(), start, end))

    def _calls(self, macro: str) -> Iterator[list[tuple[str, str]]]:
        """The arguments of each call of a macro."""
        called = re.compile(rf"(?<![\w.]){macro} ?\(")
        count = 0
        for tag in self._tags:
            code = self.code(tag)
            if code.startswith("macro") or macro not in code:
                continue
            for match in called.finditer(code):
                count += 1
                if count > _MOST_CALLS:
                    return
                yield list(_arguments(code[match.end() :]))


def _arguments(code: str) -> Iterator[tuple[str, str]]:
    """Keyword (``""`` without one) and expression of each argument, up to the parenthesis that closes the list."""
    plain = _STRING.sub(lambda match: "'" * len(match.group()), code)
    start = depth = 0
    for at, character in enumerate(plain + ")"):
        if character in "([{":
            depth += 1
        elif (character == "," and depth == 0) or (character in ")]}" and depth == 0):
            keyword = re.match(r"\s*(\w+)\s*=(?!=)\s*", plain[start:at])
            value = code[start + (keyword.end() if keyword else 0) : at].strip()
            if value:
                yield (keyword.group(1) if keyword else ""), value
            if character != ",":
                return
            start = at + 1
        elif character in ")]}":
            depth -= 1


@lru_cache(maxsize=4)
def _outline(text: str) -> Outline:
    return Outline(text)


def outline(source: Source) -> Outline | None:
    """The outline of a source, ``None`` where it is no template."""
    return _outline(source.text) if source.kind in ("jinja", "chat-template") else None
