"""A llama-server, asked over HTTP.

What its fields mean was checked against the server's source and on running servers: ``timings.cache_n`` are the prompt tokens
taken from the cache and ``timings.prompt_n`` those computed; together they are the prompt. ``tokens_cached`` and
``tokens_evaluated`` mean other things and are not used.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from promptguard.core.errors import ConfigError, EngineError
from promptguard.engines.base import Completion, EngineInfo, LiveReply, StatusError
from promptguard.prompts.request import Message, Request

if TYPE_CHECKING:  # importing an HTTP client takes longer than starting an engine
    from promptguard.engines.http import JSONClient

NO_CACHE_FIGURES = "llama-server reports it since September 2025 (its pull request 15827): use a newer build"


def read_props(client: JSONClient) -> Any:
    """What a llama-server says of itself.

    Raises:
        EngineError: no answer, or not that of a llama-server.
    """
    try:
        return client.get("/props")
    except StatusError as error:
        if error.status != 404 or error.hint is not None:
            raise
        hint = "give the address of a llama-server, without any path"
        raise EngineError(f"is not a llama-server ({error.what})", where=error.where, hint=hint) from None


class LlamaServer:
    """An ``Engine`` that talks to a llama-server.

    Args:
        client: connection to the server.
        kind: how the report names it.
        slot: slot to pin the run to; by default an idle one.
        watched: whether others may use the server, so that their traffic is looked for.
    """

    def __init__(self, client: JSONClient, *, kind: str = "llama-server", slot: int | None = None, watched: bool = True) -> None:
        self._client = client
        self._watched = watched
        self._last_slots: list[Mapping[str, Any]] | None = None
        self._foreign_in_slot = 0
        self._foreign_elsewhere = 0
        self._info = self._describe(kind, slot)

    # -- what it is

    @property
    def info(self) -> EngineInfo:
        notes = list(self._info.notes)
        if self._foreign_in_slot:
            notes.append(
                f"other requests ran in slot {self._info.slot} during the run, before {self._foreign_in_slot} of its requests: "
                "what they pushed out of the cache shows as engine loss"
            )
        if self._foreign_elsewhere:
            notes.append("other requests ran on the server during the run: times are not comparable, and host memory is shared")
        return replace(self._info, notes=tuple(notes))

    def _describe(self, kind: str, slot: int | None) -> EngineInfo:
        url = self._client.base_url
        props = read_props(self._client)
        settings = props.get("default_generation_settings") if isinstance(props, dict) else None
        if not isinstance(settings, dict) or not isinstance(props.get("chat_template"), str):
            raise EngineError(
                "does not answer like a llama-server", where=url, hint="--server takes the address of a llama-server"
            )
        slots = max(1, _integer(props.get("total_slots"), 1))
        notes: list[str] = []
        listed = self._read_slots()
        if listed is None:
            notes.append("the server does not list its slots (--no-slots): other traffic on it cannot be seen")
        context = _integer(settings.get("n_ctx"), 0)
        if listed:
            context = min((_integer(each.get("n_ctx"), context) for each in listed), default=context)
        if context <= 0:
            raise EngineError("does not say how large its context is", where=url, hint="use a newer llama-server")
        if slot is not None and not 0 <= slot < slots:
            raise ConfigError(f"the server has slots 0 to {slots - 1}", where=f"--slot {slot}")
        if slot is None:
            busy = {_integer(each.get("id"), -1) for each in listed or () if each.get("is_processing")}
            slot = next((index for index in range(slots) if index not in busy), 0)
            if busy:
                notes.append(f"{len(busy)} of {slots} slots were busy with other requests when the run began")
        if slots > 1:
            notes.append(
                f"the server has {slots} slots; the run is pinned to slot {slot}, while an agent that does not send id_slot can "
                "land in any of them"
            )
        model = props.get("model_alias") or props.get("model_path") or "unknown"
        return EngineInfo(
            kind=kind,
            model=str(model).replace("\\", "/").rsplit("/", 1)[-1],
            build=str(props.get("build_info") or "unknown"),
            context=context,
            slots=slots,
            slot=slot,
            chat_template=props["chat_template"],
            bos_token=_text(props.get("bos_token")),
            eos_token=_text(props.get("eos_token")),
            url=url,
            notes=tuple(notes),
        )

    # -- rendering and tokens

    def apply_template(self, request: Request) -> str | None:
        body: dict[str, Any] = {"messages": list(request.messages)}
        if request.tools:
            body["tools"] = list(request.tools)
        if request.template_kwargs:
            body["chat_template_kwargs"] = dict(request.template_kwargs)
        try:
            answer = self._client.post("/apply-template", body)
        except StatusError as error:
            if error.status in (404, 501):
                raise EngineError("cannot render chat templates", where=error.where, hint="use a newer llama-server") from None
            raise EngineError(
                f"the server cannot render this conversation with its chat template ({error.what})",
                where=error.where,
                hint="try --chat-template with one that takes tools and a system prompt",
            ) from None
        prompt = answer.get("prompt") if isinstance(answer, dict) else None
        if not isinstance(prompt, str):
            raise self._unexpected("/apply-template")
        return prompt

    def tokenize(self, text: str) -> list[int]:
        return self._tokenize(text, special=True)

    def tokenize_reply(self, text: str) -> list[int]:
        return self._tokenize(text, special=False)

    def _tokenize(self, text: str, *, special: bool) -> list[int]:
        answer = self._client.post("/tokenize", {"content": text, "add_special": special, "parse_special": True})
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
            raise self._unexpected("/tokenize")
        return tokens

    def pieces(self, text: str) -> list[bytes]:
        body = {"content": text, "add_special": True, "parse_special": True, "with_pieces": True}
        answer = self._client.post("/tokenize", body)
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list):
            raise self._unexpected("/tokenize")
        try:
            return [_piece(token["piece"]) for token in tokens]
        except (TypeError, KeyError, ValueError):
            raise self._unexpected("/tokenize") from None

    # -- completions

    def complete(self, tokens: Sequence[int], *, cache: bool = True) -> Completion:
        body: dict[str, Any] = {"prompt": list(tokens), "n_predict": 1, "temperature": 0.0, "id_slot": self._info.slot}
        if not cache:  # otherwise the server's own default counts: an agent does not send the field either
            body["cache_prompt"] = False
        answer, seconds = self._timed("/completion", body)
        return self._completion(answer, len(tokens), seconds)

    def place(self, tokens: Sequence[int]) -> None:
        self._timed("/completion", {"prompt": list(tokens), "n_predict": 0, "temperature": 0.0, "id_slot": self._info.slot})

    def chat(self, request: Request, *, max_tokens: int) -> LiveReply:
        body: dict[str, Any] = {
            "messages": list(request.messages),
            "max_tokens": max_tokens,
            "temperature": 0.0,
            "id_slot": self._info.slot,
            "verbose": True,
            "return_tokens": True,
        }
        if request.tools:
            body["tools"] = list(request.tools)
        answer, seconds = self._timed("/v1/chat/completions", body)
        try:
            choice = answer["choices"][0]
            message = dict(choice["message"])
            generated = answer["__verbose"]["tokens"]
            text = _text(answer["__verbose"].get("content"))
            timings = answer["timings"]
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise EngineError(
                "does not report the tokens that it generated (__verbose.tokens)",
                where=self._client.base_url,
                hint="use a newer llama-server for --live",
            ) from None
        if not isinstance(generated, list) or not all(type(token) is int for token in generated):
            raise self._unexpected("/v1/chat/completions")
        completion = self._completion(answer, None, seconds)
        if isinstance(timings, dict):  # the answer comes whole, so the time of its first token is the server's to tell
            seconds = (_number(timings.get("prompt_ms")) + _number(timings.get("predicted_per_token_ms"))) / 1000
        message.setdefault("role", "assistant")
        # The last sampled token ends the reply or hits the limit; it is never computed, so it is not in the cache.
        return LiveReply(
            message=_clean_message(message),
            completion=replace(completion, seconds=seconds),
            tokens=generated[:-1],
            text=text,
            finish_reason=_text(choice.get("finish_reason")) or "stop",
        )

    def _timed(self, path: str, body: Mapping[str, Any]) -> tuple[Any, float]:
        before = self._read_slots() if self._watched else None
        self._look_for_others(self._last_slots, before)
        start = time.perf_counter()
        try:
            answer = self._client.post(path, body, again=False)
        except StatusError as error:
            if "exceed" in error.what and "context" in error.what:
                raise EngineError(
                    f"the prompt is longer than the context of the server ({error.what})",
                    where=error.where,
                    hint="start the server with a larger -c / --ctx-size (it is divided among the slots)",
                ) from None
            raise
        seconds = time.perf_counter() - start
        if self._watched:
            self._last_slots = self._read_slots()
            self._look_for_others(before, self._last_slots, prompt=_prompt_tokens(answer))
        return answer, seconds

    def _completion(self, answer: object, expected: int | None, seconds: float) -> Completion:
        timings = answer.get("timings") if isinstance(answer, dict) else None
        cached = timings.get("cache_n") if isinstance(timings, dict) else None
        prefilled = timings.get("prompt_n") if isinstance(timings, dict) else None
        if type(cached) is not int or type(prefilled) is not int or cached < 0 or prefilled < 0:
            raise EngineError(
                "does not say how many prompt tokens came from the cache (timings.cache_n)",
                where=self._client.base_url,
                hint=NO_CACHE_FIGURES,
            )
        if expected is not None and cached + prefilled != expected:
            raise EngineError(
                f"counts {cached} cached and {prefilled} prefilled tokens for a prompt of {expected}",
                where=self._client.base_url,
                hint="its figures cannot be used: is context shift on, or a proxy in between?",
            )
        return Completion(cached=cached, prefilled=prefilled, seconds=seconds)

    # -- other traffic

    def _read_slots(self) -> list[Mapping[str, Any]] | None:
        try:
            slots = self._client.get("/slots")
        except StatusError as error:
            if error.status in (400, 404, 501):
                return None
            raise
        if not isinstance(slots, list) or not all(isinstance(slot, dict) and type(slot.get("id")) is int for slot in slots):
            return None
        return slots

    def _look_for_others(
        self,
        before: Sequence[Mapping[str, Any]] | None,
        now: Sequence[Mapping[str, Any]] | None,
        *,
        prompt: int | None = None,
    ) -> None:
        """Compare two views of the slots: where the number of the last task changed, one ran that is not ours.

        Args:
            before: the earlier view, ``None`` where there is none.
            now: the later one.
            prompt: length of our own prompt that ran between them; our slot then holds it, unless another one came after it.
        """
        if before is None or now is None:
            return
        tasks = {slot["id"]: slot.get("id_task") for slot in before}
        for slot in now:
            if slot["id"] != self._info.slot:
                self._foreign_elsewhere += bool(slot.get("is_processing") or slot.get("id_task") != tasks.get(slot["id"]))
            elif prompt is None:
                self._foreign_in_slot += bool(slot.get("is_processing") or slot.get("id_task") != tasks.get(slot["id"]))
            else:
                self._foreign_in_slot += bool(slot.get("is_processing") or slot.get("n_prompt_tokens", prompt) != prompt)

    # -- end

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> LlamaServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _unexpected(self, path: str) -> EngineError:
        return EngineError(
            f"the answer to {path} is not what a llama-server gives", where=self._client.base_url, hint="use a newer llama-server"
        )


def _clean_message(message: Mapping[str, Any]) -> Message:
    """Only the fields that an agent replays."""
    kept = {key: message[key] for key in ("role", "content", "reasoning_content", "tool_calls") if message.get(key) is not None}
    kept.setdefault("content", "")
    return kept


def _prompt_tokens(answer: object) -> int:
    """Length of the prompt that an answer is for, -1 where it does not say."""
    timings = answer.get("timings") if isinstance(answer, dict) else None
    if not isinstance(timings, dict):
        return -1
    return _integer(timings.get("cache_n"), -1) + _integer(timings.get("prompt_n"), 0)


def _piece(piece: object) -> bytes:
    if isinstance(piece, str):
        return piece.encode("utf-8", "surrogatepass")
    if isinstance(piece, list):
        return bytes(piece)
    raise ValueError("not a piece")


def _integer(value: object, default: int) -> int:
    return value if type(value) is int else default


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
