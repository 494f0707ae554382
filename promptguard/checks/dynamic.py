"""PG101 to PG107: values in a prefix block that change between requests."""

from __future__ import annotations

from promptguard.checks.base import IN_LITERALS, TOKENS_BEHIND, Changes, Document, Hit, mentions, shown
from promptguard.checks.origins import Origin
from promptguard.checks.values import Flow, Prefix, Print, flow_of
from promptguard.checks.volatile import ORDERS, UNKNOWN
from promptguard.core import patterns as re
from promptguard.core.finding import Fix, Severity
from promptguard.core.light import TYPE_CHECKING, Any, Iterator, Mapping, bisect_left, bisect_right

if TYPE_CHECKING:
    from promptguard.checks.dynamic_fixes import Fixes
    from promptguard.checks.literals import LiteralKind

MIN_STATIC_CHARACTERS = 1_000
"""Default of the option of PG106: code points of static text behind a variable from which on it is reported."""

_NOTHING_SHARED = 100
"""Code points of static text behind a value, outside of lines of their own, that are not worth a finding."""

_NEXT_TO_NOTHING = 4
"""Code points behind retrieved content, such as a quote and a line end, that are no text."""

_BEHIND = 1_000  # code points behind a place in which an inclusion is looked for
_INCLUDE = r"\{%[-+]?\s{0,9}(?:include|call)\b"

_OFTEN: dict[Changes, str] = {
    "request": "with every request",
    "minute": "every minute",
    "hour": "every hour",
    "day": "every day",
    "conversation": "from one conversation to the next",
    "deployment": "with every deployment",
}
_PASTED: dict[LiteralKind, tuple[str, str]] = {
    "clock": ("PG101", "a time that was pasted in"),
    "id": ("PG102", "an id that was pasted in"),
    "temp-path": ("PG102", "a temporary path with a random part"),
}
_SEVERITY: dict[Changes, Severity] = {
    "request": "error",
    "minute": "error",
    "hour": "error",
    "day": "warning",
    "conversation": "warning",
    "deployment": "warning",
}


def check(document: Document, options: Mapping[str, Any]) -> Iterator[Hit]:
    """The findings of PG101 to PG107 in one prompt."""
    prefix = Prefix(document)
    if not prefix.starts:
        return
    yield from _Report(document, prefix, flow_of(document, prefix)).hits(_minimum(options))


def _minimum(options: Mapping[str, Any]) -> int:
    return int(options.get("PG106", {}).get("min-static-characters", MIN_STATIC_CHARACTERS))


