"""The named tuples that cost nothing behave as those of ``typing`` do."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from promptguard.core import light
from promptguard.core.finding import Edit, Fix


class Ours(light.NamedTuple):
    first: int
    second: str = "b"
    third: tuple[int, ...] = ()


class Theirs(typing.NamedTuple):
    first: int
    second: str = "b"
    third: tuple[int, ...] = ()


def outcome(make: Any, *values: Any, **named: Any) -> Any:
    try:
        return tuple(make(*values, **named))
    except TypeError:
        return TypeError


CALLS = [
    ((1,), {}),
    ((1, "x"), {}),
    ((1, "x", (2,)), {}),
    ((), {"first": 3}),
    ((1,), {"third": (4,)}),
    ((), {}),
    ((1, 2, 3, 4), {}),
]
WRONG = [((1,), {"first": 2}), ((1,), {"other": 2}), ((1, 2, 3), {"third": 4})]


@pytest.mark.parametrize(("values", "named"), CALLS + WRONG)
def test_made_as_those_of_typing(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    assert outcome(Ours, *values, **named) == outcome(Theirs, *values, **named)


def test_used_as_those_of_typing() -> None:
    ours, theirs = Ours(1, third=(2,)), Theirs(1, third=(2,))
    assert ours == theirs == (1, "b", (2,))
    assert hash(ours) == hash(theirs)
    assert ours._replace(second="c") == theirs._replace(second="c")
    assert ours._asdict() == theirs._asdict()
    assert (ours.first, ours.second, ours.third) == (1, "b", (2,))
    assert Ours._fields == Theirs._fields
    assert Ours._make([1, "x", ()]) == (1, "x", ())
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    with pytest.raises(AttributeError):
        ours.first = 2
    with pytest.raises(TypeError):
        ours._replace(other=1)


def test_copied_and_sent_between_processes() -> None:
    fix = Fix("Do it", (), "safe")
    assert copy.deepcopy(fix) == pickle.loads(pickle.dumps(fix)) == fix
    assert type(pickle.loads(pickle.dumps(fix))) is Fix
    assert Edit._fields == ("span", "text")


def test_a_lazy_pattern_is_that_of_re() -> None:
    lazy, eager = light.regex(r"(a)|B", re.IGNORECASE), re.compile(r"(a)|B", re.IGNORECASE)
    assert lazy.findall("xAb") == eager.findall("xAb")
    assert (lazy.pattern, lazy.flags, lazy.sub("-", "ab")) == (eager.pattern, eager.flags, "--")
    with pytest.raises(AttributeError):
        _ = lazy.no_such_method


def test_typing_is_not_imported() -> None:
    code = "import sys, promptguard.core.light, promptguard.linting.check; sys.exit('typing' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": ":".join(filter(None, sys.path))}).returncode == 0
    )


HEAVY = {"dataclasses", "hashlib", "inspect", "json", "logging", "msgspec", "orjson", "pathlib", "typing", "urllib.parse"}
LESS_HEAVY = {"array", "collections", "enum", "functools", "math", "operator", "re", "yaml"}
BROUGHT_ALONG = {  # by yaml
    "prompts.yaml": LESS_HEAVY,
    "tools.yaml": LESS_HEAVY,
}
OF_OTHERS = {  # what tags, calls, findings, fixes and other commands need
    *("promptguard.checks.bindings", "promptguard.checks.dynamic_fixes", "promptguard.linting.contents"),
    *("promptguard.core.option_tables", "promptguard.parse.template_expressions", "promptguard.parse.template_tags"),
}
TOOLS = """\
[
  {
    "name": "é",
    "input_schema": {
      "type": "object",
      "default": 5.5,
      "properties": {}
    }
  }
]
"""
SMALL = {
    "clean.j2": "You are a support agent for {{ company }}.\n",
    "clean.md": "You are a support agent for {{ company }}.\n\nUse the `tools`.\n",
    "clean.txt": "You are a support agent.\n\nUse 3 tools.\n",
    "clean.prompty": "---\nname: x\n---\nsystem:\nYou are a helper of {{name}}.\n",
    "tools.json": TOOLS,
    "wire.tools.json": '{"tools":[{"name":"a","description":"1\\n","parameters":{"type":"object","properties":{}}}]}\n',
    "tools.jsonl": '{"name":"a","input_schema":{"type":"object"}}\n{"name":"b","input_schema":{"type":"object"}}\n',
    "prompts.json": '{"system_prompt": "You are a helper of {{ name }}."}\n',
    "run.sh": "#!/bin/sh\nexec llama-server -m a.gguf -c 16384\n",
    "Dockerfile": 'FROM a\nENV LLAMA_ARG_CTX_SIZE=16384\nCMD ["llama-server", "-m", "a.gguf"]\n',
    "prompts.yaml": "system: |\n  You are a helper.\nuser: x\n",
    "tools.yaml": "- name: a\n  input_schema:\n    type: object\n",
}


@pytest.mark.parametrize("name", SMALL)
def test_a_clean_small_file_is_checked_without_heavy_imports(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(SMALL[name], encoding="utf-8")
    imports = "from promptguard.cli.main import _run; from promptguard.core.patterns import keep"
    run = f"code = _run(['lint', '--no-cache', {name!r}]); keep(); print(code, *sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {imports}; {run}"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):  # the first one compiles patterns for the second
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    code, *modules = done.stdout.splitlines()[-1].split()
    assert code == "0"
    assert (HEAVY | LESS_HEAVY | OF_OTHERS) & set(modules) <= BROUGHT_ALONG.get(name, set())
