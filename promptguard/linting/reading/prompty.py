"""Files with front matter and a template: ``.prompt`` and ``.prompty``."""

from __future__ import annotations

from promptguard.checks.base import Block, Document, Syntax
from promptguard.core import patterns as re
from promptguard.core.light import regex
from promptguard.core.source import Source
from promptguard.linting.reading.blocks import line_marks
from promptguard.linting.reading.prompts import Origin, make_document
from promptguard.linting.reading.syntax import guess_syntax
from promptguard.parse.markdown import front_matter

_MUSTACHE = regex(r"^[ \t]*(?:template|format|type|template_format)[ \t]*:[ \t]*[\"']?(?:mustache|handlebars)\b", re.MULTILINE)

_ROLE = regex(r"\{\{[ ]?role[ ]{1,9}[\"']")  # Handlebars, as Dotprompt has it


def prompty_document(source: Source, origin: Origin, base: Block) -> Document:
    """The document of such a file: what stands behind the front matter.

    Raises:
        InputError: a comment names a block that there is not.
    """
    matter = front_matter(source.text)
    start = matter[2] if matter else 0
    marks = line_marks(source, 0, start)
    if marks and origin.block is None:
        base = marks[-1][1]
    return make_document(source, origin, base, origin.syntax or _syntax(source.text, start), start=start, roles=True)


def _syntax(text: str, start: int) -> Syntax | None:
    said = _MUSTACHE.search(text, 0, start) or _ROLE.search(text, start)
    return "mustache" if said else guess_syntax(text[start:])
