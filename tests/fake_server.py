"""A llama-server that tells what the test wants it to tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

PROPS: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 4096},
    "total_slots": 1,
    "model_alias": "some/model.gguf",
    "build_info": "b9999-abc",
    "chat_template": "{{ messages[0].content }}",
    "bos_token": "<s>",
    "eos_token": "</s>",
}
SLOT = {"id": 0, "n_ctx": 4096, "is_processing": False, "id_task": 7}


def tokenize(body: dict[str, Any]) -> dict[str, list[Any]]:
    """Every character is a token."""
    if body.get("with_pieces"):
        return {"tokens": [{"id": ord(char), "piece": char} for char in body["content"]]}
    return {"tokens": [ord(char) for char in body["content"]]}


class FakeLlamaServer:
    """Answers are values, or functions of the request's JSON body; a tuple is ``(status, value)``; bytes are sent as they are.

    ``headers`` are those of every answer.
    """

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("").rstrip("/")
        self.seen: list[tuple[str, Any, dict[str, str]]] = []
        self.headers: dict[str, str] = {}
        self.answers: dict[str, Any] = {
            "/props": PROPS,
            "/slots": [SLOT],
            "/tokenize": tokenize,
            "/apply-template": lambda body: {"prompt": "".join(message["content"] for message in body["messages"])},
            "/completion": lambda body: {"timings": {"cache_n": 0, "prompt_n": len(body["prompt"])}},
        }
        server.expect_request("/props").respond_with_handler(self._answer)
        for path in ("/slots", "/tokenize", "/apply-template", "/completion", "/v1/chat/completions", "/v1/props", "/health"):
            server.expect_request(path).respond_with_handler(self._answer)
        for path in ("/", "/metrics", "/v1/props", "/v1/models", "/version", "/api/version"):
            server.expect_request(path).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        body = json.loads(request.data) if request.data else None
        self.seen.append((request.path, body, dict(request.headers)))
        answer = self.answers.get(request.path, (404, {"error": {"message": "File Not Found"}}))
        if isinstance(answer, Callable):
            answer = answer(body)
        status, value = answer if isinstance(answer, tuple) else (200, answer)
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        return Response(data, status=status, headers=self.headers, content_type="application/json")

    def bodies(self, path: str) -> list[Any]:
        return [body for seen, body, _ in self.seen if seen == path]
