"""``--server`` against running llama-servers of many settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chat_templates import CHATML
from llama_server import Server, serve
from models_for_tests import with_chat_template

from promptguard.core.errors import EngineError
from promptguard.models.default import default_model
from promptguard.replaying.result import Result
from promptguard.report.files import FORMATS, render

Execute = Callable[..., Result]
KEY = "s3cret-key-of-the-runner"


def counts(result: Result) -> list[tuple[int, ...]]:
    return [(turn.prompt, turn.cached, turn.prefilled, turn.ideal, turn.reusable) for turn in result.turns]


def losses(result: Result) -> list[tuple[int, int]]:
    return [(turn.prompt_loss, turn.engine_loss) for turn in result.turns]


@pytest.fixture(autouse=True)
def no_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMPTGUARD_API_KEY", raising=False)


@pytest.mark.parametrize("inject", [None, "clock-head", "extra-space@2", "reorder-keys@3"])
def test_a_server_and_the_embedded_engine_count_the_same(execute: Execute, inject: str | None) -> None:
    with serve(default_model()) as server:
        theirs = execute(server=server.address, inject=inject)
    ours = execute(inject=inject)
    assert counts(theirs) == counts(ours)
    assert [check.passed for check in theirs.checks] == [check.passed for check in ours.checks]
    assert theirs.passed == (inject is None)


def test_what_is_measured_is_said(execute: Execute) -> None:
    with serve(default_model(), 8192) as server:
        result = execute(server=server.address)
    subject = result.subject
    assert (subject.engine, subject.url, subject.model) == ("llama-server", server.address, default_model().name)
    assert (subject.context, subject.slots, subject.slot) == (8192, 1, 0)
    assert subject.chat_template_sha256 == execute().subject.chat_template_sha256
    assert result.notes == ()


def test_a_second_run_is_not_helped_by_the_first(execute: Execute) -> None:
    with serve(default_model()) as server:
        assert counts(execute(server=server.address)) == counts(execute(server=server.address))


@pytest.mark.parametrize("suffix", ["", "/", "//"])
@pytest.mark.parametrize("prefix", ["", "/llm/v2"])
def test_a_path_in_front_and_slashes_behind_do_no_harm(execute: Execute, prefix: str, suffix: str) -> None:
    with serve(default_model(), api_prefix=prefix) as server:
        assert execute(server=server.address + prefix + suffix).passed


# -- the API key


def test_the_api_key_of_the_environment_opens_the_server_and_is_in_no_report(
    execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTGUARD_API_KEY", KEY)
    with serve(default_model(), api_key=KEY) as server:
        result = execute(server=server.address)
    assert result.passed
    assert KEY not in repr(result)
    assert not any(KEY in render(result, name) for name in FORMATS)


@pytest.mark.parametrize("key", [None, "wr0ng-key"])
def test_a_wrong_api_key_is_an_error_that_does_not_show_it(
    execute: Execute, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    if key:
        monkeypatch.setenv("PROMPTGUARD_API_KEY", key)
    with serve(default_model(), api_key=KEY) as server, pytest.raises(EngineError) as caught:
        execute(server=server.address)
    assert "the server refuses the request to /props" in str(caught.value)
    assert "put its API key in the environment variable PROMPTGUARD_API_KEY" in str(caught.value)
    assert "wr0ng-key" not in str(caught.value)


# -- slots and other traffic


def test_with_two_slots_the_run_is_pinned_and_says_so(execute: Execute) -> None:
    with serve(default_model(), 8192, slots=2) as server:
        default = execute(server=server.address)
        second = execute(server=server.address, slot=1)
    assert (default.passed, default.subject.slots, default.subject.slot) == (True, 2, 0)
    assert (second.passed, second.subject.slot) == (True, 1)
    assert counts(default) == counts(second)
    assert ["2 slots; the run is pinned to slot 1" in note for note in second.notes] == [True]


def test_traffic_in_the_same_slot_is_engine_loss_and_is_said(execute: Execute) -> None:
    with serve(default_model()) as server:
        result = execute(server=server.address, before=ask_before("result of get_weather", server, slot=0))
    assert [(prompt, engine > 0) for prompt, engine in losses(result)] == [(0, False), (0, True), (0, False)]
    assert [check.name for check in result.checks if not check.passed][-1] == "engine-loss"
    assert any("other requests ran in slot 0 during the run, before 1 of its requests" in note for note in result.notes)


def test_traffic_in_another_slot_costs_nothing_and_is_said(execute: Execute) -> None:
    with serve(default_model(), 8192, slots=2) as server:
        result = execute(server=server.address, before=ask_before("result of get_weather", server, slot=1))
    assert losses(result) == [(0, 0)] * 3
    assert result.passed
    assert any("other requests ran on the server during the run" in note for note in result.notes)
    assert not any("in slot 0 during the run" in note for note in result.notes)


def ask_before(turn: str, server: Server, *, slot: int) -> Callable[[str], None]:
    def before(label: str) -> None:
        if label == turn:
            server.complete(server.tokenize("A title for this conversation, please."), slot)

    return before


def test_a_server_that_does_not_list_its_slots_can_be_measured(execute: Execute) -> None:
    with serve(default_model(), endpoint_slots=False) as server:
        result = execute(server=server.address)
    assert result.passed
    assert ["other traffic on it cannot be seen" in note for note in result.notes] == [True]


# -- caches of the server that are not the prefix cache


def test_a_warm_host_cache_does_not_lift_a_defective_run(execute: Execute) -> None:
    alone = execute(inject="extra-space@2")
    with serve(default_model(), 8192, cache_ram=512, slots=2) as server:
        for slot in (0, 1):
            execute(server=server.address, slot=slot)
            execute(server=server.address, slot=slot, inject="extra-space@2")
        lifted = execute(server=server.address, slot=0, inject="extra-space@2")
    assert [turn.hit for turn in lifted.turns] == [turn.hit for turn in alone.turns]
    assert lifted.hit_rate == alone.hit_rate
    assert not lifted.passed


def test_tokens_that_the_server_shifted_into_place_are_not_counted(execute: Execute) -> None:
    with serve(default_model(), n_cache_reuse=16) as server:
        result = execute(server=server.address, inject="extra-space@2")
    # llama.cpp can close the gap that a removed text leaves, here the space that is gone again on turn 3
    assert [turn.number for turn in result.turns if turn.cached > turn.reusable] == [3]
    assert [turn.hit for turn in result.turns] == [turn.reusable for turn in result.turns]
    assert any("cached tokens are not from this run" in note for note in result.notes)
    assert not result.passed


def test_a_server_with_its_cache_off_has_an_engine_loss_and_no_prompt_loss(execute: Execute) -> None:
    with serve(default_model(), cache_prompt=False) as server:
        result = execute(server=server.address)
    assert losses(result) == [(0, turn.reusable) for turn in result.turns]
    assert [check.name for check in result.checks if not check.passed] == ["hit-rate", "engine-loss"]


def test_the_uncached_run_of_a_server(execute: Execute) -> None:
    with serve(default_model()) as server:
        plain = execute(server=server.address)
        both = execute(server=server.address, compare_uncached=True)
    assert counts(both) == counts(plain)
    assert all(turn.seconds_uncached > 0 for turn in both.turns)


# -- what does not fit


def test_a_context_that_is_too_small_names_the_flag_of_the_server(execute: Execute) -> None:
    with serve(default_model(), 1024, slots=2, kv_unified=False) as server, pytest.raises(EngineError) as caught:
        execute(server=server.address)
    assert "tokens and the engine has 512; start the server with a larger -c / --ctx-size" in str(caught.value)


def test_the_default_task_does_not_fit_a_small_server(execute: Execute) -> None:
    with serve(default_model(), 2048) as server, pytest.raises(EngineError, match=r"the engine has 2,048"):
        execute(server=server.address, task=None)


def test_a_server_that_dies_in_mid_run_leaves_what_was_measured(execute: Execute) -> None:
    with serve(default_model()) as server:

        def before(label: str) -> None:
            if label == "user 2":
                server.process.kill()
                server.process.wait()

        result = execute(server=server.address, before=before)
    assert [turn.number for turn in result.turns] == [1, 2]
    assert result.error.startswith(f"{server.address}: ")
    assert not result.passed
    assert result.checks == ()


# -- chat templates


def test_a_chat_template_of_the_user_is_measured_and_not_the_servers(execute: Execute, tmp_path: Path) -> None:
    path = tmp_path / "own.jinja"
    path.write_text(CHATML)
    with serve(default_model()) as server:
        result = execute(server=server.address, chat_template=path)
    with serve(default_model(), chat_template=CHATML) as server:
        same = execute(server=server.address, chat_template=path)
    assert result.passed
    assert result.subject.chat_template == str(path)
    assert any("the server itself holds another one" in note for note in result.notes)
    assert counts(same) == counts(result)
    assert same.notes == ()


def test_a_template_that_we_render_otherwise_is_taken_from_the_server(execute: Execute, tmp_path: Path) -> None:
    model = with_chat_template(tmp_path / "pi.gguf", "{{ 3.141592653589793 }}\n" + CHATML)  # llama.cpp prints six digits
    with serve(model) as server:
        result = execute(server=server.address)
    assert result.passed
    assert result.subject.rendered_by == "the engine"
    assert any("the engine renders this chat template differently" in note for note in result.notes)
