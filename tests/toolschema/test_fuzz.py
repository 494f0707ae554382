"""Whatever comes in: a canonical form or an error with a place, in bounded time, and never another exception."""

import itertools
import json
import random
import re
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tool_strategies import EXAMPLES, TOOLS

from promptguard import ToolSchemaError, canonical_json, canonical_tools, tools_fingerprint
from promptguard.core.errors import InputError
from promptguard.toolschema import canonical
from promptguard.toolschema.document import Formatted, format_lines, format_text, holds_tools
from promptguard.toolschema.order import Canonicalizer

PLACE = re.compile(r"t:\d+:\d+: .+|t: longer than 1,000 characters")
PARTS = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "\\u",
    "\\ud83d",
    "NaN",
    "-",
    "1e999",
    "\x00",
    "\ufeff",
    "\ud800",
    '"a":',
    "null",
    "9" * 30,
]


def attempt(text: str, function: Callable[..., Formatted] = format_text, **options: Any) -> Formatted | str:
    """The result, or the error as it is printed."""
    try:
        return function(text, path="t", **{"max_chars": 1000, **options})
    except InputError as error:
        return str(error)


def check(text: str) -> None:
    holds_tools(text)
    for form in ("file", "wire"):
        made = attempt(text, form=form, unsafe_fixes=True)
        if isinstance(made, str):
            assert PLACE.fullmatch(made)
        else:
            again = format_text(made.text, path="t", form=form, unsafe_fixes=True)  # type: ignore[arg-type]
            assert (again.text, again.changed, again.normalized) == (made.text, False, ())
    lines = attempt(text, format_lines)
    assert not isinstance(lines, str) or PLACE.fullmatch(lines)


@EXAMPLES
@given(st.binary(max_size=60))
def test_random_bytes(data: bytes) -> None:
    check(data.decode("utf-8", "replace"))


@EXAMPLES
@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=2), max_size=30).map("".join))
@example("[" * 990)
@example('{"a":' * 200)
@example('{"name":"f","parameters":' + "[" * 97 + "]" * 97 + "}")
@example('[{"name": "f", "x": 0e' + "9" * 900 + "}]")
@example('{"name": "f", "x": [' + "-" * 900)
@example('"' + "\\" * 900)
def test_random_pieces_of_json(text: str) -> None:
    check(text)


@EXAMPLES
@given(TOOLS, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(PARTS)), min_size=1, max_size=3))
def test_mutated_tools(tools: Any, mutations: list[tuple[float, int, str]]) -> None:
    text = json.dumps(tools)
    for where, cut, put in mutations:
        at = int(where * len(text))
        text = text[:at] + put + text[at + cut :]
    check(text)


