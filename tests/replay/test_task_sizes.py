import importlib.util
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from promptguard.replaying.script import Script
from promptguard.replaying.task import load_task

PATH = Path(__file__).parents[2] / "scripts" / "task_sizes.py"
SPEC = importlib.util.spec_from_file_location("task_sizes", PATH)
assert SPEC is not None
assert SPEC.loader is not None
task_sizes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(task_sizes)


def test_the_ceiling_is_what_was_there_before_over_all_prompt_tokens() -> None:
    assert task_sizes.ceiling([(10, 15), (20, 25), (30, 35)], resident=8) == (8 + 15 + 25) / 60


def test_every_prompt_begins_with_the_one_before_and_its_reply() -> None:
    sent: list[str] = []
    task_sizes.prompt_sizes("head", Script(load_task(), ()).turns, lambda text: sent.append(text) or 0)
    wholes, prompts = sent[1::2], sent[2::2]
    assert len(prompts) == 12
    assert all(prompt.startswith(whole) for whole, prompt in zip(wholes, prompts, strict=False))


def test_with_neither_system_prompt_nor_tools_the_ceiling_is_above_085() -> None:
    sizes = task_sizes.prompt_sizes("", Script(load_task(), ()).turns, len)
    assert task_sizes.ceiling(sizes, resident=0) > 0.85


def test_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = Split("", "isolated")  # a token for each character
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    monkeypatch.setattr(sys, "argv", ["task_sizes.py", "--tokenizer", str(tmp_path / "tokenizer.json")])
    assert task_sizes.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["system", "prompt", f"{len(load_task().system.read_text(encoding='utf-8')):,}"]
    assert [line.split()[0] for line in lines[8:21]] == [str(number) for number in range(1, 14)]
    assert float(lines[-1].split()[-1]) > 0.85


def test_a_task_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["task_sizes.py", "--tokenizer", "none.json", "--task", "none.yaml"])
    assert task_sizes.main() == 2
    assert capsys.readouterr().err == "none.yaml: the task does not exist; check the path\n"
