"""An engine that keeps count of the time spent waiting for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

from promptguard.engines.base import Completion, Engine, EngineInfo, LiveReply
from promptguard.prompts.request import Request

T = TypeVar("T")


class TimedEngine:
    """Pass every call on to ``engine`` and add its wall time to ``seconds``."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.seconds = 0.0

    def wait(self, call: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            return call()
        finally:
            self.seconds += time.perf_counter() - start

    @property
    def info(self) -> EngineInfo:
        return self.engine.info

    def apply_template(self, request: Request) -> str | None:
        return self.wait(lambda: self.engine.apply_template(request))

    def tokenize(self, text: str) -> list[int]:
        return self.wait(lambda: self.engine.tokenize(text))

    def tokenize_reply(self, text: str) -> list[int]:
        return self.wait(lambda: self.engine.tokenize_reply(text))

    def pieces(self, text: str) -> list[bytes]:
        return self.wait(lambda: self.engine.pieces(text))

    def complete(self, tokens: Sequence[int], *, cache: bool = True) -> Completion:
        return self.wait(lambda: self.engine.complete(tokens, cache=cache))

    def place(self, tokens: Sequence[int]) -> None:
        self.wait(lambda: self.engine.place(tokens))

    def chat(self, request: Request, *, max_tokens: int) -> LiveReply:
        return self.wait(lambda: self.engine.chat(request, max_tokens=max_tokens))

    def close(self) -> None:
        self.wait(self.engine.close)

    def __enter__(self) -> TimedEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
