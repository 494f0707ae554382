"""The process that renders templates: a JSON request per line in, a JSON reply per line out, until its input ends.

It limits its own memory, and the processor time of a request and of each call in it. Whoever started it limits the time by the
clock, and ends it.
"""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from jinja2 import Template, TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.exceptions import SecurityError

from promptguard.parse.jinja import Offset
from promptguard.prompts.sandbox import (
    LimitError,
    Refused,
    SandboxEnvironment,
    TracingEnvironment,
    join,
    parts_of,
    raise_exception,
)
from promptguard.prompts.standins import StandIns

MAX_OF_MANY = 1 << 20
"""Longest text of one call among several, in code points; a prompt of a conversation that tries a template has some thousand."""

CACHED_TEMPLATES = 16
MAX_PIECES = 200_000
MESSAGE_LENGTH = 300


class LoadsFileError(TemplateSyntaxError):
    """The template includes, imports or extends another one."""


class Compiled:
    """A template, compiled once plainly and, where a trace is wanted, once more so that it traces."""

    def __init__(self, text: str, *, chat: bool) -> None:
        self.text = text
        self.chat = chat
        self.environment = SandboxEnvironment(chat=chat)
        tree = self.environment.parse(text)
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            raise LoadsFileError("the template loads another file, which promptguard does not do", node.lineno)
        if not chat:
            self.environment.give_stand_ins(tree)
        self.names = meta.find_undeclared_variables(tree) - self.environment.globals.keys()
        self.switches = self.names - _locals(tree)
        self.plain = self.environment.from_string(tree)

    @cached_property
    def traced(self) -> Template:
        environment = TracingEnvironment(chat=self.chat)
        tree = environment.parse(self.text)
        if not self.chat:
            environment.give_stand_ins(tree)
        return environment.from_string(tree)

    def trace(self, text: str, render: Callable[[Template], Iterable[str]]) -> dict[str, Any]:
        """Which part printed what, or nothing where the template that traces does not print exactly ``text``."""
        with contextlib.suppress(Exception):
            printed = join(render(self.traced))
            if printed == text and len(printed._trace) <= MAX_PIECES:
                parts = [astuple(part) for part in parts_of(self.traced.environment)]
                return {"pieces": [piece for piece in printed._trace if piece[0]], "parts": parts}
        return {"pieces": [], "parts": []}


def _locals(tree: nodes.Template) -> set[str]:
    """The names that a template sets, other than those to which it only gives a default."""
    local = {node.name for node in tree.find_all(nodes.Name) if node.ctx in ("store", "param")}
    tested = {
        test.node.name for test in tree.find_all(nodes.Test) if test.name == "defined" and isinstance(test.node, nodes.Name)
    }
    for assign in tree.find_all(nodes.Assign):
        if isinstance(assign.target, nodes.Name):
            value = [assign.node] if isinstance(assign.node, nodes.Name) else assign.node.find_all(nodes.Name)
            tested |= {node.name for node in value if node.name == assign.target.name}
    return local - tested


class LateError(LimitError):
    """The template took too long."""


