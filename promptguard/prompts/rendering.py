"""Rendering of templates, in a process of its own that can be bounded and ended."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any

from promptguard.core.child import Child
from promptguard.core.errors import TemplateError, TemplateLimitError, TemplateRefusal
from promptguard.core.source import Place, Source, Span
from promptguard.prompts.request import Message, Piece, Tool, Traced
from promptguard.prompts.standins import StandIn

START_SECONDS = 60.0
"""How long the process may take to start, on a slow and busy machine."""
PATIENCE = 10.0
"""How many times its processor time a task may take by the clock: a machine that is busy with other work is not to blame on a
template.
"""
_LEAST = 0.001  # seconds in which something can be done


@dataclass(frozen=True)
class Limits:
    """What one render may take.

    Attributes:
        seconds: processor time; by the clock ``PATIENCE`` times as long.
        characters: length of the rendered text, in code points.
        template: length of the template, in code points.
        variables: length of everything that is handed to the template, in characters of JSON.
        memory: bytes by which the rendering process may grow, where the platform can limit it.
    """

    seconds: float = 5.0
    characters: int = 4 << 20
    template: int = 1 << 20
    variables: int = 32 << 20
    memory: int = 512 << 20


@dataclass(frozen=True)
class ChatCall:
    """What a chat template is called with.

    Attributes:
        messages: the conversation as the template is to see it, see ``chat.prepare``.
        tools: the tools as the template is to see them.
        add_generation_prompt: whether the header of the next reply is added.
        clock: the time that ``strftime_now`` and the date variables show.
        bos_token: text of the token that starts a prompt.
        eos_token: text of the token that ends a reply.
        kwargs: further variables, which go ahead of all others.
        server: whether the template finds what a llama-server gives it (``date_string``, ``datetime``, ``enable_thinking``,
            and no ``tools`` where there are none) or what transformers and llama-cpp-python give it (``tools`` always).
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] | None
    add_generation_prompt: bool
    clock: datetime
    bos_token: str = ""
    eos_token: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    server: bool = True

    def variables(self) -> dict[str, Any]:
        """The variables that the template finds."""
        found: dict[str, Any] = {"messages": self.messages, "bos_token": self.bos_token, "eos_token": self.eos_token}
        if self.server:
            found |= {
                "date_string": self.clock.strftime("%d %b %Y"),
                "datetime": self.clock.strftime("%b %d %Y"),
                "enable_thinking": True,
            }
            if self.tools:
                found["tools"] = self.tools
            if self.add_generation_prompt:
                found["add_generation_prompt"] = True
        else:
            found |= {"tools": self.tools or None, "add_generation_prompt": self.add_generation_prompt}
        return {**found, **self.kwargs}


@dataclass(frozen=True)
class SystemPrompt:
    """A rendered system prompt.

    Attributes:
        traced: the text, and which part of the template printed what.
        stand_ins: what the template asked for and the context did not give, in the order of use.
    """

    traced: Traced
    stand_ins: tuple[StandIn, ...] = ()


