"""Normalization that changes what a model reads, for ``--unsafe-fixes`` alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    raise NotImplementedError
