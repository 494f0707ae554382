"""Comments in the files that take findings out: ``promptguard: ignore[PG101] reason``."""

from __future__ import annotations

from promptguard.checks.base import Document, Kind
from promptguard.checks.selectors import selected
from promptguard.core import patterns as re
from promptguard.core.errors import InputError
from promptguard.core.finding import Edit, Fix
from promptguard.core.light import Iterator, Sequence, bisect_right, regex
from promptguard.core.source import Source, Span
from promptguard.linting.reading.names import is_markdown
from promptguard.linting.settings import DIRECTIVE, UNUSED
from promptguard.parse.template_nodes import Text

_OWN = frozenset({UNUSED})
_DIRECTIVE = regex(r"promptguard:[ \t]{0,20}(ignore-file|ignore)(?![\w-])(?:[ \t]{0,20}\[(?:([^\]\n]{0,500})\])?)?")
_UNKNOWN = regex(
    r"promptguard:[ \t]{0,20}(?!(?:ignore-file|ignore|block)(?![\w-]))([a-z][\w-]{0,40})"
    r"(?=[ \t]{0,20}(\[|=|-?#\}|-->|(?:--)?~?\}\}|[\r\n]|\Z)?)"
)
_KNOWN = ("ignore", "ignore-file", "block")
_JSON_BREAK = regex(r'(?P<quote>")|(?P<escape>\\r\\n|\\[rn])|(?P<line>\r\n|[\r\n])|\\[^\r\n]')
_OPENING = regex(r"(?:\{#[-+]?|<!--|\{\{~?!(?:--)?|(?<![{\w])#)[ \t\r\n]{0,20}\Z")
_LINE_BREAK = regex(r"[\r\n\x85\u2028\u2029]")
_LONGEST = 1000  # code points of a comment
_CLOSING = {"{#": "#}", "<!": "-->", "{{": "}}"}


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
        self.codes: frozenset[str] | None = selected(text) or None


class _Lines:
    """The lines of a file; of a JSON file also those of each string in it, which has its own, as they are when it is read.

    Attributes:
        starts: where each begins; what stands around the strings is a line too.
        strings: where the strings of a JSON file begin and end, their quotes left out, one after the other.
    """

    __slots__ = ("_ends", "_text", "starts", "strings")

    def __init__(self, file: Source) -> None:
        self._text = file.text
        self._ends: list[int] | None = None
        self.strings: list[int] = []
        self.starts = file.line_starts
        if file.kind == "json" and DIRECTIVE in file.text:
            self.starts, self._ends = [0], []
            for match in _JSON_BREAK.finditer(file.text):
                end, start = match.span()
                is_inside = len(self.strings) % 2
                if match.lastgroup == "quote":
                    end = start = end if is_inside else start
                    self.strings.append(start)
                elif match.lastgroup == "line" and is_inside:  # a string that is broken
                    self.strings.append(end)
                elif match.lastgroup is None or (match.lastgroup == "escape") != is_inside:
                    continue
                self._ends.append(end)
                self.starts.append(start)
            self._ends.append(len(file.text))

    def number(self, offset: int) -> int:
        """The number of the line that an offset lies in, from 1."""
        return bisect_right(self.starts, offset)

    def around(self, start: int, end: int) -> tuple[int, int]:
        """Where the line of ``start`` begins, and where that of ``end`` ends, its line end counted."""
        last = self.number(max(start, end - 1))
        return self.starts[self.number(start) - 1], self.starts[last] if last < len(self.starts) else len(self._text)

    def content_end(self, number: int) -> int:
        """Where a line ends, its line end left out."""
        if self._ends is not None:
            return self._ends[number - 1]
        end = self.starts[number] if number < len(self.starts) else len(self._text)
        return end - 2 if self._text.endswith("\r\n", 0, end) else end - self._text.endswith(("\r", "\n"), 0, end)

    def has_end(self, number: int) -> bool:
        """Whether a line end stands between a line and the next one."""
        return number < len(self.starts) and self.content_end(number) < self.starts[number]

    def are_one_text(self, start: int, end: int) -> bool:
        """Whether no string of a JSON file begins or ends in a range."""
        return bisect_right(self.strings, start) == bisect_right(self.strings, end - 1)


