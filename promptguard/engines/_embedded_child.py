"""What runs in the child process of the embedded llama-server.

It reads one line of JSON from standard input, starts the server, writes one line of JSON to standard output, and serves until its
parent ends it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Sequence
from typing import Any


def _serve(xllamacpp: Any, settings: dict[str, Any]) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.n_ctx = settings["context"]
    params.n_parallel = 1
    params.cache_ram_mib = 0
    params.n_cache_reuse = 0
    params.ctx_shift = False
    params.warmup = False
    params.fit_params = False
    params.endpoint_slots = True
    params.endpoint_metrics = False
    params.ui = False
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["api_key"]]
    params.swa_full = settings["swa_full"]
    params.verbosity = 2
    if settings["threads"] is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    if settings["chat_template"] is not None:
        params.chat_template = settings["chat_template"]
    return xllamacpp.Server(params)


def _limit_memory(size: int) -> None:
    """Let the process take so many bytes beside the files that it maps."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    size = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (size, most))


def main(_: Sequence[str]) -> None:
    for name in ("SIGINT", "SIGHUP"):  # the parent decides when we end
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(0, 65536)
        if not chunk:
            return
        line += chunk
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # native code may print; only our one line goes to the parent
    settings = json.loads(line)
    if settings["memory"] is not None:
        _limit_memory(settings["memory"])
    try:
        import xllamacpp

        server = _serve(xllamacpp, settings)
        answer.write(json.dumps({"address": server.listening_address, "version": xllamacpp.__version__}) + "\n")
    except BaseException as error:
        answer.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        answer.flush()
        os._exit(1)
    answer.flush()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            threading.Event().wait()
    del server