class Renderer:
    """Renders templates that are not trusted.

    The work is done in a child process, which is started on demand, replaced when a template has brought it down, and ends with
    its parent. Use it as a context manager or call ``close``.

    Attributes:
        limits: what one render may take.
        computed: seconds of processor time that the process has taken so far.
        given_up: how many renders were given up because of the time, or because the process died. That says something of the
            machine too: the next time it may be otherwise.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.computed = 0.0
        self.given_up = 0
        self._worker: _Worker | None = None

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Start the process without waiting for it, so that it is ready when it is needed."""
        if self._worker is None:
            try:
                self._worker = _Worker(self.limits)
            except OSError as error:
                raise TemplateError(f"the process that renders templates cannot be started: {error}") from error

    def close(self) -> None:
        """End the process; a later render starts another one."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def render_system(self, source: Source, context: Mapping[str, Any], *, clock: datetime, turn: int, seed: int) -> SystemPrompt:
        """Render a template of a system prompt as plain jinja2 does.

        Args:
            source: the template; a source of kind ``text`` is taken as it is.
            context: the variables that the user gives; a value that JSON does not know is given as its text.
            clock: the time that clocks show.
            turn: number of the turn, from 1, of which varying stand-ins depend.
            seed: of which varying stand-ins and the ``random`` filter depend.

        Raises:
            TemplateError: where the template does not parse or render, or exceeds a limit.
        """
        if source.kind == "text":
            pieces = (Piece(0, len(source.text), Place(source, Span(0, len(source.text)))),) if source.text else ()
            return SystemPrompt(Traced(source.text, pieces))
        reply = self._ask(source, context, chat=False, trace=True, clock=clock.isoformat(), turn=turn, seed=seed)
        return SystemPrompt(_traced(source, reply), tuple(StandIn(*stand_in) for stand_in in reply["stand_ins"]))

    def render_chat(self, source: Source, call: ChatCall, *, trace: bool = True) -> Traced:
        """Render a chat template as model servers do.

        Args:
            source: the template.
            call: what it is called with.
            trace: whether the pieces are wanted; without them it takes half the time.

        Raises:
            TemplateError: where the template does not parse or render, refuses the request, or exceeds a limit.
        """
        reply = self._ask(source, call.variables(), chat=True, trace=trace, clock=call.clock.isoformat())
        return _traced(source, reply)

    def render_chats(
        self, source: Source, calls: Sequence[ChatCall], *, trace: bool = False, seconds: float | None = None
    ) -> list[Traced | TemplateError]:
        """Render a chat template several times, in one message to the process; the limits hold for all of it together.

        A call that exceeds one does not keep the others from being rendered, as long as there is time for them.

        Args:
            source: the template.
            calls: what it is called with.
            trace: whether the pieces are wanted.
            seconds: processor time, where it is to be less than the limit.

        Returns:
            For each call the text, or why the template does not render it.

        Raises:
            TemplateError: where the template does not parse.
            TemplateLimitError: where it takes too long in all, or brings down the process.
        """
        given = [(self._given(source, call.variables()), call.clock.isoformat()) for call in calls]
        once = dict.fromkeys(given)
        request = {"template": source.text, "calls": list(once), "trace": trace, "limit": self.limits.characters}
        reply = self._exchange(request, source, seconds)
        if "error" in reply:
            raise _error(source, reply)
        made = {key: _made(source, {**each, "parts": reply["parts"]}) for key, each in zip(once, reply["replies"], strict=True)}
        return [made[key] for key in given]

    def names(self, source: Source) -> frozenset[str]:
        """The variables that a chat template reads and does not set, but for a default.

        Raises:
            TemplateError: where the template does not parse.
        """
        self._check_length(source)
        reply = self._exchange({"template": source.text, "names": True}, source)
        if "error" in reply:
            raise _error(source, reply)
        return frozenset(reply["names"])

    def _ask(self, source: Source, variables: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        given = self._given(source, variables)
        request = {**options, "template": source.text, "variables": given, "limit": self.limits.characters}
        return _checked(source, self._exchange(request, source))

    def _given(self, source: Source, variables: Mapping[str, Any]) -> str:
        """The variables of a render as JSON: each of the worker's renders reads its own copy."""
        self._check_length(source)
        try:
            given = json.dumps(variables, default=str)
        except (ValueError, TypeError, RecursionError) as error:
            raise TemplateError(f"its variables cannot be handed over: {error}", where=source.path) from error
        longest = self.limits.variables
        if len(given) > longest:
            raise TemplateError(f"its variables are longer than {longest:,} characters of JSON", where=source.path)
        return given

    def _check_length(self, source: Source) -> None:
        longest = self.limits.template
        if len(source.text) > longest:
            what = f"the template is longer than {longest:,} characters"
            raise TemplateError(what, where=source.path, hint="is it the right file?")

    def _exchange(self, request: Mapping[str, Any], source: Source, seconds: float | None = None) -> dict[str, Any]:
        """Send a request and read the reply; a process that did not answer is given up."""
        seconds = self.limits.seconds if seconds is None else min(seconds, self.limits.seconds)
        answered = False
        try:
            if seconds < _LEAST:
                raise TimeoutError
            self.start()
            assert self._worker is not None  # start has just seen to it
            reply = self._worker.ask({**request, "seconds": seconds}, seconds * PATIENCE)
            self.computed += reply["computed"]
            self.given_up += reply["late"]
            answered = True
        except TimeoutError as error:
            what = f"takes longer than {self.limits.seconds:g} s to render"
            raise TemplateLimitError(what, where=source.path, hint="look for an endless or huge loop") from error
        except EOFError as error:
            what = "the process that renders it died, probably from lack of memory"
            raise TemplateLimitError(what, where=source.path, hint="look for a huge value") from error
        finally:
            if not answered:
                self.given_up += 1
                self.computed += max(0.0, seconds)
                self.close()
        return reply


