"""The configuration file: which one holds, what it may say, and where it is wrong.

``OPTIONS`` is the one table of what can be set; the JSON Schema of the file (docs/schemas/config-1.json) is made from it.
"""

# ruff: noqa: PTH100, PTH109, PTH113, PTH118, PTH119, PTH120 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from promptguard.core.errors import ConfigError
from promptguard.core.files import read_text
from promptguard.core.light import NamedTuple

if TYPE_CHECKING:
    from promptguard.core.files import StrPath

Kind = Literal["text", "path", "integer", "number", "boolean", "list", "lists", "tables"]

REPORT_FORMATS = ("text", "json", "markdown", "junit")
FINDING_FORMATS = ("full", "concise", "json", "sarif", "github", "junit", "markdown")
API_KEY_VARIABLE = "PROMPTGUARD_API_KEY"
_MAX_BYTES = 1 << 20


class Option(NamedTuple):
    """One option of a command.

    Attributes:
        name: as in the file; the flag is the same with ``--`` in front.
        kind: the type of its value. A ``path`` is relative to the configuration file, a ``list`` is one of texts, ``lists`` is a
            table of them, ``tables`` a list of tables.
        help: what it does, for ``--help`` and the schema.
        minimum, maximum: the least and the greatest allowed number, both included.
        choices: the allowed texts, where not every text is.
        pattern: a regular expression that every text of a list matches as a whole.
        default: what holds where it is not given, for ``--help``.
        fields: what each of the ``tables`` may hold.
        required: one of the ``fields`` that cannot be left out.
    """

    name: str
    kind: Kind
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    default: str | None = None
    fields: tuple[Option, ...] = ()
    required: bool = False


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
LINT_OPTIONS = (
    Option("select", "list", "Rules that report: codes (PG101), prefixes of codes (PG1) or names (clock).", default="PG"),
    Option("ignore", "list", "Rules that do not report; the longer selector holds, this one on a tie."),
    Option("extend-select", "list", "Further rules that report."),
    Option("per-file-ignores", "lists", "Rules that do not report, by files in the words of .gitignore."),
    Option(
        "ignore-at",
        "tables",
        "What is not reported at a place in JSON and YAML files, and below it.",
        fields=(
            Option("path", "text", "Files, in the words of .gitignore.", required=True),
            Option("pointer", "text", "JSON pointer to the value.", pattern=r"(?:/[^/]*)+", required=True),
            Option("rules", "list", "Rules that do not report there.", required=True),
        ),
    ),
    Option("exclude", "list", "Files and folders to leave out, in the words of .gitignore."),
    Option("pedantic", "boolean", "Report notes too."),
    Option("tokenizer", "text", "What counts tokens: a tokenizer.json, a GGUF file or tiktoken:ENCODING.", default="built in"),
    Option("baseline", "path", "File of known findings, which are not reported; promptguard baseline writes it."),
    Option("unsafe-fixes", "boolean", "Also apply fixes that may change what a model reads."),
    Option("output-format", "text", "Format of what is printed.", choices=FINDING_FORMATS, default="full"),
    Option("report", "list", "Also write a report, as FORMAT=FILE.", pattern=f"({'|'.join(FINDING_FORMATS)})=.+"),
    Option("cache-dir", "path", "Folder of the cache.", default=".promptguard_cache beside the configuration file"),
    Option("jobs", "integer", "Most processes to work with.", minimum=1, maximum=1024, default="the number of CPUs"),
)
PROMPT_OPTIONS = (
    Option("path", "text", "A file, or files in the words of .gitignore.", required=True),
    Option("block", "text", "Block that it is, or begins with.", choices=("tools", "system", "history", "user")),
    Option(
        "syntax",
        "text",
        "How its placeholders are written.",
        choices=("jinja", "format", "mustache", "dollar", "erb"),
        default="as the kind of file says",
    ),
    Option("stable", "list", "Variables whose values never change within a deployment."),
    Option("dynamic", "list", "Variables whose values change between requests."),
    Option("context", "text", "JSON or YAML file with values for variables, which are stable."),
    Option("name", "text", "Name of the prompt that it is a part of; files of one name make one prompt."),
)
OPTIONS: Mapping[str, tuple[Option, ...]] = {"replay": REPLAY_OPTIONS, "format": FORMAT_OPTIONS, "lint": LINT_OPTIONS}
"""The options of each command that has a table of its own in the file."""
TABLES: Mapping[str, str] = {
    "prompts": "Declared prompts: which files they are, and what is known of their variables.",
    "rules": "Options of rules, by code.",
}
"""What else the file may hold."""

RuleOptions = Mapping[str, tuple[Option, ...]]
"""The options of each rule, by code."""


