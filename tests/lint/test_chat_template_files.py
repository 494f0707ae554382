"""Chat templates in folders: models, tokenizer configurations, and what the linter makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptguard.core.discover import find_files
from promptguard.linting import check as checking
from promptguard.linting.cache import Cache
from promptguard.linting.fix import has_fix
from promptguard.linting.result import FileResult
from promptguard.linting.run import SUFFIXES, lint_files
from promptguard.linting.settings import Settings
from promptguard.parse.gguf import Value, write_gguf
from promptguard.report.findings.words import cost

CLEAN = """\
{% for message in messages %}
<|im_start|>{{ message.role }}
{{ message.content or '' }}{% for call in message.tool_calls or [] %}{{ call.function.name }} {{ call.function.arguments }}
{% endfor %}<|im_end|>{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}"""
ENDS = CLEAN.replace("<|im_end|>", "{{ '<|endoftext|>' if loop.last else '<|im_end|>' }}")
DATED = "{{ strftime_now('%H:%M:%S') }}" + CLEAN
TEMPLATE, NAMED = "tokenizer.chat_template", "tokenizer.chat_template.tool_use"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_model(name: str, **templates: str) -> None:
    keys = {"default": TEMPLATE, "tool_use": NAMED, "rag": TEMPLATE + ".rag"}
    write_gguf(name, {keys[key]: Value.string(text) for key, text in templates.items()}, [])


def lint(*paths: str, cache: Cache | None = None, **settings: object) -> dict[str, FileResult]:
    targets = find_files(paths or (".",), SUFFIXES)
    results = lint_files(targets, Settings(str(Path.cwd()), select=("PG5", "PG9"), **settings), jobs=1, cache=cache)  # type: ignore[arg-type]
    return {result.path: result for result in results}


def codes(result: FileResult) -> list[str]:
    return [record.code for record in result.records]


def test_models_and_configurations_below_a_folder_are_found(folder: Path) -> None:
    write_model("m.gguf", default=DATED)
    write_model("empty.gguf")
    Path("lfs.gguf").write_text("version https://git-lfs.github.com/spec/v1\n")
    Path("cut.gguf").write_bytes(Path("m.gguf").read_bytes()[:60])
    Path("tokenizer_config.json").write_text(json.dumps({"chat_template": DATED}))
    results = lint()
    assert {path: (result.checked, codes(result)) for path, result in results.items()} == {
        "cut.gguf": (False, []),
        "empty.gguf": (False, []),
        "lfs.gguf": (False, []),
        "m.gguf": (True, ["PG501"]),
        "tokenizer_config.json": (True, ["PG501"]),
    }


def test_named_models_that_cannot_be_read_are_said(folder: Path) -> None:
    write_model("empty.gguf")
    Path("lfs.gguf").write_text("version https://git-lfs.github.com/spec/v1\n")
    results = lint("empty.gguf", "lfs.gguf")
    assert results["empty.gguf"].reason == checking.NOTHING
    (record,) = results["lfs.gguf"].records
    assert (record.code, record.message) == ("PG901", "not a GGUF file: it starts with b'vers'")


def test_every_template_of_a_model_has_its_own_lines(folder: Path) -> None:
    write_model("m.gguf", default=DATED, tool_use="\n\n" + DATED, rag=DATED)
    records = lint()["m.gguf"].records
    assert [(record.code, record.line, record.pointer) for record in records] == [
        ("PG501", 1, "/" + TEMPLATE),
        ("PG501", 3, "/" + NAMED),
    ]
    assert [record.excerpt[0][2][:10] for record in records] == ["{{ strftim"] * 2
    assert records[1].message.endswith(f" (in `{NAMED}`)")
    assert len({record.fingerprint for record in records}) == 2


def test_what_cannot_be_rendered_costs_no_tokens(folder: Path) -> None:
    write_model("m.gguf", default="{{ messages.__class__ }}" + DATED)
    record = next(each for each in lint()["m.gguf"].records if each.code == "PG507")
    assert (record.tokens_lost, cost(record)) == (None, "")


def test_the_message_says_when_tokens_are_lost(folder: Path) -> None:
    write_model("m.gguf", default=ENDS)
    (record,) = lint()["m.gguf"].records
    assert record.code == "PG502"
    assert cost(record) == f"{record.tokens_lost} tokens are computed again each time (counted with promptguard-tiny)"


def test_nothing_in_a_model_is_fixed(folder: Path) -> None:
    write_model("m.gguf", default="{# promptguard: ignore[PG502] #}\n" + DATED)
    result = lint()["m.gguf"]
    assert sorted(codes(result)) == ["PG501", "PG900"]
    assert not has_fix(result, unsafe=True)


def test_a_comment_in_the_template_of_a_model_suppresses(folder: Path) -> None:
    write_model("m.gguf", default="{# promptguard: ignore[PG501] known #}\n" + DATED)
    result = lint()["m.gguf"]
    assert (codes(result), result.suppressed) == ([], 1)


def test_one_template_of_a_model_is_ignored_by_its_key(folder: Path) -> None:
    write_model("m.gguf", default=DATED, tool_use=DATED)
    result = lint(pointer_ignores=(("*.gguf", "/" + NAMED, ("PG501",)),))["m.gguf"]
    assert [record.pointer for record in result.records] == ["/" + TEMPLATE]


def test_a_model_that_did_not_change_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model("m.gguf", default=DATED)
    settings = Settings(str(folder), select=("PG5", "PG9"))
    first = lint(cache=Cache("cache", settings))
    monkeypatch.setattr(checking.Checker, "check_model", lambda *_args, **_kwargs: pytest.fail("it was read"))
    assert lint(cache=Cache("cache", settings)) == first
    write_model("m.gguf", default=CLEAN + " ")
    with pytest.raises(pytest.fail.Exception, match="it was read"):
        lint(cache=Cache("cache", settings))


def test_the_place_in_a_configuration_is_that_of_the_file(folder: Path) -> None:
    Path("tokenizer_config.json").write_text(json.dumps({"chat_template": "\n" + DATED}, indent=1))
    (record,) = lint()["tokenizer_config.json"].records
    assert (record.line, record.column, record.pointer) == (2, 22, "/chat_template")
    assert record.excerpt[0][2][record.column - 1 :].startswith("{{ strftime_now('%H:%M:%S') }}")
