"""What every part says about a difference, and the place of a code point in the user's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from promptguard.core.source import Place, Span
from promptguard.prompts.blame.outline import outline
from promptguard.prompts.causes import Cause
from promptguard.prompts.request import Block, Piece, Traced

Aspect = Literal["clock", "id", "variables", "reasoning", "tools", "system", "text", "header", "ending", "other"]
"""What a chat template prints in another way than before: a clock or an id of its own; what depends on its variables; the
reasoning of a reply or the marks around it; the tools; the system prompt; the text, the header or the end of a reply.
"""


@dataclass(frozen=True)
class Origin:
    """Where a code point of a printed text came from.

    Attributes:
        place: the expression that printed it, or exactly this character of a literal text.
        expression: source of the expression, ``None`` for literal text.
        value: all that the expression printed, or the literal text.
    """

    place: Place
    expression: str | None
    value: str

    def behind(self) -> list[str]:
        """The expression and those that its names are bound to, the best judge first; none for literal text."""
        if self.expression is None:
            return []
        found = outline(self.place.source)
        return found.behind(self.expression, self.place.span.start) if found is not None else [self.expression]


@dataclass(frozen=True)
class Blame:
    """Why two prompts differ at their first difference.

    Attributes:
        cause, explanation: as in ``Divergence``.
        found: where the differing text came from, ``None`` where that is not known.
        related: further places.
        own_remedy: what to do, where the cause's own remedy does not fit.
        block: the block to blame, where it need not be the one that stands at the difference (the removed last tool).
        aspect: what a chat template prints in another way, ``None`` where it is not to blame.
    """

    cause: Cause
    explanation: str
    found: Origin | None = None
    related: tuple[Place, ...] = ()
    own_remedy: str | None = None
    block: Block | None = None
    aspect: Aspect | None = None

    @property
    def remedy(self) -> str:
        return self.own_remedy or self.cause.remedy

    @property
    def place(self) -> Place | None:
        return self.found.place if self.found is not None else None

    @property
    def expression(self) -> str | None:
        return self.found.expression if self.found is not None else None


def origin(traced: Traced | None, char: int) -> Origin | None:
    """Where the code point at ``char`` came from; for the end of the text, the end of what stands in front of it."""
    if traced is None:
        return None
    piece = traced.piece_at(char)
    if piece is None and char == len(traced.text):
        piece = traced.piece_at(char - 1)
    if piece is None:
        return None
    value = traced.text[piece.start : piece.end]
    place = piece.place if piece.expression is not None else _exactly(piece, value, char - piece.start)
    return Origin(place, piece.expression, value)


def differing_origin(before: Traced | None, after: Traced | None, old_char: int, new_char: int) -> tuple[Origin | None, str, str]:
    """The origin of a difference, with what stood there and what stands there now.

    An expression on either side is to blame before a literal text: literal text moves only where something else changed.
    """
    old, new = origin(before, old_char), origin(after, new_char)
    # At the end of a text stands what printed the text in front of it, which is the same on both sides.
    inside = [
        found for found, traced, char in ((new, after, new_char), (old, before, old_char)) if traced and char < len(traced.text)
    ]
    candidates = [found for found in inside if found is not None]
    for found in candidates:
        if found.expression is not None:
            return found, _value_of(found, before, old_char), _value_of(found, after, new_char)
    return (candidates[0] if candidates else new or old), "", ""


def _value_of(found: Origin, traced: Traced | None, char: int) -> str:
    """What the same expression printed at or right in front of ``char``."""
    for at in (char, char - 1):
        other = origin(traced, at) if at >= 0 else None
        if other is not None and other.expression is not None and other.place == found.place:
            return other.value
    return ""


def _exactly(piece: Piece, printed: str, offset: int) -> Place:
    """One character of a literal text; the start of the literal where it was not printed as it stands in the file."""
    source, span = piece.place.source, piece.place.span
    written = source.text[span.start : span.end]
    if written != printed:
        if written.replace("\r\n", "\n") != printed:
            return piece.place
        # Templates are read with plain line ends: count the code points that the file has more.
        at = 0
        for _ in range(offset):
            at += 2 if written.startswith("\r\n", at) else 1
        offset = at
    start = min(span.start + offset, span.end)
    return Place(source, Span(start, min(start + 1, span.end)))
