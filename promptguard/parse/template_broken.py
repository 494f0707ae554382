"""Code in a template that is no expression: what is wrong with it, and what can be read of it all the same."""

from __future__ import annotations

from promptguard.parse.template_expressions import DEPTH_LIMIT, DIGITS, OPERATORS, QUOTES, UNCLOSED, Expressions, Unreadable
from promptguard.parse.template_nodes import Expr

_STARTS_NOTHING = frozenset((")", "]", "}", ",", ":", "=", "|", "."))


def problem(token: str, at: int) -> str:
    """What is wrong with a token that does not fit; ``at``: its index."""
    if token == UNCLOSED:
        return UNCLOSED
    if not token:
        return "unexpected end of the tag" if at else "expected an expression"
    first = token[0]
    if not (first.isidentifier() or first in QUOTES or first in DIGITS or OPERATORS.fullmatch(token)):
        token = first  # no token, but all the rest of the tag
    return f"unexpected {token if len(token) <= 40 else token[:39] + '…'!r}"


def salvaged(reader: Expressions) -> list[Expr]:
    """All expressions that can be read of a tag, tokens between them left out."""
    found = []
    at = 0
    while token := reader.tokens[at]:
        if token in _STARTS_NOTHING:
            at += 1
            continue
        reader.at, reader.depth = at, 0
        try:
            found.append(reader.expression())
            at = reader.at
        except Unreadable as misfit:
            if reader.depth > DEPTH_LIMIT:
                break
            at = max(at + 1, misfit.at)
        except RecursionError:
            break
    return found
