"""Find the llama-server at an address, or say what is there instead and what can be done about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from promptguard.core.errors import EngineError
from promptguard.diagnosis.result import Check
from promptguard.engines.http import API_KEY_VARIABLE, Answer, JSONClient

_OWN_PATHS = re.compile(r"/(?:v1(?:/.*)?|props|slots|metrics|health|models|completions?|chat/completions|tokenize)$")
"""What belongs to a request, not to the address of the server."""

_TRY_SECONDS = 5.0  # for an answer that only tells what is there
_TEXT = 120  # characters of a name or a version that somebody else gives

EMBEDDED = "promptguard replay measures with a llama-server: start one with the same GGUF file, or leave --server out"
_OWNERS: Mapping[str, tuple[str, str]] = {
    "vllm": (
        "vLLM",
        f"{EMBEDDED}; vLLM itself reuses prefixes with --enable-prefix-caching and tells with --enable-prompt-tokens-details",
    ),
    "sglang": (
        "SGLang",
        f"{EMBEDDED}; SGLang itself reuses prefixes without --disable-radix-cache and tells with --enable-cache-report",
    ),
    "library": ("Ollama", f"{EMBEDDED}; Ollama keeps the cache as long as OLLAMA_KEEP_ALIVE says"),
    "me": ("llama-cpp-python", f"{EMBEDDED}; its server does not tell what it cached"),
}
"""``owned_by`` in the list of models: the server that gives it, and what can be done there."""


class OtherServerError(EngineError):
    """Something else answers.

    Attributes:
        kind: what it is, with its version, as far as it tells.
    """

    def __init__(self, what: str, *, kind: str, where: str, hint: str) -> None:
        super().__init__(what, where=where, hint=hint)
        self.kind = kind


@dataclass(frozen=True)
class Reached:
    """A llama-server that answers.

    Attributes:
        client: the connection.
        props: its answer to ``/props``.
        check: what was found of the way to it.
    """

    client: JSONClient
    props: Mapping[str, Any]
    check: Check


def reach(url: str, *, api_key: str | None, timeout: float) -> Reached:
    """Connect to a llama-server.

    Args:
        url: checked with ``check_url``.
        api_key: sent to this server alone.
        timeout: seconds for one answer.

    Raises:
        EngineError: there is none; the message says what is there and what to do.
    """
    client = JSONClient(url, api_key=api_key, timeout=timeout, loading=0.0)
    try:
        answer = client.look("/props")
    except EngineError as error:
        client.close()
        raise _unreachable(url, error) from None
    if (props := _props(answer)) is not None:
        return Reached(client, props, _way(url, url, answer))
    base = _OWN_PATHS.sub("", url)
    if base != url and answer.status not in (401, 403):
        client.close()
        client = JSONClient(base, api_key=api_key, timeout=timeout, loading=0.0)
        answer = client.look("/props")
        if (props := _props(answer)) is not None:
            return Reached(client, props, _way(url, base, answer))
    try:
        raise _not_one(client, answer)
    finally:
        client.close()


def _props(answer: Answer) -> Mapping[str, Any] | None:
    """The settings of a llama-server with a model, ``None`` where this is none."""
    value = _decoded(answer) if answer.status == 200 else None
    if not isinstance(value, dict) or not isinstance(value.get("default_generation_settings"), dict):
        return None
    return None if value.get("role") == "router" else value


def _way(url: str, base: str, answer: Answer) -> Check:
    through = _proxy(answer)
    if base != url:
        return Check(
            "address",
            "in-the-way",
            f"{url[len(base) :]} does not belong to the address",
            "clients of the OpenAI API are given the address with /v1, promptguard the address of the server alone",
            f"--server {base}",
        )
    if through:
        return Check(
            "address",
            "ok",
            f"answers by way of {through}",
            "a proxy has to send every request to the same server, wait for long prompts, and not collect streamed answers",
            "nginx: proxy_buffering off; proxy_read_timeout 600s; one server in upstream",
        )
    return Check("address", "ok", f"answers at {base}")


def _proxy(answer: Answer) -> str:
    """The name of a proxy in between, empty where none shows."""
    if via := answer.headers.get("via"):
        return _short(via)
    name = answer.headers.get("server", "llama.cpp")
    return "" if "llama.cpp" in name else _short(name)


# -- what else there is


def _unreachable(url: str, error: EngineError) -> EngineError:
    parts = urlsplit(url)
    if "certificate" in error.what.lower():
        return EngineError(error.what, where=url, hint="name the certificate of its authority in SSL_CERT_FILE")
    other = "http" if parts.scheme == "https" else "https"
    try:
        # Without the key: it is not for whoever answers here.
        client = JSONClient(urlunsplit((other, *parts[1:])), timeout=_TRY_SECONDS, loading=0.0)
        try:
            client.look("/health")
        finally:
            client.close()
    except EngineError as second:
        if other == "https" and "certificate" in second.what.lower():
            return EngineError("speaks https, not http", where=url, hint=f"give https://{parts.netloc}{parts.path}")
        return error
    return EngineError(f"speaks {other}, not {parts.scheme}", where=url, hint=f"give {other}://{parts.netloc}{parts.path}")


def _not_one(client: JSONClient, answer: Answer) -> EngineError:
    url = client.base_url
    value = _decoded(answer)
    if answer.status in (401, 403):
        return EngineError(
            "wants an API key, or another one", where=url, hint=f"put it in the environment variable {API_KEY_VARIABLE}"
        )
    if isinstance(value, dict) and value.get("role") == "router":
        return OtherServerError(
            "is a llama-server that passes requests on to others (router)",
            kind="llama-server (router)",
            where=url,
            hint="give the address of one server with a model, started with -m FILE",
        )
    if answer.status == 503 and "loading" in answer.body[:1000].decode("utf-8", "replace").lower():
        return EngineError("is still loading its model", where=url, hint="ask again when GET /health answers with 200")
    if answer.status in (301, 302, 303, 307, 308):
        target = _short(answer.headers.get("location", "somewhere else"))
        return EngineError(f"redirects to {target}", where=url, hint="give the address that answers itself")
    if answer.status in (502, 503, 504):
        return EngineError(
            f"answers with HTTP {answer.status}: a proxy without its server", where=url, hint="start the llama-server behind it"
        )
    kind, hint = _identify(client)
    if kind:
        return OtherServerError(f"is {kind}, not a llama-server", kind=kind, where=url, hint=hint)
    content = _short(answer.headers.get("content-type", "nothing that says its type").partition(";")[0])
    return OtherServerError(
        f"is not a llama-server: /props gives HTTP {answer.status} and {content}",
        kind="",
        where=url,
        hint="give the address of a llama-server, without any path",
    )


def _identify(client: JSONClient) -> tuple[str, str]:
    """Which other server this is, with its version as far as it tells, and what can be done; empty where it does not tell."""
    if (version := _version(client, "/api/version")) and b"ollama" in _body(client, "/").lower():
        return f"Ollama {version}", _OWNERS["library"][1]
    models = _decoded(_peek(client, "/v1/models"))
    entries = models.get("data") if isinstance(models, dict) else None
    first = entries[0] if isinstance(entries, list) and entries and isinstance(entries[0], dict) else {}
    owner = first.get("owned_by")
    if isinstance(owner, str) and owner in _OWNERS:
        name, hint = _OWNERS[owner]
        return f"{name} {_version(client, '/version')}".strip(), hint
    if isinstance(entries, list):
        return "another server with the OpenAI API", EMBEDDED
    return "", ""


def _version(client: JSONClient, path: str) -> str:
    value = _decoded(_peek(client, path))
    version = value.get("version") if isinstance(value, dict) else None
    return _short(version) if isinstance(version, str) else ""


def _body(client: JSONClient, path: str) -> bytes:
    answer = _peek(client, path)
    return answer.body[:1000] if answer.status == 200 else b""


def _peek(client: JSONClient, path: str) -> Answer:
    """An answer that may be missing."""
    try:
        return client.look(path)
    except EngineError:
        return Answer(0, {}, b"")


def _decoded(answer: Answer) -> object:
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None


def _short(text: str) -> str:
    """Somebody else's words, on one line and not many."""
    text = " ".join(text.split())
    return "".join(char if char.isprintable() else "?" for char in text)[:_TEXT]
