"""The embedded llama-server: the one in the xllamacpp wheel, in a child process of its own.

One slot, no host prompt cache, no cache reuse by shifting, no context shift: what is left is the prefix cache alone, and that is
deterministic.
"""

from __future__ import annotations

import secrets
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from promptguard.core.errors import EngineError
from promptguard.engines.llama_server import LlamaServer
from promptguard.engines.process import ChildProcess, memory_for, threads_for

KIND = "llama-server (embedded)"
_DOING = {
    "/apply-template": "rendering a chat template",
    "/completion": "computing a prompt",
    "/tokenize": "tokenizing a prompt",
    "/v1/chat/completions": "answering",
}


class EmbeddedServer(LlamaServer):
    """An ``Engine``: a llama-server on loopback, at a port that the system chose, that only this process can use.

    ``start`` returns at once; ``connect`` waits.

    Args:
        model: the GGUF file.
        context: context in tokens.
        chat_template: source that replaces the model's own chat template.
        swa_full: keep the whole cache of sliding-window layers.
        timeout: seconds that the start, and each answer, may take.
    """

    def __init__(
        self, model: Path, *, context: int, chat_template: str | None = None, swa_full: bool = False, timeout: float = 60.0
    ) -> None:
        if find_spec("xllamacpp") is None:
            raise EngineError(
                "the embedded llama-server is not installed", hint="pip install 'promptguard-ci[replay]', or use --server URL"
            )
        self._timeout = timeout
        self._model = model
        self._template = chat_template
        self._key = secrets.token_urlsafe(24)
        memory = memory_for(model, context) if sys.platform == "linux" else None
        self._child = ChildProcess("promptguard.engines._embedded_child", "the embedded llama-server", memory=memory)
        self._child.send(
            {
                "model": str(model),
                "context": context,
                "chat_template": chat_template,
                "swa_full": swa_full,
                "threads": threads_for(model),
                "memory": memory,
                "api_key": self._key,
            }
        )

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether the child still runs."""
        return not self._child.gone()

    def connect(self) -> EmbeddedServer:
        """Wait until the server answers.

        Raises:
            EngineError: the model cannot be loaded, or the server died or took too long.
        """
        from promptguard.engines.http import JSONClient  # while the child loads the model

        answer = self._child.receive(self._timeout, f"loading {self._model.name}")
        if "error" in answer:
            self._child.close()  # its log is whole only now: the server writes it in a thread of its own
            subject = "this model" if self._template is None else "this model with this chat template"
            raise self._child.failed(f"the engine cannot use {subject} ({answer['error']})", where=str(self._model))
        client = JSONClient(
            str(answer["address"]), api_key=self._key, timeout=self._timeout, loading=self._timeout, explain=self._died_while
        )
        try:
            super().__init__(client, kind=KIND, slot=0, watched=False)
        except EngineError:
            client.close()
            raise
        # The wheel does not know the build number of the llama.cpp in it; its own version tells as much.
        self._info = replace(self._info, model=self._model.name, build=f"xllamacpp {answer.get('version')}", url=None)
        return self

    def _died_while(self, path: str) -> EngineError | None:
        """The child's own last words, where it is gone."""
        return self._child.died(f"died while {_DOING.get(path, 'starting')}") if self._child.gone() else None

    def close(self) -> None:
        if hasattr(self, "_client"):
            super().close()
        self._child.close()
