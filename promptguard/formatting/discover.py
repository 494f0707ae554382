"""Which files of a tree to look into."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.formatting.ignore import Patterns

SUFFIXES = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")
SKIPPED_FOLDERS = ("node_modules", "site-packages", "venv", "__pycache__")
"""Folders of other people's files; those whose name begins with a dot are skipped as well."""
_MAX_IGNORE_FILE = 1 << 20

Rule = tuple[Path, Patterns]
"""Patterns and the folder that they are relative to."""


@dataclass(frozen=True)
class Target:
    """A file to look into.

    Attributes:
        path: as it is shown.
        named: the user named this very file, rather than a folder around it.
        error: why it cannot be looked into, ``None`` if it can.
    """

    path: Path
    named: bool
    error: InputError | None = None


def exclude_rule(patterns: Sequence[str], base: Path) -> Rule:
    """Patterns in the words of ``.gitignore``, relative to ``base``."""
    return Path(os.path.abspath(base)), Patterns(patterns)  # noqa: PTH100 (links in the path stay)


def find_files(paths: Sequence[Path], excluded: Sequence[Rule] = ()) -> list[Target]:
    """The files at and below some paths, each once, in the order of their names whatever the order of ``paths``.

    A file that is named is always among them. Below a folder these are the regular files with one of ``SUFFIXES``, without what
    ``.gitignore`` files (of the folders above too, up to the one that holds ``.git``) and ``excluded`` say, hidden files and
    folders, and ``SKIPPED_FOLDERS``. A symbolic link is followed where it is named, never below a folder: what it leads to is
    found where it lies, or belongs to another tree. A path that does not exist is among the files, with an error.
    """
    found: dict[str, Target] = {}
    for path in sorted(Path(os.path.normpath(path)) for path in paths):
        targets = _walk(path, excluded) if os.path.isdir(path) else iter([_named(path)])  # noqa: PTH112 (Path.is_dir raises)
        for target in targets:
            key = os.path.realpath(target.path)
            if key not in found or (target.named and not found[key].named):
                found[key] = target
    return sorted(found.values(), key=lambda target: target.path.parts)


def _named(path: Path) -> Target:
    error = None
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        error = InputError("there is no such file or folder", where=str(path), hint="check the path")
    except OSError as reason:
        error = InputError(f"the file cannot be read ({reason.strerror or reason})", where=str(path))
    return Target(path, named=True, error=error)


def _walk(root: Path, excluded: Sequence[Rule]) -> Iterator[Target]:
    top = Path(os.path.abspath(root))  # noqa: PTH100
    above = _rules_above(top)
    if _ignored(top, above, folder=True):
        above = []  # it is named all the same
    stack: list[tuple[Path, list[Rule]]] = [(root, above)]
    while stack:
        folder, rules = stack.pop()
        place = Path(os.path.abspath(folder))  # noqa: PTH100
        rules = rules + _own_rules(place)
        try:
            with os.scandir(folder) as entries:
                children = [
                    (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)) for entry in entries
                ]
        except OSError as error:
            reason = error.strerror or str(error)
            yield Target(folder, named=False, error=InputError(f"the folder cannot be read ({reason})", where=str(folder)))
            continue
        for name, is_folder, is_file in children:
            if name.startswith(".") or not (is_folder or (is_file and name.lower().endswith(SUFFIXES))):
                continue
            if is_folder and (name in SKIPPED_FOLDERS):
                continue
            if _ignored(place / name, [*rules, *excluded], folder=is_folder):
                continue
            if is_folder:
                stack.append((folder / name, rules))
            else:
                yield Target(folder / name, named=False)


def _rules_above(folder: Path) -> list[Rule]:
    """The ``.gitignore`` files of the folders above, outermost first; none where no folder above belongs to a repository."""
    rules: list[Rule] = []
    if os.path.lexists(folder / ".git"):
        return []
    for parent in folder.parents:
        rules = _own_rules(parent) + rules
        if os.path.lexists(parent / ".git"):
            return rules
    return []


def _own_rules(folder: Path) -> list[Rule]:
    path = folder / ".gitignore"
    if not os.path.isfile(path):  # noqa: PTH113 (Path.is_file raises where the folder may not be searched)
        return []
    try:
        text = read_text(path, limit=_MAX_IGNORE_FILE)
    except InputError:
        return []  # git passes over it too
    return [(folder, Patterns(text.split("\n")))]


def _ignored(path: Path, rules: Sequence[Rule], *, folder: bool) -> bool:
    """What the innermost rule says that mentions the path."""
    for base, patterns in reversed(rules):
        if path != base and path.is_relative_to(base):
            said = patterns.check(path.relative_to(base).parts, folder=folder)
            if said is not None:
                return said
    return False
