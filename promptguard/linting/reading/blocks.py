"""Which part of a prompt belongs to which block."""

from __future__ import annotations

from promptguard.checks.base import BLOCKS, Block, Embedding, Region
from promptguard.core import patterns as re
from promptguard.core.errors import InputError
from promptguard.core.light import TYPE_CHECKING, Iterable, Sequence, bisect_right
from promptguard.core.source import Place, Source, Span

if TYPE_CHECKING:  # most kinds of files have no templates
    from promptguard.parse.template_nodes import Node, Template

Switch = tuple[int, Block]
"""An offset, and the block that begins there."""

_MARK_WORD = "promptguard:"
_VALUE = r"[ \t]*promptguard:[ \t]*block[ \t]*=[ \t]*(?P<block{0}>[\w-]{{1,40}})[ \t]*"
# Patterns are compiled when they are first used: most prompts need none of them.
_COMMENT_MARK = rf"\{{#-?{_VALUE.format(1)}-?#\}}|<!--{_VALUE.format(2)}-->"
_LINE_MARK = rf"(?m)^[ \t]*#{_VALUE.format(1)}\r?$"
_YAML_MARK = rf"(?m)#{_VALUE.format(1)}\r?$"

ROLES: dict[str, Block] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "history",
    "ai": "history",
    "model": "history",
    "function": "history",
    "tool": "history",
    "ipython": "history",
}
"""The block of a message, by its role. What an assistant says in a prompt is past, whatever made it up."""

_TEMPLATE_BLOCKS: dict[str, Block] = {
    "system": "system",
    "user": "user",
    "human": "user",
    "tools": "tools",
    "history": "history",
    "conversation": "history",
    "chat_history": "history",
    "assistant": "history",
}
_PARTS = ("_prompt", "_message", "_messages", "_content", "_turn")
_ROLE = ("system", "developer", "user", "assistant", "function", "tool")
_ROLE_LINE = rf"(?mi)^[ \t]*(?:#{{1,3}}[ \t]*)?({'|'.join(_ROLE)})(?:\[[^\]\r\n]{{0,200}}\])?:[ \t]*\r?$"
_CHAT_MARK = (
    r"<\|im_start\|>[ ]?(?P<a>system|developer|user|assistant|tool)\b"
    r"|<\|start_header_id\|>[ ]?(?P<b>system|user|assistant|tool|ipython)[ ]?<\|end_header_id\|>"
    r"|<\|(?P<c>system|user|assistant|tool)\|>"
    r"|<start_of_turn>(?P<d>user|model)\b"
    r"|\{\{[ ]?role[ ]{1,9}[\"'](?P<e>system|user|model|tool)[\"'][ ]?\}\}"
)
_HEADING = r"(?mi)^#{1,6}[ ]?(system|user|human|instruction|input|assistant|response)[ ]?:?[ \t]*\r?$"
_HEADINGS: dict[str, Block] = {**ROLES, "instruction": "user", "input": "user", "response": "history"}


def comment_marks(source: Source, embedding: Embedding | None = None, *, markdown: bool = False) -> list[Switch]:
    """The comments ``promptguard: block=…`` of a Jinja, Markdown or text prompt, which may lie in a JSON or YAML file. In code of
    Markdown they are examples.

    Raises:
        InputError: one names no block.
    """
    text = source.text
    if not markdown or _MARK_WORD not in text:
        return _marks(source, _COMMENT_MARK, 0, len(text), embedding)
    from promptguard.parse.markdown import code_ranges

    found: list[Switch] = []
    at = 0
    for start, end in [*code_ranges(text), (len(text), len(text))]:
        found += _marks(source, _COMMENT_MARK, at, start, embedding)
        at = end
    return found


def line_marks(source: Source, start: int = 0, end: int | None = None, *, comments: Sequence[int] | None = None) -> list[Switch]:
    """The comments ``# promptguard: block=…`` of a YAML text; ``comments``: where comments begin in it. Where that is not known,
    they stand on lines of their own.

    Raises:
        InputError: one names no block.
    """
    pattern = _LINE_MARK if comments is None else _YAML_MARK
    return _marks(source, pattern, start, len(source.text) if end is None else end, comments=comments)


def _marks(
    source: Source,
    pattern: str,
    start: int,
    end: int,
    embedding: Embedding | None = None,
    comments: Sequence[int] | None = None,
) -> list[Switch]:
    if _MARK_WORD not in source.text:
        return []
    beginnings = None if comments is None else frozenset(comments)
    found: list[Switch] = []
    for match in re.compile(pattern).finditer(source.text, start, end):
        group = match.lastgroup
        assert group is not None
        if beginnings is not None and match.start() not in beginnings:
            continue
        word = match.group(group)
        block = next((block for block in BLOCKS if block == word), None)
        if block is None:
            span = Span(*match.span(group))
            where = Place(embedding.source, embedding.span(span.start, span.end)) if embedding else Place(source, span)
            raise InputError(f'there is no block "{word}"', where=str(where), hint=f"write one of {', '.join(BLOCKS)}")
        found.append((match.start(), block))
    return found


