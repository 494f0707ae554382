"""The patterns of ``.gitignore`` files and of ``--exclude``.

The matcher is our own because these files come with the tree that is looked at: patterns turned into regular expressions can take
hours on a name that is made for it (``*a*a*a*a*b``). This one takes time proportional to pattern length times path length.
"""

from __future__ import annotations

from promptguard.core.light import Callable, Iterable, NamedTuple, Sequence

_Test = Callable[[str], bool]
_SPECIAL = frozenset("*?[\\")
_STAR = None  # any run of characters, in a list of tests on single characters
_CLASSES = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "lower": str.islower,
    "punct": r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~""".__contains__,
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": "0123456789abcdefABCDEF".__contains__,
}


class Pattern(NamedTuple):
    """One line.

    Attributes:
        segments: what each part of the path has to match; ``None`` stands for ``**``, any number of folders.
        ignores: ``False`` for a line that begins with ``!``.
        folders_only: the line ends with ``/``.
        name: the name that it matches in any folder, where it is a plain one.
        suffix: how the names end that it matches in any folder, where it is a plain text behind ``*``.
    """

    segments: tuple[tuple[_Test | None, ...] | None, ...]
    ignores: bool
    folders_only: bool
    name: str | None = None
    suffix: str | None = None

    def matches(self, parts: Sequence[str], *, folder: bool) -> bool:
        if self.folders_only and not folder:
            return False
        if self.name is not None:
            return parts[-1] == self.name
        if self.suffix is not None:
            return parts[-1].endswith(self.suffix)
        return _wild(
            self.segments,
            parts,
            lambda segment, part: segment is not None and _wild(segment, part, lambda test, c: bool(test and test(c))),
        )


class Patterns:
    """The lines of one file; of those that match a path the last one counts. Lines that git finds invalid match nothing."""

    def __init__(self, lines: Iterable[str]) -> None:
        patterns = [pattern for line in lines if (pattern := parse(line)) is not None]
        self._names: frozenset[str] = frozenset()
        self._folders: frozenset[str] = frozenset()
        self._suffixes: tuple[str, ...] = ()
        if all(pattern.ignores for pattern in patterns):  # the order says nothing, and most lines can be looked up
            self._names = frozenset(p.name for p in patterns if p.name is not None and not p.folders_only)
            self._folders = frozenset(p.name for p in patterns if p.name is not None and p.folders_only)
            self._suffixes = tuple(p.suffix for p in patterns if p.suffix is not None and not p.folders_only)
            patterns = [p for p in patterns if p.name is None and (p.suffix is None or p.folders_only)]
        self._patterns = patterns[::-1]

    def check(self, parts: Sequence[str], *, folder: bool) -> bool | None:
        """Whether the path is ignored (``True``), taken back by ``!`` (``False``) or not mentioned (``None``).

        Args:
            parts: the names of the path, relative to the folder of the file.
            folder: the path is a folder.
        """
        name = parts[-1]
        if name in self._names or (folder and name in self._folders) or name.endswith(self._suffixes):
            return True
        for pattern in self._patterns:
            if pattern.matches(parts, folder=folder):
                return pattern.ignores
        return None

    def covers(self, parts: Sequence[str]) -> bool:
        """Whether a file is ignored, by its own name or with a folder that it is in."""
        return any(self.check(parts[:end], folder=end < len(parts)) for end in range(1, len(parts) + 1))


def parse(line: str) -> Pattern | None:
    """Read one line as gitignore(5) describes it; ``None`` for a comment, an empty or an invalid line."""
    line = line.rstrip("\r\n")
    kept = line.rstrip(" ")
    if _escaped_end(kept) and len(kept) < len(line):
        kept += " "  # a space behind a backslash stays
    line = kept
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line if ignores else line[1:]
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    anchored = "/" in line
    names = line.removeprefix("/").split("/")
    if not line:
        return None
    segments: list[tuple[_Test | None, ...] | None] = [] if anchored else [None]
    for position, name in enumerate(names):
        last = position == len(names) - 1
        if len(name) > 1 and not name.strip("*") and len(names) > 1:
            if last:
                segments.append((_any, _STAR))  # below the folder, not the folder itself
            segments.append(None)
            continue
        tests = _segment(name if last or not _escaped_end(name) else name[:-1])
        if tests is None:
            return None
        segments.append(tests)
    plain = None if anchored or _SPECIAL.intersection(line[1:]) else line
    if plain is None or plain[0] in "?[\\":
        return Pattern(tuple(segments), ignores, folders_only)
    if plain[0] == "*":
        return Pattern(tuple(segments), ignores, folders_only, suffix=plain[1:])
    return Pattern(tuple(segments), ignores, folders_only, name=plain)


def _escaped_end(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _any(_character: str) -> bool:
    return True


def _segment(text: str) -> tuple[_Test | None, ...] | None:
    """A test for each character of a name, ``None`` where the pattern is invalid."""
    tests: list[_Test | None] = []
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "*":
            if tests[-1:] != [_STAR]:
                tests.append(_STAR)
        elif character == "?":
            tests.append(_any)
        elif character == "[":
            found = _bracket(text, at)
            if found is None:
                return None
            test, at = found
            tests.append(test)
        else:
            if character == "\\":
                if at == len(text):
                    return None
                character = text[at]
                at += 1
            tests.append(character.__eq__)
    return tuple(tests)


def _bracket(text: str, at: int) -> tuple[_Test, int] | None:
    """The test of a bracket expression whose inside begins at ``at``, and where the text goes on behind it."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    tests: list[_Test] = []
    first = at
    while at < len(text) and (text[at] != "]" or at == first):
        end = text.find(":]", at + 2) if text.startswith("[:", at) else -1
        if end >= 0:
            known = _CLASSES.get(text[at + 2 : end])
            if known is None:
                return None
            tests.append(known)
            at = end + 2
            continue
        low, at = _member(text, at)
        high = low
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(text, at + 1)
        tests.append(lambda c, low=low, high=high: low <= c <= high)  # type: ignore[misc]
    if at >= len(text):
        return None
    return (lambda c: any(test(c) for test in tests) != negated), at + 1


def _member(text: str, at: int) -> tuple[str, int]:
    """A character of a bracket expression, which a backslash may stand before, and where the text goes on."""
    if text[at] == "\\" and at + 1 < len(text):
        at += 1
    return text[at], at + 1


def _wild(pattern: Sequence[object], items: Sequence[str], fits: Callable[..., bool]) -> bool:
    """Match with ``None`` in the pattern for any run of items: on a mismatch only the last ``None`` takes one item more."""
    at = position = 0
    star = resume = -1
    while position < len(items):
        if at < len(pattern) and pattern[at] is None:
            star, resume = at, position
            at += 1
        elif at < len(pattern) and fits(pattern[at], items[position]):
            at += 1
            position += 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(rest is None for rest in pattern[at:])