class Liar:
    """Raises for whatever is asked of it, its class included."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Unprintable:
    def to_dict(self) -> dict[str, Any]:
        raise UnprintableError


class Model:
    def model_dump(self, **options: Any) -> Any:
        return closed()


class Open(UserDict[str, Any]):
    """A mapping that is no dict."""


class Closed(Open):
    """A mapping that gives its keys and nothing else."""

    def __getitem__(self, key: str) -> Any:
        raise ConnectionError(key)

    def get(self, key: str, default: Any = None) -> Any:
        raise ConnectionError(key)


def closed() -> Closed:
    return Closed({"name": "f"})


class Key(str):
    __slots__ = ()

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __lt__ = __repr__  # type: ignore[assignment]


class EndlessList(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        return itertools.count()

    def __len__(self) -> int:
        return 1


class EndlessTuple(tuple[Any, ...]):
    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat({"name": "f"})


class EndlessDict(dict[str, Any]):
    def __iter__(self) -> Iterator[str]:
        return map(str, itertools.count())

    keys = __iter__  # type: ignore[assignment]

    def __getitem__(self, key: str) -> Any:
        return 1

    def items(self) -> Any:
        return ((key, 1) for key in self)


class EndlessMapping(Mapping[str, Any]):
    """No dict: what is generic in Mapping asks it for its keys."""

    __iter__ = EndlessDict.__iter__
    __getitem__ = EndlessDict.__getitem__

    def __len__(self) -> int:
        return 0


class SameKey(EndlessMapping):
    def __iter__(self) -> Iterator[str]:
        return itertools.repeat("name")


class EndlessModel:
    def model_dump(self, **options: Any) -> Any:
        return EndlessMapping()


class Nested(list[Any]):
    """As many of themselves as one asks for, each new."""

    def __iter__(self) -> Iterator[Any]:
        return (Nested() for _ in range(900))


@pytest.mark.parametrize("bad", [EndlessList, EndlessTuple, EndlessDict, EndlessMapping, SameKey, EndlessModel, Nested])
@pytest.mark.parametrize(
    "around",
    [
        lambda bad: bad,
        lambda bad: [bad] * 1000,
        lambda bad: {"tools": bad},
        lambda bad: [{"name": "f", "parameters": bad}],
        lambda bad: [{"name": "f", "parameters": {"properties": bad}}],
        lambda bad: [{"name": "f", "parameters": {"items": {"$defs": bad}, "definitions": bad}}],
        lambda bad: [{"name": "f", "parameters": {"properties": {"a": {"default": bad, "enum": bad}}}}],
        lambda bad: [{"name": "f", "parameters": {"required": bad, "examples": [bad]}}],
        lambda bad: [{"name": "f", "annotations": bad, "cache_control": bad, "input_examples": [bad]}],
        lambda bad: [{"functionDeclarations": bad, "x": bad}],
    ],
)
@pytest.mark.parametrize("function", [canonical_json, canonical_tools])
def test_what_has_no_end_is_refused(function: Any, around: Any, bad: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "Canonicalizer", partial(Canonicalizer, max_values=1000))
    monkeypatch.setattr(canonical, "MAX_VALUES", 1000)
    with pytest.raises(ToolSchemaError):
        function(around(bad()))


def test_it_is_refused_with_the_number_of_values_that_is_allowed() -> None:
    with pytest.raises(ToolSchemaError, match=r"^tools: unfolds into more than 3,000,000 values$"):
        canonical_json([{"name": "f", "x": EndlessList()}])


class Longer(list[Any]):
    """Says that it is longer than it is, and has other elements by index."""

    def __len__(self) -> int:
        return 10**12

    def __getitem__(self, index: Any) -> Any:
        raise IndexError(index)


class Other(list[Any]):
    """Gives other elements than it holds."""

    def __iter__(self) -> Iterator[Any]:
        return iter(["a", "b"])


def test_types_of_their_own_are_what_they_give_on_every_way() -> None:
    for values in (Longer(["a", "b"]), Other([1])):
        tool = {"name": "f", "parameters": {"enum": values}}
        assert canonical_json([tool]) == b'[{"name":"f","parameters":{"enum":["a","b"]}}]'
        assert canonical_tools([tool]) == [{"name": "f", "parameters": {"enum": ["a", "b"]}}]
        assert canonical_json(tool) == canonical_json([tool])[1:-1]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=3)
    | st.just(object)
    | st.complex_numbers()
    | st.sampled_from([Unprintable, closed, Model]).map(lambda make: make()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "parameters", "properties", "required", "tools", "result", "function"]), inner, max_size=4
        )
        | st.dictionaries(st.integers() | st.text(max_size=2) | st.builds(Key), inner, max_size=2)
        | inner.map(lambda value: Open({"name": value}))
        | st.tuples(inner, inner)
        | st.frozensets(st.integers(), max_size=2)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("bad", [Liar, Unprintable, closed, Model, lambda: {Liar(): 1}])
@pytest.mark.parametrize(
    "around",
    [
        lambda bad: bad,
        lambda bad: [bad],
        lambda bad: [{"name": "f", "parameters": {}}, bad],
        lambda bad: {"result": bad},
        lambda bad: {"tools": bad},
        lambda bad: {"tools": [bad]},
        lambda bad: [{"function": bad}],
        lambda bad: [{"name": bad}],
        lambda bad: [{"functionDeclarations": [bad]}],
        lambda bad: [{"name": "f", "parameters": {"enum": [bad]}}],
    ],
)
@pytest.mark.parametrize("function", [canonical_json, canonical_tools, tools_fingerprint])
def test_objects_whose_methods_raise(function: Any, around: Any, bad: Any) -> None:
    with pytest.raises(ToolSchemaError):
        function(around(bad()))


@EXAMPLES
@given(ANYTHING)
def test_any_object(value: Any) -> None:
    try:
        made = canonical_json(value)
    except ToolSchemaError:
        return
    assert made == json.dumps(canonical_tools(value), ensure_ascii=False, separators=(",", ":")).encode()


def test_large_hostile_texts_are_done_with_in_linear_time() -> None:
    size = 400_000  # what is quadratic would run for hours
    order = random.Random(1)
    for text in (
        " " * size,
        "[" + '{"type":"a"},' * (size // 13) + "{}]",
        "[" + ",".join(json.dumps({"type": str(order.random())}) for _ in range(size // 40)) + "]",
        '{"required":[' + ",".join(f'"{number}"' for number in range(size // 10)) + '],"properties":{}}',
        '[{"name":"f","description":"' + " " * size + 'x"}]',
        '[{"name":"f","description":"' + "\\u0301" * (size // 6) + '"}]',
        '"' + "\\ud83d" * (size // 6) + '"',
        "9" * size,
        "{" + ",".join(f'"{number}":{{"$ref":"#/x"}}' for number in range(size // 40)) + ',"items":{}}',
    ):
        made = attempt(text, unsafe_fixes=True, max_chars=size * 2)
        assert not isinstance(made, str) or made.startswith("t:")
