"""What every engine can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol

from promptguard.core.errors import EngineError
from promptguard.prompts.request import Message, Request


@dataclass(frozen=True)
class EngineInfo:
    """What is being measured.

    Attributes:
        kind: ``llama-server (embedded)``, ``llama-server`` or ``llama-cpp-python``.
        model: file name or alias of the model.
        build: version or build of the engine as it gives it.
        context: context per slot, in tokens.
        slots: number of slots.
        slot: the slot that the run is pinned to, ``None`` where it cannot be pinned.
        chat_template: source of the model's chat template.
        bos_token, eos_token: their texts, empty where there is none.
        granularity: reuse can fall short of the common prefix by up to this many tokens without anything being wrong.
        arguments: whether string arguments of replayed tool calls reach the chat template parsed (as in llama-server) or raw.
        url: address of the server, without credentials.
        notes: sentences that the report shows, such as other traffic on the server.
    """

    kind: str
    model: str
    build: str
    context: int
    slots: int
    slot: int | None
    chat_template: str
    bos_token: str = ""
    eos_token: str = ""
    granularity: int = 0
    arguments: Literal["parsed", "raw"] = "parsed"
    url: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Completion:
    """What the engine did with one prompt.

    Attributes:
        cached: prompt tokens taken from the prefix cache.
        prefilled: prompt tokens that were computed; ``cached + prefilled`` is the length of the prompt.
        seconds: time from sending the request to the first token (TTFT): wall time; of a live reply the server's own figures for
            the prompt and one token.
    """

    cached: int
    prefilled: int
    seconds: float


@dataclass(frozen=True)
class LiveReply:
    """What a model answered, and what the engine did with the prompt.

    Attributes:
        message: the assistant message as the engine parsed it, ready to be replayed.
        tokens: ids of the generated tokens, without the one that ended the reply.
        text: what was generated, as it came, before the engine took it apart.
    """

    message: Message
    completion: Completion
    tokens: Sequence[int]
    text: str
    finish_reason: str = "stop"


@dataclass(frozen=True)
class Need:
    """What the longest turn of a task takes of the context of an engine.

    Attributes:
        prompt: tokens of its prompt.
        reply: tokens of the reply that follows; of a live run the most that there may be.
    """

    prompt: int
    reply: int

    @property
    def tokens(self) -> int:
        """All of them, and the one that an engine generates behind whatever it is sent."""
        return self.prompt + self.reply + 1


class StatusError(EngineError):
    """The server answered with an error status."""

    def __init__(self, status: int, what: str, *, where: str, hint: str | None = None) -> None:
        super().__init__(what, where=where, hint=hint)
        self.status = status


class Engine(Protocol):
    """A running engine. Every method raises ``EngineError`` with one clear sentence when it cannot do its work."""

    @property
    def info(self) -> EngineInfo: ...

    def apply_template(self, request: Request) -> str | None:
        """The prompt as the engine itself renders it, ``None`` where it has no renderer of its own to ask."""
        ...

    def tokenize(self, text: str) -> list[int]:
        """Token ids of a whole prompt: special tokens are parsed, and added in front where the model wants it."""
        ...

    def tokenize_reply(self, text: str) -> list[int]:
        """Token ids of a text that follows a prompt: special tokens are parsed, none is added."""
        ...

    def pieces(self, text: str) -> list[bytes]:
        """The bytes of each token that ``tokenize(text)`` gives."""
        ...

    def complete(self, tokens: Sequence[int], *, cache: bool = True) -> Completion:
        """Send a prompt and have one token generated."""
        ...

    def place(self, tokens: Sequence[int]) -> None:
        """Leave the keys and values of ``tokens`` in the cache, as if the part behind the last prompt had been generated."""
        ...

    def chat(self, request: Request, *, max_tokens: int) -> LiveReply:
        """Let the model answer (temperature 0)."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Engine: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
