"""JSON over HTTP to a server that is not trusted: bounded in time and size, retried only where nothing can be counted twice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import orjson

from promptguard.core.errors import ConfigError, EngineError
from promptguard.engines.base import StatusError

API_KEY_VARIABLE = "PROMPTGUARD_API_KEY"
MAX_BODY = 64 * 2**20
CONNECT_TRIES = 3


def check_url(url: str, *, where: str = "--server") -> str:
    """The base URL of a server without a trailing slash.

    Args:
        url: what the user gave.
        where: the option or argument that it was given for.

    Raises:
        ConfigError: it is not an http or https URL, or carries credentials, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError("is not a URL", where=f"{where} {url!r}", hint="give something like http://127.0.0.1:8080") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "a URL with a user name or password in it is not used",
            where=where,
            hint=f"put the API key in {API_KEY_VARIABLE}",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigError(
            "is not an http or https URL", where=f"{where} {url!r}", hint="give something like http://127.0.0.1:8080"
        )
    if parts.query or parts.fragment:
        raise ConfigError("takes a base URL, without ? or #", where=f"{where} {url!r}")
    return url.rstrip("/")


class Answer(NamedTuple):
    """What a server sent back, whatever it is.

    Attributes:
        status: HTTP status.
        headers: by name in lower case.
        body: all of it, ``MAX_BODY`` bytes at most.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class JSONClient:
    """A connection to one server.

    Args:
        base_url: checked with ``check_url``.
        api_key: sent as a bearer token; never part of a message.
        timeout: seconds for one answer; prefilling a long prompt on a small device can take minutes.
        loading: seconds to wait in all for a server that answers ``503`` while it loads its model.
        explain: asked, with the path of the request, when there is no answer; it may know why.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 600.0,
        loading: float = 300.0,
        explain: Callable[[str], EngineError | None] = lambda _: None,
    ) -> None:
        self.base_url = base_url
        self._secret = api_key
        self._timeout = timeout
        self._loading = loading
        self._explain = explain
        parts = urlsplit(base_url)
        try:
            headers = {b"Authorization": f"Bearer {api_key}".encode("ascii")} if api_key else {}
        except UnicodeEncodeError:
            raise ConfigError("the API key has characters that a header cannot hold", where=API_KEY_VARIABLE) from None
        try:
            self._client = httpx.Client(
                base_url=base_url,
                headers=headers,
                timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
                # A proxy from the environment has no business between us and our own machine.
                trust_env=(parts.hostname or "").lower() not in ("127.0.0.1", "::1", "localhost"),
                # Certificates take a while to load, and plain http has no use for them: a redirect to https is not followed.
                verify=httpx.create_ssl_context() if parts.scheme == "https" else False,
                follow_redirects=False,
                # An idle connection that the server closes just as we send would leave us unable to tell whether a turn ran.
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        except httpx.InvalidURL as error:
            raise ConfigError(f"is not a URL ({error})", where=f"--server {base_url!r}") from None

    def get(self, path: str) -> Any:
        return self._send("GET", path, None, again=True)

    def post(self, path: str, body: Mapping[str, Any], *, again: bool = True) -> Any:
        """Send ``body`` and return the decoded answer.

        Args:
            path: below the base URL, with a leading slash.
            body: sent as JSON.
            again: whether the request may be sent a second time after it may have reached the server.

        Raises:
            StatusError: the server answered with another status than 200.
            EngineError: no answer, or none that is JSON.
        """
        return self._send("POST", path, orjson.dumps(body), again=again)

    def look(self, path: str) -> Answer:
        """What the server answers to a GET, be it an error or no JSON at all.

        Raises:
            EngineError: no answer.
        """
        return self._answer("GET", path, None, again=True)

    def close(self) -> None:
        self._client.close()

    def _send(self, method: str, path: str, content: bytes | None, *, again: bool) -> Any:
        answer = self._answer(method, path, content, again=again)
        return self._check(path, answer.status, _json(answer.body))

    def _answer(self, method: str, path: str, content: bytes | None, *, again: bool) -> Answer:
        deadline = time.monotonic() + self._loading
        failures = 0
        while True:
            try:
                answer = self._once(method, path, content)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # nothing was sent
                failures += 1
                if failures >= CONNECT_TRIES:
                    raise self._failed(
                        path, f"cannot be reached ({self._clean(error)})", "is the server running, and is the address right?"
                    ) from None
            except (httpx.TimeoutException, TimeoutError):
                hint = "raise --timeout or look at the server's log"
                raise self._failed(path, f"no answer to {path} within the time limit", hint) from None
            except httpx.HTTPError as error:
                failures += 1
                if not again or failures >= CONNECT_TRIES:
                    what = f"the connection broke during {path} ({self._clean(error)})"
                    raise self._failed(path, what, "the server may have crashed: look at its log") from None
            else:
                # A server that loads its model has not looked at the request; any other 503 may come from behind a proxy.
                if answer.status == 503 and (again or _is_loading(_json(answer.body))) and time.monotonic() < deadline:
                    time.sleep(0.25)
                    continue
                return answer
            time.sleep(0.2 * failures)

    def _failed(self, path: str, what: str, hint: str) -> EngineError:
        """The error for a request without an answer: the one of its owner if the server is a child that died."""
        return self._explain(path) or EngineError(what, where=self.base_url, hint=hint)

    def _once(self, method: str, path: str, content: bytes | None) -> Answer:
        """One request and its whole answer.

        Raises:
            TimeoutError: the answer came, but so slowly that it was not whole in time.
            httpx.HTTPError: no answer.
        """
        sent = {"Accept-Encoding": "identity"}
        if content is not None:
            sent["Content-Type"] = "application/json"
        late = threading.Event()

        def end() -> None:
            late.set()
            self._client.close()

        # httpx limits the time between two bytes; a server that drips them would never run into that.
        timer = threading.Timer(self._timeout, end)
        timer.daemon = True
        timer.start()
        try:
            with self._client.stream(method, path, content=content, headers=sent) as response:
                chunks: list[bytes] = []
                size = 0
                for chunk in response.iter_bytes():
                    size += len(chunk)
                    if size > MAX_BODY:
                        raise EngineError(f"the answer to {path} is larger than {MAX_BODY >> 20} MiB", where=self.base_url)
                    chunks.append(chunk)
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, headers, b"".join(chunks))
        except (httpx.HTTPError, httpx.StreamError, RuntimeError, OSError):
            if late.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()

    def _check(self, path: str, status: int, value: object) -> Any:
        if status == 200:
            if value is None:
                raise EngineError(
                    f"the answer to {path} is not JSON", where=self.base_url, hint="is this the address of a llama-server?"
                )
            return value
        message = _server_message(value) or f"HTTP {status}"
        if status in (401, 403):
            raise StatusError(
                status,
                f"the server refuses the request to {path} ({self._clean(message)})",
                where=self.base_url,
                hint=f"put its API key in the environment variable {API_KEY_VARIABLE}",
            )
        of_clients = status == 404 and self.base_url.endswith("/v1")  # the address that libraries for chat are given
        hint = "leave out /v1 at its end" if of_clients else None
        raise StatusError(status, f"{path}: {self._clean(message)}", where=self.base_url, hint=hint)

    def _clean(self, message: object) -> str:
        """A message of somebody else, on one line, bounded, and without the API key should it echo it."""
        text = " ".join(str(message).split())
        text = "".join(char if char.isprintable() else "?" for char in text)
        if self._secret:
            text = text.replace(self._secret, "***")
        return text[:300] or "no reason given"


def api_key_from_environment() -> str | None:
    return os.environ.get(API_KEY_VARIABLE) or None


def _json(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _is_loading(value: object) -> bool:
    message = _server_message(value)
    return message is not None and "loading" in message.lower()


def _server_message(value: object) -> str | None:
    if isinstance(value, dict):
        error = value.get("error")
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            return str(error["message"])
        if isinstance(error, str):
            return error
    return None
