"""The jinja environment that templates run in: jinja2's immutable sandbox, with bounded operators and nothing to load.

Templates come from strangers. What cannot be bounded from inside (time, memory) is bounded from outside, by the process that
this runs in; here the usual bombs are refused with a sentence of their own.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from numbers import Number
from types import BuiltinMethodType
from typing import Any

from jinja2 import Environment, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import do_items
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter

from promptguard.parse.jinja import Offset, Part, Positions, part_at
from promptguard.prompts.standins import StandIns, Value

MAX_TEXT = 1 << 20
"""Longest text, list or padding that one operation of a template may make, in code points or items."""

MAX_BITS = 1 << 14
"""Longest whole number that a template may compute, in bits: about 4,900 digits."""

MAX_RANGE = 100_000
"""Longest ``range`` that a template may ask for."""

_PERCENT = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?")
_PADDING = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs"})


class Refused(Exception):  # noqa: N818
    """The template called ``raise_exception``."""


class LimitError(Exception):
    """The template went beyond a limit."""


class Generation(Extension):
    """``{% generation %}`` marks what a model wrote, for training; it prints its body."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Formatter(SandboxedFormatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        for width in re.findall(r"\d+", format_spec):
            _check_width(int(width[:9]))
        return super().format_field(value, format_spec)


class SandboxEnvironment(ImmutableSandboxedEnvironment):
    """An environment for strangers' templates.

    Args:
        chat: whether it renders chat templates, for which model servers remove the newline behind a block tag and the indentation
            ahead of it.
    """

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self, *, chat: bool = False) -> None:
        super().__init__(trim_blocks=chat, lstrip_blocks=chat, extensions=[loopcontrols, Generation, Positions], cache_size=0)
        self._chat = chat
        self.begin(None)
        del self.globals["lipsum"]  # random, and no model server has it
        self.globals["range"] = _range
        self.filters.update(
            tojson=to_json, center=_center, indent=_bounded(self.filters["indent"]), format=_format, random=_random, items=_items
        )
        self.tests.update(string=_is_string, number=_is_number)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if self._chat and isinstance(obj, list) and attr in ("append", "pop"):
            return True  # Kimi's templates build lists so, and a llama-server lets them
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Any:
        if attribute.startswith("__"):  # who asks for it has a purpose, also where the outcome is not used
            raise SecurityError(f"access to attribute {attribute!r} of {type(obj).__name__!r} object is unsafe.")
        return super().unsafe_undefined(obj, attribute)

    def begin(self, stand_ins: StandIns | None) -> None:
        """Start a render: the outcome of ``random`` depends on the stand-ins' seed and turn alone."""
        self.stand_ins = stand_ins
        self.random = random.Random(f"{stand_ins.seed}/{stand_ins.turn}" if stand_ins else "")  # noqa: S311

    def getattr(self, obj: Any, attribute: str) -> Any:
        return obj[attribute] if isinstance(obj, Value) else super().getattr(obj, attribute)

    def give_stand_ins(self, tree: nodes.Template) -> None:
        """Give the filters and tests that a template names and nobody has: the value as it is, and true."""
        for node in tree.find_all(nodes.Filter):
            if node.name not in self.filters:
                self.filters[node.name] = _unknown(f"|{node.name}", result=None)
        for test in tree.find_all(nodes.Test):
            if test.name not in self.tests:
                self.tests[test.name] = _unknown(f"is {test.name}", result=True)

    def handle_exception(self, source: str | None = None) -> Any:
        raise  # noqa: PLE0704  # as it is: its traceback is read for the line, never printed

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            _check_power(left, right)
        elif operator == "*":
            _check_product(left, right)
        elif isinstance(left, str):
            _check_widths(left)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        if isinstance(__obj, BuiltinMethodType) and isinstance(__obj.__self__, str) and __obj.__name__ in _PADDING:
            _check_width(args[0] if args else kwargs.get("tabsize"))
        return super().call(__context, __obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if super().wrap_str_format(value) is None:
            return None
        text = str(value.__self__)
        if value.__name__ == "format_map":
            return lambda mapping: Formatter(self).vformat(text, (), mapping)
        return lambda *args, **kwargs: Formatter(self).vformat(text, args, kwargs)


class Printed(str):
    """A text that knows which parts of a template printed it.

    Attributes:
        _trace: ``(length, part)`` for each stretch, -1 where the part is not known; empty for a text made by other means.
    """

    _trace: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return self


def traced(text: str, trace: Iterable[tuple[int, int]]) -> Printed:
    printed = Printed(text)
    printed._trace = tuple(trace)
    return printed


def join(texts: Iterable[str]) -> Printed:
    """What ``"".join`` gives, with the trace of the parts."""
    trace: list[tuple[int, int]] = []
    texts = list(texts)
    for text in texts:
        if isinstance(text, Printed) and text._trace:
            trace += text._trace
        elif text:
            trace.append((len(text), -1))
    return traced("".join(texts), trace)


class TracingCodeGenerator(CodeGenerator):
    """Compiles a template so that each text it prints carries the part that printed it.

    Texts that a macro, a ``set`` block, a ``call`` block or a recursive loop collected and that are then printed unchanged keep
    the finer trace of what is inside them.
    """

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        raise nodes.Impossible  # constants would be merged with their neighbours

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self._open(node)
        super()._output_child_pre(node, frame, finalize)

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        super()._output_child_post(node, frame, finalize)
        self.write(")")

    def start_write(self, frame: Frame, node: nodes.Node | None = None) -> None:
        super().start_write(frame, node)
        self._open(node)

    def end_write(self, frame: Frame) -> None:
        self.write(")")
        super().end_write(frame)

    def _open(self, node: nodes.Node | None) -> None:
        index = -1
        if node is not None and isinstance(node.lineno, Offset):
            index = part_at(parts_of(self.environment), node.lineno.start)
        self.write(f"environment.record({index}, ")


class TracingEnvironment(SandboxEnvironment):
    """Prints the same as its parent class, as texts that know which part printed them."""

    code_generator_class = TracingCodeGenerator
    concat = staticmethod(join)

    @staticmethod
    def record(part: int, text: str) -> str:
        """Called by the compiled template for each text that it prints."""
        if isinstance(text, Printed) and text._trace:
            return text
        return traced(text, ((len(text), part),))


def parts_of(environment: Environment) -> list[Part]:
    """The parts of the template that the environment parsed last."""
    positions: Any = environment.extensions[Positions.identifier]
    return list(positions.parts)


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The ``tojson`` of model servers: jinja's own sorts keys and escapes HTML."""
    if isinstance(indent, int):
        _check_width(indent)
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys, default=_json_default
    )