class _Places:
    """Where comments can stand in a file.

    Args:
        file: the file.
        documents: what was read from it.
    """

    __slots__ = ("_comments", "_ends", "_file", "_is_known", "_prompts", "_templates")

    def __init__(self, file: Source, documents: Sequence[Document]) -> None:
        self._file = file
        self._comments: Sequence[int] = ()  # of YAML: where they begin
        self._ends: Sequence[int] = ()
        self._is_known = False
        if file.kind == "yaml" and DIRECTIVE in file.text:
            from promptguard.parse.yaml import read_yaml

            try:
                self._comments = read_yaml(file).comments
                found = (_LINE_BREAK.search(file.text, start) for start in self._comments)
                self._ends = [match.start() if match is not None else len(file.text) for match in found]
                self._is_known = True
            except InputError:  # it is broken, which is a finding
                self._is_known = False
        self._templates = _Ranges(documents, ("prompt", "tools"))
        self._prompts = _Ranges(documents, ("prompt",))

    def holds_comment(self, at: int) -> bool:
        """Whether ``#`` begins a comment: in YAML, front matter and shell files, not in a text that a model reads."""
        if self._file.kind == "json" or (at and not self._file.text[at - 1].isspace()):
            return False
        return self._comment_start(at) is not None if self._is_known else not self._prompts.hold(at)

    def _comment_start(self, at: int) -> int | None:
        """Where the comment of YAML begins that an offset lies in."""
        number = bisect_right(self._comments, at) - 1
        return self._comments[number] if number >= 0 and at < self._ends[number] else None

    def outermost(self, at: int) -> int:
        """Where the comment begins in which another one begins at an offset; that offset where there is none."""
        start = self._comment_start(at)
        return at if start is None else start

    def holds_template(self, at: int) -> bool:
        """Whether ``{#`` and the like begin a comment: in a string of JSON or YAML only where a model reads it."""
        return self._file.kind not in ("json", "yaml") or self._templates.hold(at)


