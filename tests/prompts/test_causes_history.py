"""Causes in the history, in the reply, and in the chat template."""

from typing import Any

import pytest
from chatml import CHAT_TEMPLATE, Style, ask, at, call, diverge, message, prompt, tool

from promptguard.prompts.divergence import Divergence, first_divergence
from promptguard.prompts.request import Message, Prompt

SYSTEM = "Be kind to everyone, and be brief."
USER = message("user", "What is the weather like in Ulm today, please?")
REPLY = message("assistant", "It is sunny and about twenty degrees.")
NEXT = message("user", "And what about tomorrow morning, same place?")
AGAIN = message("assistant", "Tomorrow morning it rains a little.")
LAST = message("user", "Thank you very much for the answers.")
THINKING = message("assistant", "It is sunny.", reasoning_content="The user wants the weather.")


def turns(before: list[Message], reply: Message | None, after: list[Message], style: Style | None = None) -> Divergence:
    return diverge(prompt(ask(*before, system=SYSTEM), reply, style), prompt(ask(*after, system=SYSTEM), style=style))


@pytest.mark.parametrize("style", [Style(), Style(indent=2), Style(trim=True)])
def test_a_conversation_that_only_grows_does_not_diverge(style: Style) -> None:
    call_message = message("assistant", tool_calls=[call("f", '{"b":1,"a":2}')], reasoning_content="Let me look.")
    result = message("tool", '{"ok": true}', tool_call_id="call-1")
    messages: list[Message] = [USER]
    previous: Prompt | None = None
    for reply, following in ((call_message, result), (REPLY, NEXT), (AGAIN, LAST)):
        now = prompt(ask(*messages, system=SYSTEM, tools=[tool("f")]), reply, style)
        assert previous is None or first_divergence(previous, now) is None
        previous, messages = now, [*messages, reply, following]


@pytest.mark.parametrize(
    ("before", "after", "explanation"),
    [
        ([USER, REPLY, NEXT], [REPLY, NEXT, AGAIN, LAST], "the oldest message was dropped"),
        ([USER, REPLY, NEXT], [NEXT, AGAIN, LAST], "the 2 oldest messages were dropped"),
        ([USER, REPLY, NEXT, REPLY, LAST], [USER, LAST, AGAIN, NEXT], "3 messages from message 3 on were dropped"),
        (
            [USER, REPLY, NEXT],
            [message("user", "So far: weather."), NEXT, AGAIN, LAST],
            "the 2 oldest messages were replaced by one",
        ),
        (
            [USER, REPLY, NEXT],
            [message("user", "Mind the date."), USER, REPLY, NEXT, AGAIN, LAST],
            "1 message was inserted in front of what was message 2",
        ),
        ([USER, REPLY, NEXT], [USER], "the last 3 messages of the conversation were taken back"),
        ([USER, REPLY, NEXT], [USER, REPLY, NEXT], "the same conversation is sent again, without its last reply"),
        ([USER, REPLY, NEXT], [USER, REPLY, NEXT, LAST], "the reply was left out: message 5 does not hold it"),
        ([USER, REPLY, NEXT], [USER, NEXT, NEXT, AGAIN], 'message 3 (user) stands where a message of the role "assistant" stood'),
    ],
)
def test_history_rewritten(before: list[Message], after: list[Message], explanation: str) -> None:
    found = turns(before, AGAIN, after)
    assert (found.cause.code, found.place) == ("K8", None)
    assert found.explanation == explanation


@pytest.mark.parametrize(
    ("old", "new", "code", "explanation"),
    [
        (
            message("user", "[ctx 1]\nhi there"),
            message("user", "hi there"),
            "K8",
            'a part of the content of message 2 (user) is not replayed: "[ctx 1]\\n"',
        ),
        (
            message("tool", "12 rows: " + "a long result " * 20),
            message("tool", "[cleared]"),
            "K8",
            'the content of message 2 (tool) was replaced by "[cleared]"',
        ),
        (
            message("user", "It is 10:00."),
            message("user", "It is 10:01."),
            "K8",
            'the content of message 2 (user) is now "It is 10:01." instead of "It is 10:00."',
        ),
        (
            message("user", "one two"),
            message("user", "one  two"),
            "WS",
            "white space in the content of message 2 (user) is not what it was",
        ),
        (THINKING, message("assistant", "It is sunny."), "K8", "the reasoning of message 2 (assistant) is no longer replayed"),
        (
            message("assistant", tool_calls=[call("f", '{"a":1}')]),
            message("assistant", tool_calls=[call("f", '{"a": 1}')]),
            "K10",
            'the arguments of the call of "f" in message 2 (assistant) were serialized again as "{"a": 1}" instead of "{"a":1}"',
        ),
        (
            message("assistant", tool_calls=[call("f", '{"a":1}')]),
            message("assistant", tool_calls=[call("f", '{"a":2}')]),
            "K8",
            'the arguments of the call of "f" in message 2 (assistant) were replayed as "{"a":2}" instead of "{"a":1}"',
        ),
        (
            message("assistant", tool_calls=[call("f", "{}")]),
            message("assistant", tool_calls=[call("g", "{}")]),
            "K8",
            'a tool call of message 2 (assistant) changed its name from "f" to "g"',
        ),
        (
            message("assistant", tool_calls=[call("f", "{}"), call("f", "{}")]),
            message("assistant", tool_calls=[call("f", "{}")]),
            "K8",
            "message 2 (assistant) had 2 tool calls and has 1 now",
        ),
    ],
)
def test_an_earlier_message_that_changed(old: Message, new: Message, code: str, explanation: str) -> None:
    found = turns([old, USER], REPLY, [new, USER, REPLY, NEXT])
    assert at(found) == (code, "history", None)
    assert found.explanation == explanation


