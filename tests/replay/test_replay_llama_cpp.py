"""``--engine llama-cpp-python``: the same numbers from another engine."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from gguf_sources import write_source
from models_for_tests import without_weights
from processes import interruptible

from promptguard.core.errors import ConfigError, EngineError, InputError
from promptguard.engines.llama_cpp_python import LlamaCppPython
from promptguard.models.default import default_model
from promptguard.models.make import make_tiny
from promptguard.replaying.result import Result

pytestmark = pytest.mark.llama_cpp
Execute = Callable[..., Result]

PARENT = """
import os, sys, time
from promptguard.engines.llama_cpp_python import LlamaCppPython
from promptguard.models.default import default_model
engine = LlamaCppPython(default_model(), context=1024).connect()
print(engine.pid, flush=True)
if sys.argv[1] == "exception": raise RuntimeError("boom")
if sys.argv[1] == "hard-exit": os._exit(0)
time.sleep(60)
"""


def counts(result: Result) -> list[tuple[int, ...]]:
    return [(turn.prompt, turn.cached, turn.prefilled, turn.ideal, turn.reusable) for turn in result.turns]


def causes(result: Result) -> dict[int, str]:
    return {turn.number: turn.divergence.cause.code for turn in result.turns if turn.divergence}


def test_the_default_run_passes_at_its_ceiling_with_the_numbers_of_the_embedded_server(execute: Execute) -> None:
    result = execute(task=None, engine="llama-cpp-python")
    assert result.passed
    assert (len(result.turns), result.hit_rate) == (13, result.ceiling)
    assert [(turn.prompt_loss, turn.engine_loss, turn.foreign) for turn in result.turns] == [(0, 0, 0)] * 13
    assert counts(result) == counts(execute(task=None))
    assert (result.subject.engine, result.subject.rendered_by) == ("llama-cpp-python", "promptguard")


@pytest.mark.parametrize(
    ("defect", "found"),
    [
        ("clock-head", {1: "K1", 2: "K1", 3: "K1"}),
        ("clock-tail", {1: "K1", 2: "K1", 3: "K1"}),
        ("uuid-in-tool", {1: "K2", 2: "K2", 3: "K2"}),
        ("reorder-tools@3", {3: "K3"}),
        ("extra-space@2", {2: "WS", 3: "WS"}),
        ("drop-history@3", {3: "K8"}),
    ],
)
def test_a_defect_fails_with_its_cause_and_the_numbers_of_the_embedded_server(
    execute: Execute, defect: str, found: dict[int, str]
) -> None:
    result = execute(engine="llama-cpp-python", inject=defect)
    assert not result.passed
    assert causes(result) == found
    assert [turn.engine_loss for turn in result.turns] == [0, 0, 0]
    assert counts(result) == counts(execute(inject=defect))


def test_keys_in_another_order_fail_with_their_cause(execute: Execute) -> None:
    """Their number is its own: a llama-server writes the outer keys of a tool in an order of its own."""
    result = execute(engine="llama-cpp-python", inject="reorder-keys@3")
    assert causes(result) == {3: "K4"}
    assert [turn.engine_loss for turn in result.turns] == [0, 0, 0]


def test_the_uncached_run_leaves_the_numbers_of_the_cached_one(execute: Execute) -> None:
    plain, both = (execute(engine="llama-cpp-python", compare_uncached=flag) for flag in (False, True))
    assert counts(both) == counts(plain)
    assert all(turn.seconds_uncached > 0 for turn in both.turns)


def test_the_cache_can_be_turned_off_for_one_prompt() -> None:
    with LlamaCppPython(default_model(), context=1024) as engine:
        engine.connect()
        tokens = engine.tokenize("one two three four five six seven eight nine ten")
        assert [engine.complete(tokens).cached, engine.complete(tokens, cache=False).cached] == [0, 0]
        # the logits of the very same prompt are still there, so nothing at all would be evaluated
        assert engine.complete([*tokens, 7]).cached == len(tokens)


def test_pieces_add_up_to_the_text() -> None:
    text = "<|im_start|>user\nGr\u00fc\u00dfe, \N{LLAMA}!<|im_end|>\n"
    with LlamaCppPython(default_model(), context=1024) as engine:
        engine.connect()
        pieces = engine.pieces(text)
        assert b"".join(pieces).decode() == text
        assert len(pieces) == len(engine.tokenize(text))


def test_the_twin_of_a_sliding_window_model_keeps_its_whole_cache_there(execute: Execute, tmp_path: Path) -> None:
    model = make_tiny(write_source(tmp_path / "gemma3.gguf", "gemma3", window=64), tmp_path / "tiny.gguf").path
    result = execute(engine="llama-cpp-python", model=model, inject="extra-space@2")
    assert [turn.engine_loss for turn in result.turns] == [0, 0, 0]
    assert [turn.prompt_loss > 0 for turn in result.turns] == [False, True, True]


def test_a_sliding_window_cache_that_is_not_kept_whole_is_refused(execute: Execute) -> None:
    with pytest.raises(EngineError, match=r"answers wrongly from a sliding-window cache .*; leave out --no-swa-full"):
        execute(engine="llama-cpp-python", swa_full=False)


def test_live_is_refused(execute: Execute) -> None:
    with pytest.raises(ConfigError, match="--live needs a llama-server"):
        execute(engine="llama-cpp-python", live=True)


def test_a_context_that_is_too_small_is_said(execute: Execute) -> None:
    with pytest.raises(EngineError, match=r"the task needs a context of \d+ tokens and the engine has 512; raise --ctx-size"):
        execute(engine="llama-cpp-python", ctx_size=512)


def test_a_vocabulary_is_no_model(execute: Execute, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no weights, only a vocabulary"):
        execute(engine="llama-cpp-python", model=without_weights(tmp_path / "vocabulary.gguf"))


def test_a_model_that_cannot_be_loaded_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(200))
    with (
        LlamaCppPython(path, context=1024) as engine,
        pytest.raises(EngineError, match=r"broken.gguf: llama-cpp-python cannot use this model"),
    ):
        engine.connect()
    assert not psutil.pid_exists(engine.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_native_crash_is_one_clear_error(number: signal.Signals) -> None:
    with LlamaCppPython(default_model(), context=1024) as engine:
        engine.connect()
        psutil.Process(engine.pid).send_signal(number)
        with pytest.raises(EngineError, match=rf"llama-cpp-python died while computing a prompt .signal {number.name}"):
            engine.complete([5, 6, 7])


def test_a_crash_in_mid_run_leaves_what_was_measured(execute: Execute) -> None:
    def before(label: str) -> None:
        if label == "user 2":
            for child in psutil.Process().children():
                if "promptguard.engines._llama_cpp_child" in child.cmdline():
                    child.kill()

    result = execute(engine="llama-cpp-python", before=before)
    assert [turn.number for turn in result.turns] == [1, 2]
    assert result.error.startswith("llama-cpp-python died while computing a prompt (signal SIGKILL)")


@pytest.mark.parametrize("how", ["exception", "hard-exit", "SIGINT", "SIGTERM", "SIGKILL"])
def test_ends_with_its_parent(how: str) -> None:
    parent = interruptible([sys.executable, "-c", PARENT, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with parent:
        child = psutil.Process(int(parent.stdout.readline()))
        if how.startswith("SIG"):
            parent.send_signal(getattr(signal, how))
        assert psutil.wait_procs([child], timeout=10)[1] == []
