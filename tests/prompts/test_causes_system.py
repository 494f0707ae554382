"""Causes in the system prompt."""

import pytest
from chatml import ask, at, diverge, message, prompt, template

from promptguard.core.source import Span
from promptguard.prompts.divergence import Divergence
from promptguard.prompts.request import Traced

USER = message("user", "What is the weather like in Ulm today, please?")
REPLY = message("assistant", "It is sunny and about twenty degrees.")
NEXT = message("user", "And what about tomorrow morning, same place?")
RULES = "\nAnswer briefly and in English, and never guess.\n"


def systems(before: Traced | str, after: Traced | str) -> Divergence:
    return diverge(prompt(ask(USER, system=before), REPLY), prompt(ask(USER, REPLY, NEXT, system=after)))


def expressions(source: str, before: str, after: str) -> Divergence:
    """The system prompt is ``source`` with one expression, which prints other text on the next turn."""
    name = source.split("{{ ")[1].split(" }}")[0]
    for mark in "(|.":
        name = name.split(mark)[0].strip()
    return systems(template(source + RULES, **{name: before}), template(source + RULES, **{name: after}))


@pytest.mark.parametrize(
    ("source", "before", "after", "code"),
    [
        # K1: a shape that both texts have.
        ("Now: {{ x }}", "2026-11-03T10:00:01Z", "2026-11-03T10:00:02Z", "K1"),
        ("Now: {{ x }}", "2026-11-03 23:59:59.120394", "2026-11-04 00:00:01.400000", "K1"),
        ("It is {{ x }} now.", "9:59 am", "10:00 am", "K1"),
        ("It is {{ x }} today.", "Tuesday, 3 November 2026", "Wednesday, 4 November 2026", "K1"),
        ("It is {{ x }} today.", "Nov 3, 2026", "Nov 4, 2026", "K1"),
        ("It is {{ x }} today.", "3rd of May", "4th of May", "K1"),
        ("It is {{ x }} today.", "Tue Nov  3 10:00:01 2026", "Tue Nov  3 10:00:02 2026", "K1"),
        ("It is {{ x }} today.", "Tuesday", "Wednesday", "K1"),
        ("It is {{ x }} today.", "03/11/2026", "04/11/2026", "K1"),
        ("It is {{ x }} today.", "3.11.2026", "4.11.2026", "K1"),
        ("at {{ x }} sharp", "20261103T100001Z", "20261103T100002Z", "K1"),
        ("at {{ x }} sharp", "1793700001", "1793700062", "K1"),
        ("at {{ x }} sharp", "1793700001.25", "1793700062.5", "K1"),
        # K1: a name, where the text has no shape.
        ("It is {{ current_time }} there.", "early morning", "late morning", "K1"),
        ("It is {{ now().strftime('%p') }} there.", "morning", "noon", "K1"),
        # K2
        ("{{ x }}", "hdr: v=1; cch=36ee5;", "hdr: v=1; cch=0aaa9;", "K2"),
        ("See {{ x }} for it.", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "K2"),
        ("See {{ x }} for it.", "9f86d081884c7d65", "2c26b46b68ffc68f", "K2"),
        ("See {{ x }} for it.", "call_a81Jf92kx", "call_Zq0182hdM", "K2"),
        ("See {{ x }} for it.", "dGhpcyBpcyBhIHRlc3Q5", "aGVsbG8gdGhlcmUgbXkg2", "K2"),
        ("See {{ x }} for it.", "/tmp/tmpab12cd/notes", "/tmp/tmpzz98xy/notes", "K2"),
        ("See {{ session_id }} for it.", "seven", "eight", "K2"),
        # K3
        ("Skills: {{ skills }}.", "read, write, run", "run, read, write", "K3"),
        ("Files:\n{{ x | join }}", "- /a/b\n- /a/c\n- /a/d", "- /a/c\n- /a/b\n- /a/d", "K3"),
        ("{{ x }}", "1. read\n2. write", "1. write\n2. read", "K3"),
        # K6
        ("About you: {{ memories }}", "likes cats", "lives in Ulm, likes long walks", "K6"),
        ("About you: {{ search(last_user) }}", "likes cats", "lives in Ulm", "K6"),
        ("Memories:\n{{ x }}", "- likes cats", "- lives in Ulm\n- likes long walks", "K6"),
        ("# Retrieved documents\n\n{{ x }}", "Cats purr.", "Dogs bark.", "K6"),
        # K7
        ("You work in {{ cwd }}.", "here", "there", "K7"),
        ("cwd={{ x }} git=clean", "here", "there", "K7"),
        ("You work in {{ x }}.", "/home/ada/one", "/home/ada/two", "K7"),
        ("You run on {{ x }}.", "10.0.0.4", "10.0.0.5", "K7"),
        ("This is turn {{ x }}.", "9", "10", "K7"),
        ("You have {{ x }} tokens left.", "512", "480", "K7"),
        ("You have {{ tokens_left }} to go.", "many", "few", "K7"),
        # K15
        ("Hello {{ user_name }}", "Anna", "Ben", "K15"),
        ("Hello {{ x }}!", "Anna", "Ben", "K15"),
        ("User: {{ x }}", "Anna", "Ben", "K15"),
        ("Write to {{ x }} only.", "anna@example.org", "ben@example.org", "K15"),
        ("It is for {{ user.last_login }} only.", "2026-11-03", "2026-11-04", "K15"),
        # WS
        ("Rules{{ x }}", " ", "  ", "WS"),
        ("Rules{{ x }}", "\n", "\r\n", "WS"),
        # K0: nothing is claimed where nothing shows.
        ("The {{ x }}", "quick brown", "lazy", "K0"),
        ("The {{ x }} fox", "quick", "quick brown", "K0"),
        ("The {{ update }}", "cat", "dog", "K0"),
        ("Version {{ x }}", "v1.2.3-beta", "v1.2.4-beta", "K0"),
        ("You may {{ x }}", "march on", "go on", "K0"),
        ("Pick {{ x }}.", "2", "5", "K0"),
    ],
)
def test_cause_of_what_an_expression_prints(source: str, before: str, after: str, code: str) -> None:
    found = expressions(source, before, after)
    lines = source.split("{{")[0].split("\n")
    assert at(found) == (code, "system", f"system.j2:{len(lines)}:{len(lines[-1]) + 1}")
    assert found.place is not None
    assert found.place.text == "{{ " + str(found.expression) + " }}"


