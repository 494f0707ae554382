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
