from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from gguf_sources import WINDOW, write_source
from test_hf import QWEN2, byte_level, trained

from promptguard.cli.model import model
from promptguard.core.errors import ConfigError, InputError
from promptguard.models.make import make_tiny
from promptguard.parse.gguf import chat_template, read_header


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as models are published in."""
    out = tmp_path / "published"
    out.mkdir()
    trained(byte_level(QWEN2)).save(str(out / "tokenizer.json"))
    (out / "tokenizer_config.json").write_text(json.dumps({"chat_template": "config", "model_max_length": 77}), encoding="utf-8")
    return out


def test_folder_is_searched_for_the_configuration(tmp_path: Path, folder: Path) -> None:
    report = make_tiny(folder, tmp_path / "tiny.gguf")
    assert (report.context, chat_template(read_header(report.path))) == (77, "config")


def test_folder_is_searched_for_the_template(tmp_path: Path, folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("file", encoding="utf-8")
    assert chat_template(read_header(make_tiny(folder, tmp_path / "tiny.gguf").path)) == "file"


def test_file_is_taken_alone(tmp_path: Path, folder: Path) -> None:
    assert chat_template(read_header(make_tiny(folder / "tokenizer.json", tmp_path / "tiny.gguf").path)) is None


def test_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder holds no tokenizer\.json"):
        make_tiny(tmp_path, tmp_path / "tiny.gguf")


def test_configuration_does_not_go_with_gguf(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a tokenizer configuration goes with a tokenizer\.json only"):
        make_tiny(tmp_path / "a.gguf", tmp_path / "tiny.gguf", tokenizer_config=tmp_path / "b.json")


def run(*arguments: object) -> str:
    return CliRunner().invoke(model, ["tiny", *map(str, arguments)], catch_exceptions=False).stdout


def test_command_says_what_it_made(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "gemma2", window=WINDOW)
    assert run("--from", source, "-o", tmp_path / "tiny.gguf") == (
        f"{tmp_path}/tiny.gguf: gemma2, 2 layers, sliding window of 64 tokens, context of 8192 tokens, "
        "vocabulary of 261 tokens, 0.1 MB\n"
    )


def test_command_says_what_it_could_not_keep(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "mamba")
    lines = run("--from", source, "-o", tmp_path / "tiny.gguf").splitlines()
    assert lines[0].startswith(f"{tmp_path}/tiny.gguf: llama, 2 layers, full attention, ")
    assert lines[1].startswith("note: there is no twin of the architecture mamba: ")


def test_command_replaces_a_file_only_when_told(tmp_path: Path, folder: Path) -> None:
    target = tmp_path / "tiny.gguf"
    target.write_bytes(b"precious")
    with pytest.raises(ConfigError, match="exists already; add --force to replace it"):
        run("--from", folder, "-o", target)
    assert target.read_bytes() == b"precious"
    run("--from", folder, "--tokenizer-config", folder / "tokenizer_config.json", "-o", target, "--force")
    assert read_header(target).architecture == "llama"