@pytest.mark.parametrize(
    ("reply", "replayed", "explanation"),
    [
        (
            message("assistant", "ok \n"),
            message("assistant", "ok"),
            "the content of the reply was trimmed: it ended or began with other white space",
        ),
        (THINKING, message("assistant", "It is sunny."), "the reasoning of the reply was not replayed"),
        (
            THINKING,
            message("assistant", "It is sunny.", reasoning_content="Weather."),
            'the reasoning of the reply was replayed as "Weather." instead of "The user wants the weather."',
        ),
        (
            message("assistant", tool_calls=[call("f", '{"b":1,"a":2}')]),
            message("assistant", tool_calls=[call("f", '{"a": 2, "b": 1}')]),
            (
                'the arguments of the call of "f" in the reply were serialized again as'
                ' "{"a": 2, "b": 1}" instead of "{"b":1,"a":2}"'
            ),
        ),
        (
            message("assistant", "It is sunny."),
            message("assistant", "It rains."),
            'the content of the reply was replayed as "It rains." instead of "It is sunny."',
        ),
    ],
)
def test_a_reply_that_does_not_round_trip(reply: Message, replayed: Message, explanation: str) -> None:
    found = turns([USER], reply, [USER, replayed, NEXT])
    assert at(found) == ("K10", "history", None)
    assert found.explanation == explanation


def test_ids_that_are_not_printed_do_not_matter() -> None:
    old, new = (message("assistant", tool_calls=[call("f", "{}", name)]) for name in ("call-1", "call-2"))
    result = message("tool", "fine")
    assert first_divergence(prompt(ask(USER), old), prompt(ask(USER, new, result))) is None


@pytest.mark.parametrize(("reply", "code"), [(True, "K10"), (False, "K2")])
def test_ids_that_are_printed(reply: bool, code: str) -> None:
    def render(request: Any, answer: Message | None = None) -> Prompt:
        plain = prompt(request, answer)
        messages = [*request.messages, *([answer] if answer else [])]
        ids = [one["id"] for given in messages for one in given.get("tool_calls", ())]
        text = plain.text
        for call_id in ids:
            text = text.replace("<tool_call>f", f"<tool_call>[{call_id}] f", 1)
        return Prompt(request, text, list(map(ord, text)), range(len(text)), None, answer, plain.reply_start)

    old, new = (message("assistant", tool_calls=[call("f", "{}", name)]) for name in ("call-a81", "call-b92"))
    result = message("tool", "fine")
    if reply:
        found = diverge(render(ask(USER), old), render(ask(USER, new, result)))
    else:
        found = diverge(render(ask(USER, old, result), REPLY), render(ask(USER, new, result, REPLY, NEXT)))
    assert (found.cause.code, found.block) == (code, "history")
    whose = "the reply" if reply else "message 2 (assistant)"
    assert found.explanation == f'a tool-call id of {whose} changed from "call-a81" to "call-b92"'


def place_of(text: str) -> str:
    before = CHAT_TEMPLATE[: CHAT_TEMPLATE.index(text)].split("\n")
    return f"chat.jinja:{len(before)}:{len(before[-1]) + 1}"


def test_a_template_that_drops_reasoning_once_the_user_speaks_again() -> None:
    found = turns([USER], THINKING, [USER, THINKING, NEXT], Style(reasoning="latest"))
    assert at(found) == ("K9", "history", place_of("<think>"))
    assert found.explanation == (
        'the chat template drops the reasoning of an earlier turn ("The user wants the weather.") once another message follows'
    )
    assert found.before.startswith("…|>assistant\\n<think>The user")
    assert found.after.startswith("…|>assistant\\nIt is sunny.")


