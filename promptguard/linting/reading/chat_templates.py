"""Chat templates inside of other files: ``tokenizer_config.json``, ``chat_template.json``, and the header of a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping

from promptguard.checks.base import Document, Embedding
from promptguard.core.light import NamedTuple
from promptguard.core.source import Place, Source, Span
from promptguard.linting.reading.prompts import Origin, make_document

_TOKENS = ("bos_token", "eos_token")


class FoundTemplate(NamedTuple):
    """A chat template and its name, ``None`` for the default one."""

    name: str | None
    document: Document


def for_chat(found: list[FoundTemplate]) -> list[Document]:
    """The templates that chat requests are rendered with; the one named ``rag`` is given documents, and no agent uses it."""
    return [each.document for each in found if each.name != "rag"]


def json_templates(path: str, text: str, origin: Origin) -> list[FoundTemplate]:
    """The chat templates of a JSON file; none where it is no JSON, or has no ``chat_template`` at its top.

    The value is a string, a list of objects with ``name`` and ``template``, or an object of strings by name.
    """
    if '"chat_template' not in text:
        return []
    from promptguard.parse.chat_templates import KEYS, written_templates
    from promptguard.parse.json_members import members

    try:
        top = {member.name: member for member in members(text)}
    except ValueError:
        return []
    tokens = _token_texts({str(name): member.value for name, member in top.items()})
    file = Source(path, text, "json")
    found = []
    for key in KEYS:
        if key in top:
            found += [
                _json_template(file, pointer, name, start, end, origin, tokens)
                for pointer, name, start, end in written_templates(text, top[key])
            ]
    return found


def _json_template(
    file: Source, pointer: str, name: str | None, start: int, end: int, origin: Origin, tokens: Mapping[str, str]
) -> FoundTemplate:
    from promptguard.parse.json_strings import escape_string, written_string

    places = written_string(file.text, start, end)
    source = Source(file.path, places.text, "chat-template", Place(file, Span(start, end)))
    embedding = Embedding(file, places.starts, places.ends, lambda _start, _end, text: escape_string(text))
    return embedded_template(source, embedding, pointer, name, tokens, origin)


def model_templates(path: str) -> list[FoundTemplate]:
    """The chat templates of a GGUF file.

    Each is a file of its own in what is reported: ``path``, and line and column in the template; ``pointer`` is its metadata key.
    It cannot be changed, so nothing has a fix.

    Raises:
        InputError: the header cannot be read.
    """
    from promptguard.parse.chat_templates import escaped
    from promptguard.parse.gguf_chat import TEMPLATE_KEY, read_chat_metadata

    metadata = read_chat_metadata(path)
    parent = Place(Source(path, "", "gguf"), Span(0, 0))
    found = []
    for key, text in metadata.templates.items():
        if text:
            source = Source(path, text, "chat-template", parent)
            name = key[len(TEMPLATE_KEY) + 1 :] or None
            found.append(embedded_template(source, read_only(source), "/" + escaped(key), name, metadata.tokens))
    return found


def read_only(source: Source) -> Embedding:
    """How a text lies in a file that it is no text of: nothing of it can be changed."""
    size = len(source.text)
    return Embedding(source, range(size), range(1, size + 1), lambda _start, _end, _text: None)


def embedded_template(
    source: Source,
    embedding: Embedding | None,
    pointer: str | None,
    name: str | None,
    tokens: Mapping[str, str],
    origin: Origin | None = None,
) -> FoundTemplate:
    """A chat template with where it lies."""
    document = make_document(source, origin or Origin(source.path), "system", "jinja", embedding=embedding, pointer=pointer)
    document.prompt = None  # each is a prompt of its own
    document.tokens = tokens
    return FoundTemplate(name, document)


def named_tokens(text: str) -> dict[str, str]:
    """The texts of ``bos_token`` and ``eos_token`` in a ``tokenizer_config.json``; none where it is no JSON."""
    from promptguard.parse.json_members import members

    try:
        return _token_texts({str(member.name): member.value for member in members(text)})
    except ValueError:
        return {}


def _token_texts(values: Mapping[str, object]) -> dict[str, str]:
    """The texts of tokens, which are strings, or objects whose ``content`` is one."""
    found = {}
    for name in _TOKENS:
        value = values.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            found[name] = text
    return found
