"""Which files of a tree to look into."""

# pathlib takes longer to import than a small file takes to check
# ruff: noqa: PTH100, PTH112, PTH113, PTH118, PTH119, PTH120, PTH206
from __future__ import annotations

import os

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.core.light import TYPE_CHECKING, Callable, Collection, Iterator, NamedTuple, Sequence

if TYPE_CHECKING:
    from promptguard.core.ignore import Patterns

    Rule = tuple[str, Patterns]
    """Patterns and the absolute folder that they are relative to."""
    _Applied = tuple[Patterns, tuple[str, ...]]  # patterns, and the names from their folder to the one that is being looked at

SKIPPED_FOLDERS = frozenset({"node_modules", "site-packages", "venv", "__pycache__"})
"""Folders of other people's files; those whose name begins with a dot are skipped as well."""
_MAX_IGNORE_FILE = 1 << 20
_new = tuple.__new__


class Target(NamedTuple):
    """A file to look into.

    Attributes:
        path: as it is shown.
        named: the user named this very file, rather than a folder around it.
        error: why it cannot be looked into, ``None`` if it can.
    """

    path: str
    named: bool
    error: InputError | None = None


def exclude_rule(patterns: Sequence[str], base: str) -> Rule:
    """Patterns in the words of ``.gitignore``, relative to ``base``."""
    from promptguard.core.ignore import Patterns

    return os.path.abspath(base), Patterns(patterns)


def find_files(
    paths: Sequence[str],
    suffixes: tuple[str, ...],
    excluded: Sequence[Rule] = (),
    *,
    also: Callable[[str], bool] | None = None,
    as_found: bool = False,
) -> list[Target]:
    """The files at and below some paths, each once, in the order of their names whatever the order of ``paths``.

    A file that is named is always among them. Below a folder these are the regular files that are wanted, without what
    ``.gitignore`` files (of the folders above too, up to the one that holds ``.git``) and ``excluded`` say, hidden files and
    folders, and ``SKIPPED_FOLDERS``. A symbolic link is followed where it is named, never below a folder: what it leads to is
    found where it lies, or belongs to another tree. A path that does not exist is among the files, with an error.

    Args:
        paths: files and folders.
        suffixes: a file is wanted where its name ends like this, in lower case.
        excluded: what to leave out.
        also: asked for each other file, with its absolute path, whether it is wanted.
        as_found: take files that are named, and lie below the current folder, only as if they were found there.

    Raises:
        InputError: a path is empty, as a variable of a shell that is not set is.
    """
    if "" in paths:
        raise InputError("a path is empty", where="PATHS", hint="name a file or a folder, . for the current one")
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return list(_walk(os.path.normpath(paths[0]), suffixes, excluded, also))
    found: dict[str, Target] = {}
    only: set[str] = set()
    for path in sorted(os.path.normpath(path) for path in paths):
        real = os.path.realpath(path)
        if not os.path.isdir(path):
            if as_found and os.path.lexists(path) and not (inside := os.path.relpath(path)).startswith(os.pardir + os.sep):
                only.update(_with_folders(inside))
                continue
            if real not in found or not found[real].named:
                found[real] = _named(path)
            continue
        shown = len(_prefix(path))
        for target in _walk(path, suffixes, excluded, also):
            found.setdefault(os.path.join(real, target.path[shown:]), target)
    if only:
        here = os.path.realpath(".")
        for target in _walk(".", suffixes, excluded, also, only):
            found.setdefault(os.path.join(here, target.path), target)
    return sorted(found.values(), key=lambda target: target.path.split(os.sep))


def _named(path: str) -> Target:
    error = None
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        error = InputError("there is no such file or folder", where=path, hint="check the path")
    except OSError as reason:
        error = InputError(f"the file cannot be read ({reason.strerror or reason})", where=path)
    return Target(path, named=True, error=error)


def _with_folders(path: str) -> Iterator[str]:
    """A relative path and those of the folders that it lies in."""
    while path:
        yield path
        path = os.path.dirname(path)