class _Report:
    """Makes hits of what a document prints."""

    def __init__(self, document: Document, prefix: Prefix, flow: Flow) -> None:
        self._document = document
        self._prefix = prefix
        self._flow = flow
        self._starts = [placeholder.start for placeholder in document.placeholders]
        self._fixes: Fixes | None = None
        self._reported: set[str] = set()
        self._static = _StaticText(document.text, flow)

    def hits(self, minimum: int) -> Iterator[Hit]:
        yield from self._printed()
        yield from self._chosen()
        yield from self._variables(minimum)
        yield from self._pasted()

    def _pasted(self) -> Iterator[Hit]:
        """Values in the static text that only one rendering or one request can have."""
        if not mentions(self._document.text, IN_LITERALS):
            return
        from promptguard.checks.literals import volatile_literals

        starts = [start for start, _ in self._flow.texts]
        for literal in volatile_literals(self._document.text):
            if literal.kind not in _PASTED or literal.changes == "deployment":
                continue
            at = bisect_right(starts, literal.start) - 1
            if at < 0 or literal.end > self._flow.texts[at][1]:
                continue
            if self._document.embedding is not None and self._document.block_at(literal.start) == "tools":
                continue  # in a tool schema it is PG405
            code, what = _PASTED[literal.kind]
            message = f"`{self._shown(literal.start, literal.end)}` is {what}; it changes {_OFTEN['deployment']}"
            yield Hit(code, literal.start, literal.end, message, "deployment", "warning", "medium")

    def _printed(self) -> Iterator[Hit]:
        """What each placeholder prints, once for each rule; an item of a loop once for the loop."""
        loops: set[tuple[str, int, int]] = set()
        for place in self._flow.prints:
            codes: set[str] = set()
            for origin in place.origins:
                code = origin.nature.code
                if code in codes or code in ORDERS or code == UNKNOWN:
                    continue
                codes.add(code)
                self._reported.update(other.name for other in place.origins)
                if origin.element:
                    if (code, origin.start, origin.end) in loops:
                        continue
                    loops.add((code, origin.start, origin.end))
                yield self._hit(place, origin, f"prints {origin.nature.what}, which changes {_OFTEN[origin.nature.changes]}")

    def _chosen(self) -> Iterator[Hit]:
        """Branches that a clock or a draw chooses: pedantic, since the text may be the same most of the time."""
        for branch in self._flow.branches:
            for origin in branch.origins:
                if origin.nature.code in ("PG101", "PG107"):
                    text = self._shown(branch.start, branch.end)
                    message = f"`{text}` lets {origin.nature.what} choose what the prompt says"
                    yield Hit(
                        origin.nature.code,
                        branch.start,
                        branch.end,
                        message,
                        origin.nature.changes,
                        "note",
                        origin.nature.confidence,
                    )
                    break

    def _variables(self, minimum: int) -> Iterator[Hit]:
        """PG106: variables that are declared to change, and the first of which nothing is known."""
        first: tuple[Print, Origin] | None = None
        for place in self._flow.prints:
            if any(origin.nature.code not in (UNKNOWN, *ORDERS) for origin in place.origins):
                continue
            for origin in place.origins:
                if origin.nature.code != UNKNOWN or origin.name in self._reported:
                    continue
                if origin.declared:
                    self._reported.add(origin.name)
                    yield self._early(place, origin, "warning")
                    break
                first = first or (place, origin)
        if first is not None and self._static.behind(first[0].end) >= minimum:
            yield self._early(*first, "note")

    def _early(self, place: Print, origin: Origin, severity: Severity) -> Hit:
        message = "prints a variable that is declared to change" if origin.declared else "prints a variable"
        if self._static.behind(place.end):
            message += f" in front of {TOKENS_BEHIND} of static text: put it behind them, at the end of the block"
        return self._hit(place, origin, message, severity)

    def _hit(self, place: Print, origin: Origin, message: str, severity: Severity | None = None) -> Hit:
        nature = origin.nature
        related: tuple[tuple[int, int, str], ...] = ()
        if origin.start >= 0 and not place.start <= origin.start < place.end:
            related = ((origin.start, origin.end, "the value comes from here"),)
        return Hit(
            nature.code,
            place.start,
            place.end,
            f"`{self._shown(place.start, place.end)}` {message}",
            nature.changes,
            severity or self._severity(place, origin),
            nature.confidence,
            self._fix(place, origin),
            related,
        )

    def _severity(self, place: Print, origin: Origin) -> Severity:
        """That of how often the value changes; what differs from conversation to conversation costs nothing at the very end."""
        changes = origin.nature.changes
        if origin.nature.code == "PG105" and not origin.declared and self._ends_prompt(place):
            return "note"  # there it belongs, if it is not a message of its own
        if changes != "conversation" or origin.declared or self._static.behind(place.end) >= _NOTHING_SHARED:
            return _SEVERITY[changes]
        within = self._prefix.range_at(place.start)
        ends = within is not None and self._static.last(within) < place.start and self._document.block_at(place.start) == "system"
        return "note" if ends else "warning"

    def _ends_prompt(self, place: Print) -> bool:
        """Whether nothing of the prefix stands behind a place: no text, no other value, no further part of the same prompt."""
        if self._static.behind(place.end) > _NEXT_TO_NOTHING or (self._document.pointer or "").endswith("/text"):
            return False
        following = bisect_left(self._starts, place.end)
        if following < len(self._starts) and self._prefix.range_at(self._starts[following]):
            return False
        return not re.compile(_INCLUDE).search(self._document.text, place.end, place.end + _BEHIND)

    def _shown(self, start: int, end: int) -> str:
        return shown(self._document.text[start : min(end, start + 100)])

    def _fix(self, place: Print, origin: Origin) -> Fix | None:
        within = self._prefix.range_at(place.start)
        if within is None or self._static.last(within) <= place.end:
            return None
        if self._fixes is None:
            from promptguard.checks.dynamic_fixes import Fixes

            self._fixes = Fixes(self._document, self._flow, self._starts)
        return self._fixes.fix(place, origin, within)


class _StaticText:
    """The static text of the prefix blocks: how much of it stands behind an offset, and where it ends."""

    def __init__(self, text: str, flow: Flow) -> None:
        self._text = text
        self._texts = flow.texts
        self._starts = [start for start, _ in flow.texts]
        self._printed = [place.start for place in flow.prints]
        self._behind: list[int] | None = None
        self._last: dict[tuple[int, int], int] = {}

    def behind(self, offset: int) -> int:
        """Code points of static text behind an offset."""
        if self._behind is None:
            self._behind = [0] * (len(self._texts) + 1)
            for at in range(len(self._texts) - 1, -1, -1):
                start, end = self._texts[at]
                self._behind[at] = self._behind[at + 1] + end - start
        at = bisect_right(self._starts, offset)
        inside = max(0, self._texts[at - 1][1] - offset) if at else 0
        return self._behind[at] + inside

    def last(self, within: tuple[int, int]) -> int:
        """Where the last line of a range begins that has text and prints nothing that varies; -1 where there is none."""
        if within not in self._last:
            self._last[within] = self._find_last(*within)
        return self._last[within]

    def _find_last(self, low: int, high: int) -> int:
        text, printed = self._text, self._printed
        seen = high  # all from here on is in lines that print
        for start, end in reversed(self._texts[bisect_left(self._starts, low) : bisect_left(self._starts, high)]):
            stop = min(end, seen)
            while stop > start:
                piece = max(start, text.rfind("\n", start, stop) + 1)
                if text[piece:stop].strip():
                    line = text.rfind("\n", low, piece) + 1 or low
                    line_end = text.find("\n", stop, high)
                    if bisect_left(printed, line_end if line_end >= 0 else high) == bisect_left(printed, line):
                        return piece
                    seen = line
                stop = piece - 1
        return -1