def _json_default(value: Any) -> Any:
    if isinstance(value, Value):
        return value._as_json()
    if isinstance(value, (Iterator, range)):  # "map" and its like give lists in a llama-server
        return list(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")


def raise_exception(message: Any = "") -> None:
    """With this a chat template refuses a request, such as a system message in the middle."""
    raise Refused(str(message))


@pass_context
def _random(context: Context, items: Any) -> Any:
    """The ``random`` filter, with an outcome that depends on the seed of the environment alone."""
    environment: Any = context.environment
    choices = list(items)
    return environment.random.choice(choices) if choices else environment.undefined("no random item in an empty sequence")


def _range(*args: int) -> range:
    numbers = range(*args)
    if len(numbers) > MAX_RANGE:
        raise LimitError(f"counts to more than {_number(MAX_RANGE)}")
    return numbers


def _unknown(name: str, *, result: bool | None) -> Callable[..., Any]:
    @pass_context
    def stand_in(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        environment: Any = context.environment
        environment.stand_ins.named(name)
        return value if result is None else result

    return stand_in


def _items(value: Any) -> Any:
    return value.items() if isinstance(value, Value) else do_items(value)


def _is_string(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, Value) and value._kind not in ("memory", "counter"))


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) or (isinstance(value, Value) and value._kind == "counter")


def _center(value: Any, width: int = 80) -> str:
    _check_width(width)
    return str(value).center(width)


def _format(value: Any, *args: Any, **kwargs: Any) -> str:
    if args and kwargs:
        raise TypeError("format takes positional or keyword arguments, not both")
    _check_widths(str(value))
    return str(str(value) % (kwargs or args))


def _bounded(indent: Callable[..., str]) -> Callable[..., str]:
    def bounded(text: str, width: int | str = 4, *args: Any, **kwargs: Any) -> str:
        _check_width(width)
        return indent(text, width, *args, **kwargs)

    return bounded


def _check_width(width: Any) -> None:
    if isinstance(width, int) and width > MAX_TEXT:
        raise LimitError(f"pads a text to {_number(width)} characters")


def _check_widths(form: str) -> None:
    """Refuse a format such as ``%1000000000d``, and ``%*d``, whose width comes from a value."""
    for pair in _PERCENT.findall(form):
        for width in filter(None, pair):
            if width == "*":
                raise LimitError("formats a value with a width that is itself a value")
            _check_width(int(width[:9]))


def _check_power(base: Any, exponent: Any) -> None:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(base) > 1 and base.bit_length() * abs(exponent) > MAX_BITS:
        raise LimitError("computes a number that is too large")


def _check_product(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MAX_BITS:
            raise LimitError("computes a number that is too large")
        return
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, (str, list, tuple)) and isinstance(times, int) and len(sequence) * times > MAX_TEXT:
            raise LimitError(f"repeats a text or list to {_number(len(sequence) * times)} items")


def _number(value: int) -> str:
    return f"{value:,}" if value < 10**15 else "very many"
