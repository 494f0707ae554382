from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptguard.prompts.tokens import token_starts

TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)


@st.composite
def split_texts(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A text and its bytes, cut anywhere, also within a code point; a cut may stand twice, which makes an empty token."""
    text = draw(TEXT)
    data = text.encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=20)))
    return text, [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def point_at(text: str, byte: int) -> int:
    """The code point that holds a byte, the plain way."""
    return next((point for point in range(len(text)) if len(text[: point + 1].encode()) > byte), len(text))


@given(split_texts())
def test_a_token_starts_at_the_code_point_that_holds_its_first_byte(case: tuple[str, list[bytes]]) -> None:
    text, pieces = case
    offsets = [sum(map(len, pieces[:index])) for index in range(len(pieces))]
    assert token_starts(text, pieces) == [point_at(text, offset) for offset in offsets]


@given(split_texts(), st.sampled_from([b"<s>", b" ", b"\xe2\x96\x81"]))
def test_what_the_engine_puts_in_front_starts_at_0_and_moves_nothing(case: tuple[str, list[bytes]], front: bytes) -> None:
    text, pieces = case
    assert token_starts(text, [front, *pieces]) == [0, *token_starts(text, pieces)]


@given(split_texts().filter(lambda case: case[0]))
def test_pieces_that_do_not_add_up_have_no_starts(case: tuple[str, list[bytes]]) -> None:
    text, pieces = case
    assert token_starts(text, [*pieces, b"\xff"]) is None
    assert token_starts(text + "?", pieces) is None


def test_a_blank_that_joins_the_first_word_counts_as_its_start() -> None:
    assert token_starts("hi you", [b" hi", b" you"]) == [0, 2]


def test_half_a_surrogate_pair_is_no_crash() -> None:
    assert token_starts("\ud800a", ["\ud800".encode("utf-8", "surrogatepass"), b"a"]) == [0, 1]
