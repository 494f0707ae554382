"""Where in the user's files a place of a prompt comes from, by the text in front of it."""

# ruff: noqa: PTH118, PTH202, PERF203 - paths here are texts to compare

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from promptguard.probing.processes import shown
from promptguard.probing.result import Location

_LARGEST = 1 << 20
_MOST_FILES = 200
_LEAST = 3  # code points that tell a place from others
_MOST = 80
_LONGEST_VALUE = 60
_WORD_AT_END = re.compile(r"(?<!\S)[^\W\d_]{2,}\s+\Z")
"""A word, and no part of a date, an id or a path."""

_TEXTS = (".j2", ".jinja", ".jinja2", ".prompt", ".prompty", ".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".py")


class Files:
    """The files that a builder was imported from, and those that it read.

    Args:
        files: their paths.
        roots: folders of the user's; files elsewhere are a library's.
    """

    def __init__(self, files: Iterable[str], roots: Iterable[str]) -> None:
        folders = tuple(os.path.join(os.path.realpath(root), "") for root in roots)
        own = {os.path.realpath(file): None for file in files if file.endswith(_TEXTS)}
        self._paths = [file for file in own if file.startswith(folders) and "site-packages" not in file][:_MOST_FILES]
        self._texts: dict[str, str] | None = None

    def place(self, text: str, character: int) -> Location | None:
        """The one place at which the words in front of ``character`` stand, in the line of the text that it is in.

        The start of a changing value may be the same both times, and stands in no file: as much is left out at the end.
        """
        line = text.rfind("\n", 0, character) + 1
        for end in range(character, max(line + _LEAST, character - _LONGEST_VALUE) - 1, -1):
            found = self._ending(text[max(line, end - _MOST) : end])
            if found is not None:
                return found[0] if len(found) == 1 else None
            if _WORD_AT_END.search(text, line, end):
                return None
        return None

    def first_match(self, pattern: re.Pattern[str]) -> Location | None:
        """The first place at which a pattern matches."""
        for path, source in self._all().items():
            found = pattern.search(source)
            if found is not None:
                at = found.start()
                return Location(shown(path), source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at))
        return None

    def _ending(self, lead: str) -> list[Location] | None:
        """Where a text ends, cut at its start until a file has it; ``None`` where none has enough of it."""
        for start in range(len(lead)):
            if len(lead[start:].strip()) < _LEAST:
                return None
            places = list(self._find(lead[start:]))
            if places:
                return places
        return None

    def _find(self, lead: str) -> Iterator[Location]:
        for path, source in self._all().items():
            at = source.find(lead)
            while at >= 0:
                end = at + len(lead)
                yield Location(shown(path), source.count("\n", 0, end) + 1, end - source.rfind("\n", 0, end))
                at = source.find(lead, end)

    def _all(self) -> dict[str, str]:
        if self._texts is None:
            self._texts = {}
            for path in self._paths:
                try:
                    if os.path.getsize(path) <= _LARGEST:
                        self._texts[path] = Path(path).read_text(encoding="utf-8")
                except (OSError, ValueError):
                    continue
        return self._texts
