from __future__ import annotations

import json
import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from promptguard.checks import chat_template
from promptguard.core.discover import find_files
from promptguard.linting import cache as cache_module
from promptguard.linting.cache import Cache, settings_key
from promptguard.linting.check import Checker
from promptguard.linting.result import FileResult
from promptguard.linting.run import SUFFIXES, lint_files, result_key
from promptguard.linting.settings import PromptDeclaration, Settings
from promptguard.prompts.rendering import Renderer

CLOCK = "Today: {{ now() }}. \n"


def settings(**values: object) -> Settings:
    return Settings(str(Path.cwd()), **values)  # type: ignore[arg-type]


def run(**values: object) -> list[FileResult]:
    held = settings(**values)
    return list(lint_files(find_files(["."], SUFFIXES), held, jobs=1, cache=Cache("cache", held)))


@pytest.fixture(autouse=True)
def every_run_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_WORTH", 0)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that were checked, rather than taken from the cache."""
    paths: list[str] = []
    check = Checker.check

    def counted(self: Checker, path: str, text: str, **flags: bool) -> FileResult:
        paths.append(path)
        return check(self, path, text, **flags)

    monkeypatch.setattr(Checker, "check", counted)
    return paths


@pytest.fixture
def two(folder: Path) -> Path:
    (folder / "a.j2").write_text(CLOCK)
    (folder / "b.j2").write_text("Be brief.\n")
    return folder


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "cache").glob("*.cache"))


def test_what_did_not_change_is_not_checked_again(two: Path, checks: list[str]) -> None:
    first = run()
    assert checks == ["a.j2", "b.j2"]
    assert run() == first
    assert checks == ["a.j2", "b.j2"]


def test_what_changed_is_checked_again(two: Path, checks: list[str]) -> None:
    run()
    (two / "b.j2").write_text("Be brief!\n")
    run()
    assert checks == ["a.j2", "b.j2", "b.j2"]


@pytest.mark.parametrize(
    "changed",
    [
        {"pedantic": True},
        {"select": ("PG1",)},
        {"rule_options": {"PG101": {"names": ("x",)}}},
        {"per_file_ignores": (("x", ("PG1",)),)},
        {"prompts": (PromptDeclaration("x.j2"),)},
        {"root": "/"},
    ],
)
def test_other_settings_have_other_results(folder: Path, changed: dict[str, object]) -> None:
    held = settings()
    assert settings_key(held) == settings_key(settings())
    assert settings_key(held) != settings_key(held._replace(**changed))


def test_another_context_or_tokenizer_has_other_results(folder: Path) -> None:
    held = settings(prompts=(PromptDeclaration("x.j2", context="c.json"),), tokenizer="t.json")
    keys = {settings_key(held)}
    for name in ("c.json", "t.json"):
        (folder / name).write_text("{}")
        keys.add(settings_key(held))
    (folder / "c.json").write_text('{"a": 1}')
    assert len(keys | {settings_key(held)}) == 4


def test_another_version_has_other_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings_key(settings())
    monkeypatch.setattr(cache_module, "__version__", "99")
    assert settings_key(settings()) != before


def test_a_result_is_that_of_a_path(folder: Path) -> None:
    keys = {result_key(path, named, data) for path in ("a", "b") for named in (False, True) for data in (b"", b"x")}
    assert len(keys) == 8


def test_files_of_a_prompt_of_several_files_are_always_checked(two: Path, checks: list[str]) -> None:
    declared = (PromptDeclaration("a.j2", name="agent"),)
    run(prompts=declared)
    run(prompts=declared)
    assert checks == ["a.j2", "b.j2"] * 2


