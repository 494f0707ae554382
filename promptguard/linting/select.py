"""Which rules report: by selection, by file, and by place in a file."""

# ruff: noqa: PTH100, PTH118, PTH206 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os

from promptguard.checks.selectors import resolve
from promptguard.core.light import Iterable, Sequence
from promptguard.linting.settings import Settings

ALWAYS = frozenset({"PG901", "PG999"})
"""Rules that report whatever is selected: what they find keeps promptguard from judging."""


def selected_codes(select: Sequence[str], ignore: Sequence[str]) -> frozenset[str]:
    """The codes of the rules that report: the longer selector holds, ``ignore`` on a tie.

    Raises:
        ConfigError: a selector matches no rule.
    """
    wanted, unwanted = _lengths(select), _lengths(ignore)
    return ALWAYS | {code for code, length in wanted.items() if length > unwanted.get(code, 0)}


def check_selectors(settings: Settings) -> None:
    """See that every selector means a rule.

    Raises:
        ConfigError: one does not.
    """
    codes = [codes for _, codes in settings.per_file_ignores] + [codes for _, _, codes in settings.pointer_ignores]
    for selectors in (settings.select, settings.ignore, *codes):
        resolve_all(selectors)


def resolve_all(selectors: Iterable[str]) -> frozenset[str]:
    """The codes that any of some selectors stands for.

    Raises:
        ConfigError: one of them matches no rule.
    """
    return frozenset().union(*(resolve(selector) for selector in selectors))


def _lengths(selectors: Sequence[str]) -> dict[str, int]:
    """For each code that is meant the length of the selector that fits best; a name is as long as a code."""
    lengths: dict[str, int] = {}
    for selector in selectors:
        codes = resolve(selector)
        length = len(next(iter(codes))) if len(codes) == 1 else len(selector.strip())
        for code in codes:
            lengths[code] = max(lengths.get(code, 0), length)
    return lengths


def parts_below(path: str, root: str) -> tuple[str, ...]:
    """The names of a path from a folder on; empty where it is not below it."""
    inside = os.path.join(root, "")
    path = os.path.abspath(path)
    return tuple(path[len(inside) :].split(os.sep)) if path.startswith(inside) else ()


class Exceptions:
    """What the configuration takes out for single files, and for places in them."""

    def __init__(self, settings: Settings) -> None:
        self._root = settings.root
        self._files: list[tuple[Patterns, frozenset[str]]] = []
        self._pointers: list[tuple[Patterns, str, frozenset[str]]] = []
        if not settings.per_file_ignores and not settings.pointer_ignores:
            return
        from promptguard.core.ignore import Patterns

        self._files = [(Patterns([pattern]), resolve_all(codes)) for pattern, codes in settings.per_file_ignores]
        self._pointers = [
            (Patterns([pattern]), pointer, resolve_all(codes)) for pattern, pointer, codes in settings.pointer_ignores
        ]

    def of(self, path: str) -> tuple[frozenset[str], list[tuple[str, frozenset[str]]]]:
        """Codes that are ignored in a file, and those that are at and below some JSON pointers."""
        if not self._files and not self._pointers:
            return frozenset(), []
        parts = parts_below(path, self._root)
        codes = frozenset[str]().union(*(codes for patterns, codes in self._files if patterns.covers(parts)))
        return codes, [(pointer, codes) for patterns, pointer, codes in self._pointers if patterns.covers(parts)]
