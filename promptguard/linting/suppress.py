"""Comments in the files that take findings out: ``promptguard: ignore[PG101] reason``."""

from __future__ import annotations

from bisect import bisect_right

from promptguard.checks.base import Document
from promptguard.checks.selectors import resolve
from promptguard.core import patterns as re
from promptguard.core.errors import ConfigError
from promptguard.core.finding import Edit, Fix
from promptguard.core.light import Iterable, Iterator, Sequence, regex
from promptguard.core.source import Source, Span
from promptguard.linting.settings import DIRECTIVE, UNUSED
from promptguard.parse.template_nodes import Text

"""The rule that finds what does nothing here; it is suppressed by its own code alone, or a comment could hide itself."""
_OWN = frozenset({UNUSED})
_DIRECTIVE = regex(r"promptguard:[ \t]{0,20}(ignore-file|ignore)(?![\w-])(?:[ \t]{0,20}\[([^\]\n]{0,500})\])?")
_UNKNOWN = regex(
    r"promptguard:[ \t]{0,20}(?!(?:ignore-file|ignore|block)(?![\w-]))([a-z][\w-]{0,40})"
    r"(?=[ \t]{0,20}(\[|=|-?#\}|-->|[\r\n]|\Z)?)"
)
_KNOWN = ("ignore", "ignore-file", "block")
_OPENING = regex(r"(?:\{#[-+]?|<!--|(?<![{\w])#)[ \t\r\n]{0,20}\Z")
_LONGEST = 1000  # code points of a comment
_CLOSING = {"{#": "#}", "<!": "-->"}


class Problem:
    """A suppression, or a code in one, that does nothing, or a directive that there is not."""

    __slots__ = ("end", "fix", "message", "start")

    def __init__(self, start: int, end: int, message: str, fix: Fix | None = None) -> None:
        self.start = start
        self.end = end
        self.message = message
        self.fix = fix


class _Code:
    __slots__ = ("codes", "end", "start", "text", "used")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.used = False
        try:
            self.codes: frozenset[str] | None = resolve(text)
        except ConfigError:
            self.codes = None


class _Comment:
    """One comment. ``line``: the one that it is about, ``None`` for the whole file. ``codes``: ``None`` for every rule."""

    __slots__ = ("codes", "directive", "end", "line", "start", "used")

    def __init__(self, start: int, end: int, directive: tuple[int, int], codes: list[_Code] | None) -> None:
        self.start = start
        self.end = end
        self.directive = directive
        self.codes = codes
        self.line: int | None = None
        self.used = False

    def covers(self, code: str) -> bool:
        if self.codes is None:
            self.used = self.used or code != UNUSED
            return code != UNUSED
        found = False
        for own in self.codes:
            if own.codes is not None and (own.codes == _OWN if code == UNUSED else code in own.codes):
                own.used = found = True
        return found


class Suppressions:
    """The suppressions of a file.

    Args:
        file: the file.
        documents: what was read from it; what belongs to a prompt there is no comment of YAML or a shell.
    """

    def __init__(self, file: Source, documents: Sequence[Document]) -> None:
        self._file = file
        self._documents = documents
        self._all = list(_comments(file, documents))
        self._of_line: dict[int | None, list[_Comment]] = {}
        for comment in self._all:
            self._of_line.setdefault(comment.line, []).append(comment)
        self._said: dict[tuple[str, int | None], bool] = {}

    def cover(self, code: str, line: int) -> bool:
        """Whether a finding that begins on a line is suppressed; the suppressions that say so count as used."""
        if not self._all:
            return False
        by_line, by_file = self._ask(code, line), self._ask(code, None)
        return by_line or by_file

    def _ask(self, code: str, line: int | None) -> bool:
        """What the comments for a line say, and those for the whole file; each is asked once, there may be thousands."""
        if (code, line) not in self._said:
            self._said[code, line] = any([comment.covers(code) for comment in self._of_line.get(line, ())])  # noqa: C419 (all are asked)
        return self._said[code, line]

    def count_as_used(self, codes: Iterable[str]) -> None:
        """Count the suppressions of some rules as used, wherever they are."""
        for code in codes:
            for comment in self._all:
                comment.covers(code)

    def problems(self) -> Iterator[Problem]:
        """What does nothing, once all findings have been asked for."""
        text = self._file.text
        yield from _unknown(self._file, self._documents)
        for comment in self._all:
            start, end = comment.directive
            if comment.codes is None:
                if not comment.used:
                    yield Problem(start, end, f"`{text[start:end]}` suppresses nothing", self._without(comment))
                continue
            if not comment.codes:
                yield Problem(start, end, f"`{text[start:end]}` names no rule", self._without(comment))
            idle = [code for code in comment.codes if not code.used and code.codes != _OWN]
            for code in idle:
                what = "suppresses nothing here" if code.codes is not None else "is no rule"
                whole = len(idle) == len(comment.codes)
                fix = self._without(comment) if whole else _without_code(comment, comment.codes.index(code))
                yield Problem(code.start, code.end, f"`{code.text}` {what}", fix)

    def _without(self, comment: _Comment) -> Fix:
        """Remove a comment: with its line where it stands alone, else with the blanks in front of it at the end of a line."""
        text = self._file.text
        start, end = comment.start, comment.end
        first, last = _lines_around(self._file, start, end)
        if _alone(self._file, comment):
            start, end = first, last
            if start and text[last - 1] not in "\r\n":  # the last line, and nothing ends it
                start -= 2 if text.endswith("\r\n", 0, start) else 1
        elif _blank(text, end, last):
            while start > first and text[start - 1] in " \t":
                start -= 1
        trims = text[comment.start : comment.start + 2] == "{#" and "-" in (text[comment.start + 2], text[comment.end - 3])
        title = "Remove the comment"
        return Fix(title, (Edit(Span(start, end), ""),), "unsafe" if trims else "safe")


