from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_task import tool

from promptguard.core.errors import ConfigError
from promptguard.core.source import Place, Source, Span
from promptguard.prompts.request import Piece, Request, Traced
from promptguard.replaying.inject import DEFECTS, _insert, parse_injection

CLOCK = datetime.fromisoformat("2026-03-11 23:59:58")
LATER = datetime.fromisoformat("2026-03-11 23:59:59")
EVERY_TURN = ("clock-head", "clock-tail", "uuid-in-tool")
ONE_TURN = ("reorder-tools", "reorder-keys", "extra-space", "drop-history")
SOURCE = Source("system.j2", "You are {{ name }}, a helpful agent. Be brief.", "jinja")
TEXT = "You are Ada Lovelace, a helpful agent. Be brief."


def system() -> Traced:
    """``SOURCE`` rendered with a name: literal text, a value, literal text."""
    value = TEXT.index("Ada"), TEXT.index(", a")
    source = SOURCE.text.index("{{"), SOURCE.text.index(", a")
    return Traced(
        TEXT,
        (
            Piece(0, value[0], Place(SOURCE, Span(0, source[0]))),
            Piece(*value, Place(SOURCE, Span(*source)), "name"),
            Piece(value[1], len(TEXT), Place(SOURCE, Span(source[1], len(SOURCE.text)))),
        ),
    )


def request(**fields: Any) -> Request:
    messages = (
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "tool", "content": "21"},
        {"role": "user", "content": "Go on"},
    )
    tools = tuple(tool(name) for name in ("get_weather", "get_time", "get_news"))
    return Request(**{"messages": messages, "tools": tools, "system": system(), **fields})


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("clock-head", "system"),
        ("clock-tail", "system"),
        ("extra-space", "system"),
        ("uuid-in-tool", "tools"),
        ("reorder-tools", "tools"),
        ("reorder-keys", "tools"),
        ("drop-history", "messages"),
    ],
)
def test_a_defect_changes_what_it_says_and_nothing_else(name: str, part: str) -> None:
    before = request()
    after = parse_injection(f"{name}@2" if name in ONE_TURN else name)(before, 2, CLOCK)
    assert [kind for kind in ("messages", "tools", "system") if _text(before, kind) != _text(after, kind)] == [part]


def _text(request: Request, part: str) -> str:
    return request.system.text if part == "system" else str(getattr(request, part))


def test_there_are_these_defects() -> None:
    assert set(DEFECTS) == {*EVERY_TURN, *ONE_TURN}


@pytest.mark.parametrize("name", ONE_TURN)
def test_a_defect_of_one_turn_shows_there_alone(name: str) -> None:
    before = request()
    assert [turn for turn in range(10) if parse_injection(f"{name}@4")(before, turn, CLOCK) is not before] == [4]
    assert [turn for turn in range(10) if parse_injection(name)(before, turn, CLOCK) is not before] == [7]


@pytest.mark.parametrize("name", EVERY_TURN)
def test_the_others_show_on_every_turn_and_differ_with_the_clock(name: str) -> None:
    first, again, later = (parse_injection(name)(request(), 2, clock) for clock in (CLOCK, CLOCK, LATER))
    assert first == again != later
    assert all(parse_injection(name)(request(), turn, CLOCK) != request() for turn in range(10))


def test_the_clock_stands_where_its_name_says() -> None:
    assert parse_injection("clock-head")(request(), 1, CLOCK).system.text == f"Current time: 2026-03-11 23:59:58\n{TEXT}"
    assert parse_injection("clock-tail")(request(), 1, CLOCK).system.text == f"{TEXT}\nCurrent time: 2026-03-11 23:59:58"


def test_the_extra_space_stands_beside_another_in_the_middle() -> None:
    text = parse_injection("extra-space@1")(request(), 1, CLOCK).system.text
    assert text.replace("  ", " ") == TEXT
    assert len(TEXT) // 2 <= text.index("  ") < len(TEXT)


def test_the_uuid_goes_into_the_first_description() -> None:
    tools = parse_injection("uuid-in-tool")(request(), 1, CLOCK).tools
    assert re.fullmatch(r"Ask a service\. \(trace [0-9a-f-]{36}\)", tools[0]["function"]["description"])
    assert tools[1:] == request().tools[1:]


def test_the_first_tool_becomes_the_last() -> None:
    tools = parse_injection("reorder-tools@1")(request(), 1, CLOCK).tools
    assert [each["function"]["name"] for each in tools] == ["get_time", "get_news", "get_weather"]


def test_keys_are_reversed_on_every_level_and_values_kept() -> None:
    tools = parse_injection("reorder-keys@1")(request(), 1, CLOCK).tools
    assert tools == request().tools
    assert list(tools[0]["function"]["parameters"]) == ["required", "properties", "type"]
    assert list(tools[0]) == ["function", "type"]


def test_the_oldest_call_goes_with_its_result() -> None:
    messages = parse_injection("drop-history@1")(request(), 1, CLOCK).messages
    assert [message["content"] for message in messages] == ["Hi", "Go on"]


@pytest.mark.parametrize("name", DEFECTS)
def test_a_request_that_lacks_everything_is_no_crash(name: str) -> None:
    bare = Request(messages=({"role": "user", "content": "Hi"},))
    after = parse_injection(name)(bare, 7, CLOCK)
    assert after.messages == bare.messages
    assert after.tools == ()


@pytest.mark.parametrize("name", ["clock-head", "clock-tail", "extra-space@1"])
def test_the_rest_of_the_system_prompt_knows_where_it_came_from(name: str) -> None:
    traced = parse_injection(name)(request(), 1, CLOCK).system
    assert [piece.start for piece in traced.pieces] == [0, *[piece.end for piece in traced.pieces[:-1]]]
    assert traced.pieces[-1].end == len(traced.text)
    for piece in traced.pieces:
        if piece.expression is None:
            assert traced.text[piece.start : piece.end] == piece.place.text
    before = {piece.expression for piece in request().system.pieces}
    planted = [piece for piece in traced.pieces if piece.expression not in before]
    assert len(planted) == 1
    assert planted[0].place.source == traced.pieces[-2].place.source  # where it would stand in the user's file
    assert planted[0].place.text == ""


@given(st.integers(0, len(TEXT)), st.text(min_size=1, max_size=5))
def test_a_text_can_be_planted_anywhere(offset: int, text: str) -> None:
    traced = _insert(request(), offset, text).system
    assert traced.text == TEXT[:offset] + text + TEXT[offset:]
    assert "".join(traced.text[piece.start : piece.end] for piece in traced.pieces) == traced.text
    assert all(traced.text[piece.start : piece.end] == piece.place.text for piece in traced.pieces if piece.expression is None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "there is no defect 'nonsense'; one of: clock-head, clock-tail, uuid-in-tool"),
        ("clock-hed", "there is no defect 'clock-hed'; did you mean clock-head?"),
        ("extra-space@", "'' is not the number of a turn"),
        ("extra-space@0", "'0' is not the number of a turn; write extra-space@7"),
        ("extra-space@-1", "'-1' is not the number of a turn"),
        ("extra-space@\u0663", "is not the number of a turn"),
        ("extra-space@99999999999999999999", "is not the number of a turn"),
        ("", "there is no defect ''"),
    ],
)
def test_what_is_no_defect(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_injection(text)
    assert message in str(caught.value)
