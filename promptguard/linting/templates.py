"""The full story of chat templates: where they come from, what they take, and what they do to the prefix."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from promptguard.checks.base import Document
from promptguard.checks.chat_template import SECONDS, correct
from promptguard.core.errors import ConfigError, EngineError, InputError, TemplateError
from promptguard.core.files import read_head, read_text
from promptguard.core.light import Any, NamedTuple
from promptguard.core.source import Place, Source, Span
from promptguard.linting.reading.chat_templates import (
    FoundTemplate,
    embedded_template,
    for_chat,
    json_templates,
    model_templates,
    named_tokens,
    read_only,
)
from promptguard.linting.reading.prompts import Origin
from promptguard.linting.settings import MAX_BYTES, MODEL_SUFFIX
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import Conversation, conversations
from promptguard.prompts.counting import Counter
from promptguard.prompts.features import Features, find_features
from promptguard.prompts.preservation import check_template
from promptguard.prompts.preservation.result import Preservation
from promptguard.prompts.rendering import Budget, Renderer
from promptguard.prompts.request import Request

Verdict = Literal["preserving", "breaking", "failing", "unjudged", "missing"]
"""``failing``: it keeps the prefix of what it renders, and there are conversations at which it fails. ``unjudged``: the template
cannot be read or renders nothing. ``missing``: there is none.
"""

_CONFIG = "tokenizer_config.json"
_NO_TEMPLATE = "holds no chat template"
_ANSWER_SECONDS = 30.0
_LOADING_SECONDS = 60.0


class Story(NamedTuple):
    """What is known of one chat template.

    Attributes:
        path: the file or the address, as the user gave it.
        name: of the template, ``None`` for the default one.
        document: its text and where it lies; ``None`` where there is none.
        features: what it prints, ``None`` where it renders nothing.
        preservation: what it does to the prefix, ``None`` where that could not be tried.
        tokenizer: what tokens are counted with.
        corrections: for each defect what ``promptguard lint --fix --unsafe-fixes`` does about it, ``None`` for nothing.
        error: why there is no verdict.
        missing: whether that is because there is no template.
    """

    path: str
    tokenizer: str
    name: str | None = None
    document: Document | None = None
    features: Features | None = None
    preservation: Preservation | None = None
    corrections: tuple[str | None, ...] = ()
    error: InputError | EngineError | None = None
    missing: bool = False

    @property
    def verdict(self) -> Verdict:
        if self.missing:
            return "missing"
        if self.error is not None or self.preservation is None or self.preservation.error is not None:
            return "unjudged"
        if self.preservation.defects:
            return "breaking"
        return "failing" if any(each.fails for each in self.preservation.unrendered) else "preserving"


def find_templates(place: str, name: str | None = None) -> list[FoundTemplate]:
    """The chat templates in a file or of a server.

    Args:
        place: a Jinja file, a JSON file with ``chat_template`` at its top, a GGUF file, or the address of a llama-server.
        name: the one to give, ``default`` for the one that has no name; all where it is ``None``.

    Returns:
        No template where there is none.

    Raises:
        InputError: the file cannot be read.
        ConfigError: the address cannot be used.
        EngineError: the server does not answer, or not like a llama-server.
    """
    if place.startswith(("http://", "https://")):
        found = _of_server(place)
    elif place.lower().endswith(MODEL_SUFFIX) or read_head(place, size=4) == b"GGUF":
        found = model_templates(place)
    else:
        found = _of_file(place)
    if name is None:
        return found
    return [each for each in found if (each.name or "default") == name]


def tell_stories(
    places: Sequence[str], counter: Counter, *, name: str | None = None, kwargs: Mapping[str, Any] | None = None
) -> list[Story]:
    """The stories of all chat templates in some places, in their order.

    Args:
        places: see ``find_templates``.
        counter: counts tokens.
        name: see ``find_templates``.
        kwargs: variables that every request hands to the template (``chat_template_kwargs``).

    Raises:
        ConfigError: an address cannot be used.
    """
    stories: list[Story] = []
    with Renderer() as renderer:
        renderer.start()
        for place in places:
            try:
                found = find_templates(place, name)
            except (InputError, EngineError) as error:
                stories.append(Story(place, counter.name, error=error))
                continue
            if not found:
                what = _NO_TEMPLATE if name is None else f"{_NO_TEMPLATE} named {name}"
                stories.append(Story(place, counter.name, error=InputError(what, where=place), missing=True))
            stories += [_tell(place, each, renderer, counter, kwargs or {}) for each in found]
    return stories


def exit_code(stories: Sequence[Story]) -> int:
    """2 where a template could not be judged, else 1 where one breaks the prefix or fails, else 3 where there is none, else 0."""
    verdicts = {story.verdict for story in stories}
    codes: tuple[tuple[Verdict, int], ...] = (("unjudged", 2), ("breaking", 1), ("failing", 1), ("missing", 3))
    return next((code for verdict, code in codes if verdict in verdicts), 0)


def _tell(place: str, found: FoundTemplate, renderer: Renderer, counter: Counter, kwargs: Mapping[str, Any]) -> Story:
    document = found.document
    story = Story(place, counter.name, found.name, document)
    tokens = document.tokens
    template = ChatTemplate(
        renderer, document.source, bos_token=tokens.get("bos_token", ""), eos_token=tokens.get("eos_token", "")
    )
    try:
        features = find_features(template)
    except TemplateError as error:
        return story._replace(error=error)
    told = (
        [_Asked(each.name, each.mode, each.arguments, each.messages, each.tools, kwargs) for each in conversations()]
        if kwargs
        else None
    )
    preservation = check_template(template, counter.encode, told=told)
    if preservation.error is None and not features.messages:
        what = f"{_NO_TEMPLATE}: it does not print what a user says"
        return story._replace(error=InputError(what, where=place), missing=True)
    budget = Budget(renderer, SECONDS)
    corrections = []
    for defect in preservation.defects:
        made = correct(document, defect, counter.encode, budget) if for_chat([found]) else None  # lint passes over the others
        corrections.append(made[0].title if made is not None else None)
    return story._replace(features=features, preservation=preservation, corrections=tuple(corrections))


@dataclass(frozen=True)
class _Asked(Conversation):
    """A conversation whose requests bring further variables for the template."""

    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def request(self, turn: int) -> Request:
        request = super().request(turn)
        return replace(request, template_kwargs={**request.template_kwargs, **self.kwargs})


# -- files


def _of_file(path: str) -> list[FoundTemplate]:
    text = read_text(path, limit=MAX_BYTES)
    if "\0" in text:
        raise InputError("the file holds null characters, so it is no text", where=path)
    beside = named_tokens(_beside(path))
    if path.lower().endswith(".json"):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("not JSON", where=path, hint="a chat template of its own belongs into a .jinja file") from None
        found = json_templates(path, text, Origin(path))
        for each in found:
            each.document.tokens = {**beside, **each.document.tokens}
        return found
    if not text.strip():
        return []
    return [embedded_template(Source(path, text, "chat-template"), None, None, None, beside)]


def _beside(path: str) -> str:
    """The text of the ``tokenizer_config.json`` in the same folder, which has the tokens of a template that stands alone."""
    config = os.path.join(os.path.dirname(path), _CONFIG)  # noqa: PTH118, PTH120
    if os.path.basename(path) == _CONFIG:  # noqa: PTH119
        return ""
    try:
        return read_text(config, limit=MAX_BYTES)
    except InputError:
        return ""


# -- servers


def _of_server(url: str) -> list[FoundTemplate]:
    try:
        from promptguard.engines.http import JSONClient, api_key_from_environment, check_url
    except ModuleNotFoundError as error:
        raise ConfigError(f"a server needs the package {error.name}", hint="pip install 'promptguard-ci[replay]'") from None

    from promptguard.engines.llama_server import read_props

    base = check_url(url, where="FILE_OR_URL").removesuffix("/props")
    client = JSONClient(base, api_key=api_key_from_environment(), timeout=_ANSWER_SECONDS, loading=_LOADING_SECONDS)
    try:
        props = read_props(client)
    finally:
        client.close()
    if not isinstance(props, dict):
        raise EngineError("does not answer like a llama-server", where=url, hint="give the address of a llama-server")
    found = []
    tokens = {name: text for name in ("bos_token", "eos_token") if isinstance(text := props.get(name), str)}
    for key, name in (("chat_template", None), ("chat_template_tool_use", "tool_use")):
        text = props.get(key)
        if text is not None and not isinstance(text, str):
            raise EngineError(f"its {key} is no text", where=url, hint="give the address of a llama-server")
        if text:
            source = Source(f"{base}/props", text, "chat-template", Place(Source(base, "", "json"), Span(0, 0)))
            found.append(embedded_template(source, read_only(source), f"/{key}", name, tokens))
    return found
