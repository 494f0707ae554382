"""The configuration file: which one holds, what it may say, and where it is wrong.

``OPTIONS`` is the one table of what can be set; the JSON Schema of the file (docs/schemas/config-1.json) is made from it.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from promptguard.core.errors import ConfigError
from promptguard.core.files import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["text", "path", "integer", "number", "boolean", "list"]

REPORT_FORMATS = ("text", "json", "markdown", "junit")
API_KEY_VARIABLE = "PROMPTGUARD_API_KEY"
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes:
        name: as in the file; the flag is the same with ``--`` in front.
        kind: the type of its value. A ``path`` is relative to the configuration file, a ``list`` is one of texts.
        help: what it does, for ``--help`` and the schema.
        minimum, maximum: the least and the greatest allowed number, both included.
        choices: the allowed texts, where not every text is.
        pattern: a regular expression that every text of a list matches as a whole.
        default: what holds where it is not given, for ``--help``.
    """

    name: str
    kind: Kind
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    default: str | None = None


REPLAY_OPTIONS = (
    Option("system", "path", "System prompt: plain text, or a Jinja template that is rendered anew on each turn."),
    Option("context", "path", "JSON or YAML with values for the variables of the templates."),
    Option("tools", "path", "Tool schemas: JSON, or a Jinja template (.j2) that gives it."),
    Option("chat-template", "path", "Chat template to use instead of the model's own."),
    Option("task", "path", "Folder or file of the task to run instead of the built-in four-tool task."),
    Option(
        "server", "text", "Address of a running llama-server to measure, such as http://jetson:8080.", pattern=r"https?://\S+"
    ),
    Option(
        "engine",
        "text",
        "Engine to start where no server is given.",
        choices=("llama-server", "llama-cpp-python"),
        default="llama-server",
    ),
    Option("model", "path", "GGUF file to run the engine on.", default="the built-in tiny model"),
    Option(
        "model-from", "path", "GGUF (or tokenizer.json) to run a tiny-random twin of: same tokenizer, template and attention."
    ),
    Option("slot", "integer", "Slot of the server to pin the run to.", minimum=0, default="an idle one"),
    Option(
        "ctx-size", "integer", "Context of the started engine, in tokens.", minimum=256, maximum=1 << 24, default="fits the task"
    ),
    Option("swa-full", "boolean", "Keep the whole cache of sliding-window layers.", default="as the engine does"),
    Option(
        "timeout",
        "number",
        "Seconds to wait for the engine to start, and for each of its answers.",
        minimum=1,
        maximum=86400,
        default="120; 600 with a server",
    ),
    Option("min-hit-rate", "number", "Least hit rate that passes, between 0 and 1.", minimum=0, maximum=1, default="0.8"),
    Option("prompt-loss-tolerance", "integer", "Tokens of prompt loss that a turn may have.", minimum=0, default="0"),
    Option("engine-loss-tolerance", "integer", "Tokens of engine loss that a turn may have.", minimum=0, default="0"),
    Option("live", "boolean", "Let the model itself answer (temperature 0); only the tools are scripted."),
    Option("max-turns", "integer", "Most requests of a live run.", minimum=2, maximum=1000, default="32"),
    Option("max-tokens", "integer", "Most tokens of one reply in a live run.", minimum=1, maximum=32768, default="256"),
    Option("compare-uncached", "boolean", "Run the task again with the cache off and give both times."),
    Option("seed", "integer", "Seed of the values that differ between turns.", minimum=0, maximum=2**31 - 1, default="0"),
    Option("output-format", "text", "Format of what is printed.", choices=REPORT_FORMATS, default="text"),
    Option("report", "list", "Also write a report, as FORMAT=FILE.", pattern=f"({'|'.join(REPORT_FORMATS)})=.+"),
)
FORMAT_OPTIONS = (
    Option("exclude", "list", "Files and folders to leave out, in the words of .gitignore."),
    Option("sort-properties", "boolean", "Put the properties of schemas into alphabetical order as well."),
    Option("unsafe-fixes", "boolean", "Also normalize line ends, trailing spaces and Unicode (NFC) in descriptions."),
)
OPTIONS: Mapping[str, tuple[Option, ...]] = {"replay": REPLAY_OPTIONS, "format": FORMAT_OPTIONS}
"""The options of each command that has a table of its own in the file."""


