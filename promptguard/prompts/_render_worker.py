"""The process that renders templates: a JSON request per line in, a JSON reply per line out, until its input ends.

It limits its own memory and processor time. Whoever started it limits the time of a request, and ends it.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import signal
import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import astuple
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from jinja2 import Template, TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.sandbox import SecurityError

from promptguard.parse.jinja import Offset, Part
from promptguard.prompts.sandbox import LimitError, Printed, Refused, SandboxEnvironment, TracingEnvironment, raise_exception
from promptguard.prompts.standins import StandIns

CACHED_TEMPLATES = 16
MAX_PIECES = 200_000
MESSAGE_LENGTH = 300


class LoadsFileError(TemplateSyntaxError):
    """The template includes, imports or extends another one."""


class Compiled:
    """A template, compiled once plainly and once so that it traces."""

    def __init__(self, text: str, *, chat: bool) -> None:
        self.environment = SandboxEnvironment(chat=chat)
        self.tracing = TracingEnvironment(chat=chat)
        tree = self.environment.parse(text)
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            raise LoadsFileError("the template loads another file, which promptguard does not do", node.lineno)
        if not chat:
            self.environment.give_stand_ins(tree)
            self.tracing.give_stand_ins(tree)
        self.names = meta.find_undeclared_variables(tree) - self.environment.globals.keys()
        self.plain = Template.from_code(self.environment, self.environment.compile(tree), self.environment.make_globals(None))
        self.traced = self.tracing.from_string(text)
        self.parts: list[Part] = self.tracing.parts

    def render(self, variables: Mapping[str, Any], limit: int, *, stand_ins: StandIns | None = None, seed: str = "") -> Any:
        text = "".join(self._stream(self.plain, variables, limit, stand_ins, seed))
        pieces: list[tuple[int, int]] = []
        # the plain text is the truth: a trace that does not agree with it says nothing
        with contextlib.suppress(Exception):
            printed = self.tracing.concat(self._stream(self.traced, variables, limit, stand_ins, seed))
            if printed == text and isinstance(printed, Printed) and len(printed._trace) <= MAX_PIECES:
                pieces = [piece for piece in printed._trace if piece[0]]
        return {"text": text, "pieces": pieces, "parts": [astuple(part) for part in self.parts] if pieces else []}

    @staticmethod
    def _stream(template: Template, variables: Mapping[str, Any], limit: int, stand_ins: StandIns | None, seed: str) -> Any:
        environment = template.environment
        assert isinstance(environment, SandboxEnvironment)
        environment.stand_ins = stand_ins
        environment.random = random.Random(seed)  # noqa: S311
        size = 0
        for text in template.generate(variables):
            size += len(text)
            if size > limit:
                raise LimitError(f"prints more than {limit:,} characters")
            yield text


class Worker:
    """Answers requests, one at a time."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[tuple[str, bool], Compiled] = OrderedDict()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request: ``text``, ``pieces``, ``parts`` and ``stand_ins``, or ``error`` with a sentence and its place."""
        try:
            return self._render(request)
        except (Exception, MemoryError) as error:
            return {"error": sentence(error), **place(error)}

    def _render(self, request: Mapping[str, Any]) -> dict[str, Any]:
        chat = request["chat"]
        clock = datetime.fromisoformat(request["clock"])
        compiled = self._compile(request["template"], chat=chat)
        variables = request["variables"]
        if chat:
            reply = compiled.render({"raise_exception": raise_exception, "strftime_now": clock.strftime, **variables}, request["limit"])
            return {**reply, "stand_ins": []}
        stand_ins = StandIns(clock=clock, turn=request["turn"], seed=request["seed"])
        given: dict[str, Any] = {name: stand_ins.value(name) for name in compiled.names}
        given["raise_exception"] = raise_exception
        seed = f"{stand_ins.seed}/{stand_ins.turn}"
        reply = compiled.render({**given, **variables}, request["limit"], stand_ins=stand_ins, seed=seed)
        return {**reply, "stand_ins": [astuple(stand_in) for stand_in in stand_ins.used.values()]}

    def _compile(self, text: str, *, chat: bool) -> Compiled:
        key = (text, chat)
        compiled = self._compiled.pop(key, None) or Compiled(text, chat=chat)
        self._compiled[key] = compiled
        if len(self._compiled) > CACHED_TEMPLATES:
            self._compiled.popitem(last=False)
        return compiled


def sentence(error: BaseException) -> str:
    """What went wrong, in one line."""
    message = " ".join(str(error).split())
    if len(message) > MESSAGE_LENGTH:
        message = message[:MESSAGE_LENGTH] + "…"
    if isinstance(error, Refused):
        return f"the template refuses the request: {message}"
    if isinstance(error, LimitError):
        return f"the template {message}"
    if isinstance(error, MemoryError):
        return "the template needs too much memory to render"
    if isinstance(error, RecursionError):
        return "the template is nested or calls itself too deeply"
    if isinstance(error, SecurityError):
        return f"the template reaches for what a template must not have: {message}"
    if isinstance(error, LoadsFileError):
        return str(error.message)
    if isinstance(error, TemplateSyntaxError):
        return f"not a valid template: {' '.join(str(error.message).split()).rstrip('.')}"
    if isinstance(error, SyntaxError):
        return f"the template cannot be compiled: {error.msg}"
    if isinstance(error, UndefinedError):
        return f"the template does not render: {message}"
    return f"the template does not render: {type(error).__name__}: {message}"


def place(error: BaseException) -> dict[str, int]:
    """Where it went wrong: the ``line`` and, where it is known, the ``offset`` in the template."""
    if isinstance(error, TemplateSyntaxError):
        found = {"line": int(error.lineno)}
        return {**found, "offset": error.lineno.start} if isinstance(error.lineno, Offset) else found
    line = 0
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        template = frame.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, Template):
            line = template.get_corresponding_lineno(frame.tb_lineno)
        frame = frame.tb_next
    return {"line": line} if line else {}


def limit_memory(size: int) -> None:
    """Let the process grow by ``size`` bytes and no further, where the platform can tell how large it is and can limit it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + size
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_seconds(seconds: float) -> None:
    """End the process when it has computed for ``seconds`` more: nobody may be left to end it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = math.ceil(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main() -> None:
    # an interrupt is for the one who started this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory, seconds = int(sys.argv[-2]), float(sys.argv[-1])
    limit_memory(memory)
    worker = Worker()
    print("{}", flush=True)
    for line in sys.stdin.buffer:
        limit_seconds(seconds)
        reply = json.dumps(worker.answer(json.loads(line)))
        with contextlib.suppress(BrokenPipeError):
            print(reply, flush=True)
