from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptguard.checks.base import Hit
from promptguard.checks.serving import check
from promptguard.linting.reading.serving import may_serve, serving_documents
from promptguard.parse.commands import MAX_COMMANDS, read_script

OPTIONS = {"PG701": {}, "PG702": {"min-context": 12288}}


def hits(text: str, path: str = "serve.sh") -> Iterator[tuple[Hit, str]]:
    """The hits and what stands at each."""
    for document in serving_documents(path, text):
        assert document.text is text
        for hit in check(document, OPTIONS):
            yield hit, text[hit.start : hit.end]


def found(text: str, path: str = "serve.sh") -> list[tuple[str, str]]:
    return sorted((hit.code, quote) for hit, quote in hits(text, path))


@pytest.mark.parametrize(
    ("command", "quote"),
    [
        ("llama-server --no-cache-prompt", "--no-cache-prompt"),
        ("./llama.cpp/build/bin/llama-server --no_cache_prompt", "--no_cache_prompt"),
        ("./llama.cpp/server --no-cache-prompt", "--no-cache-prompt"),
        ("C:/llama/llama-server.exe --cache-prompt --no-cache-prompt", "--no-cache-prompt"),
        ("LLAMA_ARG_CACHE_PROMPT=0 llama-server", "LLAMA_ARG_CACHE_PROMPT=0"),
        ("export LLAMA_ARG_CACHE_PROMPT='off'\nllama-server", "LLAMA_ARG_CACHE_PROMPT='off'"),
        ("export LLAMA_ARG_NO_CACHE_PROMPT=\nllama-server", "LLAMA_ARG_NO_CACHE_PROMPT="),
        ("docker run -e LLAMA_ARG_CACHE_PROMPT=false ghcr.io/ggml-org/llama.cpp:server-cuda", "LLAMA_ARG_CACHE_PROMPT=false"),
        ("docker run -p 80:80 vllm/vllm-openai:v1 --no-enable-prefix-caching", "--no-enable-prefix-caching"),
        ("vllm serve model --no-enable-prefix-caching", "--no-enable-prefix-caching"),
        ("vllm serve model --enable-prefix-caching=False", "--enable-prefix-caching=False"),
        ("python3 -m vllm.entrypoints.openai.api_server --enable_prefix_caching false", "--enable_prefix_caching false"),
        ("python -m sglang.launch_server --disable-radix-cache", "--disable-radix-cache"),
        ("OLLAMA_KEEP_ALIVE=0 ollama serve", "OLLAMA_KEEP_ALIVE=0"),
        ("OLLAMA_KEEP_ALIVE=0s ollama serve &", "OLLAMA_KEEP_ALIVE=0s"),
        ("nohup sh -c 'llama-server --no-cache-prompt' >log 2>&1", "--no-cache-prompt"),
        ('ssh device "cd x && llama-server --no-cache-prompt"', "--no-cache-prompt"),
        ("true;llama-server --no-cache-prompt&&false", "--no-cache-prompt"),
        ("llama-server -m model \\\r\n  --no-cache-prompt\r\n", "--no-cache-prompt"),
    ],
)
def test_cache_that_is_off(command: str, quote: str) -> None:
    assert found(command) == [("PG701", quote)]


@pytest.mark.parametrize(
    "command",
    [
        "llama-server",
        "llama-server --no-cache-prompt --cache-prompt",
        "LLAMA_ARG_CACHE_PROMPT=0 llama-server --cache-prompt",
        "LLAMA_ARG_CACHE_PROMPT=$CACHE llama-server",
        "LLAMA_ARG_CACHE_PROMPT=1 llama-server --cache-ram 0",
        "# llama-server --no-cache-prompt",
        "llama-server # --no-cache-prompt",
        "echo --no-cache-prompt; llama-server",
        "llama-server && other --no-cache-prompt",
        'echo "llama-server --no-cache-prompt"',
        "@echo llama-server --no-cache-prompt",
        "if true; then printf '%s' 'llama-server --no-cache-prompt'; fi",
        "ps aux | grep 'llama-server --no-cache-prompt'",
        "sh -c 'echo llama-server --no-cache-prompt'",
        ":  # or: sh -c 'llama-server --no-cache-prompt'",
        "llama-server --embedding --no-cache-prompt",
        "vllm serve model --enable-prefix-caching",
        "vllm serve model --no-enable-prefix-caching --enable-prefix-caching",
        "vllm serve model --task embed --no-enable-prefix-caching",
        "vllm bench serve --no-enable-prefix-caching",
        "OLLAMA_KEEP_ALIVE=-1 ollama serve",
        "OLLAMA_KEEP_ALIVE=10m ollama serve",
        "LLAMA_ARG_CACHE_PROMPT=0 llama-server --cache-prompt\nllama-server",
    ],
)
def test_cache_that_is_on(command: str) -> None:
    assert found(command) == []


