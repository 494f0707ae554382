from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fake_server import PROPS, SLOT, FakeLlamaServer
from fake_slot import FakeSlot
from pytest_httpserver import HTTPServer

from promptguard.diagnosis.context import Workload
from promptguard.diagnosis.result import Diagnosis
from promptguard.diagnosis.run import diagnose
from promptguard.engines.base import Engine, Need
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Request

REPLY = 255


def hello(engine: Engine) -> Need:
    """What a conversation takes that has one user message and a reply."""
    prompt = engine.apply_template(Request(({"role": "user", "content": "hello"},)))
    assert prompt is not None
    return Need(len(engine.tokenize(prompt)), REPLY)


WORKLOAD = Workload("hello", hello)
PRESERVING = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


@pytest.fixture
def fake(httpserver: HTTPServer) -> FakeLlamaServer:
    """A healthy server whose tokens are characters."""
    fake = FakeLlamaServer(httpserver)
    settings = {"n_ctx": 32768}
    fake.answers["/props"] = {
        **PROPS,
        "default_generation_settings": settings,
        "chat_template": PRESERVING,
        "build_info": "b9999-abc",
    }
    fake.answers["/slots"] = [{**SLOT, "n_ctx": 32768}]
    fake.answers["/v1/chat/completions"] = FakeSlot()
    fake.headers["Server"] = "llama.cpp"
    return fake


@pytest.fixture
def examine(renderer: Renderer) -> Callable[..., Diagnosis]:
    """Diagnose a server."""
    return lambda url, **options: diagnose(url, WORKLOAD, renderer, timeout=30, **options)
