"""Every tool and schema in a value, with its place."""

from __future__ import annotations

from promptguard.core.json_text import escape
from promptguard.core.light import Any, Iterator
from promptguard.toolschema.dialects import element_role, root_role
from promptguard.toolschema.vocabulary import HOLDER, SCHEMA, TOOL, Role

_VOCABULARIES = {"schema": SCHEMA, "tool": TOOL, "holder": HOLDER}


def visit(value: Any, start: Role | None = None) -> Iterator[tuple[str, Role, dict[str, Any], dict[str, Any]]]:
    """Every tool and every schema, in the order of the text, each ahead of what is inside it.

    Args:
        value: what ``canonical_tools`` takes, as plain dicts and lists.
        start: what the value is; by default what ``canonical_tools`` takes it for.

    Yields:
        Its JSON pointer; ``tool`` or ``schema``; the object itself; the outermost schema that it is in (for a tool, the
        tool), which a ``$ref`` starts from.
    """
    if start is None:
        start = "tools" if isinstance(value, list) else root_role(value) if isinstance(value, dict) else None
    stack: list[tuple[Any, str, Role | None, dict[str, Any] | None]] = [(value, "", start, None)]
    while stack:
        value, pointer, role, root = stack.pop()
        members: list[tuple[Any, str, Role | None, dict[str, Any] | None]] = []
        if isinstance(value, list):
            for number, item in enumerate(value):
                inner = element_role(item) if role == "tools" and isinstance(item, dict) else role
                members.append((item, f"{pointer}/{number}", inner, root))
        elif isinstance(value, dict) and role in ("properties", "map"):
            members = [(item, f"{pointer}/{escape(key)}", "schema", root) for key, item in value.items()]
        elif isinstance(value, dict) and role in _VOCABULARIES:
            vocabulary = _VOCABULARIES[role]
            if role == "schema":
                root = value if root is None else root
            if role != "holder":
                yield pointer, role, value, root or value
            members = [(item, f"{pointer}/{escape(key)}", vocabulary.role(key), root) for key, item in value.items()]
        stack.extend(reversed(members))
