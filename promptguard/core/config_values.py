"""What a configuration file, or an argument of a function, may say, and where it is wrong."""

# ruff: noqa: PTH100, PTH109, PTH118, PTH120 - as in core.config
from __future__ import annotations

import os

from promptguard.core.config import API_KEY_VARIABLE, Config
from promptguard.core.errors import ConfigError
from promptguard.core.light import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, regex
from promptguard.core.option_tables import OPTIONS, PROMPT_OPTIONS, TABLES
from promptguard.core.options import Kind, Option, RuleOptions


class _Place(NamedTuple):
    """A table of the file: its name with dots, and which one of a list of tables it is."""

    table: str
    number: int | None = None


class Reader:
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
            problem = check_option(option, value)
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


def check_option(option: Option, value: Any) -> str | None:
    """What is wrong with a value for an option, ``None`` if nothing is."""
    if option.kind == "tables":
        return None  # each is checked by its fields
    if option.kind == "lists":
        if not isinstance(value, dict):
            return "must be a table of lists of strings"
        return next((problem for item in value.values() if (problem := check_option(option._replace(kind="list"), item))), None)
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
        if option.pattern and not regex(option.pattern).fullmatch(text):
            return f"{text!r} is not {option.form}"
    return None


def check_arguments(given: Mapping[str, Any], options: Sequence[Option]) -> None:
    """Check the keyword arguments of a function as the configuration file is checked; ``None`` is one that is not given.

    Raises:
        ConfigError: one is not what it may be; it is named with what it takes.
    """
    from promptguard.core.wording import named_type

    known = {option.name.replace("-", "_"): option for option in options}
    for name, value in given.items():
        if value is not None and name in known:
            problem = check_option(known[name], list(value) if isinstance(value, tuple) else value)
            if problem is not None:
                if problem.startswith(("must be a ", "must be an ", "must be true")):
                    problem += f", and is {named_type(value)}"
                raise ConfigError(problem, where=name, hint=_in_a_sentence(known[name].help))


def _out_of_range(option: Option, value: float) -> str | None:
    low = float("-inf") if option.minimum is None else option.minimum
    high = float("inf") if option.maximum is None else option.maximum
    if low <= value <= high:  # false for nan
        return None
    return f"must be at least {low:.12g}" if high == float("inf") else f"must be between {low:.12g} and {high:.12g}"
