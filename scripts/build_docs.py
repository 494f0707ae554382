"""Write the pages of docs/reference from the commands, the options and the schemas; ``--check`` only compares.

``cli.md`` is made of the click commands, ``configuration.md`` of the table of options that docs/schemas/config-1.json is made of,
``json.md`` of the other schemas.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the checkout, not an installed package

from promptguard.checks.catalog import RULES
from promptguard.cli.commands import promptguard
from promptguard.core.option_tables import OPTIONS, PROMPT_OPTIONS, TABLES
from promptguard.core.options import Option

FOLDER = ROOT / "docs" / "reference"
SCHEMAS = ROOT / "docs" / "schemas"
EXAMPLES = {
    "replay": """\
system = "prompts/system.j2"
context = "prompts/values.yaml"
tools = "prompts/tools.json"
chat-template = "chat_template.jinja"
task = "tasks/support"
server = "http://jetson:8080"
engine = "llama-server"
model = "models/real.gguf"
model-from = "models/real.gguf"
slot = 0
ctx-size = 16384
swa-full = true
timeout = 300
min-hit-rate = 0.85
prompt-loss-tolerance = 16
engine-loss-tolerance = 64
live = true
max-turns = 16
max-tokens = 512
compare-uncached = true
seed = 7
output-format = "markdown"
report = ["json=replay.json", "junit=replay.xml"]
""",
    "format": """\
exclude = ["recordings/"]
sort-properties = true
unsafe-fixes = true
""",
    "lint": """\
select = ["PG1", "PG4"]
ignore = ["final-newline"]
extend-select = ["PG3"]
per-file-ignores = { "legacy/**" = ["PG3"] }
ignore-at = [{ path = "tools.json", pointer = "/3/function/description", rules = ["PG405"] }]
exclude = ["third_party/"]
pedantic = true
tokenizer = "models/tokenizer.json"
baseline = ".promptguard-baseline.json"
unsafe-fixes = true
output-format = "concise"
report = ["sarif=lint.sarif"]
cache-dir = "build/promptguard"
jobs = 2
""",
    "prompts": """\
path = "prompts/*.j2"
block = "system"
syntax = "jinja"
stable = ["user_locale"]
dynamic = ["greeting"]
context = "prompts/values.yaml"
name = "support"
""",
}
"""A value for each option, one a line; the build fails where an option has none."""

_MADE = "<!-- made by scripts/build_docs.py -->"
_COMMANDS = """\
Where a command says nothing else about its exit codes, those above hold. The values of options can stand in a
[configuration file](configuration.md); an option on the command line comes before it."""
_CONFIGURATION = """\
Settings stand in `promptguard.toml`, or in `pyproject.toml` with `tool.promptguard.` in front of each table: what is `[lint]` in
the one is `[tool.promptguard.lint]` in the other. The closest file holds, from the current folder up: in each folder
`promptguard.toml`, else a `pyproject.toml` that has such a table. Files are not merged. `--config FILE` names one.

