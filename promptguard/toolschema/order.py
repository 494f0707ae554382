"""The order itself: values in, the same values in canonical order out."""

from __future__ import annotations

import sys

from promptguard.core.json_text import quote
from promptguard.core.light import TYPE_CHECKING, Any, Callable
from promptguard.parse.strict import MAX_NESTING, Number
from promptguard.toolschema.dialects import declared, element_role, root_role, tool_name
from promptguard.toolschema.errors import RefusedError, TooManyError
from promptguard.toolschema.vocabulary import HOLDER, OTHER, SCHEMA, TOOL, Role, Vocabulary

if TYPE_CHECKING:
    from operator import itemgetter

    from orjson import Fragment
else:
    from _operator import itemgetter  # operator takes some times as long to import

MAX_VALUES = 3_000_000
"""Values in all: members of objects and elements of lists. A tool has about 70 of them, so that 40,000 tools are fine.

Objects may stand in each other so often that a few of them unfold into more than memory holds.
"""

_FEW = 1000
"""Values that are printed without orjson where it is not there yet: to import it takes longer."""

_SCALARS = frozenset({str, int, bool, type(None), Number})
_PLAIN = _SCALARS | {dict, list, float}
_TEXTS = frozenset({str})
_NAMES = {None: "null", False: "false", True: "true"}
_INFINITY = float("inf")
_Walk = Callable[[Any, int], Any]


class _Plan:
    """What to do with every object that has the same keys in the same order.

    Attributes:
        keys: the keys in canonical order.
        pick: gives the values of an object in that order.
        walks: by the types of these values, the keys whose values are more than scalars, and what each of them goes through.
    """

    __slots__ = ("keys", "pick", "walks")

    def __init__(self, names: tuple[Any, ...], vocabulary: Vocabulary) -> None:
        self.keys = sorted(map(_key, names), key=vocabulary.rank)
        # The first key twice: with one key alone, itemgetter would not give a tuple.
        self.pick: Callable[[Any], tuple[Any, ...]] = itemgetter(*self.keys, self.keys[0])
        self.walks: dict[tuple[type, ...], list[tuple[str, _Walk]]] = {}


class Budget:
    """How many values may still come."""

    __slots__ = ("left", "size")

    def __init__(self, size: int) -> None:
        self.size = self.left = size

    def take(self, count: int) -> None:
        """Raises: TooManyError."""
        self.left -= count
        if self.left < 0:
            raise TooManyError(self.size)


