"""A llama-server in a child process, for tests that ask the real engine."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_CHILD = """
import json, sys, xllamacpp
settings = json.loads(sys.argv[1])
params = xllamacpp.CommonParams()
params.model.path = settings.pop("model")
params.mmproj.path = settings.pop("projector", "")
params.warmup = False
params.fit_params = False
params.ui = False
params.endpoint_slots = True
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.verbosity = 1
for name, value in settings.items():
    setattr(params, name, value)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


class Server:
    def __init__(self, address: str, process: subprocess.Popen[str], api_key: str | None) -> None:
        self.address = address
        self.process = process
        self._headers = {"Content-Type": "application/json"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), self._headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        return self.post("/tokenize", {"content": text, "add_special": special, "parse_special": special})["tokens"]

    def render(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = ()) -> str:
        return self.post("/apply-template", {"messages": messages, **({"tools": tools} if tools else {})})["prompt"]

    def complete(self, tokens: Sequence[int], slot: int = -1) -> tuple[int, int]:
        """Cached and prefilled tokens of a prompt."""
        body = {"prompt": list(tokens), "n_predict": 1, "cache_prompt": True, "id_slot": slot}
        timings = self.post("/completion", body)["timings"]
        return timings["cache_n"], timings["prompt_n"]


@contextlib.contextmanager
def serve(
    model: Path, context: int = 4096, *, slots: int = 1, cache_ram: int = 0, api_key: str | None = None, **settings: Any
) -> Iterator[Server]:
    """A server that ends with the block.

    Args:
        model: the GGUF file.
        context: context of all slots together, in tokens.
        slots: number of slots.
        cache_ram: MiB of the host prompt cache.
        api_key: the key that requests must bring.
        settings: further fields of ``xllamacpp.CommonParams``, such as ``chat_template``, ``cache_prompt``, ``swa_full``;
            ``projector`` is the file of a multimodal projector.
    """
    settings |= {"model": str(model), "n_ctx": context, "n_parallel": slots, "cache_ram_mib": cache_ram}
    if api_key is not None:
        settings["api_keys"] = [api_key]
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, json.dumps(settings)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        address = child.stdout.readline().strip()
        assert address, f"the server did not start on {model}"
        yield Server(address, child, api_key)
    finally:
        child.stdin.close()
        child.wait(timeout=30)
        child.stdout.close()


@contextlib.contextmanager
def as_build(server: Server, build: str) -> Iterator[str]:
    """The address of a server as one of the build of August 2025 answers: its number, and timings without the cached tokens."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on(None)

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

        def _pass_on(self, body: bytes | None) -> None:
            request = urllib.request.Request(server.address + self.path, body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60) as reply:
                    status, data = reply.status, reply.read()
            except urllib.error.HTTPError as error:
                status, data = error.code, error.read()
            if self.path.startswith("/props"):
                data = json.dumps({**json.loads(data), "build_info": build}).encode()
            elif body is not None and b"cache_n" in data:
                answer = json.loads(data)
                del answer["timings"]["cache_n"]
                if "usage" in answer:
                    answer["usage"].pop("prompt_tokens_details", None)
                data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{proxy.server_port}"
        finally:
            proxy.shutdown()
            thread.join()