def _walk(
    root: str,
    suffixes: tuple[str, ...],
    excluded: Sequence[Rule],
    also: Callable[[str], bool] | None,
    only: Collection[str] | None = None,
) -> Iterator[Target]:
    top = os.path.abspath(root)
    above = _rules_above(top)
    if _ignored(os.path.basename(top), _applied(above, os.path.dirname(top)), folder=True):
        above = []  # it is named all the same
    stack = [_Folder(_prefix(root), top, above, excluded)]
    while stack:
        folder = stack[-1]
        prefix, place, applied = folder.prefix, folder.place, folder.applied
        if folder.error is not None:
            yield Target(folder.error.where or root, named=False, error=folder.error)
        for name, is_folder, is_file in folder.entries:
            if name[0] == "." or (only is not None and prefix + name not in only):
                continue
            if is_folder:
                if name not in SKIPPED_FOLDERS and not (applied and _ignored(name, applied, folder=True)):
                    stack.append(_Folder(f"{prefix}{name}{os.sep}", os.path.join(place, name), folder.rules, excluded))
                    break  # what is in it comes before what is behind it
            elif (
                is_file
                and (name.lower().endswith(suffixes) or (also is not None and also(os.path.join(place, name))))
                and not (applied and _ignored(name, applied, folder=False))
            ):
                yield _new(Target, (prefix + name, False, None))  # there may be many thousands
        else:
            stack.pop()


class _Folder:
    """A folder that is being looked through: its entries in the order of their names, and the rules for what is in it."""

    __slots__ = ("applied", "entries", "error", "place", "prefix", "rules")

    def __init__(self, prefix: str, place: str, rules: list[Rule], excluded: Sequence[Rule]) -> None:
        self.prefix = prefix
        self.place = place
        children, self.error = _children(prefix)
        self.entries = iter(sorted(children))
        self.rules = rules + _own_rules(place) if any(name == ".gitignore" for name, _, _ in children) else rules
        self.applied = _applied([*self.rules, *excluded], place)


def _prefix(folder: str) -> str:
    """What stands in front of the names of the files in a folder where they are shown."""
    return "" if folder == "." else os.path.join(folder, "")


def _children(prefix: str) -> tuple[list[tuple[str, bool, bool]], InputError | None]:
    """The entries of a folder: their names, and whether they are folders or regular files, links not followed."""
    shown = prefix.rstrip(os.sep) or (os.sep if prefix else ".")
    try:
        with os.scandir(prefix or ".") as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)) for entry in entries
            ], None
    except OSError as error:
        reason = error.strerror or str(error)
        return [], InputError(f"the folder cannot be read ({reason})", where=shown)


def _rules_above(folder: str) -> list[Rule]:
    """The ``.gitignore`` files of the folders above, outermost first; none where no folder above belongs to a repository."""
    rules: list[Rule] = []
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        folder = parent
        rules = _own_rules(folder) + rules
    return rules


def _own_rules(folder: str) -> list[Rule]:
    path = os.path.join(folder, ".gitignore")
    if not os.path.isfile(path):
        return []
    try:
        text = read_text(path, limit=_MAX_IGNORE_FILE)
    except InputError:
        return []  # git passes over it too
    from promptguard.core.ignore import Patterns

    return [(folder, Patterns(text.split("\n")))]


def _applied(rules: Sequence[Rule], folder: str) -> list[_Applied]:
    """The rules that say something about what is in a folder, the one that counts most first."""
    applied: list[_Applied] = []
    for base, patterns in reversed(rules):
        if folder == base:
            applied.append((patterns, ()))
        elif folder.startswith(os.path.join(base, "")):
            applied.append((patterns, tuple(folder[len(os.path.join(base, "")) :].split(os.sep))))
    return applied


def _ignored(name: str, rules: Sequence[_Applied], *, folder: bool) -> bool:
    """What the innermost rule says that mentions a name."""
    for patterns, parts in rules:
        said = patterns.check((*parts, name), folder=folder)
        if said is not None:
            return said
    return False
