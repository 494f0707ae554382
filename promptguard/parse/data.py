"""Small JSON and YAML files that hold values, such as the variables of a template."""

from __future__ import annotations

import os

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.core.json_text import Decoder
from promptguard.core.light import TYPE_CHECKING, Any
from promptguard.core.source import Source
from promptguard.parse.yaml import Node, python_value
from promptguard.parse.yaml_simple import read_simple

if TYPE_CHECKING:
    from promptguard.core.files import StrPath

MAX_FILE = 4 * 2**20
MAX_NODES = 200_000
MAX_DEPTH = 100
_SMALL = MAX_NODES // 2
"""Characters of a YAML text that is read without PyYAML where it is simple: a character begins two nodes at most."""


def load_mapping(path: StrPath) -> dict[str, Any]:
    """The top-level mapping of a JSON or YAML file, bounded in size, depth and number of nodes (aliases counted as copies).

    Raises:
        InputError: with the place, where it is not such a file.
    """
    text = read_text(path, limit=MAX_FILE, what="the context file")
    where = str(path)
    if os.path.splitext(where)[1].lower() == ".json":  # noqa: PTH122 - pathlib takes longer to import than a small file takes
        return _mapping(_strict_json(text, where), where)
    value = _simple_yaml(text, where) or _any_yaml(text, where)
    return _mapping({} if value is None else value, where)


def _simple_yaml(text: str, where: str) -> Any:
    """The value that PyYAML gives for a YAML text, ``None`` where that takes PyYAML."""
    if len(text) > _SMALL:
        return None
    try:
        stream = read_simple(Source(where, text, "yaml"))
        if stream is None or len(stream.documents) != 1 or stream.anchor is not None or stream.tag is not None:
            return None
        (root,) = stream.documents
        return python_value(root) if _is_plain(root) else None
    except (InputError, ValueError):  # PyYAML says what it is
        return None


def _is_plain(node: Node) -> bool:
    """Whether there is no date, no merge key, and no key but texts in a tree, whose depth is bounded."""
    if node.kind == "scalar":
        return node.type in ("str", "int", "float", "bool", "null")
    return all(key.kind == "scalar" and key.type == "str" for key in node.keys) and all(map(_is_plain, node.children))


def _any_yaml(text: str, where: str) -> Any:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
        if root is not None:
            _count(root)
        return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise InputError(f"is neither JSON nor YAML ({error.problem or error.context})", where=place) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"is neither JSON nor YAML ({' '.join(str(error).split())[:200]})", where=where) from None


def _mapping(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("must hold a mapping from names to values", where=where, hint="write lines like `user_name: Ada`")
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"the key {key!r} is not the name of a variable", where=where, hint="put it in quotes")
    return value


def _strict_json(text: str, where: str) -> object:
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        from json import JSONDecodeError

        if isinstance(error, JSONDecodeError):
            raise InputError(f"is not JSON ({error.msg})", where=f"{where}:{error.lineno}:{error.colno}") from None
        raise InputError(f"is not JSON ({error})", where=where) from None


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise ValueError("a key stands twice")
    return value


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_JSON = Decoder(object_pairs_hook=_object, parse_constant=_constant)


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
        if node.id == "sequence":
            stack.extend((child, depth + 1) for child in node.value)
        elif node.id == "mapping":
            stack.extend((child, depth + 1) for pair in node.value for child in pair)
