"""The child process that holds the embedded llama-server: ``python -m promptguard.engines._embedded_child``.

It reads one line of JSON from standard input, starts the server, writes one line of JSON to standard output, and lives until
standard input ends: the parent holds the other end of that pipe, so the child ends with its parent whatever happens to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from typing import Any


def _end_with_parent() -> None:
    """Arrange for the end of standard input to end this process, even while native code holds the interpreter."""
    try:
        import fcntl

        # On Linux the kernel sends SIGIO (default: terminate) when the other end of the pipe is closed.
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | getattr(fcntl, "O_ASYNC", getattr(os, "O_ASYNC", 0)))
    except (ImportError, OSError, AttributeError):
        pass

    def wait() -> None:
        while os.read(0, 4096):
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


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


def main() -> None:
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
    _end_with_parent()
    try:
        import xllamacpp

        server = _serve(xllamacpp, json.loads(line))
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


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
