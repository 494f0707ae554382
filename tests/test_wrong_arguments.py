"""Every argument of every public function, given what it does not take: a sentence that names the argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

import promptguard
from promptguard.pytest_plugin import Promptguard

WRONG: Mapping[str, Any] = {
    "text": "x",
    "float": 2.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "negative": -1,
    "zero": 0,
    "huge": 10**400,
    "bytes": b"x",
    "None": None,
    "list": [3],
    "null character": "a\0b",
    "half a character": "a\ud800",
}
TEXT = {"text", "null character", "half a character"}
PATH = {"text", "None"}
ZERO = ("slot", "min_hit_rate", "prompt_loss_tolerance", "engine_loss_tolerance", "seed")
TAKES: Mapping[str, Mapping[str, set[str]]] = {
    "lint": {
        "paths": {"text"},
        **{key: set() for key in ("select", "ignore", "extend_select")},
        "exclude": {"text", "half a character"},
        "pedantic": {"None"},
        "tokenizer": {"None"},
        "baseline": PATH,
        "jobs": {"None"},
        "config": PATH,
    },
    "replay": {
        **dict.fromkeys(("task", "system", "context", "tools", "chat_template", "model", "model_from", "config"), PATH),
        **{key: {"zero", "None"} for key in ZERO},
        **{key: {"None"} for key in ("server", "engine", "ctx_size", "swa_full", "live", "max_turns", "max_tokens")},
        **{key: {"None"} for key in ("compare_uncached", "inject", "engines")},
        "timeout": {"float", "None"},
    },
    "probe": {
        "build": TEXT,
        "args": {"None"},
        "whole": set(),
        "runs": set(),
        "timeout": {"float"},
        "python": {"text", "None", "half a character"},
        "tokenizer": {"None"},
    },
    **{key: {"tools": set(), "sort_properties": set()} for key in ("canonical_tools", "canonical_json", "tools_fingerprint")},
}
ASSERTIONS: Mapping[str, Mapping[str, set[str]]] = {
    "assert_stable": {
        "build": TEXT,
        "args": {"None"},
        "whole": set(),
        "runs": {"None"},
        "timeout": {"None", "float"},
        "tokenizer": {"None"},
    },
    "assert_prefix_preserving": {
        "messages": set(),
        "tools": {"None"},
        "chat_template": TEXT | {"None"},
        "template_name": TEXT | {"None"},
    },
    "assert_canonical": {"tools": set()},
    "assert_hit_rate": {"task": {"text", "None"}, "min": {"zero", "None"}, "options": set(WRONG)},
}
REST: Mapping[str, Mapping[str, Any]] = {
    "probe": {"build": "no_such:build"},
    "assert_stable": {"build": "no_such:build"},
    "assert_prefix_preserving": {"messages": [{"role": role, "content": "x"} for role in ("user", "assistant", "user")]},
    **{key: {"tools": []} for key in ("canonical_tools", "canonical_json", "tools_fingerprint")},
}


def cases(table: Mapping[str, Mapping[str, set[str]]]) -> list[tuple[str, str, str]]:
    return [
        (function, argument, name)
        for function, arguments in table.items()
        for argument, taken in arguments.items()
        for name in WRONG
        if name not in taken
    ]


@pytest.fixture
def fixture() -> Promptguard:
    """The fixture of the plugin, with no option given."""
    config = SimpleNamespace(getoption=lambda _: None, getini=lambda _: None)
    request: Any = SimpleNamespace(config=config, node=SimpleNamespace(user_properties=[]), getfixturevalue=lambda _: None)
    return Promptguard(request)


def refused(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    with pytest.raises((promptguard.PromptguardError, AssertionError)) as caught:
        function(**arguments)
    return str(caught.value).removeprefix("cannot be judged: ")


@pytest.mark.parametrize(("function", "argument", "wrong"), cases(TAKES))
def test_a_function_names_the_argument(function: str, argument: str, wrong: str) -> None:
    said = refused(getattr(promptguard, function), {**REST.get(function, {}), argument: WRONG[wrong]})
    assert re.match(rf"{argument}(: |=|/0: )", said), said


@pytest.mark.parametrize(("function", "argument", "wrong"), cases(ASSERTIONS))
def test_an_assertion_names_the_argument(fixture: Promptguard, function: str, argument: str, wrong: str) -> None:
    said = refused(getattr(fixture, function), {**REST.get(function, {}), argument: WRONG[wrong]})
    assert re.match(rf"{argument}(: |=|/0: )", said), said


def test_the_tables_are_whole() -> None:
    functions = {name for name in promptguard.__all__ if inspect.isfunction(getattr(promptguard, name))}
    assert set(TAKES) == functions
    assert set(ASSERTIONS) == {name for name in vars(Promptguard) if name.startswith("assert_")}
    for owner, table in ((promptguard, TAKES), (Promptguard, ASSERTIONS)):
        for function, arguments in table.items():
            assert set(arguments) == set(inspect.signature(getattr(owner, function)).parameters) - {"self"}
