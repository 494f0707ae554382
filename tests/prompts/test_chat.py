from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from promptguard.core.errors import InputError, TemplateError
from promptguard.prompts.chat import Capabilities, ChatTemplate, prepare
from promptguard.prompts.rendering import ChatCall, Renderer
from promptguard.prompts.request import Request, chat_template_source

CLOCK = datetime(2026, 3, 4, 10, 11, 12)  # noqa: DTZ001
CHATML = """\
{%- if tools %}
    {{- '<|im_start|>tools\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content }}
    {%- for call in message.tool_calls %}
        {{- '<call>' + call.function.name + call.function.arguments | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":  "x"}'}}
TOOL = {"type": "function", "function": {"parameters": {"b": 1, "a": 2}, "name": "look", "strict": True}}


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def template(renderer: Renderer, text: str, **options: Any) -> ChatTemplate:
    return ChatTemplate(renderer, chat_template_source(text, "chat.jinja"), **options)


def test_environment_is_the_one_of_model_servers(renderer: Renderer) -> None:
    text = (
        "{{ bos_token }}\n  {% for m in messages %}\n{{ m | tojson }}{% break %}\n  {% endfor %}\n"
        "{% generation %}{{ strftime_now('%Y') }}{% endgeneration %} {{ date_string }} {{ datetime }} {{ tools is defined }}"
        " {{ {'b': '<é>', 'a': 1} | tojson }} {{ [1] | tojson(indent=1) }}\n"
    )
    messages = [{"role": "user", "content": "<é>"}]
    kwargs = {"date_string": "pinned"}
    source = chat_template_source(text, "chat.jinja")
    traced = renderer.render_chat(source, ChatCall(messages, None, True, CLOCK, bos_token="<s>", kwargs=kwargs))
    assert traced.text == ('<s>\n{"role": "user", "content": "<é>"}2026 pinned Mar 04 2026 False {"b": "<é>", "a": 1} [\n 1\n]')


def test_without_a_server_there_are_tools_and_no_dates(renderer: Renderer) -> None:
    source = chat_template_source("{{ tools is none }} {{ date_string is defined }} {{ add_generation_prompt }}", "chat.jinja")
    traced = renderer.render_chat(source, ChatCall([], [], False, CLOCK, server=False))
    assert traced.text == "True False False"


def test_a_template_may_build_lists_but_each_render_has_its_own(renderer: Renderer) -> None:
    text = "{% set _ = messages.append({'content': 'end'}) %}{% for m in messages %}{{ m.content }};{% endfor %}"
    traced = template(renderer, text, arguments="raw").render(Request((USER,)), clock=CLOCK)
    assert traced.text == "hi;end;"
    assert [piece.expression for piece in traced.pieces] == ["m.content", None, "m.content", None]


def test_a_template_that_refuses_says_why(renderer: Renderer) -> None:
    with pytest.raises(TemplateError) as caught:
        template(renderer, "\n{{ raise_exception('no system role') }}").render(Request((USER,)), clock=CLOCK)
    assert str(caught.value) == "chat.jinja:2: the template refuses the request: no system role"


def test_an_unknown_filter_is_an_error_in_a_chat_template(renderer: Renderer) -> None:
    with pytest.raises(TemplateError) as caught:
        template(renderer, "{{ messages | shuffle }}").render(Request((USER,)), clock=CLOCK)
    assert str(caught.value) == "chat.jinja:1:15: not a valid template: No filter named 'shuffle'"


def test_a_server_rebuilds_tools_and_messages() -> None:
    message = {"tool_calls": [CALL], "role": "assistant", "content": None, "reasoning_content": "r", "other": 1}
    messages, tools = prepare(Request(({"role": "developer", "content": "d"}, message), (TOOL,)), "parsed")
    assert str(tools) == str(
        [{"type": "function", "function": {"name": "look", "description": "", "parameters": {"b": 1, "a": 2}}}]
    )
    assert messages[0] == {"role": "system", "content": "d"}
    assert str(messages[1]) == str(
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "r",
            "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": {"at": "x"}}, "id": "c1"}],
        }
    )


def test_raw_leaves_everything_as_it_is() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert prepare(Request((message,), (TOOL,)), "raw") == ([message], [TOOL])


def test_a_server_adapts_to_what_the_template_can_take() -> None:
    request = Request(({"role": "system", "content": "s"}, USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}))
    able = Capabilities(system_role=False, string_content=False, typed_content=True, object_arguments=False)
    messages, _ = prepare(request, "parsed", able)
    assert messages[0] == {"role": "user", "content": [{"type": "text", "text": "s\nhi"}]}
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"at":  "x"}'


def test_parts_become_one_text_for_a_template_that_takes_only_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    messages, _ = prepare(Request(({"role": "user", "content": parts},)), "parsed")
    assert messages == [{"role": "user", "content": "a\nb"}]


def test_arguments_that_are_not_json_are_refused() -> None:
    call = {"function": {"name": "look", "arguments": "{"}}
    with pytest.raises(InputError, match="the arguments of the call to look are not JSON"):
        prepare(Request(({"role": "assistant", "tool_calls": [call]},)), "parsed")


@pytest.mark.parametrize(
    ("text", "able"),
    [
        (CHATML, Capabilities()),
        (
            "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}{% endfor %}",
            Capabilities(system_role=False, object_arguments=False),
        ),
        (
            "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}",
            Capabilities(system_role=False, string_content=False, typed_content=True, object_arguments=False),
        ),
    ],
)
def test_capabilities_are_found_by_trying(renderer: Renderer, text: str, able: Capabilities) -> None:
    assert template(renderer, text).capabilities == able


def test_a_prompt_and_its_reply_are_what_the_next_prompt_starts_with(renderer: Renderer) -> None:
    chat = template(renderer, CHATML)
    reply = {"role": "assistant", "content": "ok \n", "tool_calls": [CALL]}
    request = Request((USER,), (TOOL,))
    prompt = chat.render(request, clock=CLOCK).text
    text = chat.reply_text(request, reply, prompt, clock=CLOCK)
    assert text == 'ok \n<call>look{"at": "x"}'
    following = Request((USER, reply, {"role": "tool", "content": "seen"}), (TOOL,))
    assert chat.render(following, clock=CLOCK).text.startswith(prompt + text + "<|im_end|>\n")


HEADER = "{% if add_generation_prompt %}<a>\n<think>\n\n</think>\n\n{% endif %}"
TURNS = "{% for m in messages %}<{{ m.role[0] }}>\n{{ m.content }}</s>{{ '\n' }}{% endfor %}"


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        (TURNS + HEADER, "fine", "fine"),  # an empty think block only in the header
        (TURNS + HEADER, "<tool_call>x</tool_call>", "<tool_call>x</tool_call>"),  # "<t" is not taken for the think block's
        (TURNS + HEADER, " fine \n", " fine \n"),
        (TURNS + "<a>{{ '\n' }}", "fine", "fine"),  # a template that always adds the header
        ("{{ messages | length }}" + TURNS + "{% if add_generation_prompt %}<a>\n{% endif %}", "fine", "fine"),
        (TURNS + "{% if add_generation_prompt %}<a>\n{% else %}<|endoftext|>{% endif %}", "fine", "fine"),  # two ends
        ("{% for m in messages %}{{ m.content }}\n{% endfor %}", "fine", "fine\n"),  # no end at all
    ],
)
def test_reply_text(renderer: Renderer, text: str, content: str, expected: str) -> None:
    chat = template(renderer, text)
    request = Request(({"role": "user", "content": "a question that tells its place"},))
    prompt = chat.render(request, clock=CLOCK).text
    assert chat.reply_text(request, {"role": "assistant", "content": content}, prompt, clock=CLOCK) == expected


def test_a_start_token_that_the_server_left_out_is_left_out(renderer: Renderer) -> None:
    chat = template(renderer, "{{ bos_token }}" + TURNS + "{% if add_generation_prompt %}<a>\n{% endif %}", bos_token="<s>")
    request = Request((USER,))
    prompt = chat.render(request, clock=CLOCK).text.removeprefix("<s>")
    assert chat.reply_text(request, {"role": "assistant", "content": "fine"}, prompt, clock=CLOCK) == "fine"
