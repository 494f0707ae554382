"""Embedded engines that several replays share: each is started at its first use and ends with all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from promptguard.engines.base import Engine
from promptguard.engines.embedded import EmbeddedServer


@dataclass
class SharedEngine:
    """An engine that ``close`` leaves running, for the next replay."""

    server: EmbeddedServer
    context: int
    connected: bool = False

    def connect(self) -> Engine:
        """The engine, ready."""
        if not self.connected:
            self.server.connect()
            self.connected = True
        return self.server

    def close(self) -> None:
        """Nothing: it ends with ``Engines``."""


class Engines:
    """The engines of a session. What one replay leaves in a prefix cache does not count as the merit of the next one."""

    def __init__(self) -> None:
        self._running: dict[tuple[Path, str | None, bool], SharedEngine] = {}

    def embedded(self, model: Path, *, context: int, chat_template: str | None, swa_full: bool, timeout: float) -> SharedEngine:
        """An engine with this model and at least this context; the arguments are those of ``EmbeddedServer``."""
        key = model.resolve(), chat_template, swa_full
        running = self._running.get(key)
        if running is not None and running.context >= context and (not running.connected or running.server.alive):
            return running
        if running is not None:
            running.server.close()
        server = EmbeddedServer(model, context=context, chat_template=chat_template, swa_full=swa_full, timeout=timeout)
        self._running[key] = shared = SharedEngine(server, context)
        return shared

    def close(self) -> None:
        """End all engines."""
        for running in self._running.values():
            running.server.close()
        self._running.clear()

    def __enter__(self) -> Engines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