Paths are relative to the file. A key that is unknown and a value of another type are errors. An option on the command line comes
before the value here. `promptguard config` prints the settings that hold, and where each comes from. Editors take the schema:
[config-1.json](../schemas/config-1.json)."""
_OUTPUTS = """\
Every JSON output says its `version`. The version rises when a key is removed or changes its meaning; new keys may come at any
time, so a reader passes over those that it does not know. Each has a JSON Schema (draft 2020-12)."""
_NOTE = re.compile(r"\s*\[(?:default: ([^\]]*)|(repeatable))\]")
_KINDS = {
    "text": "text",
    "path": "path",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "list": "list of texts",
    "lists": "table of lists",
    "tables": "list of tables",
}


# The command line


def cli_text() -> str:
    """Every command with its arguments, options and exit codes."""
    context = click.Context(promptguard, info_name="promptguard")
    parts = ["# Command line", _MADE, *_description(promptguard)]
    parts.append(_COMMANDS)
    parts += _commands(promptguard, context)
    return "\n\n".join(parts) + "\n"


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(command, inner)
            continue
        yield f"## {inner.command_path}"
        yield f"```text\n{' '.join([inner.command_path, *command.collect_usage_pieces(inner)])}\n```"
        yield from _description(command)
        rows = [_flag(option) for option in command.params if isinstance(option, click.Option) and not option.hidden]
        if rows:
            yield _table(("option", "default", "what it does"), rows)


def _description(command: click.Command) -> Iterator[str]:
    """The help of a command by paragraphs; its exit codes as a table."""
    for paragraph in (command.help or "").split("\f")[0].strip().split("\n\n"):
        if paragraph.startswith("\b"):  # click keeps its lines
            yield "```text\n" + "\n".join(line.rstrip() for line in paragraph[1:].strip("\n").splitlines()) + "\n```"
            continue
        text = " ".join(paragraph.split())
        if text.startswith("Exit codes:"):
            codes = re.findall(r"(?:^|[,;] )(\d+) (.*?)(?=[,;] \d+ |\.?$)", text.removeprefix("Exit codes:").strip())
            yield _table(("exit code", "meaning"), [(code, _prose(meaning)) for code, meaning in codes])
        elif text:
            yield _prose(text)


def _flag(option: click.Option) -> tuple[str, str, str]:
    names = "/".join([", ".join(sorted(option.opts, key=len)), *option.secondary_opts])
    text = option.help or ""
    notes = _NOTE.findall(text)
    text = _prose(_NOTE.sub("", text))
    default = next((default for default, _ in notes if default), "")
    if not default and isinstance(option.default, (str, int, float)) and not isinstance(option.default, bool):
        default = str(option.default)
    values = ""
    if isinstance(option.type, click.Choice):
        text += " One of " + ", ".join(f"`{choice}`" for choice in option.type.choices) + "."
    elif isinstance(option.type, (click.IntRange, click.FloatRange)) and not option.count:
        text += _limits_sentence(option.type.min, option.type.max)
    if not option.is_flag and not option.count and not isinstance(option.type, click.Choice):
        values = f" {option.metavar or option.type.name.upper()}"
    if option.required:
        text += " Required."
    if option.multiple:
        text += " Can be given several times."
    return f"`{names}{values}`", _prose(default), text


def _limits_sentence(low: float | None, high: float | None) -> str:
    limits = _limits(low, high)
    return f" {limits[:1].upper()}{limits[1:]}." if limits else ""


# The configuration


def configuration_text() -> str:
    """Every key of the configuration file with its type, default, meaning and an example."""
    parts = [
        "# Configuration",
        _MADE,
        _CONFIGURATION,
    ]
    for name, options in OPTIONS.items():
        parts += [f"## [{name}]", f"Options of [`promptguard {name}`](cli.md#promptguard-{name})."]
        parts += _options(name, options, EXAMPLES.get(name, ""))
    parts += ["## [[prompts]]", TABLES["prompts"], *_options("prompts", PROMPT_OPTIONS, EXAMPLES["prompts"])]
    parts += ["## [rules]", f"{TABLES['rules']} The tables are called `[rules.PG106]` and so on.", _rule_options()]
    return "\n\n".join(parts) + "\n"


def _options(table: str, options: Sequence[Option], examples: str) -> Iterator[str]:
    lines = dict(zip(tomllib.loads(examples), examples.splitlines(), strict=True))
    names = [option.name for option in options]
    if sorted(lines) != sorted(names):
        wrong = ", ".join(sorted(set(lines) ^ set(names)))
        raise SystemExit(
            f"scripts/build_docs.py: EXAMPLES[{table!r}] must have a line for each option, and no other: see {wrong}"
        )
    yield _table(
        ("key", "type", "default", "what it does", "example"),
        [
            (f"`{option.name}`", _type(option), _default(option), _prose(option.help), f"`{lines[option.name]}`")
            for option in options
        ],
    )
    for option in options:
        if option.fields:
            yield f"Each table of `{option.name}` holds:"
            yield _table(
                ("key", "type", "default", "what it does"),
                [(f"`{field.name}`", _type(field), _default(field), _prose(field.help)) for field in option.fields],
            )


def _type(option: Option) -> str:
    if option.choices:
        return ", ".join(f"`{choice}`" for choice in option.choices)
    limits = _limits(option.minimum, option.maximum)
    return _KINDS[option.kind] + (f", {limits}" if limits else "")


def _default(option: Option) -> str:
    if option.required:
        return "required"
    return _prose(option.default or {"boolean": "false", "list": "none", "lists": "none", "tables": "none"}.get(option.kind, ""))


def _rule_options() -> str:
    rows = [
        (
            f"[{rule.code} {rule.name}](../../{rule.file})",
            f"`{option.name}`",
            f"`{json.dumps(option.default, ensure_ascii=False)}`",
            _prose(option.help),
        )
        for rule in RULES.values()
        for option in rule.options
    ]
    return _table(("rule", "key", "default", "what it does"), rows)


# JSON outputs


def json_text() -> str:
    """What is in the JSON outputs, from their schemas."""
    parts = [
        "# JSON outputs",
        _MADE,
        _OUTPUTS,
    ]
    for path in sorted(SCHEMAS.glob("*.json")):
        if path.name == "config-1.json":
            continue
        schema = json.loads(path.read_text(encoding="utf-8"))
        parts += [f"## {path.stem}", f"{_prose(schema['description'])} The schema: [{path.name}](../schemas/{path.name})."]
        parts.append(_keys(schema))
        for name, inner in schema.get("$defs", {}).items():
            if "properties" in inner:
                parts.append(f"### {path.stem}: {name}")
                parts += [_prose(inner["description"])] if "description" in inner else []
                parts.append(_keys(inner))
    return "\n\n".join(parts) + "\n"


def _keys(schema: Mapping[str, Any]) -> str:
    return _table(("key", "type", "meaning"), list(_key_rows(schema, "")))


def _key_rows(schema: Mapping[str, Any], before: str) -> Iterator[tuple[str, str, str]]:
    for name, value in schema.get("properties", {}).items():
        optional = "" if name in schema.get("required", ()) else "May be missing. "
        yield f"`{before}{name}`", _json_type(value), _prose(f"{optional}{value.get('description', '')}".strip())
        yield from _key_rows(value, f"{before}{name}.")
        yield from _key_rows(value.get("items", {}), f"{before}{name}[].")


def _json_type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f"*{str(schema['$ref']).rpartition('/')[2]}*"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_json_type(inner) for inner in schema[key])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    given = schema.get("type", "any value")
    names = given if isinstance(given, list) else [given]
    inner = schema.get("items", {})
    return " or ".join(f"array of {_json_type(inner)}" if name == "array" and inner else str(name) for name in names)


# Markdown


def _limits(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low:,} to {high:,}"
    return f"{low:,} or more" if low is not None else f"{high:,} or less" if high is not None else ""


def _prose(text: str) -> str:
    """A text as Markdown shows it unchanged; flags and file names stand in code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else _plain(piece) for piece in pieces)


def _plain(text: str) -> str:
    text = re.sub(r"([\\*<>|])", r"\\\1", text)
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*[a-z]|\w+\.(?:toml|json|gguf)|PROMPTGUARD_[A-Z_]+)(?![\w-])", r"`\1`", text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    for row in rows:
        for cell in row:
            # What makes two cells of one, in code as well, is shown in different ways by different readers of Markdown.
            assert "|" not in cell.replace(r"\|", ""), cell
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in lines)


PAGES = {"cli.md": cli_text, "configuration.md": configuration_text, "json.md": json_text}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page is stale")
    check = parser.parse_args().check
    stale = False
    for name, make in PAGES.items():
        path, text = FOLDER / name, make()
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"docs/reference/{name} is stale: run python scripts/build_docs.py\n")
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
