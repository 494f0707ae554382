"""What is rendered here against what a llama-server renders: the same for every template in fixtures, but for the differences
that docs/chat-templates.md lists.
"""

from __future__ import annotations

import re
import urllib.error
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from llama_server import Server, serve

from promptguard.core.errors import PromptguardError
from promptguard.core.source import Source
from promptguard.models.default import default_model
from promptguard.parse.gguf import read_header, special_token
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import conversations
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Request

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = sorted((ROOT / "fixtures" / "chat_templates").glob("*.jinja"))
DOCS = ROOT / "docs" / "chat-templates.md"
LOOP = "{% for message in messages %}[{{ message.role }}:{{ message.content }}]{% endfor %}"

USER = {"role": "user", "content": "hi"}
CALL = {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
CALLED = [
    USER,
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call00001", "name": "f", "content": '{"b": 2}'},
]

# What is written in a template, what is printed here (None: an error) and by a llama-server.
LANGUAGE: dict[str, tuple[str, str | None, str]] = {
    "`none` that is printed": ("{{ none }}", "None", ""),
    "a list that is printed": ("{{ ['a', 'b'] }}", "['a', 'b']", "ab"),
    "a mapping that is printed": ("{{ {'a': 1} }}", "{'a': 1}", ""),
    "a float in `tojson`": ("{{ [1.0, 12345678.9] | tojson }}", "[1.0, 12345678.9]", "[1, 1.23457e+07]"),
    "`length` of text that is not ASCII": ("{{ 'é' | length }}", "1", "2"),
    "`upper` and `lower` of text that is not ASCII": ("{{ 'é' | upper }}", "É", "é"),
    "`safe` in front of `+`": ("{{ '<b>' | safe + '<i>' }}", "<b>&lt;i&gt;", "<b><i>"),
    "`format`": ("{{ '%s' | format('a') }}", "a", "%s"),
    "`select` with the test `odd`": ("{{ [1, 2, 3] | select('odd') | list | length }}", "2", "0"),
    "an attribute of an undefined variable": ("{{ nothing.x }}", None, ""),
    "`+` of a text and a number": ("{{ 'a' + 1 }}", None, "a1"),
}
# A template, a conversation, and what is printed here and by a llama-server.
HANDLING: dict[str, tuple[str, list[dict[str, Any]], str, str]] = {
    "`enable_thinking` where nobody asked": (
        LOOP + "{% if enable_thinking %}on{% else %}off{% endif %}",
        [USER],
        "[user:hi]on",
        "[user:hi]off",
    ),
    "Gemma 4: the header of a reply": (
        LOOP + "<turn|>\n{# '<|tool_call>call:' #}{#- OpenAI Chat Completions: #}",
        [USER],
        "[user:hi]<turn|>\n",
        "[user:hi]<turn|>\n<|turn>model\n",
    ),
    "Gemma 4, older templates: results of tools": (
        (
            "{% for message in messages %}[{{ message.role }}:{{ message.content }}]"
            "{% if message.tool_responses %}{{ message.tool_responses | tojson }}{% endif %}{% endfor %}{# '<|tool_call>call:' #}"
        ),
        CALLED,
        '[user:hi][assistant:][tool:{"b": 2}]',
        '[user:hi][assistant:][{"name": "f", "response": {"b": 2}}]',
    ),
}
# What a llama-server does for families of templates, which it knows by a text in them: the template, and what both print.
PARTS = (
    "{% for message in messages %}{% if message.content is string %}[{{ message.content }}]{% else %}"
    "{% for part in message.content %}({{ part.type }}:{{ part[part.type] }}){% endfor %}{% endif %}{% endfor %}"
)
THOUGHTS = "{% for message in messages %}[{{ message.content }}:{{ message.thinking }}]{% endfor %}"
FAMILIES: dict[str, tuple[str, str]] = {
    "gpt-oss": (THOUGHTS + "{# <|channel|> #}", "[hi :][ yes:because][:so][2:][hi :]"),
    "LFM2": (THOUGHTS + "{# <|tool_list_start|> <|tool_list_end|> #}", "[hi :][ yes:because][one:so][2:][hi :]"),
    "LFM2.5": (THOUGHTS + "{# List of tools: [ #}", "[hi :][ yes:because][one:so][2:][hi :]"),
    "Ministral": (
        PARTS + "{# [SYSTEM_PROMPT] [TOOL_CALLS] [ARGS] #}",
        "[hi ](thinking:because)(text: yes)(thinking:so)(text:one)[2][hi ]",
    ),
    "Mistral Small": (PARTS + "{# [SYSTEM_PROMPT] [TOOL_CALLS] [ARGS] [CALL_ID] #}", "[hi ][ yes][one][2][hi ]"),
    "StepFun": (
        THOUGHTS + "{# You have access to the following functions in JSONSchema format #}",
        "[hi:][yes:][one:][2:][hi:]",
    ),
}
REASONED = [
    {"role": "user", "content": "hi "},
    {"role": "assistant", "content": " yes", "reasoning_content": "because"},
    {"role": "assistant", "content": "one", "reasoning_content": "so", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call00001", "name": "f", "content": "2"},
    {"role": "user", "content": "hi "},
]
# What a llama-server does not load.
REFUSED = {
    "the filter `e`": "{{ '<' | e }}",
    "the filter `round`": "{{ 3.14 | round(1) }}",
    "the filter `urlencode`": "{{ 'a b' | urlencode }}",
    "`**`": "{{ 2 ** 3 }}",
    "`//`": "{{ 7 // 2 }}",
    "a number such as `1e3`": "{{ 1e3 }}",
    "`tojson(sort_keys=true)`": "{{ {'a': 1} | tojson(sort_keys=true) }}",
    "`with`": "{% with a = 1 %}{{ a }}{% endwith %}",
    "a recursive loop": "{% for x in [1, [2]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
}


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


def rendered(renderer: Renderer, text: str, request: Request) -> str | None:
    """The prompt as it is rendered here, with what the model of the server gives to templates; ``None`` for an error."""
    header = read_header(default_model())
    tokens = {f"{role}_token": special_token(header, role) or "" for role in ("bos", "eos")}
    try:
        made = ChatTemplate(renderer, Source("a.jinja", text, "chat-template"), **tokens).render(
            request, clock=datetime.now().astimezone(), trace=False
        )
    except PromptguardError:
        return None
    return made.text


def asked(server: Server, request: Request) -> str | None:
    """The prompt as a server renders it; ``None`` for an error."""
    body = {"messages": request.messages, "tools": request.tools, "chat_template_kwargs": request.template_kwargs}
    try:
        return str(server.post("/apply-template", body)["prompt"])
    except urllib.error.HTTPError:
        return None


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_conversation_is_rendered_as_a_llama_server_does(path: Path, renderer: Renderer) -> None:
    text = path.read_text(encoding="utf-8")
    with serve(default_model(), chat_template=text) as server:
        for conversation in conversations():
            for turn in range(len(conversation.replies) + 1):
                request = conversation.request(turn)
                day = datetime.now().astimezone().date()
                pair = asked(server, request), rendered(renderer, text, request)
                if day == datetime.now().astimezone().date():  # else a date may have changed in between
                    assert pair[0] == pair[1], f"{conversation}, turn {turn}"


def test_known_differences_of_the_language(renderer: Renderer) -> None:
    text = LOOP + "".join(f"{{% if which == {name!r} %}}{written}{{% endif %}}" for name, (written, *_) in LANGUAGE.items())
    found = {}
    with serve(default_model(), chat_template=text) as server:
        for name, (written, *_) in LANGUAGE.items():
            request = Request((USER,), template_kwargs={"which": name})
            ours, theirs = rendered(renderer, text, request), asked(server, request)
            assert theirs is not None
            found[name] = (
                written,
                ours.removeprefix("[user:hi]") if ours is not None else None,
                theirs.removeprefix("[user:hi]"),
            )
    assert found == LANGUAGE


@pytest.mark.parametrize("name", HANDLING)
def test_known_differences_of_what_a_template_is_given(name: str, renderer: Renderer) -> None:
    text, messages, ours, theirs = HANDLING[name]
    request = Request(tuple(messages))
    with serve(default_model(), chat_template=text) as server:
        assert (rendered(renderer, text, request), asked(server, request)) == (ours, theirs)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_llama_server_does_for_families_of_templates(name: str, renderer: Renderer) -> None:
    text, printed = FAMILIES[name]
    request = Request(tuple(REASONED))
    with serve(default_model(), chat_template=text) as server:
        assert (rendered(renderer, text, request), asked(server, request)) == (printed, printed)


@pytest.mark.parametrize("name", REFUSED)
def test_known_templates_that_a_llama_server_does_not_load(name: str, renderer: Renderer) -> None:
    text = LOOP + REFUSED[name]
    assert rendered(renderer, text, Request((USER,))) is not None
    with pytest.raises(AssertionError, match="did not start"), serve(default_model(), chat_template=text):
        pass


def test_the_documentation_lists_these_differences_and_no_others() -> None:
    part = DOCS.read_text(encoding="utf-8").partition("## Differences from llama-server")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!what |---)(.+?) \|", part, re.MULTILINE)
    assert rows == [*LANGUAGE, *HANDLING, *REFUSED]