def test_a_clock_in_full() -> None:
    found = expressions("Rule one.\nNow: {{ now }}", "2026-11-03 10:00:01", "2026-11-03 10:00:02")
    assert found.cause.name == "clock"
    assert found.char == len("<|im_start|>system\nRule one.\nNow: 2026-11-03 10:00:0")
    assert found.before == "…1-03 10:00:01\\nAnswer briefly and in Engl…"
    assert found.after == "…1-03 10:00:02\\nAnswer briefly and in Engl…"
    assert found.explanation == (
        'a date or time in the system prompt changed from "2026-11-03 10:00:01" to "2026-11-03 10:00:02"'
    )
    assert found.remedy == "move the clock to the end of the last user message"
    assert found.expression == "now"


def test_tokens_lost_are_those_from_the_difference_to_the_end_of_the_reply() -> None:
    before, after = (template("Now: {{ now }}" + RULES, now=now) for now in ("noon", "dusk"))
    first, second = prompt(ask(USER, system=before), REPLY), prompt(ask(USER, REPLY, system=after))
    found = diverge(first, second)
    assert (found.token, found.tokens_lost) == (5, len(first.tokens) - 5)


def test_a_literal_text_has_an_exact_place() -> None:
    found = systems(template("Rules:\r\nbe nice\n", "a.j2"), template("Rules:\r\nbe terse\n", "a.j2"))
    assert at(found) == ("K0", "system", "a.j2:2:4")
    assert found.place is not None
    assert found.place.text == "t"
    assert found.expression is None
    assert found.explanation == 'the system prompt changed from "nice" to "terse"'


def test_the_end_of_a_shorter_text_has_a_place() -> None:
    found = systems(template("Be nice.\n", "a.j2"), template("Be nice.", "a.j2"))
    assert at(found) == ("WS", "system", "a.j2:1:9")


def test_a_place_behind_plain_line_ends_is_counted_in_the_file() -> None:
    before, after = template("a\r\nb\r\nc one", "a.j2"), template("a\r\nb\r\nc two", "a.j2")
    before, after = (
        Traced(t.text.replace("\r\n", "\n"), tuple(type(p)(0, len(t.text) - 2, p.place) for p in t.pieces))
        for t in (before, after)
    )
    found = systems(before, after)
    assert at(found) == ("K0", "system", "a.j2:3:3")
    assert found.place is not None
    assert found.place.span == Span(8, 9)


def test_without_a_trace_there_is_a_cause_and_no_place() -> None:
    assert at(systems("Now: 10:00" + RULES, "Now: 10:01" + RULES)) == ("K1", "system", None)


def test_the_first_of_two_differences_counts() -> None:
    source = "Id {{ uuid }}, now {{ now }}."
    before = template(source, uuid="a1b2c3d4e5", now="10:00")
    after = template(source, uuid="f6a7b8c9d0", now="10:01")
    assert at(systems(before, after)) == ("K2", "system", "system.j2:1:4")


def test_a_system_prompt_that_comes_or_goes() -> None:
    assert systems("Be kind.", "").explanation == 'the system prompt was removed: "Be kind."'
    assert systems("", "Be kind.").explanation == 'the system prompt was added: "Be kind."'


def test_a_moved_line_is_named() -> None:
    found = systems("Skills:\n- read\n- write\n- run\nEnd", "Skills:\n- read\n- run\n- write\nEnd")
    assert found.explanation == 'the items of a list in the system prompt stand in another order: "run" where "write" stood'
