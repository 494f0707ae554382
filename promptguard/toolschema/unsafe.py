"""Normalization that changes what a model reads, for ``--unsafe-fixes`` alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from promptguard.toolschema.dialects import visit

_KEYS = ("title", "description")
_STEPS: dict[str, Callable[[str], str]] = {
    "line ends": partial(re.compile(r"\r\n?").sub, "\n"),
    "trailing spaces": partial(re.compile(r"(?<![ \t])[ \t]+(?=\n|\Z)").sub, ""),
    "NFC": partial(unicodedata.normalize, "NFC"),
}


@dataclass(frozen=True)
class Change:
    """A text that was changed.

    Attributes:
        pointer: JSON pointer of the text in the value that was given.
        what: what was changed: ``line ends``, ``trailing spaces``, ``NFC``, or several, joined by commas.
    """

    pointer: str
    what: str


def normalize_descriptions(tools: Any) -> tuple[Any, tuple[Change, ...]]:
    """Normalize the descriptions and titles of tools and of their schemas.

    Line ends become LF, spaces and tabs at line ends go, Unicode becomes NFC. Names, property names and values (``enum``,
    ``const``, ``default``, examples) stay: they are part of the contract with the code that runs the tool.

    Args:
        tools: plain dicts and lists, as ``canonical_tools`` takes them.

    Returns:
        New dicts and lists, and what was changed, in the order of the input.
    """
    made = deepcopy(tools)
    changes = []
    for pointer, _, found, _ in visit(made):
        for key in [key for key in found if key in _KEYS and isinstance(found[key], str)]:
            found[key], what = _normalized(found[key])
            if what:
                changes.append(Change(f"{pointer}/{key}", ", ".join(what)))
    return made, tuple(changes)


def _normalized(text: str) -> tuple[str, list[str]]:
    what = []
    for name, step in _STEPS.items():
        made = step(text)
        if made != text:
            what.append(name)
        text = made
    return text, what
