"""What is asked of the formatter, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from promptguard.core.errors import PromptguardError
from promptguard.toolschema.document import MAX_CHARS, Note

Status = Literal["reformatted", "unchanged", "kept", "no-tools", "refused"]
NO_TOOLS = "holds no tool schemas"


@dataclass(frozen=True)
class Options:
    """How to format.

    Attributes:
        sort_properties: put ``properties`` into alphabetical order as well.
        unsafe_fixes: normalize descriptions too.
        wire: the compact form rather than the indented one.
        max_bytes: a larger file is refused, and one that would become larger.
        written: the result replaces the text, so that warnings give the places in the result.
    """

    sort_properties: bool = False
    unsafe_fixes: bool = False
    wire: bool = False
    max_bytes: int = MAX_CHARS
    written: bool = False


@dataclass(frozen=True)
class Document:
    """A text that holds tool schemas.

    Attributes:
        text: the canonical text; the text as it was where ``note`` says why.
        warnings: what is wrong and does not keep it from being formatted.
        normalized: what ``unsafe_fixes`` changed.
        kept: the text is not canonical and is not rewritten.
        note: why it is not rewritten.
    """

    text: str
    warnings: tuple[Note, ...] = ()
    normalized: tuple[Note, ...] = ()
    kept: bool = False
    note: Note | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of one file.

    Attributes:
        path: the file as it is shown.
        status: ``kept`` is not canonical and not rewritten; ``refused`` has an ``error`` and is as it was.
        named: the user named this very file.
        before, after: its text and its canonical text, where it holds tool schemas.
        note: why it is kept, or why nothing is known about it.
        warnings: what is wrong and does not keep it from being formatted.
        normalized: what ``unsafe_fixes`` changed.
        error: why it is refused.
        reason: why a file that was named is left alone, for ``no-tools``: the end of a sentence that begins with the file.
    """

    path: str
    status: Status
    named: bool
    before: str = ""
    after: str = ""
    note: Note | None = None
    warnings: tuple[Note, ...] = ()
    normalized: tuple[Note, ...] = ()
    error: PromptguardError | None = None
    reason: str = NO_TOOLS

    def without_text(self) -> Outcome:
        """The same, for a list of many."""
        return replace(self, before="", after="")
