"""At most so many hits of one rule in one document: nobody reads more, and no report has to carry them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from promptguard.checks.base import Hit
from promptguard.core.light import TYPE_CHECKING

MAX_HITS = 1_000

if TYPE_CHECKING:
    from typing import TypeVar

    _T = TypeVar("_T")


def bounded(found: Iterable[_T], make: Callable[[_T], Hit]) -> Iterator[Hit]:
    """The hits of what was found, the first ``MAX_HITS`` of them; the last says that there are more."""
    things = iter(found)
    for number, thing in enumerate(things, 1):
        hit = make(thing)
        if number < MAX_HITS:
            yield hit
            continue
        is_last = next(things, None) is None
        yield hit if is_last else hit._replace(message=f"{hit.message}; more of the kind follow, {MAX_HITS:,} are reported")
        return
