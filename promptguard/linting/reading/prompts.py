"""Makes documents of prompt texts, whatever file they lie in."""

from __future__ import annotations

from promptguard.checks.base import Block, Document, Embedding, Kind, Placeholder, Syntax
from promptguard.core.light import TYPE_CHECKING, Mapping, MappingProxyType, NamedTuple, Sequence
from promptguard.core.source import Source
from promptguard.linting.reading.blocks import Switch, chat_marks, comment_marks, in_texts, regions, role_lines, template_blocks

if TYPE_CHECKING:
    from promptguard.parse.template_nodes import Template


class Origin(NamedTuple):
    """What is known of a prompt besides its text.

    Attributes:
        prompt: its name.
        block: what the configuration says, ``None`` where it says nothing.
        syntax: the same.
        stable, dynamic, known: see ``Document``.
        bom: the file begins with a byte order mark.
    """

    prompt: str
    block: Block | None = None
    syntax: Syntax | None = None
    stable: frozenset[str] = frozenset()
    dynamic: frozenset[str] = frozenset()
    known: Mapping[str, object] = MappingProxyType({})
    bom: bool = False


def make_document(
    source: Source,
    origin: Origin,
    base: Block,
    syntax: Syntax | None,
    *,
    start: int = 0,
    roles: bool = False,
    embedding: Embedding | None = None,
    pointer: str | None = None,
    skip: Sequence[tuple[int, int]] = (),
    markdown: bool = False,
) -> Document:
    """The document of a prompt.

    Args:
        source: its text.
        origin: what else is known.
        base: the block that it begins with.
        syntax: how its placeholders are written.
        start: where the prompt begins, behind front matter.
        roles: lines such as ``user:`` surely divide it.
        embedding: see ``Document``.
        pointer: the same.
        skip: ranges in which nothing is a placeholder.
        markdown: comments in its code are examples.

    Raises:
        InputError: a comment names a block that there is not.
    """
    text = source.text
    marks = comment_marks(source, embedding, markdown=markdown)
    template: Template | None = None
    switches: list[Switch] = []
    placeholders: list[Placeholder] = []
    kind: Kind = "prompt"
    if syntax == "jinja":
        from promptguard.parse.template import parse_template  # other kinds of files do without
        from promptguard.parse.template_nodes import outputs

        template = parse_template(_blanked(text, start))
        if source.kind == "chat-template" or (source.kind == "jinja" and _is_chat_template(template)):
            kind, base = "chat-template", origin.block or "system"
        switches = template_blocks(template, base)
        placeholders = [Placeholder(node.start, node.end, node.expression) for node in outputs(template)]
    elif syntax is not None:
        from promptguard.parse.placeholders import find_placeholders

        placeholders = [Placeholder(*found) for found in find_placeholders(text, syntax, skip=skip, start=start)]
    if not switches and kind == "prompt":
        switches = role_lines(text, start, certain=roles) or chat_marks(text, start)
        if switches and template is not None:
            switches = in_texts(template, switches)
    head = _head(text, start, template) if marks and origin.block is None else None
    return Document(
        source,
        kind,
        syntax=syntax,
        regions=regions(start, len(text), base, switches, marks, head=head),
        embedding=embedding,
        pointer=pointer,
        stable=origin.stable,
        dynamic=origin.dynamic,
        known=origin.known,
        placeholders=placeholders,
        template=template,
        prompt=origin.prompt,
        bom=origin.bom,
    )


def _is_chat_template(template: Template) -> bool:
    from promptguard.linting.reading.evidence import is_chat_template  # the templates in other files do without

    return is_chat_template(template)


def text_document(source: Source, origin: Origin, base: Block, *, markdown: bool, verbatim: bool, start: int) -> Document:
    """The document of a Markdown or text file; ``verbatim``: nothing in it is a placeholder."""
    from promptguard.linting.reading.syntax import guess_syntax  # a Jinja template does without

    syntax = origin.syntax or (None if verbatim else guess_syntax(source.text[start:], markdown=markdown))
    skip: list[tuple[int, int]] = []
    if markdown and origin.syntax is None and syntax not in (None, "jinja"):
        from promptguard.parse.markdown import code_ranges

        skip = code_ranges(source.text)
    return make_document(source, origin, base, syntax, start=start, skip=skip, markdown=markdown)


def _head(text: str, start: int, template: Template | None) -> int:
    """Where the prompt begins behind the space and the comments at its head: a mark up to there is about all of it."""
    at = start
    if template is not None:
        from promptguard.parse.template_nodes import Comment, Text

        for node in template.body:
            if not isinstance(node, Comment) and (not isinstance(node, Text) or text[node.start : node.end].strip()):
                break
            at = node.end
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _blanked(text: str, start: int) -> str:
    """The text with its front matter as spaces, if that has anything that could be a tag."""
    if "{" not in text[:start]:
        return text
    return "".join(character if character in "\r\n" else " " for character in text[:start]) + text[start:]