class Budget:
    """The processor time of a task that renders: what this thread and the rendering process may take for it together.

    Args:
        renderer: renders for the task.
        seconds: how much it is; by the clock ``PATIENCE`` times as long.
    """

    def __init__(self, renderer: Renderer, seconds: float) -> None:
        self._renderer = renderer
        self._end = self._computed() + seconds
        self._deadline = time.monotonic() + seconds * PATIENCE

    @property
    def left(self) -> float:
        """Seconds of processor time that are left; 0 or less where none is."""
        return self._end - self._computed() if time.monotonic() < self._deadline else 0.0

    def _computed(self) -> float:
        return time.thread_time() + self._renderer.computed


class _Worker:
    """A process that runs ``_render_worker``."""

    def __init__(self, limits: Limits) -> None:
        self._ready = False
        self._child = Child("promptguard.prompts._render_worker", str(limits.memory), str(limits.seconds))

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and read the reply, which may take so many seconds by the clock.

        Raises:
            TimeoutError: when the reply did not come in time, or took more processor time than the request allows.
            EOFError: when the process ended.
        """
        if not self._ready:
            self._talk(b"", START_SECONDS)  # the template is not to blame for the time that the process takes to start
            self._ready = True
        return self._talk(json.dumps(request).encode("ascii") + b"\n", seconds)

    def _talk(self, line: bytes, seconds: float) -> dict[str, Any]:
        child = self._child
        late = threading.Event()

        def end() -> None:
            late.set()
            child.process.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            child.stdin.write(line)
            child.stdin.flush()
            reply: dict[str, Any] = json.loads(child.stdout.readline())
        except (OSError, ValueError) as error:
            raise (TimeoutError if late.is_set() or child.ended_by("SIGXCPU") else EOFError) from error
        finally:
            timer.cancel()
        if late.is_set():  # the reply came together with the end
            raise TimeoutError
        return reply

    def close(self) -> None:
        self._child.close(kill=True)


def _checked(source: Source, reply: dict[str, Any]) -> dict[str, Any]:
    """The reply to a render, where it holds a text.

    Raises:
        TemplateError: it says what went wrong, or the text is none.
    """
    if "error" in reply:
        raise _error(source, reply)
    try:
        reply["text"].encode()
    except UnicodeEncodeError as error:
        what = f"the template prints half of a surrogate pair at character {error.start}, which is no text"
        raise TemplateError(what, where=source.path) from error
    return reply


def _made(source: Source, reply: dict[str, Any]) -> Traced | TemplateError:
    try:
        return _traced(source, _checked(source, reply))
    except TemplateError as error:
        return error


def _error(source: Source, reply: Mapping[str, Any]) -> TemplateError:
    kind = TemplateLimitError if reply["limit"] else TemplateRefusal if reply["refused"] else TemplateError
    error = kind(reply["error"], where=_where(source, reply))
    error.place = _place(source, reply)
    return error


def _place(source: Source, reply: Mapping[str, Any]) -> Place | None:
    """Where the template goes wrong: up to the end of the line from where it is known, else the line."""
    if "line" not in reply:
        return None
    starts = [*source.line_starts, len(source.text)]
    start, end = (starts[min(line, len(starts) - 1)] for line in (reply["line"] - 1, reply["line"]))
    start = max(start, reply.get("offset", start))
    text = source.text[start:end]
    return Place(source, Span(end - len(text.lstrip()), start + len(text.rstrip()))) if text.strip() else None


def _where(source: Source, reply: Mapping[str, Any]) -> str:
    if "offset" in reply:
        line, column = source.line_column(reply["offset"])
        return f"{source.path}:{line}:{column}"
    return f"{source.path}:{reply['line']}" if "line" in reply else source.path


def _traced(source: Source, reply: Mapping[str, Any]) -> Traced:
    pieces = []
    position = 0
    for length, index in reply["pieces"]:
        if index >= 0:
            start, end, code = reply["parts"][index]
            expression = source.text[code[0] : code[1]] if code else None
            pieces.append(Piece(position, position + length, Place(source, Span(start, end)), expression))
        position += length
    return Traced(reply["text"], tuple(pieces))
