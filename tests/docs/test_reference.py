"""The reference pages say what the code does, and nothing is left out."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import click
import pytest

from promptguard.core.config import load_config

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def load(script: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script, ROOT / "scripts" / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """scripts/build_docs.py."""
    return load("build_docs")


def test_the_reference_is_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "build_docs.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_key_of_the_schema_is_described(build: ModuleType) -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "config-1.json").read_text(encoding="utf-8"))
    page = (REFERENCE / "configuration.md").read_text(encoding="utf-8")
    tables = dict(re.findall(r"^## \[+(\w+)\]+\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(tables) == list(schema["properties"])
    for name, table in schema["properties"].items():
        keys = table["items"]["properties"] if "items" in table else table["properties"]
        if name == "rules":
            keys = [key for rule in keys.values() for key in rule["properties"]]
        assert [key for key in keys if f"| `{key}` |" not in tables[name]] == [], name


def test_the_examples_of_the_configuration_are_valid(build: ModuleType, tmp_path: Path) -> None:
    text = "".join(f"{'[[prompts]]' if name == 'prompts' else f'[{name}]'}\n{lines}" for name, lines in build.EXAMPLES.items())
    (tmp_path / "promptguard.toml").write_text(text, encoding="utf-8")
    config = load_config(tmp_path)
    assert config.replay["min-hit-rate"] == 0.85
    assert config.prompts[0]["stable"] == ["user_locale"]


def test_an_option_without_an_example_stops_the_build(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(build.EXAMPLES, "format", "exclude = []\nno-such = 1\nsort-properties = true\n")
    with pytest.raises(SystemExit, match=r"see no-such, unsafe-fixes$"):
        build.configuration_text()


def test_every_option_of_every_command_is_described(build: ModuleType) -> None:
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (promptguard .*?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))

    def missing(command: click.Command, path: str) -> list[str]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            inner = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
            return [lost for name, found in inner if found is not None for lost in missing(found, f"{path} {name}")]
        options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
        flags = [flag for option in options for flag in option.opts]
        return [f"{path} {flag}" for flag in flags if flag not in sections[path]]

    assert missing(build.promptguard, "promptguard") == []
    assert "| 3 | paths were given and none of them holds anything to check |" in sections["promptguard lint"]
    assert "| `--min-hit-rate X` | 0.8 | Least hit rate" in sections["promptguard replay"]


def test_what_markdown_would_change_is_escaped(build: ModuleType) -> None:
    assert build._prose("a <b> in `x|y` and *.j2, see --color and x.json") == (
        r"a \<b\> in `x|y` and \*.j2, see `--color` and `x.json`"
    )


@pytest.mark.parametrize("name", ["replay-failing", "replay-passing", "lint"])
def test_pictures_fetch_nothing(name: str) -> None:
    svg = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\s\"]+", svg) == [ET.fromstring(svg).tag.split("}")[0].removeprefix("{")]
    assert not re.search(r"@import|@font-face|<script|<image|<foreignObject", svg)


def test_pictures_are_compared_without_times() -> None:
    build = load("build_pictures")
    assert list(build.SCENES) == ["replay-failing", "replay-passing", "lint"]
    drawn = '<svg><g class="a"><text>user&#160;1</text><text>26 ms, 1.30 s, build xllamacpp 1.2.3</text></g></svg>'
    assert build.words(drawn) == ["user", "1", "TIME,", "TIME,", "build", "xllamacpp", "BUILD"]
