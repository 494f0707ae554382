"""Where a value that is not fixed comes from, and how often it is another one."""

from __future__ import annotations

from promptguard.checks.base import Changes, Document
from promptguard.checks.volatile import CLOCK, ORDERS, Nature, changes_of_format
from promptguard.core import patterns as re
from promptguard.core.light import Any, Iterable, NamedTuple, regex
from promptguard.parse.template_nodes import Const, Expr, Keyword, Node, Tag

_MOST_ORIGINS = 16  # of each rule
_MOST_PARAMETERS = 64  # of macros
_ZONE = regex(r"utc|gmt|local|[A-Za-z_]{2,30}/[A-Za-z_/+-]{2,40}", re.IGNORECASE)


class Origin(NamedTuple):
    """Where a value comes from that is not fixed.

    Attributes:
        nature: what it is; of code ``PG106`` where nothing is known of it but that it is a variable.
        start, end: the expression that makes it.
        name: of the variable, dotted; empty for a call.
        declared: the configuration says that it changes.
        element: it is one item of what the expression makes, as a loop binds it.
        pattern: the literal format that it is written with, as a time.
        parameter: of a macro: where that begins, and the number of the parameter.
    """

    nature: Nature
    start: int
    end: int
    name: str = ""
    declared: bool = False
    element: bool = False
    pattern: Const | None = None
    parameter: tuple[int, int] | None = None


def joined(groups: Iterable[tuple[Origin, ...]]) -> tuple[Origin, ...]:
    """All origins, each once, in order; beyond a number of a rule nobody reads the rest."""
    found: dict[Origin, None] = {}
    left: dict[str, int] = {}
    for group in groups:
        for origin in group:
            key, most = (origin.nature.code, _MOST_ORIGINS) if origin.parameter is None else ("parameter", _MOST_PARAMETERS)
            if origin not in found and left.setdefault(key, most):
                left[key] -= 1
                found[origin] = None
    return tuple(found)


def without_orders(origins: tuple[Origin, ...]) -> tuple[Origin, ...]:
    """The same without what is only about the order."""
    return tuple(origin for origin in origins if origin.nature.code not in ORDERS)


def has_code(origins: tuple[Origin, ...], code: str) -> bool:
    return any(origin.nature.code == code for origin in origins)


def changing(origins: tuple[Origin, ...], changes: Changes) -> tuple[Origin, ...]:
    """The same clock, written so that it changes as often as said."""
    return tuple(
        origin._replace(nature=origin.nature._replace(changes=changes)) if origin.nature.code == "PG101" else origin
        for origin in origins
    )


def written(origins: tuple[Origin, ...], pattern: Const) -> tuple[Origin, ...]:
    """The same clock, written with a format."""
    refined = changing(origins, changes_of_format(str(pattern.value)))
    return tuple(origin._replace(pattern=pattern) if origin.nature.code == "PG101" else origin for origin in refined)


def of_now(node: Node, pattern: Const | None) -> tuple[Origin, ...]:
    """The time of now, written with a format if there is one."""
    origins = (Origin(CLOCK, node.start, node.end),)
    return written(origins, pattern) if pattern is not None and "%" in str(pattern.value) else origins


def of_now_tag(tag: Tag) -> tuple[Origin, ...]:
    """``{% now 'utc', '%H:%M' %}`` prints the date where it says no format; ``{% now "H:i" %}`` has it at the first place."""
    texts = [expression for expression in tag.expressions if isinstance(expression, Const) and isinstance(expression.value, str)]
    origins = (Origin(CLOCK, tag.start, tag.end),)
    if not texts or (len(texts) == 1 and _ZONE.fullmatch(str(texts[0].value))):
        return changing(origins, "day")
    return written(origins, texts[-1])


def format_argument(arguments: list[Expr]) -> Const | None:
    """The literal text among the arguments that says how a time is written."""
    for argument in arguments:
        value = argument.value if isinstance(argument, Keyword) else argument
        if isinstance(value, Const) and isinstance(value.value, str) and value.value:
            return value
    return None


def of_placeholder(document: Document, placeholder: Any, origins: tuple[Origin, ...]) -> tuple[Origin, ...]:
    """Origins of a placeholder of another syntax, which may write its format behind a colon: ``{now:%Y-%m-%d}``."""
    if document.syntax != "format":
        return origins
    _, colon, pattern = document.text[placeholder.start : placeholder.end].rstrip("}").partition(":")
    return changing(origins, changes_of_format(pattern)) if colon and "%" in pattern else origins