class Worker:
    """Answers requests, one at a time.

    Args:
        seconds: processor time that a request may take, where it says no less.

    Attributes:
        late: whether the time had a say in the last reply.
    """

    def __init__(self, seconds: float) -> None:
        self.late = False
        self._seconds = seconds
        self._compiled: OrderedDict[tuple[str, bool], Compiled] = OrderedDict()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request: ``text``, ``pieces``, ``parts`` and ``stand_ins``, or what went wrong.

        To one with several ``calls`` of a chat template: ``replies`` and the ``parts`` of all of them; a call that goes beyond a
        limit has a reply that says so, as long as there is time for the others. To one for ``names``: the variables that a chat
        template reads.
        """
        self.late = False
        try:
            if "names" in request:
                return {"names": sorted(self._compile(request["template"], chat=True).switches)}
            return self._render_calls(request) if "calls" in request else self._render(request)
        except Exception as error:
            self.late = isinstance(error, LateError)
            return problem(error)

    def _render_calls(self, request: Mapping[str, Any]) -> dict[str, Any]:
        compiled = self._compile(request["template"], chat=True)
        replies: list[dict[str, Any]] = []
        parts: list[Any] = []
        left = request["limit"]
        end = time.process_time() + request["seconds"]
        share = 1 / 16
        for variables, clock in request["calls"]:
            limit = min(left, MAX_OF_MANY)
            render = partial(_render_chat, variables=variables, clock=datetime.fromisoformat(clock), limit=limit)
            if time.process_time() > end:
                raise LateError(_late(self._seconds))
            try:
                with _ended_after(share * request["seconds"], "takes too long to render"):
                    text = "".join(render(compiled.plain))
                    found = compiled.trace(text, render) if request["trace"] else {"pieces": [], "parts": []}
            except Exception as error:
                if isinstance(error, LimitError):
                    self.late |= isinstance(error, LateError)
                    share = 1 / 64  # more of them are to come, and time must be left for the others
                replies.append(problem(error))
                continue
            left -= len(text)
            parts = found.pop("parts") or parts
            replies.append({"text": text, **found})
        return {"replies": replies, "parts": parts}

    def _render(self, request: Mapping[str, Any]) -> dict[str, Any]:
        clock = datetime.fromisoformat(request["clock"])
        compiled = self._compile(request["template"], chat=request["chat"])
        stand_ins = None
        render: Callable[[Template], Iterator[str]]
        if request["chat"]:
            render = partial(_render_chat, variables=request["variables"], clock=clock, limit=request["limit"])
        else:
            stand_ins = StandIns(clock=clock, turn=request["turn"], seed=request["seed"])
            own = {**{name: stand_ins.value(name) for name in compiled.names}, "raise_exception": raise_exception}

            def render(template: Template) -> Iterator[str]:
                return stream(template, {**own, **json.loads(request["variables"])}, stand_ins, request["limit"])

        with _ended_after(request["seconds"], _late(self._seconds)):
            text = "".join(render(compiled.plain))
            trace = compiled.trace(text, render) if request["trace"] else {"pieces": [], "parts": []}
        used = stand_ins.used.values() if stand_ins else ()
        return {"text": text, **trace, "stand_ins": [astuple(stand_in) for stand_in in used]}

    def _compile(self, text: str, *, chat: bool) -> Compiled:
        key = (text, chat)
        compiled = self._compiled.pop(key, None) or Compiled(text, chat=chat)
        self._compiled[key] = compiled
        if len(self._compiled) > CACHED_TEMPLATES:
            self._compiled.popitem(last=False)
        return compiled


def _render_chat(template: Template, *, variables: str, clock: datetime, limit: int) -> Iterator[str]:
    """One render of a chat template; it can change the lists that it is given, so each render reads its own."""
    own = {"raise_exception": raise_exception, "strftime_now": clock.strftime}
    return stream(template, {**own, **json.loads(variables)}, None, limit)


def stream(template: Template, variables: Mapping[str, Any], stand_ins: StandIns | None, limit: int) -> Iterator[str]:
    """What a template prints, bit by bit, as long as it is not too much."""
    environment = template.environment
    if isinstance(environment, SandboxEnvironment):
        environment.begin(stand_ins)
    size = 0
    printed: Any = template.generate(variables)
    for text in printed:
        size += len(text)
        if size > limit:
            printed.throw(LimitError(f"prints more than {limit:,} characters"))  # inside of it, so that the line is known
        yield text


@contextlib.contextmanager
def _ended_after(seconds: float, what: str) -> Iterator[None]:
    """End what runs for too long, by an error that has the line at which it stood.

    What is counted is the processor's time: a busy machine makes no call slow. An operation that does not come back to the
    interpreter is not ended: the limit of the process is, or the one who asked.

    Args:
        seconds: processor time.
        what: what the error says.

    Raises:
        LateError: the time is over.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise LateError(what)

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _late(seconds: float) -> str:
    return f"takes longer than {seconds:g} s to render"


def problem(error: BaseException) -> dict[str, Any]:
    """What went wrong: ``error``, its place, and whether it was a ``limit`` or the template ``refused``."""
    limit = isinstance(error, (LimitError, MemoryError, RecursionError))
    return {"error": sentence(error), "limit": limit, "refused": isinstance(error, Refused), **place(error)}


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
    """End the process by SIGXCPU when it has computed for ``seconds`` more, in whole seconds: nobody may be left to end it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = math.ceil(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main(arguments: Sequence[str]) -> None:
    # an interrupt is for the one who started this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory, seconds = int(arguments[0]), float(arguments[1])
    limit_memory(memory)
    worker = Worker(seconds)
    print("{}", flush=True)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        limit_seconds(request["seconds"])
        begin = time.process_time()
        answer = worker.answer(request)
        reply = json.dumps({**answer, "computed": time.process_time() - begin, "late": worker.late})
        with contextlib.suppress(BrokenPipeError):
            print(reply, flush=True)
