from array import array

import pytest
from chatml import diverge, message, prompt, tokenize
from hypothesis import given
from hypothesis import strategies as st

from promptguard.prompts.divergence import common_prefix, excerpt, first_divergence
from promptguard.prompts.request import Prompt, Request
from promptguard.prompts.sequences import common_suffix

TEXTS = st.text(alphabet="ab \n\\<|é😀1:", max_size=60)
MESSAGES = st.lists(
    st.builds(
        message, st.sampled_from(["user", "assistant", "tool"]), st.sampled_from(["", "hi", "user", " hi\n", "10:00", "x" * 30])
    ),
    max_size=4,
)


def naive(first: list[int], second: list[int]) -> int:
    return next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))


def plain(text: str, *, starts: bool = True) -> Prompt:
    tokens, where = tokenize(text)
    return Prompt(Request(()), text, tokens, where if starts else None)


@given(
    st.lists(st.integers(0, 2), max_size=6), st.lists(st.integers(0, 2), max_size=6), st.sampled_from([0, 1, 1023, 1024, 5000])
)
def test_common_prefix_equals_the_naive_one(first: list[int], second: list[int], shared: int) -> None:
    head = list(range(shared))
    for kind in (list, tuple, lambda items: array("q", items)):
        assert common_prefix(kind(head + first), kind(head + second)) == naive(head + first, head + second)
    assert common_prefix(head + first, tuple(head + second)) == naive(head + first, head + second)


@given(
    st.text(alphabet="ab", max_size=8),
    st.text(alphabet="ab", max_size=8),
    st.sampled_from([0, 1, 1024, 3000]),
    st.integers(0, 4000),
)
def test_common_suffix_equals_the_naive_one(first: str, second: str, shared: int, limit: int) -> None:
    first, second = first + "x" * shared, second + "x" * shared
    expected = naive(list(map(ord, reversed(first))), list(map(ord, reversed(second))))
    assert common_suffix(first, second, limit) == min(expected, limit)


@given(TEXTS, TEXTS, TEXTS, st.booleans())
def test_any_two_texts(head: str, first: str, second: str, starts: bool) -> None:
    before, after = plain(head + first, starts=starts), plain(head + second, starts=starts)
    found = first_divergence(before, after)
    token = naive(list(before.tokens), list(after.tokens))
    assert (found is None) == (list(after.tokens[: len(before.tokens)]) == list(before.tokens))
    if found is not None:
        assert found.token == token
        assert found.tokens_lost == len(before.tokens) - token
        assert before.text[: found.char] == after.text[: found.char]
        same_text = after.text.startswith(before.text)
        assert (found.before != found.after) or same_text
        assert found.explanation
        assert found.remedy


@given(MESSAGES, MESSAGES, st.none() | st.builds(message, st.just("assistant"), TEXTS), st.booleans())
def test_any_two_conversations(
    first: list[dict[str, str]], second: list[dict[str, str]], reply: dict[str, str] | None, traced: bool
) -> None:
    before, after = prompt(Request(tuple(first)), reply, traced=traced), prompt(Request(tuple(second)), traced=traced)
    found = first_divergence(before, after)
    assert (found.token if found else len(before.tokens)) == naive(list(before.tokens), list(after.tokens))


def test_the_same_text_in_other_tokens() -> None:
    request = Request((message("user", "hi"),))
    reply = message("assistant", "ok.")
    before = Prompt(request, "user:hi>ok.", [1, 2, 3, 4], [0, 5, 8, 10], None, reply, 8, 2)
    after = Prompt(request, "user:hi>ok. now", [1, 2, 5, 6], [0, 5, 8, 11])
    found = diverge(before, after)
    assert (found.cause.code, found.char, found.token, found.tokens_lost) == ("K10", 8, 2, 2)
    assert (
        found.explanation
        == 'the text of the reply is the same but splits into other tokens: "ok" + "." before, "ok." + " now" now'
    )
    assert found.remedy.endswith("a loss of a token or two can be accepted with --prompt-loss-tolerance")
    without = Prompt(request, after.text, [1, 2, 5, 6])
    found = diverge(before, without)
    assert (found.char, found.explanation) == (8, "the text of the reply is the same but splits into other tokens")


def test_other_tokens_far_in_front_of_another_text() -> None:
    text = "word " * 20
    before = Prompt(Request(()), text + "a", [1, 2, 3, 4], [0, 5, 10, 100])
    after = Prompt(Request(()), text + "b", [1, 6, 7, 5], [0, 5, 9, 100])
    assert (diverge(before, after).cause.code, diverge(before, after).char) == ("K10", 5)


def test_a_prompt_that_ends_early_is_a_rewind() -> None:
    found = diverge(plain("one two three"), plain("one two"))
    assert (found.cause.code, found.token, found.char, found.after) == ("K8", 2, 7, "one two")
    assert found.explanation == "the prompt ends where the previous one went on"


@pytest.mark.parametrize(
    ("text", "char", "shown"),
    [
        ("abc", 0, "abc"),
        ("a\n\t\r\x00\u200b\xa0\\ü😀", 0, "a\\n\\t\\r\\u0000\\u200b\\u00a0\\\\ü😀"),
        ("x" * 50, 0, "x" * 40 + "…"),
        ("x" * 50, 50, "…" + "x" * 12),
        ("", 0, ""),
    ],
)
def test_excerpts_are_short_and_visible(text: str, char: int, shown: str) -> None:
    assert excerpt(text, char) == shown
