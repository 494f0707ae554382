from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from promptguard.parse.tool_marks import is_json_lines

LINES = st.sampled_from(
    ["{}", '{"a": 1}', "[1, 2]", "{", "[", "]", "}", '"x"', '"', "1", " ", "", "\xa0{}", "[]\xa0", "\t[]\r", "[1]]"]
)

ODD = st.text(alphabet='{}[]",: 1\r\t\xa0', max_size=5)


@given(st.lists(LINES | ODD, max_size=4))
def test_lines_that_are_json_each(lines: list[str]) -> None:
    filled = [line for line in "\n".join(lines).split("\n") if line.strip()]
    assert is_json_lines("\n".join(lines)) == (len(filled) > 1 and all(map(is_json, filled)))


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
