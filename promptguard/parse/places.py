"""Where the code points of a decoded text come from."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableSequence

_SMALL = 1 << 15  # code points: the lists for so many take a megabyte


class Places:
    """A text that is put together from pieces of another one, and the range of each of its code points there.

    Args:
        size: code points of the other text.

    Attributes:
        starts, ends: the ranges; they are in order and do not overlap.
    """

    __slots__ = ("_parts", "ends", "starts")

    def __init__(self, size: int) -> None:
        self._parts: list[str] = []
        self.starts = _numbers(size)
        self.ends = _numbers(size)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The range for a range of this text; an empty one lies in front of what follows it. There has to be a text."""
        if start < end:
            return self.starts[start], self.ends[end - 1]
        at = self.starts[start] if start < len(self.starts) else self.ends[-1]
        return at, at

    def copy(self, host: str, start: int, end: int) -> None:
        """Take a piece as it is."""
        if start < end:
            self._parts.append(host[start:end])
            self.starts.extend(range(start, end))
            self.ends.extend(range(start + 1, end + 1))

    def put(self, character: str, start: int, end: int) -> None:
        """Take the code point that a range stands for."""
        self._parts.append(character)
        self.starts.append(start)
        self.ends.append(end)


def _numbers(size: int) -> MutableSequence[int]:
    """An empty list of numbers: a compact one where there may be many, as its import takes longer than to fill a short one."""
    if size <= _SMALL:
        return []
    from array import array

    return array("I")