@pytest.mark.parametrize(
    ("command", "quote"),
    [
        ("llama-server -c 8192", "-c 8192"),
        ("llama-server --ctx-size 4096 --ctx-size=8192", "--ctx-size=8192"),
        ("llama-server -c '8192' -np 1", "8192"),
        ("llama-server -c 16384 -np 2", "-c 16384"),
        ("llama-server -c 16384 -np 2 -kvu --no-kv-unified", "-c 16384"),
        ("llama-server -c 4096 --kv-unified -np 4", "-c 4096"),
        ("LLAMA_ARG_CTX_SIZE=16384 LLAMA_ARG_N_PARALLEL=2 llama-server", "LLAMA_ARG_CTX_SIZE=16384"),
        ("llama-server -c \\\n 8192", "8192"),
        ("vllm serve m --max-model-len 8k", "--max-model-len 8k"),
        ("vllm serve m --max-model-len 11.5K", "--max-model-len 11.5K"),
        ("sglang serve --context-length 8192", "--context-length 8192"),
        ("python -m llama_cpp.server --n_ctx 2048", "--n_ctx 2048"),
        ("OLLAMA_CONTEXT_LENGTH=4096 ollama serve", "OLLAMA_CONTEXT_LENGTH=4096"),
    ],
)
def test_slot_that_is_too_small(command: str, quote: str) -> None:
    assert found(command) == [("PG702", quote)]


@pytest.mark.parametrize(
    "command",
    [
        "llama-server -c 12288",
        "llama-server -c 0 -np 4",
        "llama-server -np 4",
        "llama-server -c 16384",
        "llama-server -c 16384 -np -1",
        "llama-server -c 16384 -np 4 -kvu",
        "LLAMA_ARG_KV_UNIFIED=1 llama-server -c 16384 -np 4",
        "llama-server -c 24321 -np 2",  # 12,160 each, rounded up to 12,288
        "llama-server -c $CTX",
        "llama-server -c ${CTX:-4096}",
        "llama-server -c $((4 * 1024))",
        "llama-server -c 16384 -np $(nproc)",
        "llama-server -c 512 --reranking",
        "llama-server -c",
        "LLAMA_ARG_CTX_SIZE=4096 llama-server -c 16384",
        "LLAMA_ARG_N_PARALLEL=4 llama-server -c 65536\nllama-server -c 16384",
        "grep -c 4096 llama-server.log",
        "vllm serve m --max-model-len 16k",
        "vllm serve m --max-model-len auto",
        "OLLAMA_CONTEXT_LENGTH=16384 OLLAMA_NUM_PARALLEL=4 ollama serve",
    ],
)
def test_slot_that_is_large_enough(command: str) -> None:
    assert found(command) == []


def test_messages_say_what_to_write() -> None:
    off, small = (hit for hit, _ in hits("llama-server -c 16384 -np 4 --no-cache-prompt"))
    assert off.message == (
        "`--no-cache-prompt` turns the prefix cache off, so that every turn computes its whole prompt again; leave it out"
    )
    assert small.message == (
        "the context `-c 16384` leaves each of 4 slots 4,096 tokens, fewer than the 12,288 that a task of four tools takes; "
        "write 49152 or use fewer slots"
    )
    assert small.related == ((22, 27, "4 slots share the context"),)


def test_message_names_a_variable_that_stands_elsewhere() -> None:
    text = "env:\n- name: LLAMA_ARG_CACHE_PROMPT\n  value: 'off'\n"
    [(hit, quote)] = hits(text, "a.yaml")
    assert (quote, hit.message.startswith("`off` as LLAMA_ARG_CACHE_PROMPT turns the prefix cache off")) == ("off", True)


