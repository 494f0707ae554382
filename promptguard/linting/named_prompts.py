"""Prompts that the configuration makes of several files."""

# ruff: noqa: PTH100, PTH113, PTH118 - as in check.py, which this is a part of
from __future__ import annotations

import os

from promptguard.checks.base import Document
from promptguard.core.discover import find_files
from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.core.ignore import Patterns
from promptguard.core.light import Iterator, Sequence
from promptguard.linting.reading import read_documents
from promptguard.linting.select import parts_below
from promptguard.linting.settings import MAX_BYTES, PromptDeclaration, Settings


class NamedPrompts:
    """The prompts of the configuration that have a name; their documents are read when a cost asks for them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._declared: dict[str, list[PromptDeclaration]] = {}
        for declaration in settings.prompts:
            if declaration.name is not None:
                self._declared.setdefault(declaration.name, []).append(declaration)
        self._read: dict[str, list[Document]] = {}

    def documents(self, path: str, document: Document, own: Sequence[Document]) -> Sequence[Document]:
        """All documents of the prompt that a document of a file belongs to, in the order of their files."""
        name = document.prompt
        if name is None or name not in self._declared:
            return own
        if name not in self._read:
            self._read[name] = list(self._load(name))
        place = os.path.abspath(path)
        others = [other for other in self._read[name] if other.prompt == name and os.path.abspath(other.file.path) != place]
        before = [other for other in others if os.path.abspath(other.file.path) < place]
        return [*before, *own, *others[len(before) :]]

    def _load(self, name: str) -> Iterator[Document]:
        for path in sorted(self._files(name)):
            try:
                text = read_text(path, limit=MAX_BYTES)
                documents = read_documents(path, text, self._settings, bom=False, named=True)
            except InputError:
                continue  # it is said where the file itself is checked
            yield from documents

    def _files(self, name: str) -> set[str]:
        root = self._settings.root
        found: set[str] = set()
        for declaration in self._declared[name]:
            plain = os.path.join(root, declaration.path.lstrip("/"))
            if os.path.isfile(plain):
                found.add(plain)
                continue
            patterns = Patterns([declaration.path])
            targets = find_files([root], (), also=lambda path, patterns=patterns: patterns.covers(parts_below(path, root)))  # type: ignore[misc]
            found.update(target.path for target in targets if target.error is None)
        return found