class Config(NamedTuple):
    """What the configuration file says.

    Attributes:
        replay: value by option name, only what the file sets. Integers, floats, booleans and strings as such; a path relative to
            the working directory where it lies in it, absolute elsewhere; a list as a list of strings, the file of a report with
            its path resolved the same way; tables as dictionaries.
        path: the file that was read, ``None`` where there is none.
        format, lint: as ``replay``.
        prompts: the declared prompts.
        rules: the options of rules, by code.
    """

    replay: Mapping[str, object] = MappingProxyType({})
    path: str | None = None
    format: Mapping[str, object] = MappingProxyType({})
    lint: Mapping[str, object] = MappingProxyType({})
    prompts: tuple[Mapping[str, Any], ...] = ()
    rules: Mapping[str, Mapping[str, object]] = MappingProxyType({})

    @property
    def folder(self) -> str:
        """The absolute path of the folder that the file lies in, of the current one where there is none."""
        return os.path.dirname(os.path.abspath(self.path)) if self.path is not None else os.getcwd()


def load_config(
    start: StrPath = ".", explicit: StrPath | None = None, *, rules: Callable[[], RuleOptions] | None = None
) -> Config:
    """Read the configuration.

    Without ``explicit`` the closest file holds, from the folder ``start`` up to the root of the file system: in each folder
    ``promptguard.toml``, else a ``pyproject.toml`` that has a ``[tool.promptguard]`` table. Files are not merged.

    Args:
        start: the folder.
        explicit: the file.
        rules: asked for the options of the rules, where the file sets one. Without it they are not checked.

    Raises:
        InputError: a file on the way cannot be read.
        ConfigError: a file on the way is not TOML, or the one that holds says something that it may not.
    """
    found = _find(start, explicit)
    if found is None:
        return Config()
    path, text, data, nested = found
    return _Reader(path, text, nested=nested).config(data, rules)


def origins(start: StrPath = ".", explicit: StrPath | None = None) -> Callable[[str, str], str]:
    """What says where the configuration sets something: the place for the name of a table and that of an option in it."""
    found = _find(start, explicit)
    if found is None:
        return lambda _table, _name: ""
    path, text, _, nested = found
    reader = _Reader(path, text, nested=nested)

    def place(table: str, name: str) -> str:
        line = reader.line(table, name)
        return f"{path}:{line}" if line else path

    return place


def _find(start: StrPath, explicit: StrPath | None) -> tuple[str, str, Any, bool] | None:
    """The file that holds: its path, its text, its table, and whether that is one of ``pyproject.toml``."""
    if explicit is not None:
        path = os.fspath(explicit)
        text = _text(path)
        data = _parse(path, text)
        table = _tool_table(data)
        if table is None and os.path.basename(path) == "pyproject.toml":
            raise ConfigError("there is no [tool.promptguard] table", where=path, hint="add one, or name another file")
        return path, text, data if table is None else table, table is not None
    folder = os.path.abspath(start)
    while True:
        own = os.path.join(folder, "promptguard.toml")
        if os.path.isfile(own):
            text = _text(own)
            return own, text, _parse(own, text), False
        project = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(project):
            text = _text(project)
            table = _tool_table(_parse(project, text)) if "promptguard" in text else None  # the parser takes long to import
            if table is not None:
                return project, text, table, True
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _tool_table(data: Mapping[str, Any]) -> Any:
    tool = data.get("tool")
    return tool.get("promptguard") if isinstance(tool, dict) else None


def _text(path: str) -> str:
    return read_text(path, limit=_MAX_BYTES, what="the configuration file")


def _parse(path: str, text: str) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError("the configuration file is nested too deeply", where=path) from error
    except ValueError as error:  # TOMLDecodeError, and what int() says about a number with thousands of digits
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
        message, line, column = found.groups() if found else (str(error), None, None)
        where = f"{path}:{line}:{column}" if line else path
        raise ConfigError(f"the configuration file is not valid TOML: {message}", where=where) from error
    return data


class _Place(NamedTuple):
    """A table of the file: its name with dots, and which one of a list of tables it is."""

    table: str
    number: int | None = None


