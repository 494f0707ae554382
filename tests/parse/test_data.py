from __future__ import annotations

from pathlib import Path

import pytest

from promptguard.core.errors import InputError
from promptguard.parse.data import load_mapping

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(20))


def read(folder: Path, name: str, text: str) -> dict[str, object]:
    (folder / name).write_text(text, encoding="utf-8")
    return load_mapping(folder / name)


def test_values_of_both_kinds(tmp_path: Path) -> None:
    assert read(tmp_path, "c.json", '{"a": [1, 2.0, null], "b": {"c": true}}') == {"a": [1, 2.0, None], "b": {"c": True}}
    assert read(tmp_path, "c.yaml", "a: [1, 2.0, null]\nb: {c: true}\n") == {"a": [1, 2.0, None], "b": {"c": True}}
    assert read(tmp_path, "empty.yaml", "") == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", '{"a": 1,}', "c.json:1:"),
        ("c.json", '{"a": 1, "a": 2}', "is not JSON \\(a key stands twice\\)"),
        ("c.json", '{"a": NaN}', "is not JSON \\(NaN is not JSON\\)"),
        ("c.json", "[" * 100_000, "is not JSON"),
        ("c.json", "[1]", "must hold a mapping from names to values"),
        ("c.yaml", "- a", "must hold a mapping from names to values"),
        ("c.yaml", "1: a", "the key 1 is not the name of a variable; put it in quotes"),
        ("c.yaml", "a: [", "c.yaml:2:1: is neither JSON nor YAML"),
        ("c.yaml", "a: !!python/object/apply:os.system [ls]", "is neither JSON nor YAML"),
        ("c.yaml", LAUGHS, "unfolds into more than 200,000 values"),
        ("c.yaml", "[" * 200 + "]" * 200, "nested more than 100 deep"),
    ],
)
def test_what_is_no_context(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, name, text)
