"""PG401 and PG404: keys, layout and tools in another order than the canonical one."""

from __future__ import annotations

from promptguard.checks.base import Document, Hit, make_fix, shown
from promptguard.checks.tools_places import Places, Range
from promptguard.core.finding import Fix
from promptguard.core.json_text import escape, quote
from promptguard.core.light import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence
from promptguard.toolschema.dialects import tool_name
from promptguard.toolschema.errors import RefusedError
from promptguard.toolschema.order import Canonicalizer, printed

if TYPE_CHECKING:
    from promptguard.toolschema.document import Form

_HOLD_TOOLS = ("tools", "functions", "functionDeclarations", "function_declarations")


class Part(NamedTuple):
    """One JSON or YAML value of a file, with tools in it.

    Attributes:
        value: as ``parse.strict`` or ``parse.yaml`` give it.
        places: where it stands.
        start, end: the range of its text.
        form: the canonical spelling of a JSON text, ``None`` for YAML, which is not rewritten here.
        strict: it has a canonical form: it is without equal keys, NaN and the like, and nothing but tools.
        kept: what a YAML text has that a rewrite would lose, so that nothing but a hand puts it in order.
    """

    value: Any
    places: Places
    start: int
    end: int
    form: Form | None
    strict: bool
    kept: str | None = None