@dataclass(frozen=True)
class Config:
    """What the configuration file says.

    Attributes:
        replay: value by option name, only what the file sets. Integers, floats, booleans and strings as such; a path as ``Path``,
            relative to the working directory where it lies in it, absolute elsewhere; a list as a list of strings, the file of a
            report with its path resolved the same way.
        path: the file that was read, ``None`` where there is none.
        format: as ``replay``.
    """

    replay: dict[str, object] = field(default_factory=dict)
    path: Path | None = None
    format: dict[str, object] = field(default_factory=dict)


def load_config(start: Path, explicit: Path | None = None) -> Config:
    """Read the configuration.

    Without ``explicit`` the closest file holds, from the folder ``start`` up to the root of the file system: in each folder
    ``promptguard.toml``, else a ``pyproject.toml`` that has a ``[tool.promptguard]`` table. Files are not merged.

    Raises:
        InputError: a file on the way cannot be read.
        ConfigError: a file on the way is not TOML, or the one that holds says something that it may not.
    """
    if explicit is not None:
        text, data = _read(explicit)
        table = _tool_table(data)
        if table is None and explicit.name == "pyproject.toml":
            raise ConfigError("there is no [tool.promptguard] table", where=str(explicit), hint="add one, or name another file")
        return _Reader(explicit, text, nested=table is not None).config(data if table is None else table)
    folder = start.absolute()
    for parent in (folder, *folder.parents):
        own = parent / "promptguard.toml"
        if _is_file(own):
            text, data = _read(own)
            return _Reader(own, text, nested=False).config(data)
        project = parent / "pyproject.toml"
        if _is_file(project):
            text, data = _read(project)
            table = _tool_table(data)
            if table is not None:
                return _Reader(project, text, nested=True).config(table)
    return Config()


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 (Path.is_file raises where a folder on the way may not be searched)


def _tool_table(data: Mapping[str, Any]) -> Any:
    tool = data.get("tool")
    return tool.get("promptguard") if isinstance(tool, dict) else None


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    text = read_text(path, limit=_MAX_BYTES, what="the configuration file")
    try:
        return text, tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError("the configuration file is nested too deeply", where=str(path)) from error
    except ValueError as error:  # TOMLDecodeError, and what int() says about a number with thousands of digits
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
        message, line, column = found.groups() if found else (str(error), None, None)
        where = f"{path}:{line}:{column}" if line else str(path)
        raise ConfigError(f"the configuration file is not valid TOML: {message}", where=where) from error


