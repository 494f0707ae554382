from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tiny_task import write_task

from promptguard.engines.base import Engine
from promptguard.engines.embedded import EmbeddedServer
from promptguard.models.default import default_model
from promptguard.prompts.rendering import Renderer
from promptguard.replaying import command
from promptguard.replaying.inject import parse_injection
from promptguard.replaying.inputs import load_inputs
from promptguard.replaying.result import Result
from promptguard.replaying.run import Options, Replay


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


@pytest.fixture(scope="session")
def embedded() -> Iterator[Engine]:
    engine = EmbeddedServer(default_model(), context=24576)
    with engine:
        yield engine.connect()


@pytest.fixture
def measure(renderer: Renderer) -> Callable[..., Result]:
    """Replay the default task with some of the user's files, on a given engine."""

    def run(engine: Engine, *, inject: str | None = None, options: Options | None = None, **files: Path) -> Result:
        chosen = options or Options(inject=parse_injection(inject) if inject else None)
        return Replay(load_inputs(**files), renderer, chosen).run(engine)

    return run


@pytest.fixture
def execute(tmp_path: Path) -> Callable[..., Result]:
    """A replay of the small task with the settings of the command line, and ``before(label)`` called ahead of each request."""
    task = write_task(tmp_path)

    def run(*, inject: str | None = None, before: Callable[[str], None] = lambda _: None, **settings: object) -> Result:
        @contextmanager
        def progress(total: int, description: str) -> Iterator[Callable[[str], None]]:
            yield before

        return command.execute({"task": task, **settings}, inject=inject, progress=progress)

    return run
