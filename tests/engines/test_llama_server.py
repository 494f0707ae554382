from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from pathlib import Path

import pytest
import trustme
from fake_server import PROPS, SLOT, FakeLlamaServer
from pytest_httpserver import HTTPServer

from promptguard.core.errors import ConfigError, EngineError
from promptguard.engines.http import JSONClient, check_url
from promptguard.engines.llama_server import LlamaServer
from promptguard.prompts.request import Request


def connect(fake: FakeLlamaServer, **options: object) -> LlamaServer:
    return LlamaServer(JSONClient(fake.url, timeout=5, loading=2), **options)


def test_describes_what_is_measured(fake: FakeLlamaServer) -> None:
    info = connect(fake).info
    assert (info.model, info.build, info.context, info.slots, info.slot) == ("model.gguf", "b9999-abc", 4096, 1, 0)
    assert (info.chat_template, info.bos_token, info.eos_token) == (PROPS["chat_template"], "<s>", "</s>")
    assert info.notes == ()


def test_counts_cached_and_prefilled_tokens_from_timings(fake: FakeLlamaServer) -> None:
    fake.answers["/completion"] = {"timings": {"cache_n": 3, "prompt_n": 2}, "tokens_cached": 99, "tokens_evaluated": 77}
    completion = connect(fake).complete([1, 2, 3, 4, 5])
    assert (completion.cached, completion.prefilled) == (3, 2)


def test_sends_tokens_to_the_pinned_slot_and_leaves_the_cache_switch_to_the_server(fake: FakeLlamaServer) -> None:
    engine = connect(fake)
    engine.complete([1, 2])
    engine.complete([1, 2], cache=False)
    with_cache, without = fake.bodies("/completion")
    assert with_cache == {"prompt": [1, 2], "n_predict": 1, "temperature": 0.0, "id_slot": 0}
    assert without == {**with_cache, "cache_prompt": False}


def test_pins_an_idle_slot_and_says_that_there_are_several(fake: FakeLlamaServer) -> None:
    fake.answers["/props"] = {**PROPS, "total_slots": 2}
    fake.answers["/slots"] = [{**SLOT, "is_processing": True}, {**SLOT, "id": 1}]
    info = connect(fake).info
    assert info.slot == 1
    assert any("2 slots" in note for note in info.notes)
    assert any("1 of 2 slots were busy" in note for note in info.notes)


def test_takes_the_smallest_context_of_the_slots(fake: FakeLlamaServer) -> None:
    fake.answers["/slots"] = [{**SLOT, "n_ctx": 2048}]
    assert connect(fake).info.context == 2048


def test_refuses_a_slot_that_is_not_there(fake: FakeLlamaServer) -> None:
    with pytest.raises(ConfigError, match="--slot 3: the server has slots 0 to 0"):
        connect(fake, slot=3)


def test_says_when_slots_are_not_listed(fake: FakeLlamaServer) -> None:
    fake.answers["/slots"] = (501, {"error": {"message": "This server does not support slots endpoint."}})
    assert any("--no-slots" in note for note in connect(fake).info.notes)


@pytest.mark.parametrize(
    ("timings", "what"),
    [
        (None, "timings.cache_n"),
        ({"prompt_n": 2}, "timings.cache_n"),
        ({"cache_n": "0", "prompt_n": 2}, "timings.cache_n"),
        ({"cache_n": 0, "prompt_n": 5}, "counts 0 cached and 5 prefilled tokens for a prompt of 2"),
    ],
)
def test_an_engine_without_usable_figures_is_an_error(fake: FakeLlamaServer, timings: object, what: str) -> None:
    fake.answers["/completion"] = {"timings": timings}
    with pytest.raises(EngineError, match=what):
        connect(fake).complete([1, 2])


def test_the_error_for_missing_figures_names_the_version_to_use(fake: FakeLlamaServer) -> None:
    fake.answers["/completion"] = {"content": ""}
    with pytest.raises(EngineError, match="since September 2025"):
        connect(fake).complete([1, 2])


@pytest.mark.parametrize(
    "props",
    [{}, [], {"default_generation_settings": {}, "chat_template": "x"}, {**PROPS, "chat_template": None}, b"<html>hello</html>"],
)
def test_something_else_than_a_llama_server_is_an_error(fake: FakeLlamaServer, props: object) -> None:
    fake.answers["/props"] = props
    fake.answers["/slots"] = []
    with pytest.raises(EngineError, match="llama-server"):
        connect(fake)


