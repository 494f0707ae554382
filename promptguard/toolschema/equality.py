"""Whether two values say the same tools."""

from __future__ import annotations


def same_value(before: object, after: object) -> bool:
    """Whether two JSON values are equal, apart from the order that the canonical form sets.

    Keys may stand in any order; so may the texts of a ``required`` list, and objects of a list that have names (tools). All else
    is exact: ``1``, ``1.0`` and ``true`` are three values, and every other list keeps its order.
    """
    raise NotImplementedError
