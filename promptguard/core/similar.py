"""Which word was meant, without ``difflib``: to import it takes as long as the check of a small file."""

from __future__ import annotations

from promptguard.core.light import Iterable

_ALIKE = 0.6  # the cutoff of difflib.get_close_matches
_LONGEST = 100  # code points; what is longer is not like any word


def closest(word: str, known: Iterable[str]) -> str | None:
    """The word that shares the most letters in order with another one, of two the first; ``None`` where none is like it.

    Two words are alike if twice the length of their longest common subsequence is at least 0.6 of their lengths together. The
    time is that of the product of the lengths; a word of more than 100 code points is like none.
    """
    if len(word) > _LONGEST:
        return None
    best, found = _ALIKE, None
    for other in known:
        alike = 2 * _common(word, other) / max(len(word) + len(other), 1)
        if alike > best or (found is None and alike == best):
            best, found = alike, other
    return found


def _common(first: str, second: str) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for character in first:
        above = row
        row = [0]
        for number, other in enumerate(second):
            row.append(above[number] + 1 if character == other else max(above[number + 1], row[number]))
    return row[-1]
