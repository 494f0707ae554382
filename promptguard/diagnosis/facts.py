"""What a llama-server tells of itself when it is asked: ``/props``, ``/slots`` and ``/metrics``, none of which is trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptguard.core.errors import EngineError
from promptguard.diagnosis.result import Check, Server
from promptguard.engines.base import StatusError
from promptguard.engines.http import JSONClient

FIRST_BUILD = 6451
"""Number of a build that reports the cached tokens of each prompt. ``timings.cache_n`` came to llama.cpp in September 2025 (its
pull request 15827, of the 6th); the tag b6451 is of the 13th (xllamacpp took it then, its pull request 81).
"""

_BUILD = re.compile(r"b?([1-9][0-9]{2,6})\b")
_COUNTER = re.compile(r"^llamacpp:([a-z_]{1,60}) ([0-9.eE+-]{1,30})\s*$", re.MULTILINE)
_SHORT = 200  # characters of a name that the server gives


@dataclass(frozen=True)
class Facts:
    """What ``/props`` says.

    Attributes:
        server: for the report.
        build: number of the build, ``None`` where it does not tell.
        chat_template: what an agent with tools gets: the template for tools where the model has one of its own.
        bos_token, eos_token: their texts.
        modalities: what a multimodal projector adds, such as ``vision``.
    """

    server: Server
    build: int | None
    chat_template: str
    bos_token: str
    eos_token: str
    modalities: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """One look at what the server is doing.

    Attributes:
        busy: slots that work on a request; ``None`` where slots are not listed.
        contexts: context of each listed slot.
        tasks: the last task of each slot by its id.
        held: tokens of the prompt that a slot holds, where it says so.
        tokens: prompt tokens that were computed or taken from the cache since the start, ``None`` without metrics.
        waiting: requests that are worked on or wait for a slot, ``None`` without metrics.
    """

    busy: int | None
    contexts: tuple[int, ...]
    tasks: Mapping[int, int]
    held: Mapping[int, int]
    tokens: int | None
    waiting: int | None


def read_facts(props: Mapping[str, Any]) -> Facts:
    """What ``/props`` says.

    Args:
        props: a JSON object with ``default_generation_settings``.
    """
    build = _text(props.get("build_info"))
    number = _BUILD.match(build)
    path = _text(props.get("model_alias")) or _text(props.get("model_path")) or "unknown"
    modalities = props.get("modalities")
    server = Server(
        kind="llama-server",
        build=build or "unknown",
        model=path.replace("\\", "/").rsplit("/", 1)[-1],
        slots=max(1, _whole(props.get("total_slots"), 1)),
        context=max(0, _whole(props["default_generation_settings"].get("n_ctx"), 0)),
    )
    return Facts(
        server=server,
        build=int(number[1]) if number is not None else None,
        chat_template=_long(props.get("chat_template_tool_use")) or _long(props.get("chat_template")),
        bos_token=_text(props.get("bos_token")),
        eos_token=_text(props.get("eos_token")),
        modalities=tuple(sorted(name[:20] for name, on in modalities.items() if on is True))
        if isinstance(modalities, dict)
        else (),
    )


def look(client: JSONClient) -> View:
    """What the server is doing now.

    Raises:
        EngineError: it does not answer any more.
    """
    slots = _slots(client)
    metrics = _metrics(client)
    computed, cached = metrics.get("prompt_tokens_total"), metrics.get("prompt_tokens_cached_total")
    waiting = metrics.get("requests_processing"), metrics.get("requests_deferred")
    return View(
        busy=None if slots is None else sum(slot.get("is_processing") is True for slot in slots),
        contexts=tuple(_whole(slot.get("n_ctx"), 0) for slot in slots or ()),
        tasks={slot["id"]: _whole(slot.get("id_task"), -1) for slot in slots or ()},
        held={slot["id"]: tokens for slot in slots or () if (tokens := _whole(slot.get("n_prompt_tokens"), -1)) >= 0},
        tokens=None if computed is None or cached is None else int(computed + cached),
        waiting=int(sum(each for each in waiting if each is not None)) if waiting[0] is not None else None,
    )


def endpoints(view: View) -> list[Check]:
    """Whether ``/slots`` and ``/metrics`` are there, and whether they are needed."""
    slots = (
        Check("slots-endpoint", "ok", f"lists {len(view.tasks)} {_plural('slot', len(view.tasks))}")
        if view.busy is not None
        else Check(
            "slots-endpoint",
            "unknown",
            "/slots is off (--no-slots, or LLAMA_ARG_ENDPOINT_SLOTS=0)",
            "nobody can see whether other requests run, and promptguard replay cannot tell whose loss it was",
            "--slots",
        )
    )
    metrics = (
        Check("metrics-endpoint", "ok", f"counts {view.waiting} {_plural('request', view.waiting)} at work")
        if view.waiting is not None
        else Check(
            "metrics-endpoint", "ok", "/metrics is off, and it is not needed", remedy="--metrics, to see other traffic better"
        )
    )
    return [slots, metrics]


def build_check(facts: Facts, *, reports: bool | None) -> Check:
    """Whether the build can say what it cached.

    Args:
        facts: from ``/props``.
        reports: whether an answer said it; ``None`` where there was none.
    """
    name = facts.server.build
    if reports:
        return Check("build", "ok", f"{name} reports cached tokens")
    if reports is False or (facts.build is not None and facts.build < FIRST_BUILD):
        return Check(
            "build",
            "in-the-way",
            f"{name} is too old" if reports is None else f"{name} does not report cached tokens (timings.cache_n)",
            "what it does not report cannot be measured; later builds also reuse more (checkpoints, host prompt cache)",
            f"build llama.cpp anew: b{FIRST_BUILD} (September 2025) or later",
        )
    if facts.build is None:
        return Check("build", "unknown", f"{name}: no build number", "no prompt was sent that would show what it reports")
    return Check("build", "ok", f"{name}; cached tokens are reported since b{FIRST_BUILD}")


def _slots(client: JSONClient) -> list[Mapping[str, Any]] | None:
    try:
        slots = client.get("/slots")
    except StatusError:
        return None
    except EngineError:  # no JSON, or gone; in the latter case the next request says so
        return None
    if not isinstance(slots, list) or not all(isinstance(slot, dict) and type(slot.get("id")) is int for slot in slots):
        return None
    return slots


def _metrics(client: JSONClient) -> Mapping[str, float]:
    answer = client.look("/metrics")
    if answer.status != 200:
        return {}
    found = {}
    for name, value in _COUNTER.findall(answer.body[: 1 << 20].decode("utf-8", "replace")):
        try:
            number = float(value)
        except ValueError:
            continue
        if 0 <= number < 2**53:
            found[name] = number
    return found


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _whole(value: object, default: int) -> int:
    return value if type(value) is int and abs(value) < 2**53 else default


def _text(value: object) -> str:
    return value[:_SHORT] if isinstance(value, str) else ""


def _long(value: object) -> str:
    return value if isinstance(value, str) else ""
