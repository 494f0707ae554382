"""Where texts that are filled in later print their values, in each of the common notations."""

from __future__ import annotations

from promptguard.core import patterns as re
from promptguard.core.light import Callable, Iterator, Sequence, bisect_right
from promptguard.parse.template_nodes import Expr

Found = tuple[int, int, Expr | None]
"""Start and end with the braces, and what is printed; ``None`` where that cannot be said as an expression."""

# Every quantifier is bounded: a line may have millions of characters. Compiled when they are used: most prompts are Jinja.
_FORMAT = (
    r"\{\{|\}\}"
    r"|\{(?P<name>[A-Za-z_]\w{0,99}(?:\.\w{1,100}|\[[^\[\]{}\n]{0,100}\])*|\d{0,9})"
    r"(?:![rsa])?(?::(?:[^{}\n]|\{[^{}\n]{0,100}\}){0,100})?\}"
)
_MUSTACHE = (
    r"(?P<comment>\{\{~?!--)|(?P<silent>\\\{\{|\{\{~?![^}]{0,1000}\}\})"
    r"|\{\{~?\{(?P<raw>[^{}]{0,300})\}~?\}\}|\{\{~?(?P<mark>[#^/>!=&]?)(?P<name>[^{}]{0,300}?)~?\}\}"
)
_DOLLAR = r"\$\$|\$\{(?P<name>[^{}\n]{0,300})\}"
_ERB_LONGEST = 1_000  # code points in a tag
_NAME = r"[A-Za-z_]\w*(?:\.\w+|\[[^\[\]{}\n]*\])*"
_WORDS = frozenset({"else", "this"})  # what Handlebars has for itself


def find_placeholders(text: str, syntax: str, *, skip: Sequence[tuple[int, int]] = (), start: int = 0) -> list[Found]:
    """Where a text that is no Jinja template prints values, in order.

    Args:
        text: the text.
        syntax: ``format`` (``{name}``; ``{{`` and ``}}`` stand for braces), ``mustache`` (``{{name}}``, ``{{{name}}}``; sections,
            partials and comments print nothing), ``dollar`` (``${name}``; ``$$`` stands for a dollar), ``erb`` (``<%= name %>``).
        skip: ranges, in order, in which nothing is a placeholder.
        start: where to begin.
    """
    found = list(_NOTATIONS[syntax](text, start))
    if not skip:
        return found
    starts = [begin for begin, _ in skip]
    return [item for item in found if not (at := bisect_right(starts, item[0])) or item[0] >= skip[at - 1][1]]


def _format(text: str, start: int) -> Iterator[Found]:
    for match in re.compile(_FORMAT).finditer(text, start):
        if match.group("name") is not None:
            yield match.start(), match.end(), _dotted(text, *match.span("name"))


def _mustache(text: str, start: int) -> Iterator[Found]:
    listed: list[tuple[int, int] | None] = []  # what each open section goes through; its items are {{this}} or {{.}}
    comment = start  # where the last comment of Handlebars ends
    for match in re.compile(_MUSTACHE).finditer(text, start):
        if match.start() < comment or match.lastgroup == "silent":
            continue
        if match.lastgroup == "comment":
            comment = text.find("--", match.end())
            while comment >= 0 and not text.startswith(("--}}", "--~}}"), comment):
                comment = text.find("--", comment + 1)
            if comment < 0:
                return  # nothing ends it
            continue
        group = "raw" if match.group("raw") is not None else "name"
        begin, end = _stripped(text, *match.span(group))
        while text.startswith("../", begin, end):  # of what is around the section
            begin += len("../")
        mark = match.group("mark")
        if mark in ("#", "^") and begin < end:
            outer = listed[-1] if listed else None
            listed.append(_list_of(text, begin, end, outer) if mark == "#" else outer)
        elif mark == "/" and listed:
            listed.pop()
        elif mark in (None, "", "&") and text[begin:end] not in ("", "else"):
            items = listed[-1] if listed else None
            if items is not None and re.compile(r"\.|this(?:\.[\w.]{1,100})?").fullmatch(text, begin, end):
                begin, end = items
            yield match.start(), match.end(), _dotted(text, begin, end)


def _list_of(text: str, start: int, end: int, outer: tuple[int, int] | None) -> tuple[int, int] | None:
    """What a section goes through: that of ``{{#each items}}`` and ``{{#items}}``; a condition has what is around it."""
    words = text[start:end].split()
    if words[0] in ("if", "unless"):
        return outer
    if words[0] == "each" and len(words) > 1:
        start = text.index(words[1], start + len("each"))
        return start, start + len(words[1])
    return (start, end) if len(words) == 1 else None


def _dollar(text: str, start: int) -> Iterator[Found]:
    for match in re.compile(_DOLLAR).finditer(text, start):
        if match.group("name"):
            begin, end = match.span("name")
            begin += len("new ") if text.startswith("new Date()", begin, end) else 0  # the expression is one without it
            yield match.start(), match.end(), _expression(text, begin, end)


def _erb(text: str, start: int) -> Iterator[Found]:
    close = start
    while (at := text.find("<%", start)) >= 0:
        start = at + 2
        if text.startswith("%", start):  # <%% stands for <%
            start += 1
            continue
        if close < start and (close := text.find("%>", start)) < 0:  # each is looked for once, however many tags are open
            return
        if close - start > _ERB_LONGEST:
            continue
        if text.startswith("=", start):
            yield at, close + 2, _expression(text, start + 1, close - text.endswith("-", start + 1, close))
        start = close + 2


_NOTATIONS: dict[str, Callable[[str, int], Iterator[Found]]] = {
    "format": _format,
    "mustache": _mustache,
    "dollar": _dollar,
    "erb": _erb,
}


def _dotted(text: str, start: int, end: int) -> Expr | None:
    """A name with what it has below it, as ``user.name`` or ``items[0]``; nothing else is tried."""
    if text[start:end] in _WORDS or not re.compile(_NAME).fullmatch(text, start, end):
        return None
    return _expression(text, start, end)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _expression(text: str, start: int, end: int) -> Expr | None:
    from promptguard.parse.template import parse_expression  # a text with no placeholder does without it

    return parse_expression(text, start, end)
