"""The embedded llama-server as a process: how it starts, and that it ends whatever happens to its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from processes import gone, interruptible

from promptguard.core.errors import EngineError
from promptguard.engines.embedded import EmbeddedServer
from promptguard.engines.process import memory_for
from promptguard.models.default import default_model
from promptguard.prompts.request import Request

HELLO = Request(messages=({"role": "user", "content": "hello"},))
# Starts an engine, says its process id, then does what argv[1] says.
PARENT = """
import os, signal, sys, time
from promptguard.engines.embedded import EmbeddedServer
from promptguard.models.default import default_model
engine = EmbeddedServer(default_model(), context=1024).connect()
print(engine.pid, flush=True)
how = sys.argv[1]
if how == "exception": raise RuntimeError("boom")
if how == "exit": sys.exit(0)
if how == "hard-exit": os._exit(0)
time.sleep(60)
"""


@pytest.fixture
def engine() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(default_model(), context=2048) as engine:
        engine.connect()
        yield engine


def test_reuses_the_common_prefix_to_the_token(engine: EmbeddedServer) -> None:
    tokens = engine.tokenize("one two three four five six seven eight nine ten")
    assert engine.complete(tokens).cached == 0
    engine.place([*tokens, 5, 6, 7])
    completion = engine.complete([*tokens, 5, 6, 8, 9])
    assert (completion.cached, completion.prefilled) == (len(tokens) + 2, 2)


def test_the_cache_can_be_turned_off_for_one_prompt(engine: EmbeddedServer) -> None:
    tokens = engine.tokenize("one two three four five six seven eight nine ten")
    engine.complete(tokens)
    assert engine.complete(tokens, cache=False).cached == 0


def test_pieces_add_up_to_the_text(engine: EmbeddedServer) -> None:
    text = "<|im_start|>user\nGrüße, \N{LLAMA}! <|im_end|>\n"
    pieces = engine.pieces(text)
    assert b"".join(pieces).decode() == text
    assert len(pieces) == len(engine.tokenize(text))
    assert pieces[0] == b"<|im_start|>"


def test_describes_itself(engine: EmbeddedServer) -> None:
    info = engine.info
    assert (info.kind, info.slots, info.slot, info.context, info.url) == ("llama-server (embedded)", 1, 0, 2048, None)
    assert info.model == default_model().name
    assert info.build.startswith("xllamacpp 20")


def test_listens_on_loopback_only_and_answers_nobody_else(engine: EmbeddedServer) -> None:
    import httpx

    listening = [each for each in psutil.Process(engine.pid).net_connections() if each.status == psutil.CONN_LISTEN]
    assert {each.laddr.ip for each in listening} == {"127.0.0.1"}
    answer = httpx.post(f"http://127.0.0.1:{listening[0].laddr.port}/completion", json={"prompt": "x"}, trust_env=False)
    assert answer.status_code == 401


def test_two_engines_do_not_meet(engine: EmbeddedServer) -> None:
    with EmbeddedServer(default_model(), context=2048) as other:
        other.connect()
        tokens = engine.tokenize("one two three four five six seven eight nine ten")
        engine.complete(tokens)
        assert other.complete(tokens).cached == 0


def test_ends_when_it_is_closed(engine: EmbeddedServer) -> None:
    pid = engine.pid
    engine.close()
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("how", ["exception", "exit", "hard-exit", "SIGINT", "SIGTERM", "SIGKILL", "SIGHUP"])
def test_ends_with_its_parent(how: str) -> None:
    command = [sys.executable, "-c", PARENT, how]
    parent = interruptible(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child) or how in ("exception", "exit", "hard-exit")
        if how.startswith("SIG"):
            parent.send_signal(getattr(signal, how))
        parent.wait(timeout=20)
    assert gone(child)


@pytest.mark.parametrize(
    ("ask", "doing"),
    [
        (lambda engine: engine.complete([1, 2, 3]), "computing a prompt"),
        (lambda engine: engine.place([1, 2, 3]), "computing a prompt"),
        (lambda engine: engine.tokenize("x"), "tokenizing a prompt"),
        (lambda engine: engine.tokenize_reply("x"), "tokenizing a prompt"),
        (lambda engine: engine.pieces("x"), "tokenizing a prompt"),
        (lambda engine: engine.apply_template(HELLO), "rendering a chat template"),
        (lambda engine: engine.chat(HELLO, max_tokens=4), "answering"),
    ],
)
def test_a_native_crash_is_one_clear_error(engine: EmbeddedServer, ask: Callable[[EmbeddedServer], object], doing: str) -> None:
    os.kill(engine.pid, signal.SIGABRT)
    os.waitid(os.P_PID, engine.pid, os.WEXITED | os.WNOWAIT)  # one of its threads may answer until another has read the signal
    with pytest.raises(EngineError, match=rf"^the embedded llama-server died while {doing} \(signal SIGABRT\)"):
        ask(engine)


def test_a_file_that_is_no_model_is_one_clear_error_with_the_end_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(default_model().read_bytes()[:5000])
    with (
        EmbeddedServer(path, context=1024) as engine,
        pytest.raises(EngineError, match=r"broken.gguf: the engine cannot use this model") as caught,
    ):
        engine.connect()
    assert "its last lines were:" in str(caught.value)


def test_a_start_that_takes_too_long_is_ended() -> None:
    with EmbeddedServer(default_model(), context=1024, timeout=0.01) as engine:
        with pytest.raises(EngineError, match=r"did not answer within 0.01 s while loading"):
            engine.connect()
        assert not psutil.pid_exists(engine.pid)


def test_a_prompt_beyond_the_context_is_said(engine: EmbeddedServer) -> None:
    with pytest.raises(EngineError, match="longer than the context"):
        engine.complete([5] * 3000)
    assert engine.complete([5] * 10).prefilled > 0


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptguard.engines.embedded.memory_for", lambda _model, _context: 200 << 20)
    with EmbeddedServer(default_model(), context=131072) as engine, pytest.raises(EngineError) as caught:
        engine.connect()
    assert caught.value.what == "the embedded llama-server ran out of memory, of which promptguard gives it 0.2 GiB"


def test_the_bound_of_memory_grows_with_the_model_and_its_context() -> None:
    size = default_model().stat().st_size
    assert memory_for(default_model(), 1000) == (4 << 30) + 4 * (size + 1000 * (size // 1024))
