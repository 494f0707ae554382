"""What runs in the child process of llama-cpp-python.

One line of JSON in, one line of JSON out, until standard input ends. Native code can abort a process; that one is not ours then.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import time
from collections.abc import Sequence
from typing import Any


class Session:
    """A loaded model that counts the tokens that it evaluates."""

    def __init__(self, settings: dict[str, Any]) -> None:
        import llama_cpp

        self._library = llama_cpp
        self._evaluated: list[int] = []
        self._llm = llama_cpp.Llama(
            model_path=settings["model"],
            n_ctx=settings["context"],
            swa_full=settings["swa_full"],
            n_gpu_layers=-1,
            n_threads=settings["threads"],
            n_threads_batch=settings["threads"],
            verbose=False,
        )
        evaluate = self._llm.eval

        def counted(tokens: Any) -> None:
            self._evaluated.append(len(tokens))
            evaluate(tokens)

        setattr(self._llm, "eval", counted)  # noqa: B010 - a method of the instance alone

    def describe(self) -> dict[str, Any]:
        llm = self._llm
        return {
            "version": self._library.__version__,
            "context": llm.n_ctx(),
            "chat_template": llm.metadata.get("tokenizer.chat_template", ""),
            "bos_token": self._text(llm.token_bos()),
            "eos_token": self._text(llm.token_eos()),
        }

    def tokenize(self, text: str) -> dict[str, Any]:
        # As its chat formatter does: the template prints the BOS itself, and special tokens count as such.
        return {"tokens": self._llm.tokenize(text.encode("utf-8"), add_bos=False, special=True)}

    def pieces(self, text: str) -> dict[str, Any]:
        tokens = self._llm.tokenize(text.encode("utf-8"), add_bos=False, special=True)
        return {"pieces": [list(self._piece(token)) for token in tokens]}

    def complete(self, tokens: list[int], cache: bool) -> dict[str, Any]:
        """Evaluate a prompt and sample one token, which is not evaluated."""
        if not cache:
            self._llm.reset()
        self._evaluated.clear()
        start = time.perf_counter()
        next(self._llm.generate(tokens, temp=0.0))
        return {"prefilled": self._evaluated[0], "seconds": time.perf_counter() - start}

    def _piece(self, token: int) -> bytes:
        """The bytes of a token. The library's own helper gives its whole buffer, padded with zero bytes."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = int(self._library.llama_token_to_piece(self._llm._model.vocab, token, buffer, size, 0, True))
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def _text(self, token: int) -> str:
        return self._piece(token).decode("utf-8", "replace") if token >= 0 else ""


def _lines() -> Any:
    buffer = b""
    while True:
        chunk = os.read(0, 1 << 20)
        if not chunk:
            return
        buffer += chunk
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            yield json.loads(line)


def main(_: Sequence[str]) -> None:
    for name in ("SIGINT", "SIGHUP"):  # the parent decides when we end
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session: Session | None = None
    for message in _lines():
        operation = message.pop("do", "load")
        try:
            if session is None:
                session = Session(message)
                answer = session.describe()
            else:
                answer = getattr(session, operation)(**message)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
