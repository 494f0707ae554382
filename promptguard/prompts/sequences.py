"""How far two sequences agree, found by comparing slices: an item-by-item loop would be twenty times slower."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

_STEP = 1024


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Number of equal items at the head of two sequences."""
    if type(first) is not type(second) or not isinstance(first, (list, tuple, array, range)):
        return first_difference(list(first), list(second))
    return first_difference(first, second)


def first_difference(before: Any, after: Any) -> int:
    """The first index at which two sequences of the same type differ; their length where one is a prefix of the other."""
    length = min(len(before), len(after))
    low = 0
    while low < length:
        step = min(_STEP, length - low)
        if before[low : low + step] == after[low : low + step]:
            low += step
            continue
        # The difference is within this step: halve it.
        return low + bisect_left(range(low, low + step), True, key=lambda end: before[low : end + 1] != after[low : end + 1])
    return length


def common_suffix(first: str, second: str, limit: int) -> int:
    """Number of equal code points at the end of two texts, at most ``limit``."""
    low, high = 0, min(len(first), len(second), limit)
    while low < high:
        step = min(_STEP, high - low)
        if first[len(first) - low - step : len(first) - low] == second[len(second) - low - step : len(second) - low]:
            low += step
            continue
        tail_first, tail_second = (
            first[len(first) - low - step : len(first) - low],
            second[len(second) - low - step : len(second) - low],
        )
        for old, new in zip(reversed(tail_first), reversed(tail_second), strict=True):
            if old != new:
                break
            low += 1
        return low
    return low
