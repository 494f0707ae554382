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
from llama_server import Server, serve

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


def test_healthy(examine: Examine) -> None:
    with serve(default_model(), CONTEXT, endpoint_metrics=True) as server:
        found = examine(server.address)
    assert in_the_way(found) == []
    assert [check.name for check in found.checks if check.status == "unknown"] == []
    assert found.server.model == "promptguard-tiny.gguf"
    assert found.server.prefill_rate > 0


def test_prompt_cache_off(examine: Examine) -> None:
    with serve(default_model(), CONTEXT, cache_prompt=False) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["prompt-cache"]
    assert check(found, "prompt-cache").remedy.startswith("--cache-prompt ")


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


def test_several_slots_where_a_conversation_takes_that_of_another(examine: Examine) -> None:
    with serve(default_model(), 2 * CONTEXT, slots=2, endpoint_metrics=True) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["slots"]
    assert "--parallel 1" in check(found, "slots").remedy


def test_requests_that_wander_between_slots(examine: Examine) -> None:
    with serve(default_model(), 2 * CONTEXT, slots=2, slot_prompt_similarity=0.0) as server:
        found = examine(server.address)
    assert in_the_way(found) == ["slots"]
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
    with serve(default_model(), CONTEXT, cache_ram=64) as server:
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
