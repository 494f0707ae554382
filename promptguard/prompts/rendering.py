"""Rendering of templates, in a process of its own that can be bounded and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from promptguard.core.errors import TemplateError
from promptguard.core.source import Place, Source, Span
from promptguard.prompts.request import Message, Piece, Tool, Traced
from promptguard.prompts.standins import StandIn

START_SECONDS = 60.0
"""How long the process may take to start, on a slow and busy machine."""

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from promptguard.prompts import _render_worker as w; w.main()"


@dataclass(frozen=True)
class Limits:
    """What one render may take.

    Attributes:
        seconds: wall time.
        characters: length of the rendered text, in code points.
        template: length of the template, in code points.
        request: length of everything that is handed to the template, in characters of JSON.
        memory: bytes by which the rendering process may grow, where the platform can limit it.
    """

    seconds: float = 5.0
    characters: int = 4 << 20
    template: int = 1 << 20
    request: int = 32 << 20
    memory: int = 512 << 20


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
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._worker: subprocess.Popen[bytes] | None = None
        self._ready = False

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Start the process without waiting for it, so that it is ready when it is needed."""
        if self._worker is None:
            options: dict[str, Any] = (
                {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if sys.platform == "win32" else {"start_new_session": True}
            )
            self._worker = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, json.dumps(_module_path()), str(self.limits.memory), str(self.limits.seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                **options,
            )
            self._ready = False

    def close(self) -> None:
        """End the process; a later render starts another one."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:  # what was not yet written has nobody to go to
                        continue

    def render_system(
        self, source: Source, context: Mapping[str, Any], *, clock: datetime, turn: int, seed: int
    ) -> SystemPrompt:
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
        reply = self._ask(source, {"chat": False, "variables": context, "clock": clock.isoformat(), "turn": turn, "seed": seed})
        return SystemPrompt(_traced(source, reply), tuple(StandIn(*stand_in) for stand_in in reply["stand_ins"]))

    def render_chat(
        self,
        source: Source,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None,
        *,
        add_generation_prompt: bool,
        clock: datetime,
        bos_token: str = "",
        eos_token: str = "",
        kwargs: Mapping[str, Any] | None = None,
        server: bool = True,
    ) -> Traced:
        """Render a chat template as model servers do.

        Args:
            source: the template.
            messages: the conversation as the template is to see it, see ``chat.prepare``.
            tools: the tools as the template is to see them.
            add_generation_prompt: whether the header of the next reply is added.
            clock: the time that ``strftime_now`` and the date variables show.
            bos_token, eos_token: their texts.
            kwargs: further variables, which go ahead of all others.
            server: whether the template finds what a llama-server gives it (``date_string``, ``datetime``, ``enable_thinking``,
                and no ``tools`` where there are none) or what transformers and llama-cpp-python give it (``tools`` always).

        Raises:
            TemplateError: where the template does not parse or render, refuses the request, or exceeds a limit.
        """
        variables: dict[str, Any] = {"messages": messages, "bos_token": bos_token, "eos_token": eos_token}
        if server:
            variables |= {
                "date_string": clock.strftime("%d %b %Y"),
                "datetime": clock.strftime("%b %d %Y"),
                "enable_thinking": True,
            }
            if tools:
                variables["tools"] = tools
            if add_generation_prompt:
                variables["add_generation_prompt"] = True
        else:
            variables |= {"tools": tools or None, "add_generation_prompt": add_generation_prompt}
        variables |= kwargs or {}
        return _traced(source, self._ask(source, {"chat": True, "variables": variables, "clock": clock.isoformat()}))

    def _ask(self, source: Source, request: Mapping[str, Any]) -> dict[str, Any]:
        limits = self.limits
        if len(source.text) > limits.template:
            raise TemplateError(
                f"the template is longer than {limits.template:,} characters", where=source.path, hint="is it the right file?"
            )
        try:
            line = json.dumps({**request, "template": source.text, "limit": limits.characters}, default=str).encode() + b"\n"
        except (ValueError, TypeError, RecursionError) as error:
            raise TemplateError(f"its variables cannot be handed over: {error}", where=source.path) from error
        if len(line) > limits.request:
            raise TemplateError(f"its variables are longer than {limits.request:,} characters", where=source.path)
        reply = self._exchange(line, source)
        if "error" in reply:
            raise TemplateError(reply["error"], where=_where(source, reply))
        try:
            reply["text"].encode()
        except UnicodeEncodeError as error:
            what = f"the template prints half of a surrogate pair at character {error.start}, which is no text"
            raise TemplateError(what, where=source.path) from error
        return reply

    def _exchange(self, line: bytes, source: Source) -> dict[str, Any]:
        """Send a request, and read the reply in time."""
        self.start()
        if not self._ready:
            # the template is not to blame for the time that the process takes to start
            if self._talk(None, START_SECONDS) is None:
                self.close()
                raise TemplateError(
                    "the process that renders templates does not start",
                    where=source.path,
                    hint=f"does `{sys.executable} -c 'import jinja2'` work?",
                )
            self._ready = True
        answer = self._talk(line, self.limits.seconds)
        if isinstance(answer, dict):
            return answer
        self.close()
        if answer is False:
            what, hint = f"takes longer than {self.limits.seconds:g} s to render", "look for an endless or huge loop"
        else:
            what, hint = "the process that renders it died, probably from lack of memory", "look for a huge value"
        raise TemplateError(what, where=source.path, hint=hint)

    def _talk(self, line: bytes | None, seconds: float) -> Any:
        """Write a line if there is one, and read one: the JSON value, ``False`` when time ran out, ``None`` at the end."""
        worker = self._worker
        assert worker is not None
        assert worker.stdin is not None
        assert worker.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            worker.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            if line is not None:
                worker.stdin.write(line)
                worker.stdin.flush()
            reply = worker.stdout.readline()
            return json.loads(reply)
        except (OSError, ValueError):
            return False if late.is_set() else None
        finally:
            timer.cancel()


def _module_path() -> list[str]:
    """Where this interpreter finds its modules, without the current directory, and with this package in any case."""
    path = [entry for entry in sys.path if entry and os.path.isabs(entry)]  # noqa: PTH117
    root = str(Path(__file__).resolve().parents[2])
    return path if root in path else [*path, root]


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