def test_a_template_that_prints_the_tools_with_the_last_user_message() -> None:
    tools, style = [tool("f"), tool("g")], Style(tools="last")
    first = prompt(ask(USER, system=SYSTEM, tools=tools), REPLY, style)
    found = diverge(first, prompt(ask(USER, REPLY, NEXT, system=SYSTEM, tools=tools), style=style))
    assert at(found) == ("K9", "history", place_of("# Tools"))
    assert found.explanation == (
        "the chat template prints the tools only with the latest user message, so they move with every new one"
    )


@pytest.mark.parametrize(
    ("old", "new", "code"), [("03 Nov 2026", "04 Nov 2026", "K1"), ("Tue", "Wed", "K1"), ("9f86d081a", "2c26b46b6", "K2")]
)
def test_a_template_that_prints_a_date_or_an_id(old: str, new: str, code: str) -> None:
    first = prompt(ask(USER, system=SYSTEM), REPLY, Style(date=old), traced=code != "K2")
    found = diverge(first, prompt(ask(USER, REPLY, NEXT, system=SYSTEM), style=Style(date=new), traced=code != "K2"))
    assert at(found) == (code, "system", place_of("{{ strftime_now") if code == "K1" else None)
    noun = "a date or time" if code == "K1" else "an id"
    assert found.explanation == f'{noun} that the chat template prints changed from "{old}" to "{new}"'
    printed = "date or time" if code == "K1" else "id"
    assert found.remedy == f"use a chat template that prints no {printed} of its own"


def test_a_generation_prompt_that_the_history_does_not_have() -> None:
    found = turns([USER], REPLY, [USER, REPLY, NEXT], Style(generation="Answer: "))
    assert (found.cause.code, found.block) == ("K9", "history")
    assert found.explanation == (
        'the chat template prints "Answer: " behind a message of the role user only where it asks for the reply,'
        " and not in the history"
    )
    found = turns([USER], REPLY, [USER, REPLY, NEXT], Style(generation="<think>\n\n</think>\n\n"))
    assert found.explanation == ("the chat template prints <think> for the latest turn only, and leaves it out of the history")


def test_a_reply_that_ends_otherwise_in_the_history() -> None:
    found = turns([USER], REPLY, [USER, REPLY, NEXT], Style(end="[END]"))
    assert (found.cause.code, found.block) == ("K9", "history")
    assert found.explanation == "the chat template ends the reply in the history with other text than the model ended it with"


HELLO = message("user", "Hello you there")
CALLING = message("assistant", "I am looking it up.", tool_calls=[call("weather", "{}")])
RESULT = message("tool", "Sunny and twenty degrees.", tool_call_id="call-1")


@pytest.mark.parametrize(
    ("before", "reply", "after", "explanation"),
    [
        (
            "<user>Hello you there<end><bot>",
            "I am looking it up.[CALL]weather{}",
            "<user>Hello you there<end><bot>[CALL]weather{}<tool>Sunny and twenty degrees.<bot>",
            'leaves out the text of a reply that calls tools ("I am looking it up.") once another message follows',
        ),
        (
            "<user>Hello you there<end><bot>",
            "[CALL]weather{}I am looking it up.<end>",
            "<user>Hello you there<end><bot>[CALL]weather{}<tool>Sunny and twenty degrees.<bot>I am looking it up.<end>",
            'prints the text of a reply ("I am looking it up.") behind the message that follows it',
        ),
        (
            "<user>Hello you there<end><bot>",
            "I am looking it up.[CALL]weather{}</call>",
            "<user>Hello you there\n<end><bot>I am looking it up.[CALL]weather{}</call>Sunny and twenty degrees.<bot>",
            'prints "\\n" behind a message of the role user in the history only, and not where it asks for the reply',
        ),
        (
            "<user>Hello you there<end><bot>",
            "I am looking it up.[CALL]weather{}</call>",
            "<user>Hello you there<bot>I am looking it up.[CALL]weather{}</call>Sunny and twenty degrees.<bot>",
            'prints "<end>" behind a message of the role user only where it asks for the reply, and not in the history',
        ),
        (
            "<user>Hello you there<end><bot>",
            "I am looking it up.[CALL]weather{}</call>",
            "<user>Hello you there<end>:I am looking it up.[CALL]weather{}</call>Sunny and twenty degrees.<bot>",
            "asks for a reply with other text than it prints in front of the same reply in the history",
        ),
        (
            "<user>Hello you there<end><bot>",
            "I am looking it up.[CALL]weather{}</call>\n",
            "<user>Hello you there<end><bot>I am looking it up.[CALL]weather{}, id=1</call>\nSunny and twenty degrees.<bot>",
            'prints ", id=1" in the reply only once another message follows',
        ),
        (
            "<user>Hello you there<end><bot>",
            "I am looking it up.[CALL]weather{}</call></all>",
            "<user>Hello you there<end><bot>I am looking it up.[CALL]weather{}</all>Sunny and twenty degrees.<bot>",
            'leaves "</call>" out of the end of the reply once another message follows',
        ),
    ],
)
def test_what_a_template_prints_otherwise_around_a_reply(before: str, reply: str, after: str, explanation: str) -> None:
    first = Prompt(ask(HELLO), before + reply, list(map(ord, before + reply)), None, None, CALLING, len(before))
    found = diverge(first, Prompt(ask(HELLO, CALLING, RESULT), after, list(map(ord, after))))
    assert (found.cause.code, found.explanation) == ("K9", f"the chat template {explanation}")


