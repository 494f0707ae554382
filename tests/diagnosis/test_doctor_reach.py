"""What is at an address, if it is no llama-server, or not quite."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import pytest
import trustme
from diagnoses import check
from fake_server import FakeLlamaServer
from pytest_httpserver import HTTPServer

from promptguard.diagnosis.result import Diagnosis

Examine = Callable[..., Diagnosis]
MISSING = (404, {"detail": "Not Found"})


def models(owner: str) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "some/model", "object": "model", "owned_by": owner}]}


def test_a_path_of_the_api_is_taken_off(fake: FakeLlamaServer, examine: Examine) -> None:
    found = examine(f"{fake.url}/v1")
    address = check(found, "address")
    assert (address.status, address.remedy) == ("in-the-way", f"--server {fake.url}")
    assert (found.url, found.error) == (fake.url, None)


def test_a_proxy_is_named(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.headers["Via"] = "1.1 nginx"
    address = check(examine(fake.url), "address")
    assert (address.status, address.found) == ("ok", "answers by way of 1.1 nginx")
    assert "proxy_buffering off" in address.remedy


@pytest.mark.parametrize(
    ("answers", "kind", "error"),
    [
        ({"/v1/models": models("vllm"), "/version": {"version": "0.33.0"}}, "vLLM 0.33.0", "is vLLM 0.33.0, not a llama-server"),
        ({"/v1/models": models("sglang")}, "SGLang", "is SGLang, not a llama-server"),
        (
            {"/": b"Ollama is running", "/api/version": {"version": "0.33.3"}},
            "Ollama 0.33.3",
            "is Ollama 0.33.3, not a llama-server",
        ),
        ({"/v1/models": models("me")}, "llama-cpp-python", "is llama-cpp-python, not a llama-server"),
        ({"/v1/models": models("acme")}, "another server with the OpenAI API", "not a llama-server; promptguard replay measures"),
    ],
)
def test_another_server_is_named_with_what_can_be_done(
    fake: FakeLlamaServer, examine: Examine, answers: dict[str, Any], kind: str, error: str
) -> None:
    fake.answers = {"/props": MISSING, **answers}
    found = examine(fake.url)
    assert (found.verdict, found.server.kind) == ("unknown", kind)
    assert error in found.error
    assert "start one with the same GGUF file" in found.error


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (
            (401, {"error": {"message": "Invalid API Key"}}),
            "wants an API key, or another one; put it in the environment variable",
        ),
        (
            (503, {"error": {"message": "Loading model"}}),
            "is still loading its model; ask again when GET /health answers with 200",
        ),
        ((503, b"<html>"), "answers with HTTP 503: a proxy without its server"),
        ((502, b"<html>"), "answers with HTTP 502: a proxy without its server"),
        ((200, b"<html>hello</html>"), "is not a llama-server: /props gives HTTP 200 and application/json"),
        ({"default_generation_settings": 5}, "is not a llama-server: /props gives HTTP 200"),
        ([1, 2], "is not a llama-server: /props gives HTTP 200"),
        ({"role": "router", "default_generation_settings": {}}, "is a llama-server that passes requests on to others (router)"),
    ],
)
def test_an_answer_that_cannot_be_judged_says_why(fake: FakeLlamaServer, examine: Examine, answer: object, error: str) -> None:
    fake.answers = {"/props": answer}
    found = examine(fake.url)
    assert found.error.startswith(f"{fake.url}: {error}")
    assert found.checks == ()


def test_a_redirect_is_not_followed(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers = {"/props": (308, {})}
    fake.headers["Location"] = "https://example.org/props"
    assert "redirects to https://example.org/props; give the address that answers itself" in examine(fake.url).error


def test_http_given_as_https(fake: FakeLlamaServer, examine: Examine) -> None:
    found = examine(fake.url.replace("http", "https"), api_key="secret-of-mine")
    assert found.error.endswith(f"speaks http, not https; give {fake.url}")
    assert all("secret-of-mine" not in str(headers) for _, _, headers in fake.seen)


def test_https_given_as_http(examine: Examine) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with HTTPServer(host="127.0.0.1", ssl_context=context) as server:
        found = examine(f"http://127.0.0.1:{server.port}")
        assert f"speaks https, not http; give https://127.0.0.1:{server.port}" in found.error
        assert "SSL_CERT_FILE" in examine(f"https://127.0.0.1:{server.port}").error


def test_nothing_there(examine: Examine) -> None:
    found = examine("http://127.0.0.1:9")
    assert (found.verdict, found.server) == ("unknown", None)
    assert "cannot be reached" in found.error


def test_a_key_that_a_server_echoes_is_not_shown(fake: FakeLlamaServer, examine: Examine) -> None:
    key = "a-key-of-mine"
    fake.headers["Via"] = f"1.1 {key}"
    fake.answers["/props"] = {**fake.answers["/props"], "model_alias": key, "build_info": f"b9999-{key}"}
    fake.answers["/v1/chat/completions"] = (500, {"error": {"message": f"no {key}"}})
    assert key not in repr(examine(fake.url, api_key=key))
    fake.answers["/props"] = (308, {})
    fake.headers["Location"] = f"http://elsewhere/{key}"
    assert examine(fake.url, api_key=key).error.startswith(f"{fake.url}: redirects to http://elsewhere/***; ")


def test_a_build_that_renders_no_chat_templates_is_too_old(fake: FakeLlamaServer, examine: Examine) -> None:
    del fake.answers["/apply-template"]
    found = examine(fake.url)
    assert check(found, "context").status == "unknown"
    assert (check(found, "prompt-cache").status, check(found, "prompt-cache").found) == (
        "in-the-way",
        "it cannot render chat templates",
    )


@pytest.mark.parametrize("requests", [True, False])
def test_a_server_that_tells_nothing_cannot_be_judged(fake: FakeLlamaServer, examine: Examine, requests: bool) -> None:
    fake.answers["/props"] = {"default_generation_settings": {"n_ctx": "many"}, "chat_template": 5}
    fake.answers["/slots"] = fake.answers["/v1/chat/completions"] = (404, {})
    found = examine(fake.url, requests=requests)
    assert (found.verdict, found.in_the_way, len(found.checks)) == ("unknown", (), 14)
    assert found.error == (
        f"{fake.url}: tells neither its context nor its chat template, and no prompt showed what it reuses; "
        "look at what GET /props answers there"
    )


HOSTILE: list[tuple[str, object]] = [
    ("/props", {"default_generation_settings": {"n_ctx": "many"}, "total_slots": -5, "model_alias": ["x"], "modalities": 7}),
    ("/props", {"default_generation_settings": {"n_ctx": 10**30}, "total_slots": 10**30, "build_info": "b" * 10**6}),
    ("/props", {"default_generation_settings": {"n_ctx": 4096}, "chat_template": 5, "modalities": {"\x1b[31m": True}}),
    ("/slots", [{"id": 0, "n_ctx": None, "id_task": "x", "is_processing": "yes"}]),
    ("/slots", [{"id": True}]),
    ("/slots", b"\xff\xfe"),
    ("/metrics", b"llamacpp:prompt_tokens_total nan\nllamacpp:prompt_tokens_total 1e999\n\xff" + b"x" * 10**6),
    ("/tokenize", {"tokens": "all"}),
    ("/tokenize", []),
    ("/tokenize", {"tokens": []}),
    ("/apply-template", {"prompt": ["x"]}),
    ("/apply-template", b"not json"),
    ("/v1/chat/completions", []),
    ("/v1/chat/completions", {"timings": [1]}),
    ("/v1/chat/completions", {"timings": {"cache_n": 10**40, "prompt_n": -1, "prompt_per_second": "fast"}, "__verbose": 3}),
    (
        "/v1/chat/completions",
        {"timings": {"cache_n": True, "prompt_n": 1.5, "prompt_per_second": 1e400}, "__verbose": {"id_slot": []}},
    ),
    ("/v1/chat/completions", (500, {"error": {"message": "\x1b]0;boo\x07" * 1000}})),
    ("/v1/chat/completions", (400, b"")),
]


@pytest.mark.parametrize(("path", "answer"), HOSTILE)
def test_hostile_answers_end_in_a_report(fake: FakeLlamaServer, examine: Examine, path: str, answer: object) -> None:
    from promptguard.report.doctor import FORMATS, render

    fake.answers[path] = answer
    found = examine(fake.url)
    for form in FORMATS:
        text = render(found, form)
        assert len(text) < 20_000
        assert all(char.isprintable() or char == "\n" for char in text)
