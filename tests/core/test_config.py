from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from promptguard.core.config import Config, load_config
from promptguard.core.config_schema import config_schema, config_schema_text
from promptguard.core.errors import ConfigError, InputError
from promptguard.core.option_tables import FORMAT_OPTIONS, REPLAY_OPTIONS
from promptguard.linting.load import rule_options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

USE_VARIABLE = "remove it and set the environment variable PROMPTGUARD_API_KEY"
SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "schemas" / "config-1.json"
EVERYTHING = """
[replay]
server = "http://jetson:8080"
engine = "llama-server"
model = "a.gguf"
model-from = "b.gguf"
system = "prompts/system.j2"
context = "context.json"
tools = "tools.json"
chat-template = "chat.jinja"
task = "task"
min-hit-rate = 1
prompt-loss-tolerance = 0
engine-loss-tolerance = 16
live = true
max-turns = 5
max-tokens = 100
compare-uncached = false
timeout = 30
report = ["json=out/a.json", "junit=/abs/b=c.xml"]
output-format = "markdown"
slot = 0
ctx-size = 4096
swa-full = true
seed = 2147483647
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def own(folder: Path, text: str) -> Path:
    path = folder / "promptguard.toml"
    path.write_text(text, encoding="utf-8")
    return path


def message(folder: Path, text: str, name: str = "promptguard.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(folder)
    return str(caught.value).replace(f"{folder}/", "")


def test_every_option(folder: Path) -> None:
    own(folder, EVERYTHING)
    values = load_config(folder).replay
    assert sorted(values) == sorted(option.name for option in REPLAY_OPTIONS)
    assert values["system"] == "prompts/system.j2"
    assert (values["min-hit-rate"], type(values["min-hit-rate"])) == (1.0, float)
    assert values["report"] == ["json=out/a.json", "junit=/abs/b=c.xml"]
    assert (values["live"], values["seed"], values["timeout"]) == (True, 2147483647, 30.0)


def test_every_option_of_format(folder: Path) -> None:
    text = '[format]\nexclude = ["gen/", "/a b/*.json"]\nsort-properties = true\nunsafe-fixes = false\n'
    own(folder, text)
    values = load_config(folder).format
    assert values == {"exclude": ["gen/", "/a b/*.json"], "sort-properties": True, "unsafe-fixes": False}
    assert sorted(values) == sorted(option.name for option in FORMAT_OPTIONS)
    Draft202012Validator(config_schema(rule_options())).validate(tomllib.loads(text))


def test_no_file(folder: Path) -> None:
    assert load_config(folder) == Config()


def test_a_file_that_cannot_be_read_is_not_passed_over(folder: Path) -> None:
    (folder / "promptguard.toml").symlink_to("gone.toml")
    with pytest.raises(InputError, match=r"promptguard\.toml: the configuration file does not exist"):
        load_config(folder)
    (folder / "promptguard.toml").unlink()
    (folder / "promptguard.toml").mkdir()
    with pytest.raises(InputError, match=r"promptguard\.toml: the configuration file is a folder"):
        load_config(folder)


def test_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = own(folder, '[replay]\nsystem = "s.j2"\nreport = ["json=r.json"]')
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    config = load_config(Path())
    assert config == Config({"system": f"{folder}/s.j2", "report": [f"json={folder}/r.json"]}, str(path))


def test_the_closest_file_holds(folder: Path) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    own(folder, "[replay]\nseed = 1")
    (folder / "a" / "pyproject.toml").write_text("[tool.promptguard.replay]\nseed = 2")
    (inner / "pyproject.toml").write_text("[tool.other]\nseed = 3")
    assert load_config(inner).replay == {"seed": 2}


def test_the_own_file_comes_before_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.promptguard.replay]\nseed = 2")
    own(folder, "[replay]\nseed = 1")
    assert load_config(folder).replay == {"seed": 1}


def test_a_table_without_options_ends_the_search(folder: Path) -> None:
    own(folder, "[replay]\nseed = 1")
    (folder / "a").mkdir()
    (folder / "a" / "pyproject.toml").write_text("[tool.promptguard]")
    assert load_config(folder / "a") == Config({}, f"{folder}/a/pyproject.toml")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("other.toml", "[replay]\nseed = 3"),
        ("other.toml", "[tool.promptguard.replay]\nseed = 3"),
        ("pyproject.toml", "[tool.promptguard.replay]\nseed = 3"),
    ],
)
def test_a_named_file_overrides(folder: Path, name: str, text: str) -> None:
    own(folder, "[replay]\nseed = 1")
    (folder / name).write_text(text)
    assert load_config(folder, Path(name)).replay == {"seed": 3}


def test_a_named_pyproject_without_the_table(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'")
    with pytest.raises(ConfigError, match=r"pyproject.toml: there is no \[tool.promptguard\] table; add one"):
        load_config(folder, Path("pyproject.toml"))


def test_a_named_file_that_is_missing(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no.toml: the configuration file does not exist"):
        load_config(folder, Path("no.toml"))


def test_not_utf_8(folder: Path) -> None:
    (folder / "promptguard.toml").write_bytes(b"[replay]\n# \xff")
    with pytest.raises(InputError, match=r"promptguard.toml:2:3: the configuration file is not UTF-8"):
        load_config(folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[replay]\nseed = \n", "promptguard.toml:2:8: the configuration file is not valid TOML: Invalid value"),
        (
            "[replay]\nseed = 1\nseed = 2\n",
            "promptguard.toml:3:9: the configuration file is not valid TOML: Cannot overwrite a value",
        ),
        ("a = " + "[" * 100_000, "promptguard.toml: the configuration file is nested too deeply"),
        ("a = " + "1" * 10_000, "promptguard.toml: the configuration file is not valid TOML: Exceeds the limit"),
    ],
)
def test_not_toml(folder: Path, text: str, expected: str) -> None:
    assert message(folder, text).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[reply]\n", "promptguard.toml:1: reply: unknown key; did you mean replay?"),
        ("x = 1\n", "promptguard.toml:1: x: unknown key; known are replay, format, lint, prompts, rules"),
        ("replay = 1\n", "promptguard.toml:1: replay: must be a table; write [replay]"),
        ("[replay]\n\n min_hit_rate = 1\n", "promptguard.toml:3: min_hit_rate: unknown key; did you mean min-hit-rate?"),
        ("replay.sed = 1\n", "promptguard.toml: sed: unknown key; did you mean seed?"),
        ('[replay]\n"api-key" = "s"\n', "promptguard.toml:2: api-key: an API key is never read from a file; " + USE_VARIABLE),
    ],
)
def test_unknown_keys(folder: Path, text: str, expected: str) -> None:
    assert message(folder, text) == expected


def test_unknown_keys_of_pyproject(folder: Path) -> None:
    text = "[tool.other]\nsede = 1\n[tool.promptguard.replay]\nsede = 1\n"
    assert message(folder, text, "pyproject.toml") == "pyproject.toml:4: sede: unknown key; did you mean seed?"


def test_pyproject_without_a_table(folder: Path) -> None:
    text = "[tool]\npromptguard = 1\n"
    expected = "pyproject.toml: tool.promptguard: must be a table; write [tool.promptguard.replay]"
    assert message(folder, text, "pyproject.toml") == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("min-hit-rate = 80", "must be between 0 and 1"),
        ("min-hit-rate = nan", "must be between 0 and 1"),
        ('min-hit-rate = "0.8"', "must be a number"),
        ("min-hit-rate = true", "must be a number"),
        ("prompt-loss-tolerance = -1", "must be between 0 and 2147483647"),
        ("prompt-loss-tolerance = 1.0", "must be an integer"),
        ("seed = true", "must be an integer"),
        ("seed = 2147483648", "must be between 0 and 2147483647"),
        ("timeout = inf", "must be between 1 and 86400"),
        ("live = 1", "must be true or false"),
        ("system = 1", "must be a string"),
        ('system = ""', "must not be empty"),
        ('system = "a\\u0000"', "must not contain a null character"),
        ('engine = "vllm"', "must be one of llama-server, llama-cpp-python"),
        ('server = "jetson:8080"', "'jetson:8080' is not an http or https URL, such as http://127.0.0.1:8080"),
        ('report = "json=a"', "must be a list of strings"),
        ("report = [1]", "must be a list of strings"),
        ('report = ["json=a", "pdf=b"]', "'pdf=b' is not one of text=FILE, json=FILE, sarif=FILE, markdown=FILE, junit=FILE"),
    ],
)
def test_wrong_values(folder: Path, line: str, problem: str) -> None:
    name = line.partition(" ")[0]
    found = message(folder, f"[replay]\n{line}\n")
    assert found.startswith(f"promptguard.toml:2: {name}: {problem}; ")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("ctx-size = 1", "; context of the started engine, in tokens"),
        ("model = 1", "; GGUF file to run the engine on"),
        ("context = 1", "; JSON or YAML with values for the variables of the templates"),
    ],
)
def test_the_hint_on_a_wrong_value_is_the_end_of_the_sentence(folder: Path, line: str, hint: str) -> None:
    assert message(folder, f"[replay]\n{line}\n").endswith(hint)


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    Draft202012Validator(config_schema(rule_options())).validate(tomllib.loads(EVERYTHING))


@pytest.mark.parametrize(
    "line",
    ["min-hit-rate = 80", "seed = true", 'engine = "vllm"', 'report = ["pdf=b"]', 'server = "jetson"', 'system = ""', "sed = 1"],
)
def test_the_schema_refuses_what_the_reader_refuses(line: str) -> None:
    assert not Draft202012Validator(config_schema(rule_options())).is_valid(tomllib.loads(f"[replay]\n{line}"))


def test_the_schema_in_the_repository_is_current() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == config_schema_text(rule_options()), "run python scripts/build_schemas.py"
    Draft202012Validator.check_schema(json.loads(config_schema_text(rule_options())))
