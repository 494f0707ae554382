import json
from typing import Any

import pytest
from chatml import Style, ask, call, message, prompt, tool
from hypothesis import given
from hypothesis import strategies as st

from promptguard.prompts.request import Prompt, Request
from promptguard.prompts.segments import Segment, calls_of, segment_at, segments, text_of

SYSTEM = "Be kind to everyone, and be brief."
USER = message("user", "What is the weather like in Ulm today, please?")
CALL = message("assistant", tool_calls=[call("f", '{"b":1}')], reasoning_content="Let me look it up.")
RESULT = message("tool", "sunny", tool_call_id="call-1")
REPLY = message("assistant", "It is sunny and about twenty degrees.")


def own(cut: list[Segment], text: str) -> list[tuple[str, str, int | None, str]]:
    """All segments but the template's: block, what, message or tool, text."""
    number = {segment: segment.tool if segment.what == "tool" else segment.message for segment in cut}
    return [(s.block, s.what, number[s], text[s.start : s.end]) for s in cut if s.what != "template"]


def test_every_part_of_a_prompt_is_found() -> None:
    made = prompt(ask(USER, CALL, RESULT, system=SYSTEM, tools=[tool("f"), tool("g")]), REPLY)
    found = own(segments(made), made.text)
    assert [row[:3] for row in found] == [
        ("system", "system", 0),
        ("tools", "tool", 0),
        ("tools", "tool", 1),
        ("history", "content", 1),
        ("history", "reasoning", 2),
        ("history", "call-name", 2),
        ("history", "call-arguments", 2),
        ("history", "content", 3),
        ("history", "content", 4),
    ]
    assert [row[3] for row in found[3:]] == [
        USER["content"],
        "Let me look it up.",
        "f",
        '{"b":1}',
        "sunny",
        REPLY["content"],
    ]


def test_the_latest_user_message_and_the_generation_prompt_are_the_user_block() -> None:
    made = prompt(ask(USER, REPLY, USER, system=SYSTEM))
    cut = segments(made)
    last = made.text.rindex(USER["content"])
    assert [segment.block for segment in cut if segment.end > last] == ["user", "user"]
    assert segment_at(cut, last - 1) == Segment(made.text.index("<|im_end|>\n<|im_start|>user", 130), last, "user", "template", 3)
    assert [segment.block for segment in segments(prompt(ask(USER, CALL, RESULT)))][-2:] == ["history", "history"]


def test_text_in_front_of_everything_is_the_systems() -> None:
    made = prompt(ask(USER), style=Style(date="03 Nov 2026"))
    assert [(s.block, s.what) for s in segments(made)] == [("system", "template"), ("user", "content"), ("user", "template")]


@pytest.mark.parametrize("style", [Style(), Style(indent=2), Style(indent=4), Style(tools="last")])
def test_tools_are_found_in_each_spelling(style: Style) -> None:
    made = prompt(ask(USER, system=SYSTEM, tools=[tool("f"), tool("gé", "Says 'ü'.")]), style=style)
    assert [row[2] for row in own(segments(made), made.text) if row[1] == "tool"] == [0, 1]


def test_a_tool_in_another_spelling_is_found_by_its_name_and_description() -> None:
    text = f"sys\n// {tool('find_it', 'x')}\nfunction find_it: Finds what you look for.\n<user>hi"
    made = Prompt(Request((message("user", "hi"),), (tool("find_it", "Finds what you look for."),)), text, [], [])
    assert own(segments(made), text)[0] == ("tools", "tool", 0, "find_it: Finds what you look for.")


def test_trimmed_and_escaped_texts_are_found() -> None:
    request = ask(message("user", "  hello there  "), message("tool", 'say "hi"\n'), message("user", "end of it"))
    text = '<user>hello there<tool>{"result": "say \\"hi\\"\\n"}<user>end of it<assistant>'
    cut = segments(Prompt(request, text, [], []))
    assert [row[3] for row in own(cut, text)] == ["hello there", 'say \\"hi\\"\\n', "end of it"]
    assert [segment.text_start for segment in cut if segment.what == "content"] == [2, None, 0]


