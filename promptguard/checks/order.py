"""PG201 and PG204: lists in a prefix block whose order nobody fixes."""

from __future__ import annotations

from promptguard.checks.base import Document, Hit, make_fix, shown
from promptguard.checks.origins import Origin
from promptguard.checks.values import Prefix, flow_of
from promptguard.checks.volatile import ORDERS
from promptguard.core.finding import Fix
from promptguard.core.light import Any, Iterator, Mapping
from promptguard.parse.template_nodes import Attr, Call, Expr, Filter, Item, Name, Output


def check(document: Document, _options: Mapping[str, Any]) -> Iterator[Hit]:
    """The findings of PG201 and PG204 in one prompt."""
    prefix = Prefix(document)
    if not prefix.starts or (not document.placeholders and document.template is None):
        return
    flow = flow_of(document, prefix)
    expressions = _printed_expressions(document)
    for loop in flow.loops:
        yield from _hits(document, loop.start, loop.end, loop.iterated, loop.origins, "loops over")
    for place in flow.prints:
        yield from _hits(document, place.start, place.end, expressions.get(place.start), place.origins, "prints")


def _hits(
    document: Document, start: int, end: int, expression: Expr | None, origins: tuple[Origin, ...], verb: str
) -> Iterator[Hit]:
    for code in sorted({origin.nature.code for origin in origins} & ORDERS):
        origin = next(origin for origin in origins if origin.nature.code == code)
        what = f"the template {verb} {origin.nature.what}, whose order is not fixed"
        related: tuple[tuple[int, int, str], ...] = ()
        if origin.start >= 0 and not start <= origin.start < end:
            related = ((origin.start, origin.end, "the list comes from here"),)
        yield Hit(
            code,
            start,
            end,
            f"`{shown(document.text[start : min(end, start + 100)])}`: {what}",
            origin.nature.changes,
            "warning",
            origin.nature.confidence,
            _fix(document, expression, origin),
            related,
        )


def _fix(document: Document, expression: Expr | None, origin: Origin) -> Fix | None:
    """``| sort`` right behind the list itself, in front of the filters that use it."""
    if document.syntax != "jinja" or expression is None or "walk" in document.text[origin.start : origin.end]:
        return None
    while isinstance(expression, Filter) and expression.value is not None and expression.end != origin.end:
        expression = expression.value
    if not isinstance(expression, (Name, Attr, Item, Call, Filter)):
        return None
    return make_fix(document, "Sort the list", [(expression.end, expression.end, " | sort")], safe=False)


def _printed_expressions(document: Document) -> dict[int, Expr]:
    """The expression of each placeholder, by its start."""
    if document.template is None:
        return {}
    return {node.start: node.expression for node in document.template.walk() if isinstance(node, Output)}
