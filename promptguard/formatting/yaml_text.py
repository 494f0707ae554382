"""A tree of YAML nodes as canonical YAML text.

Block style, indented by two, one line for a text of one line and a literal block for one of several. A scalar that YAML 1.1 and
YAML 1.2 readers take differently (``no``, ``010``, ``1:30``, a date) keeps its spelling, and so does every number; a text that
could be taken for one of these is in double quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from promptguard.parse.yaml import Node
from promptguard.parse.yaml_events import resolve

MAX_KEY = 1000
"""Code points of a key as it is written; YAML readers stop looking for the colon at 1,024."""

_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"))
_NUMBER_LIKE = re.compile(r"[-+.]?\d[-+.,:_\da-fA-FxXoOtTzZ ]*|[-+]?\.(?:inf|nan)", re.IGNORECASE)
# What no plain scalar and no literal block may hold: it would be refused, folded or invisible.
_UNPRINTABLE = "\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff"
_PLAIN = re.compile(
    rf"[A-Za-z0-9_$/(^+<.\u00a1-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff](?:[^{_UNPRINTABLE}]*[^{_UNPRINTABLE} :])?"
)
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def write_yaml(root: Node) -> str:
    """The text of a document, with a final newline."""
    if root.kind == "scalar" or not root.children:
        return _flat(root) + "\n"
    return "\n".join(_lines(root, "")) + "\n"


def long_key(root: Node) -> Node | None:
    """The first key that is too long to be written on one line."""
    stack = [root]
    while stack:
        node = stack.pop()
        for key in node.keys:
            if len(_flat(key)) > MAX_KEY:
                return key
        stack.extend(reversed(node.children))
    return None


def _lines(node: Node, indent: str) -> Iterator[str]:
    """The lines of a collection that is not empty, the first one without its indent where it follows a dash."""
    for position, child in enumerate(node.children):
        head = f"{_flat(node.keys[position])}:" if node.kind == "mapping" else "-"
        if child.kind == "scalar" or not child.children:
            yield f"{indent}{head} {_scalar(child, indent + '  ')}"
        elif node.kind == "sequence":
            first, *rest = _lines(child, indent + "  ")
            yield f"{indent}- {first.lstrip(' ')}"
            yield from rest
        else:
            yield f"{indent}{head}"
            yield from _lines(child, indent + "  ")


def _scalar(node: Node, indent: str) -> str:
    """A scalar or an empty collection behind a key or a dash; further lines are indented."""
    text = node.text
    if node.kind != "scalar" or "\n" not in text or not _is_literal(text):
        return _flat(node)
    head = "|" if text.endswith("\n") else "|-"
    return "\n".join([head, *(indent + line if line else "" for line in text.removesuffix("\n").split("\n"))])


def _is_literal(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    return (
        lines[-1] != ""
        and not lines[0].startswith(" ")
        and lines[0] != ""
        and not re.search(f"[{_UNPRINTABLE}]", text.replace("\n", ""))
        and not any(line and not line.strip(" ") for line in lines)
    )


def _flat(node: Node) -> str:
    """A scalar or an empty collection on one line."""
    if node.kind != "scalar":
        return "{}" if node.kind == "mapping" else "[]"
    text = node.text
    if node.plain and node.type in ("null", "bool") and text.lower() in ("", "~", "null", "true", "false"):
        return "null" if node.type == "null" else text.lower()
    if _ambiguous(text):
        return text if node.plain else _quoted(text)
    if _PLAIN.fullmatch(text) and ": " not in text and " #" not in text:
        return text
    return _quoted(text)


@lru_cache(maxsize=1 << 14)
def _ambiguous(text: str) -> bool:
    """Whether some reader would take the plain text for something else than a text."""
    return text.lower() in _WORDS or _NUMBER_LIKE.fullmatch(text) is not None or resolve(text) != "str"


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)  # the escapes of JSON are escapes of YAML as well
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)
