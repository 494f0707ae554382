"""Engines that break, or say what makes no sense, before and during a run."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest
from command_line import Replay, listing
from fake_server import PROPS, SLOT, FakeLlamaServer
from pytest_httpserver import HTTPServer

from promptguard.core.resources import resource

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}[/]{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
SCHEMA = json.loads(resource("docs/schemas/replay-1.json").read_text(encoding="utf-8"))


def render(body: dict[str, Any]) -> dict[str, str]:
    return {"prompt": "".join(f"[{m['role']}]{m.get('content', '')}[/]" for m in body["messages"]) + "[assistant]"}


class Caching:
    """A server with one slot and a prefix cache; ``broken`` answers instead from the given request on, the warm-up being 1."""

    def __init__(self, broken: object = None, at: int = 3) -> None:
        self.held: list[int] = []
        self.requests = 0
        self.broken, self.at = broken, at

    def __call__(self, body: dict[str, Any]) -> object:
        prompt = body["prompt"]
        if body["n_predict"]:
            self.requests += 1
            if self.broken is not None and self.requests >= self.at:
                return self.broken(body) if isinstance(self.broken, Callable) else self.broken
        cached = 0
        while cached < min(len(prompt) - 1, len(self.held)) and prompt[cached] == self.held[cached]:
            cached += 1
        self.held = prompt
        return {"timings": {"cache_n": cached, "prompt_n": len(prompt) - cached}}


@pytest.fixture
def fake(httpserver: HTTPServer) -> FakeLlamaServer:
    fake = FakeLlamaServer(httpserver)
    fake.answers["/props"] = {**PROPS, "default_generation_settings": {"n_ctx": 16384}, "chat_template": TEMPLATE}
    fake.answers["/slots"] = [{**SLOT, "n_ctx": 16384}]
    fake.answers["/apply-template"] = render
    fake.answers["/completion"] = Caching()
    return fake


def test_the_fake_is_good_enough_to_pass(replay: Replay, fake: FakeLlamaServer) -> None:
    outcome = replay("--server", fake.url, "--output-format", "json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["verdict"]) == (0, "passed")
    assert found["subject"]["rendered_by"] == "promptguard (checked against the engine)"


BREAKS = {
    "error": ((500, {"error": {"message": "out of memory"}}), r"/completion: out of memory"),
    "garbage": (b"\x00\xffnot json", r"the answer to /completion is not JSON; .*"),
    "list": ([1, 2], r"does not say how many prompt tokens came from the cache \(timings.cache_n\); .*September 2025.*"),
    "no figures": ({"content": "x"}, r"does not say how many prompt tokens came from the cache \(timings.cache_n\); .*"),
    "negative": (
        lambda body: {"timings": {"cache_n": len(body["prompt"]) + 5, "prompt_n": -5}},
        r"does not say how many prompt tokens came from the cache \(timings.cache_n\); .*",
    ),
    "huge": (
        {"timings": {"cache_n": 10**18, "prompt_n": 10**18}},
        r"counts 10{18} cached and 10{18} .* for a prompt of \d+; .*",
    ),
    "float": ({"timings": {"cache_n": 1e308, "prompt_n": 1}}, r"does not say how many prompt tokens came from the cache .*"),
    "unknown": ((404, b""), r"/completion: HTTP 404"),
    "html": ((502, b"<html>Bad gateway</html>"), r"/completion: HTTP 502"),
    "deep": (b"[" * 100_000, r"the answer to /completion is not JSON; .*"),
}


@pytest.mark.parametrize(("broken", "message"), BREAKS.values(), ids=BREAKS)
def test_what_was_measured_before_an_engine_broke_is_still_written(
    replay: Replay, folder: Path, fake: FakeLlamaServer, broken: object, message: str
) -> None:
    before = listing(folder)
    fake.answers["/completion"] = Caching(broken)  # the warm-up and the first turn are well
    outcome = replay("--server", fake.url, "--report", "json=r.json")
    found = json.loads((folder / "r.json").read_text())
    jsonschema.validate(found, SCHEMA)
    assert outcome.code == 2
    assert re.fullmatch(f"promptguard: error: {re.escape(fake.url)}: {message}\n", outcome.err)
    assert (found["verdict"], [turn["number"] for turn in found["turns"]]) == ("error", [1])
    assert outcome.err == f"promptguard: error: {found['error']}\n"
    assert "PASSED" not in outcome.out
    assert listing(folder) == sorted([*before, "r.json"])


@pytest.mark.parametrize(("broken", "message"), BREAKS.values(), ids=BREAKS)
def test_an_engine_that_never_worked_gives_a_report_that_says_so(
    replay: Replay, folder: Path, fake: FakeLlamaServer, broken: object, message: str
) -> None:
    before = listing(folder)
    fake.answers["/completion"] = Caching(broken, at=1)
    outcome = replay("--server", fake.url, "--report", "json=r.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(f"promptguard: error: {re.escape(fake.url)}: {message}\n", outcome.err)
    assert listing(folder) == sorted([*before, "r.json"])
    assert json.loads((folder / "r.json").read_text(encoding="utf-8"))["verdict"] == "error"


def test_a_server_that_never_answers_is_given_up(replay: Replay, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        outcome = replay("--server", f"http://127.0.0.1:{silent.getsockname()[1]}", "--timeout", "1")
    assert outcome.code == 2
    assert "no answer to /props within the time limit; raise --timeout or look at the server's log" in outcome.err


def test_a_server_that_stops_answering_in_mid_run_leaves_what_was_measured(
    replay: Replay, folder: Path, fake: FakeLlamaServer
) -> None:
    def sleep(body: dict[str, Any]) -> object:
        time.sleep(1.5)
        return {}

    fake.answers["/completion"] = Caching(sleep, at=4)
    outcome = replay("--server", fake.url, "--timeout", "1", "--report", "json=r.json")
    assert outcome.code == 2
    assert "no answer to /completion within the time limit; raise --timeout" in outcome.err
    assert len(json.loads((folder / "r.json").read_text())["turns"]) == 2


def test_an_unreachable_server_leaves_no_earlier_verdict_behind(replay: Replay, folder: Path) -> None:
    assert replay("--report", "json=r.json").code == 0
    outcome = replay("--server", "http://127.0.0.1:9", "--report", "json=r.json")
    assert outcome.code == 2
    assert re.fullmatch(
        r"promptguard: error: http://127.0.0.1:9: cannot be reached \(.*\); is the server running, and is the address right\?\n",
        outcome.err,
    )
    assert json.loads((folder / "r.json").read_text(encoding="utf-8"))["verdict"] == "error"


def test_a_server_with_too_small_a_context(replay: Replay, fake: FakeLlamaServer) -> None:
    fake.answers["/slots"] = [{**SLOT, "n_ctx": 512}]
    outcome = replay("--server", fake.url)
    assert outcome.code == 2
    assert re.search(r"needs a context of [\d,]+ tokens and the engine has 512; start the server with a larger", outcome.err)


def test_a_server_with_far_too_small_a_context_gets_no_prompt(replay: Replay, fake: FakeLlamaServer) -> None:
    fake.answers["/slots"] = [{**SLOT, "n_ctx": 64}]
    outcome = replay("--server", fake.url)
    assert re.search(r"needs a context of [\d,]+ tokens and the engine has 64; start the server with a larger", outcome.err)
    assert {path for path, _, _ in fake.seen} == {"/props", "/slots", "/apply-template", "/tokenize"}


def test_a_giant_is_not_counted_to_the_end(replay: Replay, fake: FakeLlamaServer, folder: Path) -> None:
    task = folder / "task" / "task.yaml"
    task.write_text(task.read_text().replace("And tomorrow?", "And tomorrow? " * 200_000))
    outcome = replay("--server", fake.url)
    assert re.search(r"needs a context of at least 350,\d{3} tokens and the engine has 16,384; start", outcome.err)
    assert {path for path, _, _ in fake.seen} == {"/props", "/slots"}


def test_the_context_that_a_replay_asks_for_is_enough_and_no_token_too_much(replay: Replay, fake: FakeLlamaServer) -> None:
    def needed(context: int) -> int | None:
        fake.answers["/slots"] = [{**SLOT, "n_ctx": context}]
        found = re.search(r"needs a context of ([\d,]+) tokens", replay("--server", fake.url).err)
        return int(found[1].replace(",", "")) if found else None

    least = needed(64)
    assert least is not None
    assert [needed(least - 1), needed(least)] == [least, None]


NONSENSE = [
    ("/tokenize", {"tokens": ["x"]}, "the answer to /tokenize is not what a llama-server gives"),
    ("/tokenize", {"tokens": None}, "the answer to /tokenize is not what a llama-server gives"),
    ("/apply-template", {"prompt": 7}, "the answer to /apply-template is not what a llama-server gives"),
    ("/props", [], "does not answer like a llama-server"),
    (
        "/props",
        (404, b""),
        ": is not a llama-server (/props: HTTP 404); give the address of a llama-server, without any path",
    ),
    ("/props", {**PROPS, "chat_template": ""}, "has no chat template; give one with --chat-template"),
    ("/props", {**PROPS, "chat_template": "{% for i in range(1000000000) %}{% endfor %}"}, "counts to more than 100,000"),
    ("/slots", b"", "the answer to /slots is not JSON"),
    ("/slots", [{"id": 0, "n_ctx": -5}], "does not say how large its context is"),
]


@pytest.mark.parametrize(("path", "answer", "message"), NONSENSE)
def test_a_reply_that_makes_no_sense_is_an_error(
    replay: Replay, fake: FakeLlamaServer, path: str, answer: object, message: str
) -> None:
    fake.answers[path] = answer
    outcome = replay("--server", fake.url)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


@pytest.mark.parametrize("slots", [[{"id": "x", "n_ctx": "y"}], [{"id": [0]}], {"id": 0}, [None]])
def test_slots_that_make_no_sense_count_as_not_listed(replay: Replay, fake: FakeLlamaServer, slots: object) -> None:
    fake.answers["/slots"] = slots
    outcome = replay("--server", fake.url, "--output-format", "json")
    assert outcome.code == 0
    assert any("does not list its slots" in note for note in json.loads(outcome.out)["notes"])


def test_what_a_server_says_of_itself_is_printed_without_control_characters(replay: Replay, fake: FakeLlamaServer) -> None:
    named = {"model_alias": "\x1b[2Jm\u202e", "build_info": "\x07b\r", "total_slots": -3}
    fake.answers["/props"] = {**fake.answers["/props"], **named}
    outcome = replay("--server", fake.url)
    assert outcome.code == 0
    assert not set(outcome.out) & set("\x1b\x07\r\u202e")
    assert "slot 0 of 1" in outcome.out


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_an_engine_that_is_killed_in_mid_run(replay: Replay, folder: Path, monkeypatch: pytest.MonkeyPatch, turn: int) -> None:
    @contextmanager
    def progress(total: int, description: str, **_: object) -> Iterator[Callable[[str], None]]:
        labels: list[str] = []

        def advance(label: str) -> None:
            labels.append(label)
            if len(labels) == turn + 1:
                for child in psutil.Process().children():
                    if "promptguard.engines._embedded_child" in " ".join(child.cmdline()):
                        child.kill()

        yield advance

    monkeypatch.setattr("promptguard.cli.progress.progress", progress)
    outcome = replay("--report", "json=r.json")
    assert outcome.code == 2
    assert outcome.err.startswith("promptguard: error: the embedded llama-server died while computing a prompt (signal SIGKILL)")
    if turn < 2:  # the first turn is measured after the warm-up
        assert json.loads((folder / "r.json").read_text(encoding="utf-8"))["turns"] == []
    else:
        assert len(json.loads((folder / "r.json").read_text())["turns"]) == 1
