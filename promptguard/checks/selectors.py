"""What a selector of rules means: a code, a prefix of codes, or the name of a rule."""

from __future__ import annotations

from promptguard.checks.catalog import RULES
from promptguard.core.errors import ConfigError

_BY_NAME: dict[str, str] = {rule.name: rule.code for rule in RULES.values()}


def resolve(selector: str, *, where: str | None = None) -> frozenset[str]:
    """The codes that a selector stands for: ``PG101``, ``PG1``, ``PG``, ``clock``; letters of either case.

    Args:
        selector: what the user wrote.
        where: where, for the error.

    Raises:
        ConfigError: there is no such rule.
    """
    found = selected(selector)
    if not found:
        raise ConfigError(f"there is no rule {selector!r}", where=where, hint=_suggestion(selector.strip()))
    return found


def selected(selector: str) -> frozenset[str]:
    """The same; none where there is no such rule."""
    wanted = selector.strip()
    named = _BY_NAME.get(wanted.lower())
    if named is not None:
        return frozenset((named,))
    prefix = wanted.upper()
    return frozenset(code for code in RULES if code.startswith(prefix)) if prefix.startswith("PG") else frozenset()


def _suggestion(wanted: str) -> str:
    from promptguard.core.similar import closest

    meant = closest(wanted.lower(), [*_BY_NAME, *(code.lower() for code in RULES)])
    if meant is None:
        return "promptguard rule lists them"
    return f"did you mean {meant.upper() if meant.upper() in RULES else meant}?"
