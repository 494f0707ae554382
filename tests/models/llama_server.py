"""A llama-server in a child process, for tests that ask the real engine."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_CHILD = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = int(sys.argv[2])
params.n_parallel = 1
params.cache_ram_mib = 0
params.warmup = False
params.cpuparams.n_threads = 2
params.verbosity = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


class Server:
    def __init__(self, address: str) -> None:
        self.address = address

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        return self.post("/tokenize", {"content": text, "add_special": special, "parse_special": special})["tokens"]

    def render(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = ()) -> str:
        return self.post("/apply-template", {"messages": messages, **({"tools": tools} if tools else {})})["prompt"]

    def complete(self, tokens: Sequence[int]) -> tuple[int, int]:
        """Cached and prefilled tokens of a prompt."""
        timings = self.post("/completion", {"prompt": list(tokens), "n_predict": 1, "cache_prompt": True})["timings"]
        return timings["cache_n"], timings["prompt_n"]


@contextlib.contextmanager
def serve(model: Path, context: int = 4096) -> Iterator[Server]:
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(model), str(context)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        address = child.stdout.readline().strip()
        assert address, f"the server did not start on {model}"
        yield Server(address)
    finally:
        child.stdin.close()
        child.wait(timeout=30)
        child.stdout.close()
