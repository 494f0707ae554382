"""What the configuration declares about a file."""

from __future__ import annotations

import os

from promptguard.core.errors import ConfigError, InputError
from promptguard.core.light import TYPE_CHECKING, Mapping, lru_cache
from promptguard.linting.settings import PromptDeclaration, Settings

if TYPE_CHECKING:
    from promptguard.core.ignore import Patterns


def find_declaration(path: str, settings: Settings) -> PromptDeclaration | None:
    """The declaration whose pattern matches a file; of several the last one, as in ``.gitignore``.

    Args:
        path: relative to the current folder, or absolute.
        settings: what was configured.
    """
    if not settings.prompts:
        return None
    from promptguard.linting.select import parts_below

    parts = parts_below(path, settings.root)
    if not parts:
        return None
    return next((entry for entry in reversed(settings.prompts) if _pattern(entry.path).covers(parts)), None)


def context_values(declaration: PromptDeclaration, settings: Settings) -> Mapping[str, object]:
    """The values of the context file that a declaration names.

    Raises:
        ConfigError: it cannot be used.
    """
    if declaration.context is None:
        return {}
    path = os.path.join(settings.root, declaration.context)  # noqa: PTH118
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError as error:
        hint = "correct `context` in the configuration"
        raise ConfigError(f"the context file cannot be read ({error.strerror or error})", where=path, hint=hint) from None
    return _load(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _load(path: str, _changed: int, _size: int) -> Mapping[str, object]:
    from promptguard.parse.data import load_mapping

    try:
        return load_mapping(path)
    except InputError as error:
        raise ConfigError(f"the context file {error.what}", where=error.where, hint=error.hint) from None


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> Patterns:
    from promptguard.core.ignore import Patterns

    return Patterns([pattern])