def test_arguments_printed_again_are_found() -> None:
    request = ask(USER, message("assistant", tool_calls=[call("f", '{"b":1,"a":"é"}')]), RESULT)
    text = f'{USER["content"]}[f {{"b": 1, "a": "é"}}]sunny'
    assert [row[1] for row in own(segments(Prompt(request, text, [], [])), text)] == [
        "content",
        "call-name",
        "call-arguments",
        "content",
    ]


def test_short_texts_are_not_found_inside_words_nor_inside_tools() -> None:
    made = prompt(ask(message("user", "art"), system=SYSTEM, tools=[tool("art", "Makes art.")]))
    assert own(segments(made), made.text)[-1] == ("user", "content", 1, "art")
    assert made.text[: segments(made)[-2].start].endswith("<|im_start|>user\n")


def test_repeated_texts_are_found_in_their_order() -> None:
    again = message("user", "Please go on with the next step.")
    made = prompt(ask(again, REPLY, again, REPLY, again, system=SYSTEM))
    assert [row[2] for row in own(segments(made), made.text)] == [0, 1, 2, 3, 4, 5]


def test_a_system_prompt_behind_the_messages_does_not_hide_them() -> None:
    request = ask(USER, REPLY, message("user", "And what about tomorrow?"), system=SYSTEM)
    text = f"[INST]{USER['content']}[/INST]{REPLY['content']}[INST]{SYSTEM} And what about tomorrow?[/INST]"
    found = own(segments(Prompt(request, text, [], [])), text)
    assert [row[1:3] for row in found] == [("content", 1), ("content", 2), ("system", 0), ("content", 3)]


def test_a_text_that_was_left_out_does_not_take_the_place_of_a_later_one() -> None:
    again = message("user", "Please go on with the next step.")
    filler = [message("user", f"Message number {number}: " + "lorem ipsum " * 200) for number in range(3)]
    full = ask(again, *filler, again)
    text = "".join(f"<user>{one['content']}" for one in [*filler, again])
    assert [row[2] for row in own(segments(Prompt(full, text, [], [])), text)] == [1, 2, 3, 4]


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), st.text(max_size=30)), max_size=6),
    st.text(max_size=200),
)
def test_segments_cover_any_text_without_gaps(messages: list[tuple[str, str]], text: str) -> None:
    request = Request(tuple(message(role, content) for role, content in messages), (tool("f", text),))
    cut = segments(Prompt(request, text, [], []))
    assert [segment.start for segment in cut] == [0, *(segment.end for segment in cut)][: len(cut)]
    assert (cut[-1].end if cut else 0) == len(text)


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, ""), ("a", "a"), (3, ""), ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "ab")],
)
def test_content_in_any_form(content: Any, text: str) -> None:
    assert text_of({"role": "user", "content": content}) == text


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        (None, []),
        ("x", []),
        ([3], []),
        ([{"function": {"name": "f", "arguments": {"a": 1}}}], [("", "f", '{"a": 1}')]),
        ([{"id": "1", "name": "f"}], [("1", "f", "")]),
    ],
)
def test_tool_calls_in_any_form(calls: Any, found: list[tuple[str, str, str]]) -> None:
    assert calls_of({"role": "assistant", "tool_calls": calls}) == found


def test_a_list_of_tools_printed_as_one_is_found() -> None:
    tools = (tool("f", "Short."), {"name": "bare", "function": None})
    text = "Tools: " + json.dumps(list(tools), indent=2) + "<user>hi"
    found = own(segments(Prompt(Request((message("user", "hi"),), tools), text, [], [])), text)
    assert [row[:2] for row in found] == [("tools", "tool"), ("user", "content")]


def test_arguments_that_are_not_json_are_found_as_they_are() -> None:
    request = ask(USER, message("assistant", tool_calls=[call("f", "not json"), call("f", "neither")]), RESULT)
    text = f"{USER['content']}[f not json][f NEITHER]sunny"
    assert [row[3] for row in own(segments(Prompt(request, text, [], [])), text)][1:] == ["f", "not json", "f", "sunny"]
