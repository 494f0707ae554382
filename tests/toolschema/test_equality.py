import pytest

from promptguard.parse.strict import Number
from promptguard.toolschema.equality import same_value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}]),
        ({"tools": [{"name": "a"}, {"x": 1}]}, {"tools": [{"x": 1}, {"name": "a"}]}),
        ({"function": {"tools": [{"name": "a"}, {"x": 1}]}}, {"function": {"tools": [{"x": 1}, {"name": "a"}]}}),
        ({"required": ["a", "b"], "x": 1}, {"x": 1, "required": ["b", "a"]}),
        ({"x": Number("1.50")}, {"x": Number("15e-1")}),
        ({"x": Number("0.0e5")}, {"x": Number("0.00")}),
    ],
)
def test_the_same(before: object, after: object) -> None:
    assert same_value(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"x": 1}, {"x": 1.0}),
        ({"x": 1}, {"x": True}),
        ({"x": 0}, {"x": False}),
        ({"x": 0.0}, {"x": -0.0}),
        ({"x": 2**64}, {"x": 2**64 + 1}),
        ({"x": Number("1.0")}, {"x": Number("1")}),
        ({"x": Number("0.1")}, {"x": Number("0.10000000000000000001")}),
        ({"x": Number("1e5")}, {"x": Number("1e6")}),
        ({"x": 1.5}, {"x": Number("1.5")}),
        ({"x": None}, {}),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}),
        ({"function": ["a", "b"]}, {"function": ["b", "a"]}),
        ({'"required': ["a", "b"]}, {'"required': ["b", "a"]}),
        ({"x,": "required", "y": ["a", "b"]}, {"x,": "required", "y": ["b", "a"]}),
        ({"required": ["required", "a"]}, {"required": ["a"]}),
        ({"required": ['a","b']}, {"required": ["a", "b"]}),
        ({"required": [1, 2]}, {"required": [2, 1]}),
        ({"required": ["a"]}, {"required": ["a", "a"]}),
        ([{"name": "a"}], [{"name": "a"}, {"name": "a"}]),
        ([{"name": "a", "x": [{"name": "b"}, {"name": "c"}]}], [{"name": "a", "x": [{"name": "c"}, {"name": "b"}]}]),
        ({"a": "1"}, {"a": 1}),
        ([], {}),
    ],
)
def test_not_the_same(before: object, after: object) -> None:
    assert not same_value(before, after)


def test_many_tools_without_a_name_take_no_longer_than_others() -> None:
    tools = [{"type": str(number)} for number in range(100_000)]  # comparing each with each would take hours
    assert same_value(tools, tools[::-1])