@dataclass(frozen=True)
class _Reader:
    """Checks one file. ``nested``: its tables are below ``[tool.promptguard]``."""

    path: Path
    text: str
    nested: bool

    def config(self, data: object) -> Config:
        if not isinstance(data, dict):
            raise self.error(None, "tool.promptguard", "must be a table", hint="write [tool.promptguard.replay]")
        for name, table in data.items():
            if name not in OPTIONS:
                raise self.unknown(None, name, list(OPTIONS))
            if not isinstance(table, dict):
                raise self.error(None, name, "must be a table", hint=f"write {self.header(name)}")
        replay, form = (self.options(name, data.get(name, {})) for name in ("replay", "format"))
        return Config(replay=replay, path=self.path, format=form)

    def options(self, command: str, table: Mapping[str, object]) -> dict[str, object]:
        known = {option.name: option for option in OPTIONS[command]}
        values = {}
        for name, value in table.items():
            if name.replace("_", "-") == "api-key":
                hint = f"remove it and set the environment variable {API_KEY_VARIABLE}"
                raise self.error(command, name, "an API key is never read from a file", hint=hint)
            if name not in known:
                raise self.unknown(command, name, list(known))
            problem = _problem(known[name], value)
            if problem:
                raise self.error(command, name, problem, hint=_in_a_sentence(known[name].help))
            values[name] = self.value(known[name], value)
        return values

    def value(self, option: Option, value: Any) -> object:
        if option.kind == "path":
            return self.resolve(value)
        if option.kind == "number":
            return float(value)
        if option.name == "report":
            pairs = (item.partition("=") for item in value)
            return [f"{form}={self.resolve(file)}" for form, _, file in pairs]
        return value

    def resolve(self, value: str) -> Path:
        path = self.path.absolute().parent / value
        here = Path.cwd()
        return path.relative_to(here) if path.is_relative_to(here) else path

    def unknown(self, command: str | None, name: str, known: list[str]) -> ConfigError:
        close = difflib.get_close_matches(name.replace("_", "-").lower(), known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
        return self.error(command, name, "unknown key", hint=hint)

    def error(self, command: str | None, name: str, problem: str, *, hint: str) -> ConfigError:
        line = self.line(command, name)
        return ConfigError(f"{name}: {problem}", where=f"{self.path}:{line}" if line else str(self.path), hint=hint)

    def header(self, command: str) -> str:
        return f"[tool.promptguard.{command}]" if self.nested else f"[{command}]"

    def line(self, command: str | None, name: str) -> int | None:
        """Line of a key as it is usually written, ``None`` where it is written in another way, such as in an inline table."""
        table = self.header(command) if command else "[tool.promptguard]" if self.nested else ""
        header = self.header(name)
        current = ""
        for number, raw in enumerate(self.text.splitlines(), 1):
            line = "".join(raw.partition("#")[0].split())
            if line.startswith("["):
                current = line
                if command is None and line == header:
                    return number
            elif current == table and line.startswith((f"{name}=", f'"{name}"=', f"'{name}'=")):
                return number
        return None


def _in_a_sentence(text: str) -> str:
    """A help text as part of a sentence: without its full stop, its first letter small unless it begins an abbreviation."""
    first = text if text[1:2].isupper() else text[:1].lower() + text[1:]
    return first.removesuffix(".")


def _problem(option: Option, value: Any) -> str | None:
    """What is wrong with a value, ``None`` if nothing is."""
    expected: dict[Kind, tuple[str, bool]] = {
        "text": ("a string", isinstance(value, str)),
        "path": ("a string", isinstance(value, str)),
        "integer": ("an integer", isinstance(value, int) and not isinstance(value, bool)),
        "number": ("a number", isinstance(value, (int, float)) and not isinstance(value, bool)),
        "boolean": ("true or false", isinstance(value, bool)),
        "list": ("a list of strings", isinstance(value, list) and all(isinstance(item, str) for item in value)),
    }
    words, fits = expected[option.kind]
    if not fits:
        return f"must be {words}"
    if isinstance(value, (int, float)):
        return _out_of_range(option, value)
    if option.choices and value not in option.choices:
        return f"must be one of {', '.join(option.choices)}"
    texts = value if isinstance(value, list) else [value]
    for text in texts:
        if not text or "\0" in text:
            return "must not be empty" if not text else "must not contain a null character"
        if option.pattern and not re.fullmatch(option.pattern, text):
            return f"{text!r} is not of the form that is expected"
    return None


def _out_of_range(option: Option, value: float) -> str | None:
    low = -math.inf if option.minimum is None else option.minimum
    high = math.inf if option.maximum is None else option.maximum
    if low <= value <= high:  # false for nan
        return None
    return f"must be at least {low:.12g}" if high == math.inf else f"must be between {low:.12g} and {high:.12g}"