def test_the_folder_says_what_it_is(two: Path) -> None:
    run()
    assert (two / "cache" / ".gitignore").read_text() == "*\n"
    assert (two / "cache" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


def poison(line: bytes, how: str) -> bytes:
    key, path, text = line.split(b"\t")
    data = json.loads(text)
    record = data[2][0] if data[2] else None
    if how == "cut":
        return line[: len(line) // 2]
    if how == "no JSON":
        return b"\t".join([key, path, b"{"])
    if how == "nested":
        return b"\t".join([key, path, b"[" * 100_000])
    if how == "path":
        data[0] = "x.j2"
    elif record is None:
        return line
    elif how == "code":
        record[5] = "PG000"
    elif how == "line":
        record[1] = "1"
    elif how == "column":
        record[2] = 0
    elif how == "message":
        record[9] = None
    elif how == "tokens":
        record[11] = -1
    elif how == "excerpt":
        record[15] = [[1, 1, None]]
    elif how == "fix":
        record[16] = ["x", "sure", []]
    elif how == "edit":
        record[16] = ["x", "safe", [[-1, 1, 1, 1, 1, 1, ""]]]
    elif how == "related":
        record[17] = [[1]]
    elif how == "more":
        record.append(1)
    return b"\t".join([key, path, json.dumps(data).encode()])


@pytest.mark.parametrize(
    "how",
    [
        "cut",
        "no JSON",
        "nested",
        "path",
        "code",
        "line",
        "column",
        "message",
        "tokens",
        "excerpt",
        "fix",
        "edit",
        "related",
        "more",
    ],
)
def test_what_is_no_result_is_checked_again(two: Path, checks: list[str], how: str) -> None:
    first = run()
    (file,) = entries(two)
    file.write_bytes(b"\n".join(poison(line, how) for line in file.read_bytes().splitlines()) + b"\n")
    del checks[:]
    assert run() == first
    assert "a.j2" in checks


@pytest.mark.parametrize("content", [b"", b"\0\xff\n\n\t\t\t", os.urandom(4096), b"x" * 100])
def test_a_file_that_is_no_cache(two: Path, content: bytes) -> None:
    first = run()
    (file,) = entries(two)
    file.write_bytes(content)
    assert run() == first
    assert run() == first


def test_results_of_files_that_are_gone_are_dropped(two: Path) -> None:
    run()
    (two / "a.j2").unlink()
    (two / "c.j2").write_text("Be kind.\n")
    run()
    (file,) = entries(two)
    assert [line.split(b"\t")[1] for line in file.read_bytes().splitlines()] == [b'"b.j2"', b'"c.j2"']


def test_results_of_files_that_were_not_asked_for_stay(two: Path, checks: list[str]) -> None:
    run()
    (two / "b.j2").write_text("Be brief!\n")
    held = settings()
    list(lint_files(find_files(["b.j2"], SUFFIXES), held, jobs=1, cache=Cache("cache", held)))
    del checks[:]
    run()
    assert checks == ["b.j2"], "under its name it was checked as a file that is named"


def test_the_number_of_results_is_bounded(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_MAX_ENTRIES", 1)
    run()
    assert len(entries(two)[0].read_bytes().splitlines()) == 1


def test_the_size_is_bounded(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_MAX_BYTES", 200)
    run()
    assert [line.split(b"\t")[1] for line in entries(two)[0].read_bytes().splitlines()] == [b'"b.j2"']


def test_the_number_of_settings_is_bounded(two: Path) -> None:
    for number in range(12):
        run(select=("PG1", *["PG"] * number))
    assert len(entries(two)) == 8


def test_a_folder_that_cannot_be_written_to(two: Path) -> None:
    (two / "cache").write_text("a file in its place")
    assert [len(result.records) for result in run()] == [2, 0]


def test_a_write_that_fails_leaves_nothing(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: str, _target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert [len(result.records) for result in run()] == [2, 0]
    assert sorted(path.name for path in (two / "cache").iterdir()) == [".gitignore", "CACHEDIR.TAG"]


def test_a_failure_of_ours_is_not_kept(two: Path, detect: object, checks: list[str]) -> None:
    detect([RuntimeError("x")])  # type: ignore[operator]
    run()
    run()
    assert checks == ["a.j2", "b.j2"] * 2


def test_what_time_has_a_say_in_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "chat_template.jinja").write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    with Renderer() as renderer:
        monkeypatch.setattr(chat_template, "_renderer", lambda _: renderer)
        monkeypatch.setattr(chat_template, "SECONDS", 0.0)
        (result,) = run()
        assert ([record.code for record in result.records], entries(folder)) == (["PG507"], [])
        monkeypatch.setattr(chat_template, "SECONDS", 60.0)
        (result,) = run()
    assert ([record.code for record in result.records], len(entries(folder))) == ([], 1)


def test_two_runs_at_once_keep_what_both_found(two: Path) -> None:
    held = settings()
    first, second = (Cache("cache", held) for _ in range(2))
    checker = Checker(held)
    for cache, name in ((first, "a.j2"), (second, "b.j2")):
        data = (two / name).read_bytes()
        cache.put(result_key(name, False, data), checker.check(name, data.decode()), len(data))
    first.save()
    second.save()
    assert len(entries(two)[0].read_bytes().splitlines()) == 2
    assert stat.S_ISREG(entries(two)[0].stat().st_mode)


@pytest.mark.parametrize(("files", "kept"), [(60, False), (70, True)])
def test_a_run_that_has_little_to_do_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch, files: int, kept: bool) -> None:
    monkeypatch.setattr(cache_module, "_WORTH", 70 << 10)
    for number in range(files):
        (folder / f"{number}.j2").write_text("Be brief.\n")
    run()
    assert (folder / "cache").exists() == kept


def test_a_chat_template_is_much_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_WORTH", 64 << 10)
    (folder / "chat_template.jinja").write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    run()
    assert len(entries(folder)) == 1


def test_a_small_run_leaves_what_a_large_one_kept(two: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    (file,) = entries(two)
    before = file.read_bytes()
    monkeypatch.setattr(cache_module, "_WORTH", 64 << 10)
    (two / "b.j2").write_text("Be brief!\n")
    run()
    assert checks == ["a.j2", "b.j2", "b.j2"]
    assert file.read_bytes() == before


def test_what_a_large_run_finds_again_counts_as_work(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(cache_module, "_WORTH", 2048)
    (two / "b.j2").write_text("Be brief!\n")
    before = entries(two)[0].read_bytes()
    run()
    assert entries(two)[0].read_bytes() != before


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the code, as if it were installed."""
    copy = tmp_path / "site" / "promptguard"
    shutil.copytree(Path(cache_module.__file__).parents[1], copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache_module, "__file__", str(copy / "linting" / "cache.py"))
    return copy


@pytest.mark.parametrize("name", ["checks/dynamic.py", "linting/reading/data.py", "prompts/preservation/shapes.py"])
def test_its_own_code_has_a_say(package: Path, name: str) -> None:
    before = settings_key(settings())
    assert settings_key(settings()) == before
    (package.parent / "pyproject.toml").write_text("")
    in_tree = settings_key(settings())
    (package / name).write_bytes((package / name).read_bytes() + b"\n")
    assert len({before, in_tree, settings_key(settings())}) == 3


def test_all_code_that_makes_results_has_a_say(package: Path) -> None:
    """The folders of the checker and the checks, and of whatever those import."""
    waiting = {package / "linting" / "check.py", package / "prompts" / "_render_worker.py", *(package / "checks").glob("*.py")}
    seen: set[Path] = set()
    while waiting:
        file = waiting.pop()
        seen.add(file)
        for module in re.findall(r"^ *from promptguard\.([\w.]+) import ", file.read_text(encoding="utf-8"), re.MULTILINE):
            path = package.joinpath(*module.split("."))
            waiting |= {path / "__init__.py" if path.is_dir() else path.with_suffix(".py")} - seen
    assert {file.parent.relative_to(package).as_posix() for file in seen} == set(cache_module._CODE)


def test_another_installation_has_other_results(package: Path) -> None:
    before = settings_key(settings())
    os.utime(package / "prompts" / "blame", (1, 1))
    assert settings_key(settings()) != before
