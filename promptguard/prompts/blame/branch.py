"""Whether two texts differ because a template took another branch, or went round a loop more often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptguard.core.source import Place, Span
from promptguard.prompts.blame.base import Origin, origin
from promptguard.prompts.blame.outline import Branch, outline
from promptguard.prompts.request import Piece, Traced

_MOST_CONDITIONS = 20


@dataclass(frozen=True)
class ChangedBranch:
    """A branch or a loop that printed another text.

    Attributes:
        place: the tag that decided.
        tag: the same tag in one line.
        loop: whether it is a loop.
        conditions: what was asked, with what its names are bound to; the best judge first.
        printed: where the differing text itself stands.
        before, after: what it printed; of a loop only what one of the two texts has more.
    """

    place: Place
    tag: str
    loop: bool
    conditions: Sequence[str]
    printed: Origin
    before: str
    after: str


@dataclass(frozen=True)
class _Side:
    """One of two texts at their first difference."""

    traced: Traced
    char: int

    @property
    def here(self) -> Piece | None:
        return self.traced.piece_at(self.char)

    @property
    def left(self) -> Piece | None:
        return self.traced.piece_at(self.char - 1) if self.char else None

    def known(self) -> bool:
        return self.here is not None or self.char == len(self.traced.text)

    def entered(self, other: _Side) -> Branch | None:
        """The outermost branch that this text is in, and the other one neither is in nor comes from.

        A loop counts where the other one comes from it: it went round once more.
        """
        there = {branch.start for branch in _path(other.here)}
        there |= {branch.start for branch in _path(other.left) if branch.kind == "if"}
        return next((branch for branch in _path(self.here) if branch.start not in there), None)

    def taken(self, branch: Branch) -> Branch | None:
        """The branch of the same chain that this text is in or comes from."""
        around = [*_path(self.here), *_path(self.left)]
        return next((other for other in around if other.chain == branch.chain), None)

    def printed(self, branch: Branch, *, whole: bool) -> str:
        """What a branch printed around the difference, or only what it printed from there on."""
        pieces = self.traced.pieces
        middle = self.here if _inside(self.here, branch) else self.left
        if middle is None:
            return ""
        first = last = pieces.index(middle)
        while whole and first > 0 and _inside(pieces[first - 1], branch):
            first -= 1
        while last + 1 < len(pieces) and _inside(pieces[last + 1], branch):
            last += 1
        return self.traced.text[pieces[first].start : pieces[last].end]


def changed_branch(before: Traced | None, after: Traced | None, char: int) -> ChangedBranch | None:
    """The branch or loop to which two texts owe their first difference, ``None`` where no tag is known to be the reason."""
    if before is None or after is None:
        return None
    old, new = _Side(before, char), _Side(after, char)
    if not old.known() or not new.known():
        return None
    if any(_same_expression(*pair) for pair in ((old.here, new.here), (old.here, new.left), (old.left, new.here))):
        return None
    entered = [(branch, mine) for mine, other in ((new, old), (old, new)) if (branch := mine.entered(other)) is not None]
    if not entered:
        return None
    branch, side = min(entered, key=lambda found: found[0].chain)  # the new text's, where both entered one of the same chain
    printed = origin(side.traced, char)
    found = outline(printed.place.source) if printed is not None else None
    if printed is None or found is None:
        return None
    if branch.kind == "for":
        more = side.printed(branch, whole=False)
        values = (more, "") if side is old else ("", more)
        positions = [branch.position]
    else:
        taken = [(one, one.taken(branch)) for one in (old, new)]
        first, second = (one.printed(its, whole=True) if its is not None else "" for one, its in taken)
        values = (first, second)
        positions = sorted(its.position for _, its in taken if its is not None)
    tag = branch.tags[positions[0]]
    if not found.condition(tag):  # an else
        tag = branch.tags[0]
    asked = [tag, *(other for other in branch.tags[: positions[-1] + 1] if other is not tag)][:_MOST_CONDITIONS]
    conditions = [one for other in asked for one in found.behind(found.condition(other), other.start)]
    place = Place(printed.place.source, Span(tag.start, tag.end))
    return ChangedBranch(place, f"{{% {found.code(tag)[:60]} %}}", branch.kind == "for", conditions, printed, *values)


def _path(piece: Piece | None) -> list[Branch]:
    found = outline(piece.place.source) if piece is not None else None
    return found.path(piece.place.span.start) if piece is not None and found is not None else []


def _inside(piece: Piece | None, branch: Branch) -> bool:
    if piece is None or outline(piece.place.source) is None:  # a text that was planted stands in no template
        return False
    return branch.start <= piece.place.span.start < branch.end


def _same_expression(one: Piece | None, other: Piece | None) -> bool:
    """Whether one expression printed both: then its value is the reason."""
    return one is not None and other is not None and one.expression is not None and one.place == other.place