def tool_lists(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """The lists of tools in a value, with their JSON pointers: those that the canonical form sorts."""
    stack: list[tuple[str, Any]] = [("", value)]
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        stack.append(("/result", value["result"]))
    while stack:
        pointer, found = stack.pop()
        if isinstance(found, list):
            yield pointer, found
            stack += [(f"{pointer}/{number}", tool) for number, tool in enumerate(found) if isinstance(tool, dict)][::-1]
        elif isinstance(found, dict):
            stack += [(f"{pointer}/{key}", found[key]) for key in _HOLD_TOOLS[::-1] if isinstance(found.get(key), list)]


def check_order(document: Document, parts: Sequence[Part]) -> Iterator[Hit]:
    """PG404 for every list of tools, and one PG401 for the file."""
    found: list[_Disorder] = []
    for part in parts:
        if not part.strict:
            continue
        try:
            canonical = Canonicalizer().tools(part.value)
        except RefusedError:  # no tools: a list that holds something else as well
            continue
        orders = {pointer: order for pointer, tools in tool_lists(part.value) if (order := _order(tools)) is not None}
        for pointer, order in orders.items():
            yield _unsorted(document, part, pointer, order)
        disorder = _misplaced(document, part, canonical, orders)
        if part.form is not None:
            marked = bool(orders) and '"cache_control"' in document.text
            disorder = _text_disorder(document, part, canonical, disorder, marked=marked)
        if disorder is not None:
            found.append(disorder)
    if found:
        yield _not_canonical(document, found, next((part.kept for part in parts if part.kept is not None), None))


def _order(tools: list[Any]) -> list[int] | None:
    """The numbers of tools in canonical order, ``None`` where they have it, or where something else is among them."""
    if not all(isinstance(tool, dict) for tool in tools):
        return None
    keys = [_sort_key(tool) for tool in tools]
    order = sorted(range(len(tools)), key=keys.__getitem__)
    return order if order != list(range(len(tools))) else None


def _sort_key(tool: dict[str, Any]) -> tuple[str, bytes]:
    name = tool_name(tool)
    if name is not None and not any(key in tool for key in _HOLD_TOOLS):
        return name, b""
    canonicalizer = Canonicalizer()
    return canonicalizer.tool_key(canonicalizer.tools([tool])[0])


def _unsorted(document: Document, part: Part, pointer: str, order: list[int]) -> Hit:
    number = next(number for number, other in enumerate(order) if number != other)
    early, late = f"{pointer}/{order[number]}", f"{pointer}/{number}"
    start, end = _label(part, early)
    low, high = _label(part, late)
    early_name, late_name = shown(document.text[start:end]), shown(document.text[low:high])
    message = f"the tool `{early_name}` stands behind `{late_name}`, so the tools are not sorted by name"
    return Hit("PG404", start, end, message, fix=_sorted_fix(document, part, pointer, order), pointer=early)


def _label(part: Part, pointer: str) -> Range:
    """Where the name of a tool stands; where it has none, its first line."""
    at = name_pointer(part.value, pointer)
    return part.places.value(at if at is not None else pointer)


def name_pointer(value: Any, pointer: str) -> str | None:
    """The JSON pointer of the name of a tool; ``None`` where it has none."""
    tool = at_pointer(value, pointer)
    if isinstance(tool.get("name"), str):
        return f"{pointer}/name"
    wrapper = next((key for key in ("function", "custom") if isinstance(tool.get(key), dict)), None)
    if wrapper is not None and isinstance(tool[wrapper].get("name"), str):
        return f"{pointer}/{wrapper}/name"
    return None


def at_pointer(value: Any, pointer: str) -> Any:
    """The value at a JSON pointer that leads somewhere."""
    for part in pointer.split("/")[1:]:
        value = value[int(part) if isinstance(value, list) else part.replace("~1", "/").replace("~0", "~")]
    return value


def _sorted_fix(document: Document, part: Part, pointer: str, order: list[int]) -> Fix | None:
    ranges = [part.places.whole(f"{pointer}/{number}") for number in range(len(order))]
    edits = []
    for number, other in enumerate(order):
        to, source = ranges[number], ranges[other]
        if to is None or source is None:
            return None
        if number != other:
            edits.append((*to, document.text[source[0] : source[1]]))
    # A cache_control marks everything before it: where the tools move, it marks something else.
    tools = at_pointer(part.value, pointer)
    return make_fix(document, "Sort the tools by name", edits, safe=not any("cache_control" in tool for tool in tools))


class _Disorder(NamedTuple):
    """What is not canonical in a part: ``message`` and its range; ``edit`` brings the part into canonical form."""

    start: int
    end: int
    message: str
    pointer: str
    is_order: bool
    edit: tuple[int, int, str] | None = None
    safe: bool = True


def _misplaced(document: Document, part: Part, canonical: Any, orders: dict[str, list[int]]) -> _Disorder | None:
    """The first key, or name of a required property, that is not where the canonical form has it."""
    stack = [(part.value, canonical, "")]
    while stack:
        given, wanted, pointer = stack.pop()
        members: list[tuple[Any, Any, str]] = []
        if isinstance(given, dict):
            for key, other in zip(given, wanted, strict=True):
                if key != other:
                    return _moved(document, part.places.key(f"{pointer}/{escape(key)}"), quote(other), pointer)
            members = [(item, wanted[key], f"{pointer}/{escape(key)}") for key, item in given.items()]
        elif isinstance(given, list):
            order = orders.get(pointer) or range(len(given))
            for number, other in zip(order, wanted, strict=True):
                item = given[number]
                if isinstance(item, str) and item != other:
                    at = f"{pointer}/{number}"
                    return _moved(document, part.places.value(at), quote(other), at)
                members.append((item, other, f"{pointer}/{number}"))
            members.sort(key=lambda member: int(member[2].rpartition("/")[2]))
        stack.extend(reversed(members))
    return None


def _moved(document: Document, place: Range, other: str, pointer: str) -> _Disorder:
    message = f"`{shown(document.text[slice(*place)])}` stands before `{shown(other)}`, not in canonical order"
    return _Disorder(*place, message, pointer, is_order=True)


def _text_disorder(
    document: Document, part: Part, canonical: Any, disorder: _Disorder | None, *, marked: bool
) -> _Disorder | None:
    """The disorder of a JSON text with the edit that mends it; without one of keys, that of its layout."""
    text = document.text[part.start : part.end]
    if disorder is None:
        own = _in_form(part, part.value)
        wire = text.rstrip("\r\n")
        if own == text or ("\n" not in wire and printed(part.value) == wire):
            return None
        start, end = _first_difference(text, own)
        message = "the layout is not canonical: other white space, escapes or numbers than promptguard format writes"
        disorder = _Disorder(part.start + start, part.start + end, message, "", is_order=False)
    return disorder._replace(edit=_edit(part.start, text, _in_form(part, canonical)), safe=not marked)


def _in_form(part: Part, value: Any) -> str:
    """A value of a JSON text as ``promptguard format`` prints it, which imports much more to do so."""
    return printed(value, "\n") + "\n" if part.form == "file" else printed(value)


def _not_canonical(document: Document, found: list[_Disorder], kept: str | None) -> Hit:
    first = next((disorder for disorder in found if disorder.is_order), found[0])
    edits = [disorder.edit for disorder in found if disorder.edit is not None]
    fix = make_fix(document, "Bring the tools into canonical form", edits, safe=all(disorder.safe for disorder in found))
    message = first.message
    if fix is None and first.is_order:
        message += f"; put them into this order by hand, or remove the {kept}" if kept else "; promptguard format mends it"
    return Hit(
        "PG401", first.start, first.end, message, severity=None if first.is_order else "note", fix=fix, pointer=first.pointer
    )


def _first_difference(text: str, other: str) -> Range:
    """The first line of a text that is another one in the other, without its indentation."""
    at = _common_prefix(text, other)
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", start)
    end = end if end >= 0 else len(text)
    line = text[start:end].rstrip("\r")
    if not line.strip():
        return min(start, len(text) - 1), start + 1 if start < len(text) else len(text)
    return start + len(line) - len(line.lstrip()), start + len(line)


def _edit(base: int, text: str, other: str) -> tuple[int, int, str]:
    """The edit that makes one text of another: of the lines between the first and the last that differ."""
    start = _common_prefix(text, other)
    start = text.rfind("\n", 0, start) + 1
    tail = _common_prefix(text[start:][::-1], other[start:][::-1])
    return base + start, base + len(text) - tail, other[start : len(other) - tail]


def _common_prefix(one: str, other: str) -> int:
    """The length of what two texts begin with alike, found by halves, since slices compare at the speed of C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
