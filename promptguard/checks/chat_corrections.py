"""How a chat template could be corrected: edits to try, one set for each way, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from promptguard.checks.base import Document
from promptguard.core.light import NamedTuple, regex
from promptguard.parse.template_nodes import (
    Attr,
    Block,
    Call,
    Const,
    Expr,
    Filter,
    Item,
    Name,
    Node,
    Operation,
    Output,
    Tag,
    Template,
)
from promptguard.prompts.preservation import CLOCK
from promptguard.prompts.preservation.result import Defect

_POSITIONS = frozenset({"index", "index0", "revindex", "revindex0", "first", "last", "length"})
_BLANK_FILTERS = frozenset({"trim"})
_BLANK_METHODS = frozenset({"strip", "lstrip", "rstrip"})
_POSITION_NAME = regex(r"last|latest|index|idx|num|pos")
_AND = regex(r"\s+and\s+")
_DATE_NAME = "current_date"


class Correction(NamedTuple):
    """Edits that may mend a defect.

    Attributes:
        title: what they do, as an order.
        edits: ranges of the document and what to put there, in order.
        decides: the condition that they take out.
    """

    title: str
    edits: tuple[tuple[int, int, str], ...]
    decides: tuple[int, int] | None = None

    def apply(self, text: str) -> str:
        for start, end, new in reversed(self.edits):
            text = text[:start] + new + text[end:]
        return text


def corrections(document: Document, defect: Defect) -> list[Correction]:
    """What to try for a defect; none where no mechanical change can mend it."""
    template, place = document.template, defect.place
    if template is None or place is None:
        return []
    start = place.span.start
    if defect.kind == "clock":
        return list(_fixed_date(template))
    if defect.kind == "arguments":
        return list(_strings_as_they_are(template, start))
    if defect.kind == "content":
        return list(_untrimmed(template, start))
    if defect.kind == "history" and defect.aspect in ("reasoning", "text"):
        return list(_unconditional(template, start))
    return []


# -- text that is printed only near the end of the conversation


def _unconditional(template: Template, at: int) -> Iterator[Correction]:
    """Without the conditions around a place that ask where in the conversation it is, the outermost first."""
    for test in _tests_around(template, at):
        operands = test.operands if isinstance(test, Operation) and test.operator == "and" else [test]
        for number, operand in enumerate(operands):
            if _asks_position(operand):
                yield Correction(
                    "Print it wherever the message stands in the conversation",
                    (_without(template.text, operands, number),),
                    (operand.start, operand.end),
                )


def _tests_around(template: Template, at: int) -> Iterator[Expr]:
    """The tests of the branches that a place lies in."""
    body: Sequence[Node] = template.body
    while True:
        block = next((node for node in body if isinstance(node, Block) and node.start <= at < node.end), None)
        section = next((each for each in block.sections if each.start <= at < each.end), None) if block is not None else None
        if section is None:
            return
        if section.tag.name in ("if", "elif"):
            yield from section.tag.expressions[:1]
        body = section.body


def _asks_position(test: Expr) -> bool:
    """Whether a condition compares positions in the conversation: ``loop.last``, ``loop.index0 > ns.last_user``."""
    for node in test.walk():
        if isinstance(node, Attr) and isinstance(node.value, Name) and node.value.name == "loop" and node.name in _POSITIONS:
            return True
        if isinstance(node, (Attr, Name)) and _POSITION_NAME.search(node.name):
            return True
    return False


def _without(text: str, operands: Sequence[Expr], number: int) -> tuple[int, int, str]:
    """The edit that takes an operand out of an ``and``; where parentheses are in the way, it becomes true."""
    operand = operands[number]
    if number > 0 and _AND.fullmatch(text, operands[number - 1].end, operand.start):
        return operands[number - 1].end, operand.end, ""
    if number + 1 < len(operands) and _AND.fullmatch(text, operand.end, operands[number + 1].start):
        return operand.start, operands[number + 1].start, ""
    return operand.start, operand.end, "true"


# -- expressions behind a place


def _expressions(template: Template, at: int) -> list[Expr]:
    """What is printed at a place, and what the names in it are set to."""
    printed = next((node for node in template.walk() if isinstance(node, Output) and node.start <= at < node.end), None)
    if printed is None:
        return []
    names = {node.name for node in printed.walk() if isinstance(node, (Name, Attr))}
    sets = [
        tag.expressions[0]
        for tag in template.walk()
        if isinstance(tag, Tag)
        and tag.name == "set"
        and tag.expressions
        and names & {each.rpartition(".")[2] for each in tag.targets}
    ]
    return [printed.expression, *sets]


def _untrimmed(template: Template, at: int) -> Iterator[Correction]:
    """Without the filters and methods that remove blanks: all of them, then each alone."""
    found = set()
    for expression in _expressions(template, at):
        for node in expression.walk():
            if isinstance(node, Filter) and node.name in _BLANK_FILTERS and node.value is not None:
                found.add((_mark_behind(template.text, node.value.end, node.name_start, "|"), node.end, ""))
            elif isinstance(node, Call) and isinstance(node.function, Attr) and node.function.name in _BLANK_METHODS:
                found.add((_mark_behind(template.text, node.function.value.end, node.function.end, "."), node.end, ""))
    edits = tuple(sorted(found))
    title = "Print the content as it is"
    if edits and all(first[1] <= second[0] for first, second in pairwise(edits)):
        yield Correction(title, edits)
    if len(edits) > 1:
        yield from (Correction(title, (edit,)) for edit in edits)


def _mark_behind(text: str, start: int, end: int, mark: str) -> int:
    """Where the mark between a value and what is done with it stands, blanks ahead of it included."""
    at = text.rfind(mark, start, end)
    return start + len(text[start : max(start, at)].rstrip())


def _strings_as_they_are(template: Template, at: int) -> Iterator[Correction]:
    """With arguments that are a string printed as they are."""
    text = template.text
    for expression in _expressions(template, at):
        for node in expression.walk():
            if isinstance(node, Filter) and node.name == "tojson" and isinstance(node.value, (Attr, Item, Name)):
                value = text[node.value.start : node.value.end]
                new = f"({value} if {value} is string else {text[node.start : node.end]})"
                yield Correction("Print arguments that are a string as they are", ((node.start, node.end, new),))


def _fixed_date(template: Template) -> Iterator[Correction]:
    """With a fixed date in the place of the clock, which a variable can replace."""
    edits = []
    for node in template.walk():
        if isinstance(node, Call) and isinstance(node.function, Name) and node.function.name == "strftime_now":
            form = node.arguments[0].value if node.arguments and isinstance(node.arguments[0], Const) else "%d %b %Y"
            date = CLOCK.replace(month=1, day=1, hour=0, minute=0).strftime(str(form))
            if "'" not in date and "\\" not in date:
                edits.append((node.start, node.end, f"({_DATE_NAME} or '{date}')"))
    if edits:
        yield Correction(f"Print a fixed date, or {_DATE_NAME} where it is given", tuple(edits))
