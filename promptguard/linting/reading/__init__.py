"""Files in, documents out: what in a file is a prompt, a tool schema or a command line, and where each part of it lies."""

from __future__ import annotations

from promptguard.checks.base import Block, Document
from promptguard.core.light import Callable, lru_cache
from promptguard.core.source import Source
from promptguard.linting.reading.names import (
    FileKind,
    file_kind,
    inner_suffix,
    is_for_people,
    is_foreign_template,
    is_mail,
    is_markdown,
    is_template_file,
    is_template_json,
    is_verbatim,
    name_block,
    says_prompt,
)
from promptguard.linting.reading.prompts import Origin, make_document, text_document
from promptguard.linting.settings import PromptDeclaration, Settings

_MARK = "promptguard: block"
_MARK_BYTES = _MARK.encode()
_NEVER_SERVING = frozenset(("text", "jinja", "mustache", "json", "jsonl"))  # but for names such as Dockerfile.j2 and .env.txt


def may_hold_prompt(path: str, head: bytes) -> bool:
    """``False`` where a file need not be read whole, as ``read_documents`` would find nothing in it; quick.

    Args:
        path: with forward slashes. What the configuration says of it is not looked at (see ``is_declared``).
        head: its first bytes, or all of them. What comes behind them has no say.
    """
    kind = file_kind(path)
    if b"\0" in head:
        return False
    if kind == "text":
        from promptguard.linting.reading.evidence import head_begins_like_prompt

        held = says_prompt(path) or _MARK_BYTES in head or (head_begins_like_prompt(head) and not is_for_people(path))
    elif kind == "jinja":
        held = not is_foreign_template(path)
    elif kind == "mustache":
        held = says_prompt(path) and not is_foreign_template(path)
    elif kind == "prompty":
        held = True
    elif kind is None:
        held = False
    elif kind == "json" and is_template_json(path):
        held = True
    else:
        held = _may_hold_data()(path, kind, head)
    if held:
        return True
    if kind in _NEVER_SERVING and "file" not in (lower := path.lower()) and ".env" not in lower:
        return False
    return _may_serve()(path, head)


@lru_cache(maxsize=1)
def _may_hold_data() -> Callable[[str, FileKind, bytes], bool]:
    from promptguard.linting.reading.data import may_hold_data

    return may_hold_data


@lru_cache(maxsize=1)
def _may_serve() -> Callable[[str, bytes], bool]:
    from promptguard.linting.reading.serving import may_serve

    return may_serve


def is_declared(path: str, settings: Settings) -> bool:
    """Whether the configuration says that a file is a prompt."""
    return _declaration(path, settings) is not None


def _declaration(path: str, settings: Settings) -> PromptDeclaration | None:
    if not settings.prompts:
        return None
    from promptguard.linting.reading.declared import find_declaration

    return find_declaration(path, settings)


def read_documents(path: str, text: str, settings: Settings, *, bom: bool = False, named: bool = False) -> list[Document]:
    """What there is to check in a file.

    Args:
        path: as it is shown, with forward slashes.
        text: its text without a byte order mark, line ends as they are.
        settings: what is configured.
        bom: it begins with a byte order mark.
        named: the user named this very file: that it cannot be read as what its name says is an error then.

    Returns:
        The documents, in the order of their places; none where the file is neither a prompt nor anything else to check.

    Raises:
        InputError: a file that is meant to be a prompt cannot be read as one; names the place.
        ConfigError: the context file that the configuration names cannot be used.
    """
    if "\0" in text:
        return []
    declaration = _declaration(path, settings)
    origin = Origin(path, bom=bom)
    if declaration is not None:
        from promptguard.linting.reading.declared import context_values

        origin = Origin(
            declaration.name or path,
            declaration.block,
            declaration.syntax,
            frozenset(declaration.stable),
            frozenset(declaration.dynamic),
            context_values(declaration, settings),
            bom,
        )
    found = _documents(path, text, origin, declared=declaration is not None, named=named)
    if found:
        return found
    from promptguard.linting.reading.serving import serving_documents

    return serving_documents(path, text)


def _documents(path: str, text: str, origin: Origin, *, declared: bool, named: bool) -> list[Document]:
    kind = file_kind(path)
    base: Block = origin.block or name_block(path) or "system"
    if kind == "json" and (named or declared or is_template_json(path)) and '"chat_template' in text:
        from promptguard.linting.reading.chat_templates import for_chat, json_templates

        templates = for_chat(json_templates(path, text, origin))
        if templates:
            return templates
    if kind == "jinja":
        return _jinja(path, text, origin, base, declared=declared)
    if kind == "mustache":
        if not declared and (is_foreign_template(path) or not says_prompt(path)):
            return []
        syntax = origin.syntax or "mustache"
        return [make_document(Source(path, text, "text"), origin, base, syntax, start=_behind_front_matter(text))]
    if kind == "prompty":
        from promptguard.linting.reading.prompty import prompty_document

        return [prompty_document(Source(path, text, "text"), origin, base)]
    if kind == "text" or (kind is None and declared):
        return _text(path, text, origin, base, declared=declared)
    if kind is None:
        return []
    from promptguard.linting.reading.data import data_documents

    return data_documents(path, text, kind, origin, declared=declared, named=named)


def _jinja(path: str, text: str, origin: Origin, base: Block, *, declared: bool) -> list[Document]:
    if is_template_file(path) and origin.syntax in (None, "jinja"):
        return [make_document(Source(path, text, "chat-template"), origin, base, "jinja")]
    start = _behind_front_matter(text)
    if not declared:
        from promptguard.linting.reading.evidence import begins_like_prompt, is_foreign_text

        if is_foreign_template(path):
            return []
        if inner_suffix(path) == "json":
            if name_block(path) != "tools" and not _emits_tools(text):
                return []
            base = "tools"
        elif not says_prompt(path) and (
            is_foreign_text(text[start:]) or (is_mail(path) and not begins_like_prompt(text[start : start + 1000]))
        ):
            return []
    source = Source(path, text, "jinja")
    if origin.syntax not in (None, "jinja"):
        return [make_document(source, origin, base, origin.syntax, start=start)]
    return [make_document(source, origin, base, "jinja", start=start)]


def _behind_front_matter(text: str) -> int:
    if not text.startswith("---"):
        return 0
    from promptguard.parse.markdown import front_matter

    matter = front_matter(text)
    return matter[2] if matter else 0


def _emits_tools(text: str) -> bool:
    from promptguard.parse.tool_marks import seems_tools

    return seems_tools(text, "json")


def _text(path: str, text: str, origin: Origin, base: Block, *, declared: bool) -> list[Document]:
    from promptguard.linting.reading.evidence import begins_like_prompt

    start = _behind_front_matter(text)
    markdown, verbatim = is_markdown(path), is_verbatim(path)
    if not (
        declared
        or says_prompt(path)
        or _is_marked(text, markdown=markdown)
        or (begins_like_prompt(text[start : start + 1000]) and not is_for_people(path))
    ):
        return []
    return [text_document(Source(path, text, "text"), origin, base, markdown=markdown, verbatim=verbatim, start=start)]


def _is_marked(text: str, *, markdown: bool) -> bool:
    """Whether a comment says of what block the text is; one in the code of a Markdown file is an example."""
    if _MARK not in text or not markdown:
        return _MARK in text
    from promptguard.parse.markdown import code_ranges

    at = 0
    for start, end in [*code_ranges(text), (len(text), len(text))]:
        if text.find(_MARK, at, start) >= 0:
            return True
        at = end
    return False
