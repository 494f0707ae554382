import json

from hypothesis import given
from hypothesis import strategies as st

from promptguard.parse.json_strings import escape_string, written_string

CHARACTERS = st.text(st.characters() | st.sampled_from('"\\/\n\t😀é'), max_size=20)


@given(CHARACTERS, st.booleans(), st.integers(0, 3))
def test_each_code_point_lies_where_it_is_written(value: str, ascii_only: bool, before: int):
    text = " " * before + json.dumps(value, ensure_ascii=ascii_only)
    places = written_string(text, before, len(text))
    assert places.text == value
    for character, start, end in zip(value, places.starts, places.ends, strict=True):
        assert json.loads(f'"{text[start:end]}"') == character
    assert list(places.starts)[1:] == list(places.ends)[:-1]


def test_the_places_of_a_long_text_take_little_memory():
    text = json.dumps("é" * 40_000, ensure_ascii=False)
    places = written_string(text, 0, len(text))
    assert [places.starts.itemsize, places.ends.itemsize, places.span(7, 9)] == [4, 4, (8, 10)]


def test_escapes_of_all_kinds():
    text = r'"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83dx"'
    assert written_string(text, 0, len(text)).text == json.loads(text)


@given(CHARACTERS)
def test_what_is_written_reads_as_the_text(value: str):
    written = escape_string(value)
    assert json.loads(f'"{written}"') == value if written is not None else any("\ud800" <= c <= "\udfff" for c in value)
