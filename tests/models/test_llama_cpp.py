from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from gguf_sources import WINDOW, write_source

from promptguard.models.default import default_model
from promptguard.models.twin import make_twin

pytestmark = pytest.mark.llama_cpp


CHILD = """
import sys, llama_cpp
llama = llama_cpp.Llama(sys.argv[1], n_ctx=512, n_threads=2, verbose=False)
print(llama.create_completion([5, 6, 7, 8], max_tokens=1)["usage"]["prompt_tokens"])
"""


def prompt_tokens(model: Path) -> str:
    """Run in a process of its own: a bad model aborts it."""
    return subprocess.run([sys.executable, "-c", CHILD, model], capture_output=True, text=True, check=True).stdout


def test_default_model_runs_in_process() -> None:
    assert prompt_tokens(default_model()) == "4\n"


@pytest.mark.parametrize("architecture", ["llama", "mistral3", "qwen2", "qwen3", "phi3", "gemma2", "gemma3"])
def test_twin_runs_in_process(tmp_path: Path, architecture: str) -> None:
    keys = {"window": WINDOW} if architecture.startswith("gemma") else {}
    source = write_source(tmp_path / "source.gguf", architecture, **keys)
    assert prompt_tokens(make_twin(source, tmp_path / "twin.gguf").path) == "4\n"