def template_blocks(template: Template, base: Block) -> list[Switch]:
    """What ``{% block user %}`` and the like say."""
    if "block" not in template.text:
        return []
    from promptguard.parse.template_nodes import Block as Statement

    switches: list[Switch] = []
    stack: list[tuple[Node | None, Block]] = [(node, base) for node in reversed(template.body)]
    while stack:
        node, outer = stack.pop()
        if not isinstance(node, Statement):
            continue
        inner = outer
        if node.name == "block" and node.sections:
            inner = _TEMPLATE_BLOCKS.get(_without_part(node.sections[0].tag.label.lower()), outer)
            if inner != outer:
                switches += [(node.start, inner), (node.end, outer)]
        stack.extend((child, inner) for section in reversed(node.sections) for child in reversed(section.body))
    return sorted(switches, key=lambda switch: switch[0])


def _without_part(label: str) -> str:
    return next((label[: -len(part)] for part in _PARTS if label.endswith(part)), label)


def role_lines(text: str, start: int = 0, *, certain: bool = False) -> list[Switch]:
    """Lines that hold nothing but a role and a colon, ``user:``, if they divide the text into messages.

    Args:
        text: the text.
        start: where the prompt begins.
        certain: the kind of file has such lines; otherwise one of them has to stand first.
    """
    if not certain and not text[start : start + 1000].lstrip(" \t\r\n#").lower().startswith(_ROLE):
        return []
    found = [(match.start(), ROLES[match.group(1).lower()]) for match in re.compile(_ROLE_LINE).finditer(text, start)]
    return found if certain or (len(found) > 1 and not text[start : found[0][0]].strip()) else []


def chat_marks(text: str, start: int = 0) -> list[Switch]:
    """The marks that chat models know between messages (``<|im_start|>user``), or headings that do the same."""
    if "<|" in text or "<start_of_turn>" in text or "{{role" in text or "{{ role" in text:
        found = [
            (match.start(), ROLES[match.group(match.lastgroup or 0)]) for match in re.compile(_CHAT_MARK).finditer(text, start)
        ]
        if found:
            return found
    if "#" not in text:
        return []
    headings = list(re.compile(_HEADING).finditer(text, start))
    roles = [match.group(1).lower() for match in headings]
    # A heading "User" may stand above what a system prompt says about users. It begins a message where the text ends with the
    # heading of the answer that is to come.
    if len(roles) < 2 or roles[-1] not in ("assistant", "response") or text[headings[-1].end() :].strip():
        return []
    return [(match.start(), _HEADINGS[role]) for match, role in zip(headings, roles, strict=True)]


def in_texts(template: Template, switches: Sequence[Switch]) -> list[Switch]:
    """Those that stand in the text of a template, not in its code."""
    from promptguard.parse.template_nodes import Text

    ranges = [(node.start, node.end) for node in template.walk() if isinstance(node, Text)]
    starts = [start for start, _ in ranges]
    return [switch for switch in switches if (at := bisect_right(starts, switch[0])) and switch[0] < ranges[at - 1][1]]


def regions(
    start: int, end: int, base: Block, switches: Sequence[Switch], marks: Sequence[Switch] = (), *, head: int | None = None
) -> tuple[Region, ...]:
    """The parts of a prompt.

    Args:
        start: where the prompt begins in its document.
        end: where it ends.
        base: the block at the start.
        switches: where the structure of the text says that another block begins.
        marks: what comments say; from the first one on ``switches`` have no say.
        head: a mark at or in front of this offset counts from the start on.
    """
    if marks and head is not None and marks[0][0] <= head:
        marks = [(start, marks[0][1]), *marks[1:]]
    upto = marks[0][0] if marks else end
    return tuple(_joined([(start, base), *(switch for switch in switches if switch[0] < upto), *marks], end))


def _joined(switches: Iterable[Switch], end: int) -> list[Region]:
    made: list[Region] = []
    for offset, block in switches:
        if made:
            last = made.pop()
            if last.start < offset:
                made.append(Region(last.start, offset, last.block))
        if made and made[-1].block == block:
            made[-1] = Region(made[-1].start, end, block)
        else:
            made.append(Region(made[-1].end if made else offset, end, block))
    return [region for region in made if region.start < region.end]
