"""References inside schemas that point nowhere."""

from __future__ import annotations

from promptguard.core.light import Any, Iterator, regex
from promptguard.toolschema.dialects import element_role, visit
from promptguard.toolschema.vocabulary import TOOL, Role

_ANCHORS = ("$anchor", "$dynamicAnchor")
_REFERENCES = regex(rb'"\$ref":"#([^"]*)"')


def dangling_references(value: Any) -> Iterator[tuple[str, str]]:
    """Every ``$ref`` into its own schema that has no target there: its JSON pointer, and the reference.

    A reference starts from the outermost schema: that of the arguments of one tool, because that is all that a model gets to see.
    References to other documents are not looked at, nor are those in a schema that gives itself or a part of it another address
    (``$id``).
    """
    anchors: dict[int, set[str] | None] = {}
    for pointer, role, schema, root in visit(value):
        reference = schema.get("$ref")
        if role != "schema" or not isinstance(reference, str) or not reference.startswith("#"):
            continue
        if id(root) not in anchors:
            anchors[id(root)] = _anchors(root)
        known = anchors[id(root)]
        if known is not None and not _leads_somewhere(reference[1:], root, known):
            yield f"{pointer}/$ref", reference


def may_dangle(tool: Any) -> bool:
    """Whether there may be a dangling reference in a tool or schema: quick, and ``False`` only where there is none."""
    return any(_has_no_target(root) for root in _roots(tool, element_role(tool)))


def _roots(value: Any, role: Role) -> Iterator[Any]:
    """The outermost schemas in a value."""
    if isinstance(value, list):
        for item in value:
            yield from _roots(item, element_role(item) if role == "tools" and isinstance(item, dict) else role)
    elif role == "schema":
        yield value
    elif isinstance(value, dict) and role == "tool":
        for key, item in value.items():
            yield from _roots(item, TOOL.role(key))


def _has_no_target(root: Any) -> bool:
    import orjson

    found = set(_REFERENCES.findall(orjson.dumps(root)))
    return any(not _leads_somewhere(fragment.decode(), root, set()) for fragment in found)


def _anchors(root: dict[str, Any]) -> set[str] | None:
    """The names that parts of a schema have given themselves; ``None`` where a part has an address of its own."""
    found: set[str] = set()
    for _, _, schema, _ in visit(root, "schema"):
        if schema is not root and isinstance(schema.get("$id", schema.get("id")), str):
            return None
        found.update(name for key in _ANCHORS if isinstance(name := schema.get(key), str))
    return found


def _leads_somewhere(fragment: str, root: dict[str, Any], anchors: set[str]) -> bool:
    if "%" in fragment:
        from urllib.parse import unquote

        fragment = unquote(fragment)
    if fragment and not fragment.startswith("/"):
        return fragment in anchors
    found: Any = root
    for part in fragment.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and name.isascii() and len(name) < 10 and int(name) < len(found):
            found = found[int(name)]
        else:
            return False
    return True
