"""llama-cpp-python, in a process of its own.

The library reports no cache figures: ``usage`` holds totals only. What it prefills is counted where it happens, as the number of
tokens in the first call of ``Llama.eval`` for a prompt; the rest of the prompt came from the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from promptguard.core.errors import EngineError
from promptguard.engines.base import Completion, EngineInfo, LiveReply
from promptguard.engines.process import ChildProcess, threads_for
from promptguard.prompts.request import Request

NAME = "llama-cpp-python"


class LlamaCppPython:
    """An ``Engine``. ``start`` happens on construction and returns at once; ``connect`` waits.

    Args:
        model: the GGUF file.
        context: context in tokens.
        swa_full: keep the whole cache of sliding-window layers, the library's default. Without it version 0.3.36 reuses keys and
            values that are gone and answers wrongly, so it is refused.
        timeout: seconds that the start, and each answer, may take.
    """

    def __init__(self, model: Path, *, context: int, swa_full: bool = True, timeout: float = 120.0) -> None:
        if find_spec("llama_cpp") is None:
            raise EngineError(
                "llama-cpp-python is not installed", hint="pip install 'promptguard-ci[llama-cpp]' (compiles for minutes)"
            )
        if not swa_full:
            raise EngineError(
                "llama-cpp-python answers wrongly from a sliding-window cache that is not kept whole",
                hint="leave out --no-swa-full",
            )
        self._model = model
        self._timeout = timeout
        self._info: EngineInfo | None = None
        self._child = ChildProcess("promptguard.engines._llama_cpp_child", NAME)
        self._child.send({"model": str(model), "context": context, "swa_full": swa_full, "threads": threads_for(model)})

    def connect(self) -> LlamaCppPython:
        """Wait until the model is loaded.

        Raises:
            EngineError: it cannot be, or takes too long.
        """
        answer = self._child.receive(self._timeout, f"loading {self._model.name}")
        if "error" in answer:
            words = self._child.last_words()
            self.close()
            raise EngineError(
                f"{NAME} cannot use this model ({answer['error']})" + (f"; its last lines were:\n{words}" if words else ""),
                where=str(self._model),
            )
        self._info = EngineInfo(
            kind=NAME,
            model=self._model.name,
            build=str(answer["version"]),
            context=int(answer["context"]),
            slots=1,
            slot=0,
            chat_template=str(answer["chat_template"]),
            bos_token=str(answer["bos_token"]),
            eos_token=str(answer["eos_token"]),
            arguments="raw",
        )
        return self

    @property
    def info(self) -> EngineInfo:
        assert self._info is not None, "connect first"
        return self._info

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._child.pid

    def apply_template(self, request: Request) -> str | None:
        return None

    def tokenize(self, text: str) -> list[int]:
        return [int(token) for token in self._ask("tokenizing a prompt", do="tokenize", text=text)["tokens"]]

    def tokenize_reply(self, text: str) -> list[int]:
        return self.tokenize(text)

    def pieces(self, text: str) -> list[bytes]:
        return [bytes(piece) for piece in self._ask("tokenizing a prompt", do="pieces", text=text)["pieces"]]

    def complete(self, tokens: Sequence[int], *, cache: bool = True) -> Completion:
        answer = self._ask("computing a prompt", do="complete", tokens=list(tokens), cache=cache)
        prefilled = int(answer["prefilled"])
        return Completion(cached=len(tokens) - prefilled, prefilled=prefilled, seconds=float(answer["seconds"]))

    def place(self, tokens: Sequence[int]) -> None:
        self.complete(tokens)

    def chat(self, request: Request, *, max_tokens: int) -> LiveReply:
        raise EngineError(f"{NAME} cannot run --live", hint="use a llama-server, which can parse tool calls")

    def close(self) -> None:
        self._child.close()

    def __enter__(self) -> LlamaCppPython:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _ask(self, doing: str, **message: Any) -> dict[str, Any]:
        self._child.send(message, doing)
        answer = self._child.receive(self._timeout, doing)
        if "error" in answer:
            raise EngineError(f"{NAME} failed while {doing} ({answer['error']})", where=str(self._model))
        return answer