@pytest.mark.parametrize(
    ("before", "after", "explanation"),
    [
        ("<s>Be brief.<u>Hello you there", "<s><u>Hello you there<b>It is sunny.", "no longer prints the system prompt"),
        ("<s><u>Hello you there", "<s>Be brief.<u>Hello you there", "prints the system prompt, which it left out before"),
        (
            "<s>Be brief.<u>Hello you there",
            "<s><u>Hello you there<b>It is sunny.<s>Be brief.<u>",
            "prints the system prompt at another place than before",
        ),
    ],
)
def test_a_template_that_moves_the_system_prompt(before: str, after: str, explanation: str) -> None:
    first = Prompt(ask(HELLO, system="Be brief."), before, list(map(ord, before)))
    found = diverge(first, Prompt(ask(HELLO, REPLY, NEXT, system="Be brief."), after, list(map(ord, after))))
    assert (found.cause.code, found.explanation) == ("K9", f"the chat template {explanation}")


def test_a_template_that_trims_what_is_not_the_latest() -> None:
    padded = message("user", "  What is the weather like?  ")
    found = diverge(prompt(ask(padded), REPLY), prompt(ask(padded, REPLY, NEXT), style=Style(trim=True)))
    assert at(found) == ("K9", "history", place_of("{{ message.content"))
    assert found.explanation == "the chat template prints message 1 in another way than before, although it did not change"


def test_other_variables_for_the_template() -> None:
    first = ask(USER, system=SYSTEM)
    second = ask(USER, REPLY, NEXT, system=SYSTEM)
    object.__setattr__(second, "template_kwargs", {"enable_thinking": False})
    found = diverge(prompt(first, REPLY, Style(generation="One. ")), prompt(second, style=Style(generation="Two. ")))
    assert found.cause.code == "K9"
    assert found.explanation == "the chat template got another value for the variable enable_thinking"


def test_a_template_that_differs_in_front_of_a_rewritten_message_is_named_first() -> None:
    before, after = [USER, REPLY, NEXT], [USER, REPLY, message("user", "Another one altogether."), AGAIN]
    first = prompt(ask(*before, system=SYSTEM), AGAIN, Style(date="03 Nov 2026"))
    assert diverge(first, prompt(ask(*after, system=SYSTEM), style=Style(date="04 Nov 2026"))).cause.code == "K1"


def test_a_reasoning_mark_that_only_the_history_has() -> None:
    text = "<user>Hello you there<bot>"
    before = Prompt(ask(USER), text + "It is sunny.", list(map(ord, text + "It is sunny.")), None, None, REPLY, len(text))
    now = text + "<think></think>It is sunny.<user>"
    found = diverge(before, Prompt(ask(USER, REPLY, NEXT), now, list(map(ord, now))))
    assert found.explanation == "the chat template prints <think> in the history, and not where it asked for the reply"


@pytest.mark.parametrize(
    ("after", "explanation"),
    [
        (Style(tools="never"), "the chat template no longer prints the tools"),
        (Style(tools="end"), "the chat template prints the tools at another place than before"),
    ],
)
def test_a_template_that_prints_the_tools_elsewhere(after: Style, explanation: str) -> None:
    tools = [tool("f"), tool("g")]
    first = prompt(ask(USER, system=SYSTEM, tools=tools), REPLY)
    found = diverge(first, prompt(ask(USER, REPLY, NEXT, system=SYSTEM, tools=tools), style=after))
    assert (found.cause.code, found.explanation) == ("K9", explanation)


def test_reasoning_that_was_changed() -> None:
    other = message("assistant", "It is sunny.", reasoning_content="Weather.")
    found = turns([USER, THINKING, NEXT], REPLY, [USER, other, NEXT, REPLY, LAST])
    assert found.explanation == (
        'the reasoning of message 3 (assistant) is now "Weather." instead of "The user wants the weather."'
    )


def test_an_unexplained_difference_without_messages() -> None:
    first, second = (Prompt(ask(), text, list(map(ord, text))) for text in ("one two", "one six"))
    assert diverge(first, second).explanation == "the chat template prints the same conversation in another way than before"
