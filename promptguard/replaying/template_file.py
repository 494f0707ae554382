"""The file of a chat template: which template in it a server would use, and where in the file a place of that template lies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from promptguard.core.errors import InputError, TemplateError
from promptguard.core.files import read_head, read_text
from promptguard.core.source import Place, Source, Span
from promptguard.parse.chat_templates import KEYS, written_templates
from promptguard.parse.gguf import MAGIC
from promptguard.parse.gguf_chat import TEMPLATE_KEY, read_chat_metadata
from promptguard.parse.json_members import members
from promptguard.parse.json_strings import written_string
from promptguard.prompts.divergence import Divergence
from promptguard.prompts.request import chat_template_source

MAX_TEMPLATE = 1 << 20
MAX_JSON = 8 << 20  # a tokenizer_config.json lists the special tokens of its model
_DEFAULT, _FOR_TOOLS = "default", "tool_use"
_WHAT = "the chat template"


def read_chat_template(path: Path, *, tools: bool) -> tuple[Source, str | None]:
    """The chat template in a Jinja file, a ``tokenizer_config.json``, a ``chat_template.json`` or a GGUF file.

    Args:
        path: the file.
        tools: whether requests offer tools: for these servers take the template named ``tool_use``, where there is one.

    Returns:
        The template, and its name where the file holds several.

    Raises:
        InputError: the file cannot be read, holds no chat template, or several of which none is the default.
    """
    if path.suffix.lower() == ".gguf" or read_head(path, size=len(MAGIC), what=_WHAT) == MAGIC:
        found = _of_model(path)
    elif path.suffix.lower() == ".json":
        found = _of_json(path)
    else:
        text = read_text(path, limit=MAX_TEMPLATE, what=_WHAT)
        if not text.strip():
            raise InputError("the chat template is empty", where=str(path))
        return chat_template_source(text, str(path)), None
    if not found:
        raise InputError("holds no chat template", where=str(path), hint="give a file that does")
    name = next((each for each in (_FOR_TOOLS if tools else _DEFAULT, _DEFAULT) if each in found), None)
    if name is None and len(found) > 1:
        raise InputError(
            f"holds the chat templates {', '.join(found)}, none of which is the default",
            where=str(path),
            hint="put the one to try into a .jinja file",
        )
    name = name or next(iter(found))
    return found[name], name if len(found) > 1 else None


def _of_json(path: Path) -> dict[str, Source]:
    text = read_text(path, limit=MAX_JSON, what=_WHAT)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("not JSON", where=str(path), hint="a chat template of its own belongs into a .jinja file") from None
    file = Source(str(path), text, "json")
    top = {member.name: member for member in members(text)}
    found = {}
    for member in (top[key] for key in KEYS if key in top):
        for each in written_templates(text, member):
            decoded = written_string(text, each.start, each.end).text
            parent = Place(file, Span(each.start, each.end))
            found[each.name or _DEFAULT] = Source(str(path), decoded, "chat-template", parent)
    return found


def _of_model(path: Path) -> dict[str, Source]:
    parent = Place(Source(str(path), "", "gguf"), Span(0, 0))
    return {
        key[len(TEMPLATE_KEY) + 1 :] or _DEFAULT: Source(str(path), text, "chat-template", parent)
        for key, text in read_chat_metadata(path).templates.items()
        if text
    }


def in_file(place: Place) -> Place:
    """The place in the file for one in a template that is written in JSON; of a model, the place in the template."""
    source, parent = place.source, place.source.parent
    if parent is None or source.kind != "chat-template":
        return place
    if parent.source.kind != "json":
        return Place(Source(source.path, source.text, source.kind), place.span)
    written = written_string(parent.source.text, parent.span.start, parent.span.end)
    return Place(parent.source, Span(*written.span(place.span.start, place.span.end)))


def divergence_in_file(found: Divergence) -> Divergence:
    """A divergence with its places in the files."""
    place = in_file(found.place) if found.place is not None else None
    return replace(found, place=place, related=tuple(map(in_file, found.related)))


def error_in_file(error: TemplateError) -> TemplateError:
    """An error in a chat template with its place in the file."""
    if error.place is None or in_file(error.place) == error.place:
        return error
    told = type(error)(error.what, where=str(in_file(error.place)), hint=error.hint)
    told.place = error.place
    return told
