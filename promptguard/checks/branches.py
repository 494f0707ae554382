"""PG304: branches of a template that differ in white space alone."""

from __future__ import annotations

from promptguard.checks.base import Document, Hit
from promptguard.checks.literal_text import Range, kept
from promptguard.core.light import Iterator, regex
from promptguard.parse.template_nodes import Block, Comment, Name, Section, Text

_DEEPEST = 50  # branches in branches that are compared: each is read once more for every one around it


def check(document: Document) -> Iterator[Hit]:
    """The branches of a prompt that differ in white space alone."""
    if document.template is None:
        return
    bodies = [(document.template.body, 1)]
    while bodies:
        body, depth = bodies.pop()
        for node in body:
            if isinstance(node, Block):
                if depth < _DEEPEST:
                    bodies += [(section.body, depth + 1) for section in node.sections]
                if node.name == "if" and document.block_at(node.start) is not None and _varies(document, node):
                    hit = _compare(document.text, node.sections)
                    if hit is not None:
                        yield hit


def _varies(document: Document, block: Block) -> bool:
    """Whether its tests may come out in another way on another request; a place in a loop and declared values do not."""
    names = {node.name for section in block.sections for node in section.tag.walk() if isinstance(node, Name)}
    return "loop" not in names and any(name not in document.stable and name not in document.known for name in names)


def _compare(text: str, sections: list[Section]) -> Hit | None:
    plain = [_printed(text, section, trim_blocks=False) for section in sections]
    trimmed = [_printed(text, section, trim_blocks=True) for section in sections]
    seen: dict[str, int] = {}
    for number, section in enumerate(sections):
        words = _words(plain[number])
        other = seen.setdefault(words, number)
        if words and other != number and plain[other] != plain[number] and trimmed[other] != trimmed[number]:
            related = ((*_body(sections[other]), "the other branch"),)
            return Hit("PG304", *_body(section), "this branch differs from another one in white space alone", related=related)
    has_else = sections[-1].tag.name == "else"
    if any(seen) or not all(_varies_in(outcomes, has_else) for outcomes in (plain, trimmed)):
        return None
    blank = next(section for section, printed in zip(sections, plain, strict=True) if printed[0])
    return Hit("PG304", *_body(blank), "this branch prints nothing but white space")


def _body(section: Section) -> Range:
    return section.tag.end, section.end


def _varies_in(outcomes: list[list[str]], has_else: bool) -> bool:
    printed = {parts[0] for parts in outcomes}
    return len(printed) > 1 or (not has_else and printed != {""})


def _printed(text: str, section: Section, *, trim_blocks: bool) -> list[str]:
    """What a branch prints: literal texts, and between them the source of everything else.

    Two ways to set up Jinja are known: as it comes, and with ``trim_blocks`` and ``lstrip_blocks``, as model servers have it.
    """
    parts = [""]
    for node in section.body:
        if isinstance(node, Text):
            start, end = _trimmed(text, node) if trim_blocks else kept(text, node)
            parts[-1] += text[start:end]
        elif not isinstance(node, Comment):
            parts += [text[node.start : node.end], ""]
    return parts


_LINE_END_BEHIND_TAG = regex(r"(?<=[^+][%#]\})\r?\n")


def _trimmed(text: str, node: Text) -> Range:
    """What ``-``, ``trim_blocks`` and ``lstrip_blocks`` leave of a text."""
    start, end = kept(text, node)
    line_end = _LINE_END_BEHIND_TAG.match(text, start, end) if start == node.start else None
    if line_end is not None:
        start = line_end.end()
    if end == node.end and text[end : end + 2] in ("{%", "{#") and text[end + 2 : end + 3] != "+":
        line = end - len(text[start:end]) + len(text[start:end].rstrip(" \t"))
        if (line == start and (line_end is not None or start == 0)) or text[line - 1 : line] in ("\n", "\r"):
            end = line
    return start, end


def _words(parts: list[str]) -> str:
    """What is printed without its white space; what is no literal text stays as it is."""
    return "".join(part if number % 2 else "".join(part.split()) for number, part in enumerate(parts))