FILES = {
    "Dockerfile": "FROM ghcr.io/ggml-org/llama.cpp:server AS run\nENV LLAMA_ARG_CTX_SIZE=8192 A=1\n",
    "docker/llm.Dockerfile": "FROM base\nENV LLAMA_ARG_CTX_SIZE 8192\n",
    "Containerfile": 'FROM base\nENTRYPOINT ["llama-server"]\nCMD ["-m", "m", "-c", "8192"]\n',
    "Dockerfile.exec": 'FROM base\nCMD ["sh", "-c", "llama-server -c 8192"]\n',
    "Dockerfile.shell": "FROM a\nRUN llama-server --version\nFROM b\nCMD llama-server \\\n  # why\n  -c 8192\n",
    "llm.service": '[Service]\nEnvironment="LLAMA_ARG_CTX_SIZE=8192" X=1\nExecStart=/usr/bin/llama-server\n',
    "llm2.service": "[Service]\nExecStart=-/usr/bin/llama-server -m m \\\n  -c 8192\n",
    "Procfile": "llm: llama-server -c 8192\n",
    "Makefile": "run:\n\t@echo don't\n\t@llama-server -c 8192 -m $(MODEL)\n",
    "justfile": "serve model:\n    llama-server -m {{model}} -c 8192\n",
    ".env": "# sizes\nLLAMA_ARG_CTX_SIZE=8192\n",
    "prod.env": "OLLAMA_CONTEXT_LENGTH=8192\n",
    "serve": "#!/usr/bin/env bash\nllama-server -c 8192\n",
    "compose.yml": "services:\n  a:\n    image: ghcr.io/ggml-org/llama.cpp:server\n    command: >-\n      -m m\n      -c 8192\n",
    "compose2.yml": 'services:\n  a:\n    image: x\n    command: "llama-server -m \\"a b\\" -c 8192"\n',
    "compose3.yml": "services:\n  a:\n    entrypoint: [llama-server]\n    command: -c 8192 -np 1\n",
    "compose4.yml": "services:\n  a: &a\n    image: x\n    environment: !x\n      OLLAMA_CONTEXT_LENGTH: '8192'\n  b: *a\n",
    "compose5.yml": "x-a: &a {image: 'ggml-org/llama.cpp:server', command: -c 8192}\nservices: {b: {<<: *a}, c: {<<: *a}}\n",
    "compose6.yml": "x-a: &a\n  OLLAMA_CONTEXT_LENGTH: 8192\nservices:\n  a: {environment: {<<: *a}}\n",
    "compose7.yml": 'services:\n  a:\n    image: x\n    command: "llama-server \\x2dc 8192"\n',
    "pod.yaml": "containers:\n- command: [/app/llama-server]\n  args: [--ctx-size=8192]\n",
    "pod2.yaml": "containers:\n- command: [sh, -c]\n  args:\n  - |\n    set -e\n    exec llama-server -m m \\\n      -c 8192\n",
    "pod3.yaml": "containers:\n- image: mine\n  env:\n  - name: LLAMA_ARG_CTX_SIZE\n    value: '8192'\n",
    "ci.yaml": "jobs:\n  a:\n    steps:\n    - run: |\n        llama-server -c 8192 &\n        sleep 1\n",
}


@pytest.mark.parametrize("path", FILES)
def test_every_kind_of_file(path: str) -> None:
    text = FILES[path]
    assert may_serve(path, text.encode())
    [(hit, quote)] = hits(text, path)
    assert (hit.code, "8192" in quote, "\n" in quote) == ("PG702", True, False)
    assert f"`{quote}`" in hit.message


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("notes.md", "llama-server -c 8192"),
        ("serve.py", "#!/bin/sh\nllama-server -c 8192"),
        ("serve", "llama-server -c 8192"),
        ("a.yaml", "a: [\nllama-server -c 8192"),
        ("a.yaml", "steps:\n- run: pip install vllm\n"),
        ("a.sh", "make test"),
    ],
)
def test_files_that_start_no_server(path: str, text: str) -> None:
    assert serving_documents(path, text) == []


def test_a_file_is_not_read_for_its_name_alone() -> None:
    assert [may_serve("a.sh", b"make"), may_serve("a.py", b"llama-server"), may_serve("a.sh", b"llama-server")] == [
        False,
        False,
        True,
    ]


WORDS = """
llama-server -c 4096 -np 2 --no-cache-prompt ' " \\ $( ) ${ ` # = ; é LLAMA_ARG_CTX_SIZE - args: env: FROM CMD ENV [ ] , &a *a | >
"""
PARTS = st.sampled_from([*WORDS.split(), " ", "\n", "\r\n", "\n- ", ": "])


@given(text=st.lists(PARTS, max_size=30).map("".join), path=st.sampled_from(["a.sh", "Dockerfile", "a.yaml"]))
@example(text="env: \n- LLAMA_ARG_CTX_SIZE=4096", path="a.yaml")
@example(text='args:\n- "llama-server\\u0020-c 4096"', path="a.yaml")
def test_a_message_quotes_what_stands_there(text: str, path: str) -> None:
    for hit, quote in hits(text, path):
        assert f"`{quote}`" in hit.message


def test_a_file_has_so_many_commands_at_most() -> None:
    assert len(read_script("llama-server\n" * (MAX_COMMANDS + 1), str).commands) == MAX_COMMANDS
