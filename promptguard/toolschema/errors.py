"""The errors of the canonicalizer."""

from __future__ import annotations

from promptguard.core.errors import InputError, PromptguardError


class ToolSchemaError(InputError):
    """A value that is no tool schema, or that JSON cannot carry unchanged.

    Attributes:
        pointer: JSON pointer (RFC 6901) of the place in the value that was given; the empty string is the whole value.
    """

    def __init__(self, what: str, *, pointer: str, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what, where=where or (f"tools#{pointer}" if pointer else "tools"), hint=hint)
        self.pointer = pointer


class RefusedError(Exception):
    """Something that cannot be brought into canonical form; without a message where the value itself has to be looked at.

    ``plain.refusal`` finds the place.
    """


class TooManyError(RefusedError):
    """A value is, or unfolds into, more values than are allowed."""

    def __init__(self, allowed: int) -> None:
        super().__init__(f"unfolds into more than {allowed:,} values")


class BrokenPromiseError(PromptguardError):
    """The canonical form does not say the same as the input, or is not stable: a bug of promptguard. Nothing is written."""
