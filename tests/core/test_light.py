from __future__ import annotations

import pickle
import re
import subprocess
import sys

import pytest

from promptguard.core.digest import digest
from promptguard.core.light import NamedTuple, regex


class Pair(NamedTuple):
    """Two things."""

    left: int
    right: str | None = None

    @property
    def both(self) -> str:
        return f"{self.left}{self.right}"


def test_a_named_tuple_is_one() -> None:
    pair = Pair(1)
    assert (pair, pair.both, pair._fields, Pair.__doc__) == ((1, None), "1None", ("left", "right"), "Two things.")
    assert repr(pair._replace(right="a")) == "Pair(left=1, right='a')"
    assert pickle.loads(pickle.dumps(pair)) == pair
    assert (Pair.__module__, isinstance(pair, Pair)) == (__name__, True)
    with pytest.raises(TypeError):
        Pair()  # type: ignore[call-arg]


def test_a_regular_expression_is_compiled_when_it_is_used() -> None:
    broken = regex("(")
    with pytest.raises(re.error):
        broken.match("x")
    words = regex(r"(?P<first>[a-z])\w*", re.IGNORECASE)
    assert [match["first"] for match in words.finditer("Ab c")] == ["A", "c"]
    assert (words.sub("x", "a b"), words.groups, words.fullmatch("1")) == ("x x", 1, None)
    assert regex(rb"\d").findall(b"a1b2") == [b"1", b"2"]


def test_digests() -> None:
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223"
    assert digest(b"", 4) == "e3b0"


def test_neither_needs_much() -> None:
    code = "import sys, promptguard.core.light, promptguard.core.digest; print({'typing', 'hashlib', 'ssl'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
