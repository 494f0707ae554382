from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import pytest
from llama_server import Server, serve

from promptguard.core.resources import resource
from promptguard.models.default import default_model
from promptguard.parse.gguf import chat_template, end_tokens, read_header, special_token

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_tiny_model.py"
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Température", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "send", "description": "<b>", "parameters": {"type": "object", "properties": {}}}},
]


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Is it warm in Żywiec?"},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "I look it up.",
        "tool_calls": [call("get_weather", '{"city": "Żywiec", "days": [1, 2.5, null, true]}')],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": '{"temperature": 21}'},
    {"role": "assistant", "content": "21 degrees.", "reasoning_content": "That is warm."},
    {"role": "user", "content": "Tell Ana."},
    {"role": "assistant", "content": "Now.", "tool_calls": [call("send", '{"to": "Ana"}'), call("send", '{"to": "Bo"}')]},
    {"role": "tool", "tool_call_id": "call_1", "content": "sent"},
    {"role": "tool", "tool_call_id": "call_1", "content": "sent"},
]
PROMPTS = [CONVERSATION[:2], CONVERSATION[:4], CONVERSATION[:6], CONVERSATION]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(default_model(), 16384) as running:
        yield running


def jinja(messages: list[dict[str, Any]]) -> str:
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(chat_template(read_header(default_model())))
    return template.render(messages=messages, tools=TOOLS, add_generation_prompt=True)


def builder() -> Any:
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        import build_tiny_model
    finally:
        sys.path.pop(0)
    return build_tiny_model


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_rebuild_is_identical(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.partition(": ")[2]) == (0, "is current\n")


def test_what_it_is() -> None:
    header = read_header(default_model())
    header.require_weights()
    assert header.file_size < 2_000_000
    assert header.architecture == "llama"
    assert header.integer("llama.context_length") == 131072
    assert special_token(header, "eos") == "<|im_end|>"
    assert end_tokens(header) == {"<|im_end|>", "<|endoftext|>"}


def test_engine_tokenizes_as_it_was_trained(server: Server) -> None:
    build = builder()
    text = build.corpus().replace("<tool_", "<a_").replace("</tool_", "</a_")  # special tokens are no matter of merges
    tokens = read_header(default_model()).strings("tokenizer.ggml.tokens")
    given = [tokens[number] for number in server.tokenize(text)]
    assert given == build.encode(text, build.train(build.corpus()))


def test_words_are_single_tokens(server: Server) -> None:
    words = resource("fixtures/models/tiny/words.txt").read_text(encoding="utf-8").split()
    assert [word for word in words if len(server.tokenize(f" {word}")) > 1] == []


@pytest.mark.parametrize("messages", PROMPTS)
def test_engine_renders_as_jinja2(server: Server, messages: list[dict[str, Any]]) -> None:
    assert server.render(messages, TOOLS) == jinja(messages)


def test_string_and_object_arguments_print_the_same() -> None:
    (turn,) = [message for message in CONVERSATION if message.get("reasoning_content") == "I look it up."]
    (one,) = turn["tool_calls"]
    parsed = {**one, "function": {**one["function"], "arguments": json.loads(one["function"]["arguments"])}}
    assert jinja([turn]) == jinja([{**turn, "tool_calls": [parsed]}])


def test_rendered_conversation() -> None:
    assert jinja(CONVERSATION).partition("<|im_start|>assistant\n")[2] == (
        '<think>\nI look it up.\n</think>\n<tool_call>\n{"name": "get_weather", "arguments": '
        '{"city": "Żywiec", "days": [1, 2.5, null, true]}}\n</tool_call><|im_end|>\n'
        '<|im_start|>tool\n<tool_response>\n{"temperature": 21}\n</tool_response><|im_end|>\n'
        "<|im_start|>assistant\n<think>\nThat is warm.\n</think>\n21 degrees.<|im_end|>\n"
        "<|im_start|>user\nTell Ana.<|im_end|>\n"
        '<|im_start|>assistant\nNow.\n<tool_call>\n{"name": "send", "arguments": {"to": "Ana"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "send", "arguments": {"to": "Bo"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>tool\n<tool_response>\nsent\n</tool_response><|im_end|>\n"
        "<|im_start|>tool\n<tool_response>\nsent\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_each_prompt_is_a_token_prefix_of_the_next(server: Server) -> None:
    tokens = [server.tokenize(server.render(messages, TOOLS)) for messages in PROMPTS]
    assert [after[: len(before)] == before for before, after in pairwise(tokens)] == [True] * 3


def test_engine_reuses_each_prompt(server: Server) -> None:
    tokens = [server.tokenize(server.render(messages, TOOLS)) for messages in PROMPTS]
    server.complete([1])
    lengths = [0, *map(len, tokens)]
    assert [server.complete(prompt) for prompt in tokens] == [(before, after - before) for before, after in pairwise(lengths)]
