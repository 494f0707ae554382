"""The configuration file: which one holds, and what it says."""

# ruff: noqa: PTH100, PTH109, PTH113, PTH118, PTH119, PTH120 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os

from promptguard.core.errors import ConfigError
from promptguard.core.files import read_text
from promptguard.core.kept import hash_of, read_kept, write_kept
from promptguard.core.light import TYPE_CHECKING, Any, Callable, Mapping, MappingProxyType, NamedTuple

if TYPE_CHECKING:
    from promptguard.core.files import StrPath
    from promptguard.core.options import RuleOptions

API_KEY_VARIABLE = "PROMPTGUARD_API_KEY"
_MAX_BYTES = 1 << 20
_KEPT = "configurations"  # the name under which they are kept
_MOST_KEPT = 50  # the last ones
_LONGEST_KEPT = 1 << 12  # bytes; all of them are read to find one


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
    from promptguard.core.config_values import Reader

    return Reader(path, text, nested=nested).config(data, rules)


def origins(start: StrPath = ".", explicit: StrPath | None = None) -> Callable[[str, str], str]:
    """What says where the configuration sets something: the place for the name of a table and that of an option in it."""
    found = _find(start, explicit)
    if found is None:
        return lambda _table, _name: ""
    path, text, _, nested = found
    from promptguard.core.config_values import Reader

    reader = Reader(path, text, nested=nested)

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
        if os.path.lexists(own):  # a folder or a broken link is an error rather than no configuration
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
    """What of a TOML text is about promptguard.

    It is kept by a hash of the text, as to import the parser takes longer than all else that lint does for a small file.
    """
    import marshal

    kept = read_kept(_KEPT)
    key = hash_of(path[path.rfind("/") + 1 :] + text)
    try:
        known = marshal.loads(kept[key])  # noqa: S302 - of the user's own
    except (EOFError, KeyError, TypeError, ValueError):
        known = None
    if isinstance(known, dict):
        return known
    data = _parsed(path, text)
    table = _tool_table(data)
    if table is not None or os.path.basename(path) == "pyproject.toml":
        data = {"tool": {"promptguard": table}}
    try:
        made = marshal.dumps(data)
    except ValueError:  # there is a date in it
        return data
    if len(made) <= _LONGEST_KEPT:
        write_kept(_KEPT, dict([*kept.items(), (key, made)][-_MOST_KEPT:]))
    return data


def _parsed(path: str, text: str) -> dict[str, Any]:
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
        import re

        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
        message, line, column = found.groups() if found else (str(error), None, None)
        where = f"{path}:{line}:{column}" if line else path
        raise ConfigError(f"the configuration file is not valid TOML: {message}", where=where) from error
    return data
