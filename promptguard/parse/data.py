"""Small JSON and YAML files that hold values, such as the variables of a template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from promptguard.core.errors import InputError
from promptguard.core.files import read_text

MAX_FILE = 4 * 2**20
MAX_NODES = 200_000
MAX_DEPTH = 100
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_mapping(path: Path) -> dict[str, Any]:
    """The top-level mapping of a JSON or YAML file, bounded in size, depth and number of nodes (aliases counted as copies).

    Raises:
        InputError: with the place, where it is not such a file.
    """
    text = read_text(path, limit=MAX_FILE, what="the context file")
    if path.suffix.lower() == ".json":
        return _mapping(_strict_json(text, path), path)
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is not None:
            _count(root)
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise InputError(f"is neither JSON nor YAML ({error.problem or error.context})", where=where) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"is neither JSON nor YAML ({' '.join(str(error).split())[:200]})", where=str(path)) from None
    return _mapping({} if value is None else value, path)


def _mapping(value: object, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("must hold a mapping from names to values", where=str(path), hint="write lines like `user_name: Ada`")
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"the key {key!r} is not the name of a variable", where=str(path), hint="put it in quotes")
    return value


def _strict_json(text: str, path: Path) -> object:
    def pairs(members: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(members)
        if len(value) < len(members):
            raise ValueError("a key stands twice")
        return value

    def constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON ({error.msg})", where=f"{path}:{error.lineno}:{error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON ({error})", where=str(path)) from None


def _count(root: Any) -> None:
    """Refuse what would unfold into too much: a few lines of nested aliases can stand for billions of nodes."""
    total = 0
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        total += 1
        if total > MAX_NODES:
            raise ValueError(f"it unfolds into more than {MAX_NODES:,} values")
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(node, yaml.SequenceNode):
            stack.extend((child, depth + 1) for child in node.value)
        elif isinstance(node, yaml.MappingNode):
            stack.extend((child, depth + 1) for pair in node.value for child in pair)
