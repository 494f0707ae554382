"""Canonical JSON text from JSON text, with the exact place of whatever is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from promptguard.core.errors import InputError
from promptguard.core.source import Place, Source, Span
from promptguard.parse.json import index
from promptguard.parse.strict import parse
from promptguard.toolschema.dialects import text_looks_like_tools
from promptguard.toolschema.equality import same_value, same_values
from promptguard.toolschema.errors import BrokenPromiseError, RefusedError
from promptguard.toolschema.order import Canonicalizer
from promptguard.toolschema.reading import Reading, read_canonical, read_usual
from promptguard.toolschema.references import dangling_references
from promptguard.toolschema.unsafe import normalize_descriptions

MAX_CHARS = 8 * 1024 * 1024
"""A larger text is refused."""

Form = Literal["file", "wire"]

_LINE = re.compile(r"[^\r\n]+|[\r\n]+")
_REPORT = "nothing was written; please report this as a bug of promptguard"


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


def holds_tools(text: str, reading: Reading | Literal[False] = False) -> bool:
    """Whether a JSON text holds tool schemas: ``dialects.text_looks_like_tools``."""
    return reading.holds_tools if reading else text_looks_like_tools(text)


def read(text: str) -> Reading | Literal[False]:
    """Read a text at once for ``holds_tools`` and ``format_text``; ``False`` where each has to read it for itself."""
    return read_usual(text.removeprefix("\ufeff")) or False


def format_text(
    text: str,
    *,
    path: str,
    form: Form = "file",
    sort_properties: bool = False,
    unsafe_fixes: bool = False,
    max_chars: int = MAX_CHARS,
    reading: Reading | Literal[False] | None = None,
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
        reading: what ``read`` gave for the text, where that was done before.

    Raises:
        InputError: not strict JSON (equal keys, NaN, infinities, lone surrogates), nested too deep, too long, or no tools. Names
            file, line and column.
        BrokenPromiseError: a promise does not hold.
    """
    source = _source(text, path, max_chars)
    printer = _Printer(form, sort_properties, max_chars)
    made, warnings, normalized = _format(source, Span(0, len(source.text)), printer, unsafe_fixes, reading)
    return Formatted(made, made != text, tuple(warnings), tuple(normalized))


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
    source = _source(text, path, max_chars)
    printer = _Printer("wire", sort_properties, max_chars)
    parts: list[str] = []
    warnings: list[Note] = []
    normalized: list[Note] = []
    for match in _LINE.finditer(source.text):
        reading = read(match.group())
        if not holds_tools(match.group(), reading):
            parts.append(match.group())
            continue
        made, more_warnings, more_normalized = _format(source, Span(*match.span()), printer, unsafe_fixes, reading)
        parts.append(made)
        warnings += more_warnings
        normalized += more_normalized
    made = "".join(parts)
    return Formatted(made, made != text, tuple(warnings), tuple(normalized))


class _Printer:
    """Prints what ``parse`` has read."""

    def __init__(self, form: Form, sort_properties: bool, max_values: int) -> None:
        self.sort_properties = sort_properties
        self._form = form
        self._max_values = max_values

    def text(self, value: Any) -> str:
        canonicalizer = Canonicalizer(sort_properties=self.sort_properties, max_values=self._max_values)
        return self.laid_out(canonicalizer.wire(canonicalizer.tools(value))).decode()

    def laid_out(self, wire: bytes) -> bytes:
        return wire if self._form == "wire" else msgspec.json.format(wire, indent=2) + b"\n"


def _source(text: str, path: str, max_chars: int) -> Source:
    if len(text) > max_chars:
        raise InputError(f"longer than {max_chars:,} characters", where=path)
    return Source(path, text.removeprefix("\ufeff"), "json")


def _format(
    source: Source, span: Span, printer: _Printer, unsafe_fixes: bool, reading: Reading | Literal[False] | None
) -> tuple[str, list[Note], list[Note]]:
    text = None
    given_text = source.text[span.start : span.end]
    if not (unsafe_fixes or printer.sort_properties):
        reading = read(given_text) if reading is None else reading
        text = _quickly(reading, given_text, source.path, printer) if reading else None
        if reading and text is not None and not reading.may_dangle:
            return text, [], []
    value = given = parse(source, span=span, exact_numbers=True)
    normalized: list[Note] = []
    if unsafe_fixes:
        value, changes = normalize_descriptions(given)
        normalized = _notes(source, span, [(change.pointer, f"normalized {change.what}") for change in changes])
    if text is None:
        try:
            text = printer.text(value)
        except RefusedError as error:
            raise InputError(str(error), where=str(Place(source, span))) from None
        if text != given_text:
            _check_promises(value, text, source.path, printer)
    found = dangling_references(value) if '"$ref"' in text else ()
    dangling = [(pointer, f"the $ref {json.dumps(to)} points nowhere") for pointer, to in found]
    return text, _notes(source, span, dangling), normalized


def _quickly(reading: Reading, given: str, path: str, printer: _Printer) -> str | None:
    """The canonical text of a usual text; ``None`` where that is none."""
    data = printer.laid_out(reading.wire)
    text = data.decode()
    if text != given:
        again = read_canonical(data)
        if again is None:
            return None
        _promise(path, kept=same_values(reading.said, again.said), stable=again.wire == reading.wire)
    return text


def _check_promises(value: Any, text: str, path: str, printer: _Printer) -> None:
    try:
        again = parse(Source(path, text, "json"), exact_numbers=True)
        kept, stable = same_value(value, again), printer.text(again) == text
    except (InputError, RefusedError) as error:
        raise BrokenPromiseError(f"the canonical form cannot be read ({error})", where=path, hint=_REPORT) from None
    _promise(path, kept=kept, stable=stable)


def _promise(path: str, *, kept: bool, stable: bool) -> None:
    if not kept:
        raise BrokenPromiseError("the canonical form would change a value", where=path, hint=_REPORT)
    if not stable:
        raise BrokenPromiseError("formatting the canonical form again would change it", where=path, hint=_REPORT)


def _notes(source: Source, span: Span, messages: Iterable[tuple[str, str]]) -> list[Note]:
    """Messages about JSON pointers, at their places."""
    found = list(messages)
    if not found:
        return []
    places = index(source.text[span.start : span.end])
    notes = []
    for pointer, message in found:
        inner = places.value(pointer)
        assert inner is not None, pointer
        notes.append(Note(Place(source, Span(span.start + inner.start, span.start + inner.end)), message))
    return notes