class _Reader:
    """Checks one file. ``nested``: its tables are below ``[tool.promptguard]``."""

    def __init__(self, path: str, text: str, *, nested: bool) -> None:
        self.path = path
        self.text = text
        self.nested = nested

    def config(self, data: object, rules: Callable[[], RuleOptions] | None) -> Config:
        if not isinstance(data, dict):
            raise self.error(_Place(""), "tool.promptguard", "must be a table", hint="write [tool.promptguard.replay]")
        for name, table in data.items():
            if name not in OPTIONS and name not in TABLES:
                raise self.unknown(_Place(""), name, [*OPTIONS, *TABLES])
            if name != "prompts" and not isinstance(table, dict):
                raise self.error(_Place(""), name, "must be a table", hint=f"write {self.header(_Place(name))}")
        tables = {command: self.options(_Place(command), data.get(command, {}), OPTIONS[command]) for command in OPTIONS}
        prompts = self.tables("prompts", data.get("prompts", []), PROMPT_OPTIONS, "prompts")
        return Config(path=self.path, prompts=tuple(prompts), rules=self.rule_tables(data.get("rules", {}), rules), **tables)

    def rule_tables(
        self, tables: Mapping[str, Any], options: Callable[[], RuleOptions] | None
    ) -> Mapping[str, Mapping[str, object]]:
        known = options() if options is not None and tables else None
        values: dict[str, Mapping[str, object]] = {}
        for code, table in tables.items():
            place = _Place(f"rules.{code}")
            if known is not None and code not in known:
                raise self.unknown(_Place("rules"), code, list(known))
            if not isinstance(table, dict):
                raise self.error(_Place("rules"), code, "must be a table", hint=f"write {self.header(place)}")
            if known is not None:
                values[code] = self.options(place, table, known[code])
        return values

    def tables(self, key: str, value: object, fields: Sequence[Option], name: str) -> Iterator[dict[str, Any]]:
        """A list of tables, each checked."""
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            parent, _, last = key.rpartition(".")
            raise self.error(_Place(parent), last, "must be a list of tables", hint=f"write {self.header(_Place(key, 0))}")
        for index, table in enumerate(value):
            place = _Place(key, index)
            yield self.options(place, table, fields)
            for field in fields:
                if field.required and field.name not in table:
                    hint = _in_a_sentence(field.help)
                    raise self.error(place, name, f"the key {field.name} is missing", hint=hint, at_header=True)

    def options(self, place: _Place, table: Mapping[str, object], options: Sequence[Option]) -> dict[str, object]:
        known = {option.name: option for option in options}
        values: dict[str, object] = {}
        for name, value in table.items():
            if name.replace("_", "-") == "api-key":
                hint = f"remove it and set the environment variable {API_KEY_VARIABLE}"
                raise self.error(place, name, "an API key is never read from a file", hint=hint)
            if name not in known:
                raise self.unknown(place, name, list(known))
            option = known[name]
            problem = _problem(option, value)
            if problem:
                raise self.error(place, name, problem, hint=_in_a_sentence(option.help))
            if option.kind == "tables":
                values[name] = list(self.tables(f"{place.table}.{name}", value, option.fields, name))
            else:
                values[name] = self.value(option, value)
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

    def resolve(self, value: str) -> str:
        path = os.path.join(os.path.dirname(os.path.abspath(self.path)), value)
        if ".." not in value:
            path = os.path.normpath(path)
        here = os.path.join(os.getcwd(), "")
        return path.removeprefix(here)

    def unknown(self, place: _Place, name: str, known: list[str]) -> ConfigError:
        import difflib

        close = difflib.get_close_matches(name.replace("_", "-"), known, n=1)
        close = close or difflib.get_close_matches(name.replace("_", "-").lower(), known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}" if known else "it has no options"
        return self.error(place, name, "unknown key", hint=hint)

    def error(self, place: _Place, name: str, problem: str, *, hint: str, at_header: bool = False) -> ConfigError:
        line = self.header_line(place) if at_header else self.line(place.table, name, place.number)
        return ConfigError(f"{name}: {problem}", where=f"{self.path}:{line}" if line else self.path, hint=hint)

    def header(self, place: _Place) -> str:
        name = ".".join(part for part in ("tool.promptguard" if self.nested else "", place.table) if part)
        if not name:
            return ""
        return f"[{name}]" if place.number is None else f"[[{name}]]"

    def line(self, table: str, name: str, index: int | None = None) -> int | None:
        """Line of a key as it is usually written, ``None`` where it is written in another way, such as in an inline table."""
        wanted = self.header(_Place(table, index))
        below = f"{table}.{name}" if table else name
        own = {self.header(_Place(below)), self.header(_Place(below, 0))}
        current, count = "", -1
        for number, line in self._lines():
            if line.startswith("["):
                current = line
                count += current == wanted
                if index is None and line in own:
                    return number
                continue
            if current == wanted and index in (None, count) and line.startswith((f"{name}=", f'"{name}"=', f"'{name}'=")):
                return number
        return None

    def header_line(self, place: _Place) -> int | None:
        headers = [number for number, line in self._lines() if line == self.header(place)]
        return headers[place.number or 0] if len(headers) > (place.number or 0) else None

    def _lines(self) -> Iterator[tuple[int, str]]:
        for number, raw in enumerate(self.text.splitlines(), 1):
            yield number, "".join(raw.partition("#")[0].split())


def _in_a_sentence(text: str) -> str:
    """A help text as part of a sentence: without its full stop, its first letter small unless it begins an abbreviation."""
    first = text if text[1:2].isupper() else text[:1].lower() + text[1:]
    return first.removesuffix(".")


def _problem(option: Option, value: Any) -> str | None:
    """What is wrong with a value, ``None`` if nothing is."""
    if option.kind == "tables":
        return None  # each is checked by its fields
    if option.kind == "lists":
        if not isinstance(value, dict):
            return "must be a table of lists of strings"
        return next((problem for item in value.values() if (problem := _problem(option._replace(kind="list"), item))), None)
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
    low = float("-inf") if option.minimum is None else option.minimum
    high = float("inf") if option.maximum is None else option.maximum
    if low <= value <= high:  # false for nan
        return None
    return f"must be at least {low:.12g}" if high == float("inf") else f"must be between {low:.12g} and {high:.12g}"
