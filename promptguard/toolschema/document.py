"""Canonical JSON text from JSON text, with the exact place of whatever is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from promptguard.core.source import Place

MAX_CHARS = 8 * 1024 * 1024
"""A larger text is refused."""

Form = Literal["file", "wire"]


@dataclass(frozen=True)
class Note:
    """Something about a place of the text; printed as ``path:line:column: message``."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True)
class Formatted:
    """A text in canonical form.

    Attributes:
        text: the canonical text. File form: indented by 2, LF, a final newline. Wire form: one line without a newline.
        changed: whether ``text`` differs from what was given.
        warnings: what is wrong with the tools and does not keep them from being formatted: a ``$ref`` that points nowhere.
        normalized: what ``unsafe_fixes`` changed, at its place in the text that was given.
    """

    text: str
    changed: bool
    warnings: tuple[Note, ...] = ()
    normalized: tuple[Note, ...] = ()


def holds_tools(text: str) -> bool:
    """Whether a JSON text holds tool schemas, by what is in it (see ``dialects.looks_like_tools``).

    Never fails: what is not JSON holds none. Equal keys, NaN and the like do not matter here, so that a tools file that is
    wrong is still known for a tools file.
    """
    raise NotImplementedError


def format_text(
    text: str,
    *,
    path: str,
    form: Form = "file",
    sort_properties: bool = False,
    unsafe_fixes: bool = False,
    max_chars: int = MAX_CHARS,
) -> Formatted:
    """Bring a JSON text of tool schemas into canonical form.

    Two promises are checked on every text: the result has the value of the input (types and exact numbers; order aside where the
    canonical form sets it), and formatting it again changes nothing.

    Args:
        text: tools in any dialect, a container of them, or a bare JSON Schema: all that ``canonical_tools`` takes. A byte order
            mark in front is dropped.
        path: the file that errors name.
        form: indented for files, compact for the wire.
        sort_properties: put ``properties`` into alphabetical order as well.
        unsafe_fixes: normalize descriptions first, see ``unsafe.normalize_descriptions``.
        max_chars: a longer text is refused.

    Raises:
        InputError: not strict JSON (equal keys, NaN, infinities, lone surrogates), nested too deep, too long, or no tools. Names
            file, line and column.
        BrokenPromiseError: a promise does not hold.
    """
    raise NotImplementedError


def format_lines(
    text: str,
    *,
    path: str,
    sort_properties: bool = False,
    unsafe_fixes: bool = False,
    max_chars: int = MAX_CHARS,
) -> Formatted:
    """Bring the lines of a JSONL text that hold tools into wire form, and leave every other line as it is.

    Args, Raises: as ``format_text``; a line that is not JSON is left as it is.
    """
    raise NotImplementedError