def test_waits_for_a_server_that_loads_its_model(fake: FakeLlamaServer) -> None:
    answers = iter([(503, {"error": {"message": "Loading model"}})] * 2)
    fake.answers["/props"] = lambda _: next(answers, PROPS)
    assert connect(fake).info.context == 4096
    assert len(fake.bodies("/props")) == 3


def test_does_not_wait_for_ever(fake: FakeLlamaServer) -> None:
    fake.answers["/props"] = (503, {"error": {"message": "Loading model"}})
    with pytest.raises(EngineError, match="Loading model"):
        LlamaServer(JSONClient(fake.url, timeout=5, loading=0.4))


def test_a_turn_is_sent_once_even_when_the_server_fails(fake: FakeLlamaServer) -> None:
    engine = connect(fake)
    fake.answers["/completion"] = (500, {"error": {"message": "out of memory"}})
    with pytest.raises(EngineError, match="out of memory"):
        engine.complete([1, 2])
    assert len(fake.bodies("/completion")) == 1


def test_a_broken_connection_does_not_count_a_turn_twice() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        client = JSONClient(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=5)
        accepted = 0

        def hang_up() -> None:
            nonlocal accepted
            with contextlib.suppress(OSError):  # the listener is closed in the end
                while True:
                    connection, _ = listener.accept()
                    accepted += 1
                    connection.recv(65536)
                    connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(EngineError, match="the connection broke during /completion"):
            client.post("/completion", {"prompt": [1]}, again=False)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        assert accepted == 1
        client.close()


def test_an_unreachable_server_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(EngineError, match=rf"http://127.0.0.1:{port}: cannot be reached .*is the server running"):
        LlamaServer(JSONClient(f"http://127.0.0.1:{port}", timeout=2))


def test_the_api_key_is_sent_and_never_shown(fake: FakeLlamaServer) -> None:
    fake.answers["/props"] = (401, {"error": {"message": "Invalid API Key: s3cret-key"}})
    with pytest.raises(EngineError) as caught:
        LlamaServer(JSONClient(fake.url, api_key="s3cret-key", timeout=5))
    assert fake.seen[0][2]["Authorization"] == "Bearer s3cret-key"
    assert "s3cret-key" not in str(caught.value)
    assert "PROMPTGUARD_API_KEY" in str(caught.value)


def test_control_characters_of_a_server_do_not_reach_the_terminal(fake: FakeLlamaServer) -> None:
    fake.answers["/props"] = (500, {"error": {"message": "bad\x1b[2J\nthing"}})
    with pytest.raises(EngineError) as caught:
        connect(fake)
    assert "bad?[2J thing" in str(caught.value)