class _Ranges:
    """The ranges of a file that documents of some kinds take."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, documents: Sequence[Document], kinds: Sequence[Kind]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        found = (
            document.embedding.span(region.start, region.end) if document.embedding is not None else region
            for document in documents
            if document.kind in kinds
            for region in document.regions
        )
        for start, end in sorted((each.start, each.end) for each in found):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def hold(self, at: int) -> bool:
        number = bisect_right(self._starts, at) - 1
        return number >= 0 and at < self._ends[number]


class _Comment:
    """One comment. ``line``: the one that it is about, 0 where none follows, ``None`` for the whole file. ``codes``: ``None`` for
    every rule. ``shown``: it stands in the code of a Markdown file, and may be an example.
    """

    __slots__ = ("codes", "directive", "end", "line", "shown", "start", "used")

    def __init__(self, start: int, end: int, directive: tuple[int, int], codes: list[_Code] | None) -> None:
        self.start = start
        self.end = end
        self.directive = directive
        self.codes = codes
        self.line: int | None = None
        self.shown = False
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
        self._lines = _Lines(file)
        self._places = _Places(file, documents)
        self._all = list(_comments(file, self._lines, self._places))
        self._of_line: dict[int | None, list[_Comment]] = {}
        for comment in self._all:
            self._of_line.setdefault(comment.line, []).append(comment)
        self._said: dict[tuple[str, int | None], bool] = {}

    def cover(self, code: str, offset: int) -> bool:
        """Whether a finding that begins at an offset is suppressed; the suppressions that say so count as used."""
        if not self._all:
            return False
        by_line, by_file = self._ask(code, self._lines.number(offset)), self._ask(code, None)
        return by_line or by_file

    def _ask(self, code: str, line: int | None) -> bool:
        """What the comments for a line say, and those for the whole file; each is asked once, there may be thousands."""
        comments = self._of_line.get(line)
        if comments is None:
            return False
        if (code, line) not in self._said:
            self._said[code, line] = any([comment.covers(code) for comment in comments])  # noqa: C419 (all are asked)
        return self._said[code, line]

    def problems(self) -> Iterator[Problem]:
        """What does nothing, once all findings have been asked for."""
        text = self._file.text
        yield from _unknown(self._file, self._lines, self._places, self._documents)
        for comment in self._all:
            if comment.shown:
                continue
            start, end = comment.directive
            if comment.codes is None:
                if not comment.used:
                    yield Problem(start, end, f"`{text[start:end]}` suppresses nothing", self._without(comment))
                continue
            if not comment.codes:
                is_open = text[end - 1] == "["
                what = "has no closing bracket" if is_open else "names no rule"
                yield Problem(start, end, f"`{text[start:end]}` {what}", None if is_open else self._without(comment))
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
        first, last = self._lines.around(start, end)
        number = self._lines.number(end - 1)
        if _alone(self._file, self._lines, start, end):
            start, end = first, last
            before = self._lines.number(start) - 1
            if before and not self._lines.has_end(number):  # the last line, and nothing ends it
                start = self._lines.content_end(before)
        elif _blank(text, end, self._lines.content_end(number)):
            while start > first and text[start - 1] in " \t":
                start -= 1
        trims = text[comment.start : comment.start + 2] == "{#" and "-" in (text[comment.start + 2], text[comment.end - 3])
        title = "Remove the comment"
        return Fix(title, (Edit(Span(start, end), ""),), "unsafe" if trims else "safe")


def _without_code(comment: _Comment, index: int) -> Fix:
    codes = comment.codes or []
    span = Span(codes[0].start, codes[1].start) if index == 0 else Span(codes[index - 1].end, codes[index].end)
    return Fix(f"Remove `{codes[index].text}`", (Edit(span, ""),), "safe")


def _comments(file: Source, lines: _Lines, places: _Places) -> Iterator[_Comment]:
    text = file.text
    found = [comment for match in _DIRECTIVE.finditer(text) if (comment := _comment(file, lines, places, match)) is not None]
    if found and is_markdown(file.path):
        from promptguard.parse.markdown import code_ranges

        code = code_ranges(text)
        for comment in found:
            number = bisect_right(code, (comment.start, len(text)))
            comment.shown = number > 0 and comment.start < code[number - 1][1]
    next_line: dict[int, int] = {}  # behind a line that holds nothing but a comment
    for comment in reversed(found):
        line, last = lines.number(comment.start), lines.number(comment.end - 1)
        if _alone(file, lines, places.outermost(comment.start), comment.end):
            next_line[line] = next_line.get(last + 1, last + 1) if lines.has_end(last) else 0
            line = next_line[line]
        if not text[slice(*comment.directive)].removeprefix(DIRECTIVE).lstrip().startswith("ignore-file"):
            comment.line = line
    yield from (comment for comment in found if comment.line is not None or not comment.shown)


def _comment(file: Source, lines: _Lines, places: _Places, match: re.Match[str]) -> _Comment | None:
    place = _comment_around(file, lines, places, match)
    if place is None:
        return None
    codes: list[_Code] | None = [] if match[0].endswith("[") else None
    if match[2] is not None:
        codes = [
            _Code(part[0], match.start(2) + part.start(), match.start(2) + part.end())
            for part in re.finditer(r"[^\s,]+", match[2])
        ]
    return _Comment(*place, match.span(), codes)


def _comment_around(file: Source, lines: _Lines, places: _Places, match: re.Match[str]) -> tuple[int, int] | None:
    """The range of the comment that begins with what was matched; ``None`` where there is none."""
    text = file.text
    opening = _OPENING.search(text, max(0, match.start() - 26), match.start())
    if opening is None:
        return None
    closing = _CLOSING.get(opening[0][:2])
    if closing is None:
        if not places.holds_comment(opening.start()):
            return None
        end = lines.content_end(lines.number(match.end()))
    else:
        end = text.find(closing, match.end(), match.end() + _LONGEST)
        if end < 0:
            return None
        end += len(closing)
        if not lines.are_one_text(opening.start(), end) or not places.holds_template(opening.start()):
            return None
    return opening.start(), end


def _unknown(file: Source, lines: _Lines, places: _Places, documents: Sequence[Document]) -> Iterator[Problem]:
    """Comments that say something like a directive: one in brackets or without more words, or nearly the name of one."""
    quoted: list[tuple[int, int]] | None = None
    for match in _UNKNOWN.finditer(file.text):
        if _comment_around(file, lines, places, match) is None:
            continue
        if quoted is None:
            from promptguard.parse.markdown import code_ranges

            quoted = [*code_ranges(file.text), *_raw_ranges(documents)]
        if any(start <= match.start() < end for start, end in quoted):
            continue
        from promptguard.core.similar import closest

        meant = closest(match[1], _KNOWN)
        if meant is not None or match[2] is not None:
            hint = f"; did you mean {meant}?" if meant is not None else ""
            yield Problem(match.start(1), match.end(1), f"there is no directive `{match[1]}`{hint}")


def _raw_ranges(documents: Sequence[Document]) -> Iterator[tuple[int, int]]:
    for document in documents:
        if document.template is not None and document.embedding is None:
            nodes = (node for top in document.template.body for node in top.walk())
            yield from ((node.start, node.end) for node in nodes if isinstance(node, Text) and node.raw)


def _alone(file: Source, lines: _Lines, start: int, end: int) -> bool:
    """Whether there is nothing else on the lines of a range."""
    first = lines.around(start, end)[0]
    last = lines.content_end(lines.number(end - 1))
    return _blank(file.text, first, start) and _blank(file.text, end, last)


def _blank(text: str, start: int, end: int) -> bool:
    return end - start <= _LONGEST and not text[start:end].strip()
