"""Fixes of PG101 to PG107: move the line with the value behind the static text, or write the time less exactly."""

from __future__ import annotations

from promptguard.checks.base import Document, make_fix
from promptguard.checks.origins import Origin
from promptguard.checks.values import Flow, Print
from promptguard.checks.volatile import coarser_format
from promptguard.core import patterns as re
from promptguard.core.finding import Fix
from promptguard.core.light import Sequence, bisect_left, bisect_right, regex
from promptguard.parse.template_nodes import Block, Name, Node, Output, Text

_LONGEST_LABEL = 60
_PARAGRAPH = 1_000  # code points above a line in which its heading is looked for
_HEADING = r"#{1,6}\s.{1,200}|.{1,200}:|<[\w -]{1,60}>|\*\*.{1,200}\*\*"
_LABEL = r"(?:.{0,60}(?:[:=>(\[]|\b(?:is|at|on|now)))?[\s\"'`*_]{0,6}"
_BEHIND_VALUE = r"[\s.,;!)\]\"'`*_]{0,6}(?:UTC|</[\w-]{1,60}>)?[\s.,;!)\]\"'`*_]{0,6}"
_SECTION = regex(r"\{\{([#^/])")


class Fixes:
    """Makes the fixes of one document.

    Args:
        document: the prompt.
        flow: what it prints.
        starts: where its placeholders begin.
    """

    def __init__(self, document: Document, flow: Flow, starts: Sequence[int]) -> None:
        self._document = document
        self._flow = flow
        self._starts = starts
        self._sections: list[tuple[int, int]] | None = None  # of Mustache: where one begins or ends, and how many are open there
        self._rebound: dict[str, int] | None = None  # where a name is bound for the last time

    def fix(self, place: Print, origin: Origin, within: tuple[int, int]) -> Fix | None:
        """Move the line to the end of the range that it is in; where it has more on it, write the time less exactly."""
        return self._move(place, within) or self._coarser(origin)

    def _move(self, place: Print, within: tuple[int, int]) -> Fix | None:
        text = self._document.text
        low, high = within
        start = max(low, text.rfind("\n", max(low, place.start - 2 * _LONGEST_LABEL), place.start) + 1)
        newline = text.find("\n", place.end, min(high, place.end + 2 * _LONGEST_LABEL))
        if newline < 0 or (start != low and text[start - 1] != "\n"):
            return None
        label = re.compile(_LABEL).fullmatch(text, start, place.start)
        if label is None or re.compile(_BEHIND_VALUE).fullmatch(text, place.end, newline) is None:
            return None
        line = text[start : newline + 1]
        if self._headed(start, low):
            return None
        if "{{-" in line or "-}}" in line or not self._stands_alone(place, start, newline, high):
            return None
        content = line.rstrip("\r\n")
        moved = line if text[high - 1] == "\n" else line[len(content) :] + content
        edits = [(start, newline + 1, ""), (high, high, moved)]
        return make_fix(self._document, "Move the line to the end of the block", edits, safe=False)

    def _stands_alone(self, place: Print, start: int, newline: int, target: int) -> bool:
        """Whether a line is text and one placeholder outside of any statement, and means the same at ``target``."""
        if self._document.template is None:
            if self._in_section(start):
                return False
            return bisect_right(self._starts, newline) - bisect_left(self._starts, start) == 1
        body = self._document.template.body
        at = bisect_left(body, place.start, key=_start)
        node = body[at] if at < len(body) else None
        if not isinstance(node, Output) or node.start != place.start:
            return False
        before, after = body[at - 1] if at else None, body[at + 1] if at + 1 < len(body) else None
        if start < node.start and not (isinstance(before, Text) and before.start <= start):
            return False
        if not (isinstance(after, Text) and newline < after.end):
            return False
        end = bisect_left(body, target, key=_start)
        last = body[end - 1]
        if not isinstance(last, Text) and (last.end > target or (isinstance(last, Block) and last.closing is None)):
            return False
        names = {part.name for part in node.expression.walk() if isinstance(part, Name)}
        if not names.isdisjoint(self._flow.composed):
            return False
        if self._rebound is None:
            self._rebound = {}
            for name, offset in self._flow.rebound:
                root = name.partition(".")[0]
                self._rebound[root] = max(offset, self._rebound.get(root, 0))
        return not any(self._rebound.get(name, -1) > place.start for name in names)

    def _in_section(self, offset: int) -> bool:
        """Whether an offset lies in a section of Mustache."""
        if self._sections is None:
            self._sections = [(-1, 0)]
            for match in _SECTION.finditer(self._document.text):
                self._sections.append((match.start(), self._sections[-1][1] + (-1 if match[1] == "/" else 1)))
        return self._sections[bisect_left(self._sections, (offset,)) - 1][1] > 0

    def _headed(self, start: int, low: int) -> bool:
        """Whether a heading stands over the paragraph of the line at ``start``, which would be left without it."""
        text = self._document.text
        above = text[max(low, start - _PARAGRAPH) : start].split("\n")[:-1]
        blank = False
        for number, line in reversed(list(enumerate(above))):
            content = line.strip()
            if not content:
                blank = True
                continue
            if re.fullmatch(_HEADING, content):
                title = number == 0 and start - low <= _PARAGRAPH and content.startswith("# ")
                return not title  # that of the whole prompt stays over the rest
            if blank:
                return False
        return False

    def _coarser(self, origin: Origin) -> Fix | None:
        pattern = origin.pattern
        if pattern is None:
            return None
        old = str(pattern.value)
        start, end = pattern.start + 1, pattern.end - 1
        new = coarser_format(old)
        if new is None or self._document.text[start:end] != old:
            return None
        return make_fix(self._document, f"Write the time as `{new}`", [(start, end, new)], safe=False)


def _start(node: Node) -> int:
    return node.start