def test_a_huge_answer_is_refused(fake: FakeLlamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptguard.engines.http.MAX_BODY", 1000)
    fake.answers["/props"] = b" " * 2000
    with pytest.raises(EngineError, match="larger than"):
        connect(fake)


def test_a_prompt_beyond_the_context_names_the_flag(fake: FakeLlamaServer) -> None:
    engine = connect(fake)
    message = "request (9000 tokens) exceeds the available context size (4096 tokens)"
    fake.answers["/completion"] = (400, {"error": {"message": message}})
    with pytest.raises(EngineError, match="--ctx-size"):
        engine.complete([1] * 9000)


def test_other_traffic_in_the_slot_is_said(fake: FakeLlamaServer) -> None:
    engine = connect(fake)
    engine.complete([1, 2])
    fake.answers["/slots"] = [{**SLOT, "id_task": 8}]
    engine.complete([1, 2, 3])
    assert any("other requests ran in slot 0" in note for note in engine.info.notes)


def test_our_own_requests_are_not_other_traffic(fake: FakeLlamaServer) -> None:
    engine = connect(fake)
    tasks = iter(range(100))
    current = next(tasks)

    def complete(body: dict[str, list[int]]) -> object:
        nonlocal current
        current = next(tasks)
        return {"timings": {"cache_n": 0, "prompt_n": len(body["prompt"])}}

    fake.answers["/completion"] = complete
    fake.answers["/slots"] = lambda _: [{**SLOT, "id_task": current}]
    for length in (2, 3, 4):
        engine.complete([1] * length)
    assert engine.info.notes == ()


def test_traffic_in_another_slot_is_told_apart(fake: FakeLlamaServer) -> None:
    fake.answers["/props"] = {**PROPS, "total_slots": 2}
    fake.answers["/slots"] = [SLOT, {**SLOT, "id": 1}]
    engine = connect(fake)
    engine.complete([1, 2])
    fake.answers["/slots"] = [SLOT, {**SLOT, "id": 1, "is_processing": True}]
    engine.complete([1, 2, 3])
    assert any("other requests ran on the server" in note for note in engine.info.notes)
    assert not any("in slot 0" in note for note in engine.info.notes)


def test_traffic_that_comes_and_goes_during_our_own_request_is_said(fake: FakeLlamaServer) -> None:
    fake.answers["/props"] = {**PROPS, "total_slots": 2}
    slots = [{**SLOT, "n_prompt_tokens": 2}, {**SLOT, "id": 1}]
    fake.answers["/slots"] = slots
    engine = connect(fake)

    def complete(body: dict[str, list[int]]) -> object:
        slots[1] = {**slots[1], "id_task": 8}
        return {"timings": {"cache_n": 0, "prompt_n": len(body["prompt"])}}

    fake.answers["/completion"] = complete
    engine.complete([1, 2])
    assert [note for note in engine.info.notes if "other requests" in note] == [
        "other requests ran on the server during the run: times are not comparable, and host memory is shared"
    ]


def test_a_request_that_follows_ours_in_our_slot_is_said(fake: FakeLlamaServer) -> None:
    engine = connect(fake)
    fake.answers["/slots"] = [{**SLOT, "id_task": 9, "n_prompt_tokens": 500}]  # the prompt of somebody else
    engine.complete([1, 2])
    assert any("other requests ran in slot 0" in note for note in engine.info.notes)


def test_a_busy_proxy_does_not_make_a_turn_count_twice(fake: FakeLlamaServer) -> None:
    engine = connect(fake)
    fake.answers["/completion"] = (503, {"error": {"message": "upstream hiccup"}})
    with pytest.raises(EngineError, match="upstream hiccup"):
        engine.complete([1, 2])
    assert len(fake.bodies("/completion")) == 1


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_an_answer_that_drips_is_given_up(head: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(head)
                for char in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100:
                    connection.sendall(bytes([char]))
                    time.sleep(0.1)

        thread = threading.Thread(target=drip)
        thread.start()
        client = JSONClient(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=1)
        with pytest.raises(EngineError, match="no answer to /props within the time limit"):
            client.get("/props")
        client.close()
        thread.join()


def test_live_replies_need_their_tokens(fake: FakeLlamaServer) -> None:
    fake.answers["/v1/chat/completions"] = {"choices": [{"message": {"content": "hi"}}], "timings": {"cache_n": 0, "prompt_n": 1}}
    with pytest.raises(EngineError, match=r"__verbose.tokens.*newer llama-server"):
        connect(fake).chat(Request(messages=({"role": "user", "content": "x"},)), max_tokens=4)


def test_a_live_reply_keeps_what_an_agent_replays(fake: FakeLlamaServer) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    fake.answers["/v1/chat/completions"] = {
        "choices": [
            {"message": {"role": "assistant", "content": None, "tool_calls": [call], "x": 1}, "finish_reason": "tool_calls"}
        ],
        "timings": {"cache_n": 4, "prompt_n": 1, "prompt_ms": 250.0},
        "__verbose": {"tokens": [5, 6, 7], "content": "<tool_call>{}"},
    }
    reply = connect(fake).chat(Request(messages=({"role": "user", "content": "x"},)), max_tokens=4)
    assert reply.message == {"role": "assistant", "content": "", "tool_calls": [call]}
    assert (list(reply.tokens), reply.text) == ([5, 6], "<tool_call>{}")
    assert (reply.completion.cached, reply.completion.prefilled, reply.completion.seconds) == (4, 1, 0.25)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8080",
        "ftp://x",
        "http://",
        "http://h:99999",
        "http://h/?a=1",
        "http://h:0",
        "file:///etc/passwd",
        "http://[::1",
    ],
)
def test_what_is_no_server_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="--server"):
        check_url(url)


def test_credentials_in_the_url_are_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        check_url("http://me:s3cret@host")
    assert "s3cret" not in str(caught.value)
    assert "PROMPTGUARD_API_KEY" in str(caught.value)


def test_a_base_url_loses_its_last_slash() -> None:
    assert check_url("https://jetson.local:8443/llm/") == "https://jetson.local:8443/llm"


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    with HTTPServer(ssl_context=context) as server:
        FakeLlamaServer(server)
        url = server.url_for("").rstrip("/")
        assert url.startswith("https://")
        with pytest.raises(EngineError, match=r"cannot be reached .*CERTIFICATE_VERIFY_FAILED"):
            LlamaServer(JSONClient(url, timeout=5))


def test_a_certificate_of_a_trusted_authority_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    with HTTPServer(ssl_context=context) as server:
        fake = FakeLlamaServer(server)
        assert LlamaServer(JSONClient(fake.url, timeout=5)).info.context == 4096