class _Objects:
    """Orders the objects of one vocabulary.

    A file of thousands of schemas has few different sets of keys and types: each is looked at once and remembered as a plan. What
    is left to do for one object is mostly done in C.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        walks: dict[Role, _Walk],
        otherwise: Callable[[Any, int, _Walk], Any],
        budget: Budget,
    ) -> None:
        self._vocabulary = vocabulary
        self._roles = walks
        self._otherwise = otherwise
        self._budget = budget
        self._plans: dict[tuple[Any, ...], _Plan] = {}

    def walk(self, value: Any, depth: int) -> Any:
        if type(value) is not dict:
            return self._otherwise(value, depth, self.walk)
        if depth > MAX_NESTING:
            raise RefusedError
        if not value:
            return {}
        self._budget.take(len(value))
        names = tuple(value)
        plan = self._plans.get(names)
        if plan is None:
            plan = self._plans[names] = _Plan(names, self._vocabulary)
        picked = plan.pick(value)
        types = tuple(map(type, picked))
        walks = plan.walks.get(types)
        if walks is None:
            walks = plan.walks[types] = self._find_walks(plan, types)
        made = dict(zip(plan.keys, picked, strict=False))
        if walks:
            depth += 1
            for key, walk in walks:
                made[key] = walk(made[key], depth)
            if self._vocabulary is SCHEMA and "required" in made:
                names = made["required"]
                if type(names) is list and _TEXTS.issuperset(map(type, names)):  # else it stays as it is
                    made["required"] = in_order(names, made.get("properties"))
        return made

    def _find_walks(self, plan: _Plan, types: tuple[type, ...]) -> list[tuple[str, _Walk]]:
        pairs = zip(plan.keys, types, strict=False)
        return [(key, self._roles[self._vocabulary.role(key)]) for key, kind in pairs if kind not in _SCALARS]


class Canonicalizer:
    """Brings values into canonical order; make one for each call.

    Args:
        sort_properties: put ``properties`` into alphabetical order as well.
        max_values: how many values it takes in all.

    Attributes:
        budget: counts them.
    """

    def __init__(self, *, sort_properties: bool = False, max_values: int = MAX_VALUES) -> None:
        self._sort_properties = sort_properties
        self.budget = Budget(max_values)
        self._odd_float = False
        walks: dict[Role, _Walk] = {
            "properties": self._properties,
            "map": self._map,
            "required": self._literal,
            "tools": self._tools,
            "literal": self._literal,
        }
        vocabularies: dict[Role, Vocabulary] = {"schema": SCHEMA, "tool": TOOL, "holder": HOLDER, "other": OTHER}
        for role, vocabulary in vocabularies.items():
            walks[role] = _Objects(vocabulary, walks, self._list_or_scalar, self.budget).walk
        self._walks = walks
        self._schema = walks["schema"]
        self._other = walks["other"]

    def tools(self, value: object) -> Any:
        """A list of tools, a tool, a holder of tools or a JSON Schema in canonical order.

        Raises:
            RefusedError: it is none of these, or something in it is no JSON.
        """
        self._odd_float = False
        value = self._plain(value)
        if type(value) is list:
            return self._in_order([self._numbered(*pair) for pair in enumerate(value, 1)])
        role = root_role(value) if type(value) is dict else None
        if role is None:
            what = "an object without tools" if type(value) is dict else f"a value of type {type(value).__name__}"
            raise RefusedError(f"{what} was given; give a list of tools, one tool, or a JSON Schema")
        return self._walks[role](value, 1)

    def wire(self, value: Any) -> bytes:
        """A value in canonical order as compact JSON.

        Raises:
            RefusedError: there is a lone surrogate in it, or an integer that Python does not print.
        """
        if "orjson" not in sys.modules and self.budget.size - self.budget.left < _FEW:
            try:
                return printed(value).encode()
            except ValueError:
                raise RefusedError from None
        if not self._odd_float:
            import orjson

            try:
                return orjson.dumps(value, default=print_number)
            except TypeError:  # an integer of more than 64 bits, or a lone surrogate
                pass
        import json

        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except ValueError:
            raise RefusedError from None

    def tool_key(self, tool: dict[str, Any]) -> tuple[str, bytes]:
        """What a tool in canonical order is sorted by: its name; its bytes too where it has none, or declares functions."""
        name = tool_name(tool)
        if name is not None:
            return name, self.wire(tool) if declared(tool) else b""
        shown = next((tool[key] for key in ("title", "type") if type(tool.get(key)) is str), next(iter(tool), ""))
        return shown, self.wire(tool)

    def _tools(self, value: Any, depth: int) -> Any:
        made = self._list_or_scalar(value, depth, self._element)
        return self._in_order(made) if type(made) is list and all(type(tool) is dict for tool in made) else made

    def _in_order(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        # Stable: tools of the same name stay as they are. One needs no key.
        return sorted(tools, key=self.tool_key) if len(tools) > 1 else tools

    def _numbered(self, number: int, value: Any) -> Any:
        value = self._plain(value)
        if type(value) is not dict:
            raise RefusedError(f"element {number} is not an object; give a list of tools")
        self.budget.take(1)
        return self._element(value, 2)

    def _element(self, value: Any, depth: int) -> Any:
        if type(value) is dict:
            return self._walks[element_role(value)](value, depth)
        return self._list_or_scalar(value, depth, self._element)

    def _properties(self, value: Any, depth: int) -> Any:
        return self._by_name(value, depth, in_order=self._sort_properties)

    def _map(self, value: Any, depth: int) -> Any:
        return self._by_name(value, depth, in_order=True)

    def _by_name(self, value: Any, depth: int, *, in_order: bool) -> Any:
        if type(value) is not dict:
            return self._list_or_scalar(value, depth, self._schema)
        if depth > MAX_NESTING:
            raise RefusedError
        self.budget.take(len(value))
        depth += 1
        value = _with_text_keys(value)
        members = sorted(value.items(), key=itemgetter(0)) if in_order else value.items()
        schema = self._schema
        return {name: schema(item, depth) for name, item in members}

    def _literal(self, value: Any, depth: int) -> Any:
        if type(value) is not dict:
            return self._list_or_scalar(value, depth, self._literal)
        if depth > MAX_NESTING:
            raise RefusedError
        self.budget.take(len(value))
        return {key: self._literal(item, depth + 1) for key, item in _with_text_keys(value).items()}

    def _list_or_scalar(self, value: Any, depth: int, walk: _Walk) -> Any:
        """Whatever is not a dict; ``walk`` is for the members of a list, and for a dict that an object turns out to be."""
        kind = type(value)
        if kind is list:
            if depth > MAX_NESTING:
                raise RefusedError
            self.budget.take(len(value))
            if _SCALARS.issuperset(map(type, value)):
                return value.copy()
            return [walk(item, depth + 1) for item in value]
        if kind in _SCALARS:
            return value
        if kind is float:
            if not abs(value) < _INFINITY:  # nor is NaN less than that
                raise RefusedError
            if value and not 1e-4 <= abs(value) < 1e16:  # outside, orjson writes other exponents than Python
                self._odd_float = True
            return value
        return walk(self._plain(value), depth)

    def _plain(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return value
        from promptguard.toolschema.plain import plain  # what comes from a file never needs it

        try:
            return plain(value, self.budget.left)
        except TooManyError:
            raise TooManyError(self.budget.size) from None
        except Exception as error:  # the methods of strangers' objects may raise anything
            raise RefusedError from error


def in_order(names: list[str], properties: Any) -> list[str]:
    """Required names in the order of the properties, the others behind them in alphabetical order."""
    known = list(filter(set(names).__contains__, properties)) if type(properties) is dict else []
    if len(known) < len(names):  # unknown names, or some that stand twice
        rank = {name: number for number, name in enumerate(known)}
        known = sorted(names, key=lambda name: (rank.get(name, len(rank)), name))
    return known


def _key(name: Any) -> str:
    if isinstance(name, str):
        return str.__str__(name)
    raise RefusedError


def _with_text_keys(value: dict[Any, Any]) -> dict[str, Any]:
    return value if _TEXTS.issuperset(map(type, value)) else {_key(name): item for name, item in value.items()}


def printed(value: Any, line: str = "") -> str:
    """A value as canonical JSON, without a library; slow.

    Args:
        value: nested no deeper than ``parse.strict`` lets pass.
        line: the line break and the indentation that it stands at; nothing for the compact form, that of ``wire``.
    """
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is Number:
        return str(value.canonical)
    if kind is not dict and kind is not list:
        return repr(value) if kind in (int, float) else _NAMES[value]
    inner, colon = (f"{line}  ", ": ") if line else ("", ":")
    if kind is dict:
        parts = [f"{quote(key)}{colon}{printed(item, inner)}" for key, item in value.items()]
        opening, closing = "{", "}"
    else:
        parts = [printed(item, inner) for item in value]
        opening, closing = "[", "]"
    return f"{opening}{inner}{f',{inner}'.join(parts)}{line}{closing}" if parts else opening + closing


def print_number(value: object) -> Fragment:
    """Have orjson print a ``Number`` (as ``default``)."""
    from orjson import Fragment

    if isinstance(value, Number):
        return Fragment(value.canonical)
    raise TypeError
