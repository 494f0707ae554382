"""The doctor on the real llama-server, started with each fault."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from diagnoses import check
from gguf_sources import WINDOW, write_source
from llama_server import Server, as_build, serve
from special_models import hybrid_model, projector, recurrent_model

from promptguard.core.resources import resource
from promptguard.diagnosis.result import Diagnosis
from promptguard.models.default import default_model
from promptguard.models.twin import make_twin

Examine = Callable[..., Diagnosis]
CONTEXT = 4096
DATED = (
    "{% if date_string is not defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
    "<|im_start|>system\nToday is {{ date_string }}.<|im_end|>\n"
)


@pytest.fixture
def window(tmp_path: Path) -> Path:
    """A tiny model with a sliding window."""
    make_twin(write_source(tmp_path / "source.gguf", "gemma3", window=WINDOW), tmp_path / "window.gguf")
    return tmp_path / "window.gguf"


def in_the_way(found: Diagnosis) -> list[str]:
    assert found.error is None
    return [check.name for check in found.in_the_way]


def at_risk(found: Diagnosis) -> list[str]:
    return [check.name for check in found.at_risk]


def test_healthy(examine: Examine) -> None:
    with serve(default_model(), CONTEXT, endpoint_metrics=True) as server:
        found = examine(server.address)
    assert (in_the_way(found), at_risk(found)) == ([], ["host-cache"])
    assert [check.name for check in found.checks if check.status == "unknown"] == []
    assert found.server.model == "promptguard-tiny.gguf"
    assert found.server.prefill_rate > 0


def test_prompt_cache_off(examine: Examine) -> None:
    with serve(default_model(), CONTEXT, cache_prompt=False) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["prompt-cache"]
    assert check(found, "prompt-cache").remedy.startswith("--cache-prompt ")


def test_an_old_build(examine: Examine) -> None:
    with serve(default_model(), CONTEXT) as server, as_build(server, "b6301-da54f9f1") as address:
        found, unsent = examine(address), examine(address, requests=False)
    assert (in_the_way(found), in_the_way(unsent)) == (["build"], ["build"])
    assert check(found, "build").found == "b6301-da54f9f1 does not report cached tokens (timings.cache_n)"
    assert check(unsent, "build").found == "b6301-da54f9f1 is too old"
    assert check(found, "build").remedy == "build llama.cpp anew: b6451 (September 2025) or later"
    assert check(found, "prompt-cache").status == "unknown"


def test_context_too_small_for_the_task(examine: Examine) -> None:
    with serve(default_model(), 256) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["context"]
    assert check(found, "context").remedy == "--ctx-size 1024 (LLAMA_ARG_CTX_SIZE)"


def test_several_slots_divide_the_context(examine: Examine) -> None:
    with serve(default_model(), 1024, slots=4) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["context"]
    assert check(found, "context").why.endswith("4 slots may share 1,024")


STOCK = {"slots": 4, "kv_unified": True, "cache_ram": 8192}
"""What a llama-server has that is given no flags."""


@pytest.mark.parametrize("settings", [{"slots": 2}, STOCK])
def test_several_slots_where_a_conversation_takes_that_of_another(examine: Examine, settings: dict[str, int]) -> None:
    with serve(default_model(), 2 * CONTEXT, endpoint_metrics=True, **settings) as server:
        found = examine(server.address)
    assert (found.verdict, in_the_way(found), at_risk(found)) == ("clear", [], ["slots"])
    assert check(found, "slots").found.endswith(" tokens found when a conversation went on after a second one had begun")
    assert check(found, "slots").remedy.startswith("--parallel 1 --slot-prompt-similarity 0 --cache-ram 2048 ")


def test_one_slot_where_conversations_take_turns(examine: Examine) -> None:
    with serve(default_model(), CONTEXT, cache_ram=2048) as server:
        found = examine(server.address)
    assert (in_the_way(found), at_risk(found)) == ([], ["host-cache"])
    assert check(found, "host-cache").remedy.startswith("--slot-prompt-similarity 0 --cache-ram 2048 ")


def test_one_slot_with_the_switches_that_help(examine: Examine, window: Path) -> None:
    for model in (default_model(), window):
        with serve(model, CONTEXT, cache_ram=2048, slot_prompt_similarity=0.0) as server:
            assert at_risk(examine(server.address)) == []


@pytest.mark.parametrize(("unified", "reused"), [(False, True), (True, False)])
def test_conversations_that_name_their_slot_need_their_own_cache(unified: bool, reused: bool) -> None:
    with serve(default_model(), 2 * CONTEXT, **{**STOCK, "kv_unified": unified}) as server:
        first, second = server.tokenize("on and on " * 40), server.tokenize("again " * 40)
        server.complete(first, slot=0)
        server.complete(second, slot=1)
        cached, _ = server.complete(first, slot=0)
    assert cached == (len(first) - 1 if reused else 0)


@pytest.mark.parametrize(
    ("similarity", "astray", "unknown"),
    [
        (0.0, "the same prompt", ["prompt-cache", "resident-prefix", "window", "host-cache"]),
        (0.6, "a prompt with a change in its middle", ["window"]),
        (0.99, "a prompt that went on", ["prompt-cache", "resident-prefix", "window", "host-cache"]),
    ],
)
def test_requests_that_are_sent_to_another_slot(examine: Examine, similarity: float, astray: str, unknown: list[str]) -> None:
    with serve(default_model(), 2 * CONTEXT, slots=2, slot_prompt_similarity=similarity) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["slots"]
    assert [check.name for check in found.checks if check.status == "unknown"] == unknown
    assert check(found, "slots").found.startswith(f"2 slots; {astray} was sent to slot 0, although slot 1 held more of it: 0 of ")
    assert check(found, "slots").remedy.startswith("--slot-prompt-similarity 0.1 ")


def test_a_sliding_window(examine: Examine, window: Path) -> None:
    with serve(window, CONTEXT) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["window"]
    assert check(found, "window").remedy.startswith("--swa-full ")


def test_a_sliding_window_without_checkpoints(examine: Examine, window: Path) -> None:
    with serve(window, CONTEXT, n_ctx_checkpoints=0) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["resident-prefix", "window"]
    assert check(found, "resident-prefix").remedy.startswith("--swa-full ")


def test_a_sliding_window_with_the_switch_that_helps(examine: Examine, window: Path) -> None:
    with serve(window, CONTEXT, swa_full=True) as server:
        assert in_the_way(examine(server.address)) == []


@pytest.mark.parametrize("make", [recurrent_model, hybrid_model])
def test_a_model_that_keeps_a_state_without_checkpoints(examine: Examine, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with serve(make(tmp_path / "state.gguf"), CONTEXT, n_ctx_checkpoints=0) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["prompt-cache", "resident-prefix"]
    assert {each.remedy.partition(" (")[0] for each in found.in_the_way} == {"--ctx-checkpoints 32"}
    assert check(found, "window").why.startswith("the state of a recurrent or hybrid model cannot be taken back")


@pytest.mark.parametrize("make", [recurrent_model, hybrid_model])
def test_a_model_that_keeps_a_state_with_checkpoints(examine: Examine, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with serve(make(tmp_path / "state.gguf"), CONTEXT) as server:
        found = examine(server.address)
    assert in_the_way(found) == []
    assert check(found, "window").why.startswith("the state of a recurrent or hybrid model cannot be taken back")


def test_a_projector_for_pictures(examine: Examine, tmp_path: Path) -> None:
    pictures = str(projector(tmp_path / "projector.gguf"))
    with serve(default_model(), CONTEXT, projector=pictures, mmproj_use_gpu=False) as server:
        read, found = examine(server.address, requests=False), examine(server.address)
    seen = "a multimodal projector (video, vision)"
    assert (check(read, "projector").status, check(read, "projector").found) == ("unknown", seen)
    assert (in_the_way(found), check(found, "projector").found) == ([], f"{seen}; text is reused all the same")
    assert check(found, "projector").remedy.startswith("--no-mmproj ")


def test_a_date_in_the_chat_template(examine: Examine) -> None:
    template = DATED + resource("fixtures/models/tiny/chat_template.jinja").read_text(encoding="utf-8")
    with serve(default_model(), CONTEXT, chat_template=template) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["template-date"]
    assert check(found, "template-date").remedy.startswith('--chat-template-kwargs \'{"date_string": "01 Jan 2026"}\'')


def test_a_date_that_the_server_pins(examine: Examine) -> None:
    template = DATED + resource("fixtures/models/tiny/chat_template.jinja").read_text(encoding="utf-8")
    pinned = {"date_string": '"01 Jan 2026"'}
    with serve(default_model(), CONTEXT, chat_template=template, default_template_kwargs=pinned) as server:
        found = examine(server.address)
    assert in_the_way(found) == []
    assert check(found, "template-date").found == "prints a date, and the server gives it a fixed one"


def test_slots_and_metrics_off(examine: Examine) -> None:
    with serve(default_model(), CONTEXT, endpoint_slots=False) as server:
        found = examine(server.address)
    assert in_the_way(found) == []
    unknown = {check.name: check.remedy for check in found.checks if check.status == "unknown"}
    assert unknown == {"slots-endpoint": "--slots", "traffic": "--slots or --metrics"}
    assert check(found, "metrics-endpoint").remedy.startswith("--metrics")


def test_the_host_cache_brings_a_prompt_back(examine: Examine) -> None:
    with serve(default_model(), 2 * CONTEXT, **STOCK) as server:
        found = examine(server.address)
    assert (check(found, "host-cache").status, check(found, "host-cache").why) == ("ok", "")


def test_a_key_is_wanted_and_used(examine: Examine) -> None:
    with serve(default_model(), CONTEXT, api_key="open-sesame") as server:
        assert "wants an API key" in examine(server.address).error
        assert in_the_way(examine(server.address, api_key="open-sesame")) == []


def test_a_busy_server(examine: Examine) -> None:
    with serve(default_model(), 32768) as server:
        work = threading.Thread(target=generate_without_end, args=(server,))
        work.start()
        while not slots(server)[0]["is_processing"]:
            pass
        found = examine(server.address)
        server.process.kill()
        work.join()
    assert in_the_way(found) == ["traffic"]
    assert (check(found, "traffic").found, found.requests) == ("1 of 1 slots at work", 0)


def generate_without_end(server: Server) -> None:
    body = json.dumps({"prompt": "on and on", "n_predict": 32000, "ignore_eos": True}).encode()
    try:
        urllib.request.urlopen(server.address + "/completion", body, timeout=300).read()
    except (OSError, urllib.error.URLError):
        return  # it is killed in the middle of it


def slots(server: Server) -> list[dict[str, bool]]:
    return json.load(urllib.request.urlopen(server.address + "/slots", timeout=60))
