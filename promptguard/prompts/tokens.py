"""Tokens and the text that they stand for."""

from __future__ import annotations

from collections.abc import Sequence


def token_starts(text: str, pieces: Sequence[bytes]) -> list[int] | None:
    """The code point at which each token starts.

    A token that begins inside a code point counts as starting at it. The engine may put tokens in front that are not in the text
    (a BOS, the blank that SentencePiece adds); they start at 0.

    Returns:
        ``None`` where the pieces do not add up to the text.
    """
    data = text.encode("utf-8", "surrogatepass")
    joined = b"".join(pieces)
    extra = len(joined) - len(data)
    if extra < 0 or joined[extra:] != data:
        return None
    # Code point of each byte: a continuation byte belongs to the code point that has begun.
    starts: list[int] = []
    position = -extra
    byte = 0
    point = -1
    for piece in pieces:
        target = max(position, 0)
        while byte <= target and byte < len(data):
            if data[byte] & 0xC0 != 0x80:
                point += 1
            byte += 1
        starts.append(max(point, 0) if target < len(data) else len(text))
        position += len(piece)
    return starts
