"""The errors that promptguard reports to its user.

Every error is one sentence that says what is wrong, where, and what to do about it. None of them means that a check failed: a
failed check is a result, not an exception.
"""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING

if TYPE_CHECKING:
    from promptguard.core.source import Place


class PromptguardError(Exception):
    """Base of every error that the user is meant to read.

    Args:
        what: what went wrong, lower case, without a final full stop.
        where: the file (with line and column if known), address or option that it concerns.
        hint: what the user can do about it.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.hint}" if self.hint else text


class ConfigError(PromptguardError):
    """An option or a configuration file that cannot be used."""


class InputError(PromptguardError):
    """A file that cannot be read or is not what it should be."""


class TemplateError(InputError):
    """A template that does not parse, does not render, or exceeds a limit while it renders.

    Attributes:
        place: where in the template, ``None`` where that is not known.
    """

    place: Place | None = None


class TemplateLimitError(TemplateError):
    """A template that exceeds a limit while it renders."""


class TemplateRefusal(TemplateError):  # noqa: N818 - it is no mistake: the template said no
    """A chat template that refused a request by ``raise_exception``."""


class EngineError(PromptguardError):
    """An engine that cannot be started or reached, that died, or that cannot report what is needed."""