def _without_code(comment: _Comment, index: int) -> Fix:
    codes = comment.codes or []
    span = Span(codes[0].start, codes[1].start) if index == 0 else Span(codes[index - 1].end, codes[index].end)
    return Fix(f"Remove `{codes[index].text}`", (Edit(span, ""),), "safe")


def _comments(file: Source, documents: Sequence[Document]) -> Iterator[_Comment]:
    text = file.text
    found = [comment for match in _DIRECTIVE.finditer(text) if (comment := _comment(file, documents, match)) is not None]
    starts = file.line_starts
    next_line: dict[int, int] = {}  # behind a line that holds nothing but a comment
    for comment in reversed(found):
        line = bisect_right(starts, comment.start)
        if _alone(file, comment):
            last = bisect_right(starts, comment.end)
            next_line[line] = next_line.get(last + 1, last + 1)
            line = next_line[line]
        if not text[slice(*comment.directive)].removeprefix(DIRECTIVE).lstrip().startswith("ignore-file"):
            comment.line = line
    yield from found


def _comment(file: Source, documents: Sequence[Document], match: re.Match[str]) -> _Comment | None:
    place = _comment_around(file, documents, match)
    if place is None:
        return None
    codes = None
    if match[2] is not None:
        codes = [
            _Code(part[0], match.start(2) + part.start(), match.start(2) + part.end())
            for part in re.finditer(r"[^\s,]+", match[2])
        ]
    return _Comment(*place, match.span(), codes)


def _comment_around(file: Source, documents: Sequence[Document], match: re.Match[str]) -> tuple[int, int] | None:
    """The range of the comment that begins with what was matched; ``None`` where there is none."""
    text = file.text
    opening = _OPENING.search(text, max(0, match.start() - 26), match.start())
    if opening is None:
        return None
    closing = _CLOSING.get(opening[0][:2])
    if closing is None:
        if not _is_host_comment(file, documents, opening.start()):
            return None
        end = _lines_around(file, match.end(), match.end())[1]
        end -= len(text[max(0, end - 2) : end]) - len(text[max(0, end - 2) : end].rstrip("\r\n"))
    else:
        end = text.find(closing, match.end(), match.end() + _LONGEST)
        if end < 0:
            return None
        end += len(closing)
    return opening.start(), end


def _unknown(file: Source, documents: Sequence[Document]) -> Iterator[Problem]:
    """Comments that say something like a directive: one in brackets or without more words, or nearly the name of one."""
    quoted: list[tuple[int, int]] | None = None
    for match in _UNKNOWN.finditer(file.text):
        if _comment_around(file, documents, match) is None:
            continue
        if quoted is None:
            from promptguard.parse.markdown import code_ranges

            quoted = [*code_ranges(file.text), *_raw_ranges(documents)]
        if any(start <= match.start() < end for start, end in quoted):
            continue
        from difflib import get_close_matches

        close = get_close_matches(match[1], _KNOWN, 1)
        if close or match[2] is not None:
            hint = f"; did you mean {close[0]}?" if close else ""
            yield Problem(match.start(1), match.end(1), f"there is no directive `{match[1]}`{hint}")


def _raw_ranges(documents: Sequence[Document]) -> Iterator[tuple[int, int]]:
    for document in documents:
        if document.template is not None and document.embedding is None:
            nodes = (node for top in document.template.body for node in top.walk())
            yield from ((node.start, node.end) for node in nodes if isinstance(node, Text) and node.raw)


def _is_host_comment(file: Source, documents: Sequence[Document], at: int) -> bool:
    """Whether ``#`` begins a comment: in YAML, front matter and shell files, not in a text that a model reads."""
    if file.kind == "json" or (at and not file.text[at - 1].isspace()):
        return False
    for document in documents:
        if document.kind != "prompt":
            continue
        for region in document.regions:
            span = document.embedding.span(region.start, region.end) if document.embedding is not None else region
            if span.start <= at < span.end:
                return False
    return True


def _alone(file: Source, comment: _Comment) -> bool:
    """Whether there is nothing else on the lines of a comment."""
    first, last = _lines_around(file, comment.start, comment.end)
    return _blank(file.text, first, comment.start) and _blank(file.text, comment.end, last)


def _blank(text: str, start: int, end: int) -> bool:
    return end - start <= _LONGEST and not text[start:end].strip()


def _lines_around(file: Source, start: int, end: int) -> tuple[int, int]:
    """Where the line of ``start`` begins, and where that of ``end`` ends, its line end counted."""
    starts = file.line_starts
    last = bisect_right(starts, end)
    return starts[bisect_right(starts, start) - 1], starts[last] if last < len(starts) else len(file.text)
