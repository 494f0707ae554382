"""A conversation of the user's own, told by a chat template turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from promptguard.core.errors import InputError, TemplateError
from promptguard.core.light import Any
from promptguard.core.resources import resource
from promptguard.core.source import Source
from promptguard.core.wording import named_type
from promptguard.linting.reading.chat_templates import FoundTemplate, embedded_template
from promptguard.linting.templates import Story, find_templates
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import Conversation
from promptguard.prompts.counting import counter
from promptguard.prompts.features import find_features
from promptguard.prompts.preservation import check_template
from promptguard.prompts.rendering import Renderer
from promptguard.toolschema.openai import as_openai_tools

_CHATML = "fixtures/chat_templates/append_only.jinja"
_CHATML_END = "<|im_end|>"
_DEFAULT, _FOR_TOOLS = "default", "tool_use"


def tell_turns(
    messages: Sequence[Any], tools: object = None, chat_template: str | None = None, template_name: str | None = None
) -> Story:
    """What of each prompt and its reply is kept in the next prompt of a conversation.

    Args:
        messages: the conversation in the shape of OpenAI chat; at least one reply with a message behind it.
        tools: what is offered, in any dialect.
        chat_template: the template itself, or a file that holds one (Jinja, ``tokenizer_config.json``, GGUF) or the address of a
            llama-server; ``None`` for ChatML that prints every turn once and for all.
        template_name: which one, where there are several; without it the one named ``tool_use`` where tools are offered and there
            is one, else the default one, as transformers chooses.

    Raises:
        InputError: there is no turn boundary in the messages, or the template cannot be read, or it is not said which one.
    """
    _check_types(messages, chat_template=chat_template, template_name=template_name)
    said = tuple(_message(message, at) for at, message in enumerate(messages))
    offered = as_openai_tools(tools, "tools") if tools is not None else ()
    told = Conversation("the conversation", "plain", "parsed", said, offered)
    if not told.replies:
        raise InputError("there is no reply with a message behind it", where="messages", hint="give at least two turns")
    found = _template(chat_template, template_name, tools=bool(offered))
    document = found.document
    count = counter(None)
    story = Story(document.source.path, count.name, found.name, document)
    tokens = document.tokens
    with Renderer() as renderer:
        template = ChatTemplate(
            renderer, document.source, bos_token=tokens.get("bos_token", ""), eos_token=tokens.get("eos_token", "")
        )
        try:
            features = find_features(template)
        except TemplateError as error:
            return story._replace(error=error)
        preservation = check_template(template, count.encode, told=[told])
    return story._replace(features=features, preservation=preservation, corrections=(None,) * len(preservation.defects))


def _check_types(messages: object, **texts: object) -> None:
    """What a test gives is not always what the types ask for."""
    if not isinstance(messages, Sequence) or isinstance(messages, (str, bytes)):
        raise InputError(f"must be a list of messages, and is {named_type(messages)}", where="messages")
    for argument, value in texts.items():
        if not isinstance(value, (str, type(None))):
            raise InputError(f"must be a text, and is {named_type(value)}", where=argument)


def _message(message: object, at: int) -> Mapping[str, Any]:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise InputError("is no message with a role", where=f"messages/{at}", hint="give messages in the shape of OpenAI chat")
    return message


def _template(given: str | None, name: str | None, *, tools: bool) -> FoundTemplate:
    """One of the chat templates in what is given."""
    found = {each.name or _DEFAULT: each for each in _templates(given)}
    where = next((each.document.source.path for each in found.values()), given)
    if not found:
        raise InputError("holds no chat template", where=where)
    wanted = [name] if name is not None else [_FOR_TOOLS, _DEFAULT] if tools else [_DEFAULT]
    chosen = next((found[each] for each in wanted if each in found), None)
    if chosen is None and name is not None:
        raise InputError(f"holds no chat template named {name}", where=where, hint=f"it has {', '.join(found)}")
    if chosen is None and len(found) > 1:
        what = f"holds the chat templates {', '.join(found)}, none of which is the default"
        raise InputError(what, where=where, hint="name one with template_name=")
    return chosen or next(iter(found.values()))


def _templates(given: str | None) -> list[FoundTemplate]:
    if given is None:
        text = resource(_CHATML).read_text(encoding="utf-8")
        tokens = {"eos_token": _CHATML_END}
        return [embedded_template(Source("<ChatML>", text, "chat-template"), None, None, None, tokens)]
    if "{%" in given or "{{" in given:
        return [embedded_template(Source("<chat template>", given, "chat-template"), None, None, None, {})]
    return find_templates(given)
