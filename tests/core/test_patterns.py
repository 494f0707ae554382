from __future__ import annotations

import marshal
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptguard.core import patterns
from promptguard.core.kept import _hash

TEXT = "Today: {{ now() }} ünd 12:30,\r\n\t'a\\'b' 0xFF __x__ \u2028 <|im_end|> {% raw %} %{ }}"
WITH_CODES = ((3, 10), (3, 11), (3, 12), (3, 13))
NOTHING_DELIVERED = (
    "from promptguard.core import patterns; patterns._delivered = {}; from promptguard.cli.main import _run, main; "
)
CACHE = f"promptguard/patterns.{sys.implementation.cache_tag}-{sys.hexversion:x}"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the cache of a process that has compiled nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _forget(monkeypatch)
    return tmp_path / CACHE


def hashed(value: object) -> bytes:
    data = marshal.dumps(value)
    return _hash(data) + data


def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_patterns", {})
    monkeypatch.setattr(patterns, "_delivered", {})
    monkeypatch.setattr(patterns, "_kept", None)
    monkeypatch.setattr(patterns, "_new", [])


def _used_by_lint(folder: Path) -> dict[tuple[str | bytes, int], bytes]:
    """The patterns that a process needs for files of several kinds, as it keeps them."""
    texts = {
        "a.j2": "You are {{ now() }} {% if a %}12:30{% endif %}\u200b \n{# promptguard: ignore[PG301] #}",
        "prompts/b.md": "Today is 2024-05-05, session id: 3f2504e0-4f89-41d3\nuser:\n```\n{x}\n```\n{user_id} {now_at}",
        "tools.json": '[{"name": "b", "description": "x ", "input_schema": {"type": "object"}}]',
        "c.prompt": "---\nmodel: x\n---\nsystem:\nYou are {{a}} ${b}",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-c", f"{NOTHING_DELIVERED}main()", "lint", "--no-cache", "--pedantic", "."]
    assert subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode == 1
    _, kept = marshal.loads((folder / "cache" / CACHE).read_bytes()[8:])
    return kept  # type: ignore[no-any-return]


def test_a_pattern_that_is_delivered_or_kept_is_what_re_compiles(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, delivered = _used_by_lint(tmp_path), patterns._read_delivered()
    assert len(kept) > 30
    for codes in (kept, delivered):
        _forget(monkeypatch)
        monkeypatch.setattr(patterns, "_delivered", codes)
        for pattern, flags in codes:
            mine, theirs = patterns.compile(pattern, flags), re.compile(pattern, flags)
            assert (mine.flags, mine.groups, mine.groupindex) == (theirs.flags, theirs.groups, theirs.groupindex)
            text = TEXT.encode() if isinstance(pattern, bytes) else TEXT
            assert [match.regs for match in mine.finditer(text)] == [match.regs for match in theirs.finditer(text)]
            assert mine == theirs  # flags, pattern and code
        assert patterns._new == []


def test_the_next_process_does_without_re(tmp_path: Path) -> None:
    _used_by_lint(tmp_path)
    check = f"{NOTHING_DELIVERED}_run(['lint', '--no-cache', 'a.j2']); print('re' in sys.modules)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {check}"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.j2", "You are {{ name }}. Call within 24 hours.\n"),
        ("a.j2", "You are {{ name }}. Today: {{ now() }}\nUse tools.\n"),
        ("a.md", "You are {{ name }}.\n"),
        ("prompts.yaml", 'system: |\n  You are {{ name }}. Today: {{ now() }}\nuser: "{{ question }}"\n'),
        ("tools.json", '[{"name": "a", "description": "b", "input_schema": {"type": "object"}}]\n'),
        ("run.sh", "llama-server -m a.gguf\n"),
    ],
)
def test_a_small_file_does_without_re_where_nothing_is_kept(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    check = f"from promptguard.cli.main import _run; _run(['lint', '--no-cache', {name!r}]); print('re' in sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {check}"]
    environment = {"XDG_CACHE_HOME": str(tmp_path / name)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == str(sys.version_info[:2] not in WITH_CODES)


@pytest.mark.parametrize("content", [b"", b"\xff", marshal.dumps(1), marshal.dumps(((1, 4, "little"), {("a+", 0): b"x"}))])
def test_codes_that_are_not_for_this_python_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    (tmp_path / "codes").write_bytes(content)
    monkeypatch.setattr(patterns, "delivered_path", lambda: str(tmp_path / "codes"))
    assert patterns._read_delivered() == {}


def test_what_is_kept_is_found_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert patterns.search(r"(?P<hour>\d\d):", TEXT)["hour"] == "12"  # type: ignore[index]
    patterns.keep()
    _forget(monkeypatch)
    monkeypatch.setattr(re, "compile", None)
    assert patterns.search(r"(?P<hour>\d\d):", TEXT)["hour"] == "12"  # type: ignore[index]
    assert list(cache.parent.iterdir()) == [cache]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        _hash(b""),
        *map(
            hashed,
            (
                1,
                (sys.version, 3),
                ("another Python", {("a+", 0): b"x"}),
                (sys.version, {("a+", 0): b"x"}),
                (sys.version, {("a+", 0): marshal.dumps((32, b"\1\2\3\4" * 9, 0, {}, (None,)))}),
            ),
        ),
    ],
)
def test_a_broken_cache_is_no_cache(cache: Path, content: bytes) -> None:
    cache.parent.mkdir()
    cache.write_bytes(content)
    assert patterns.findall("a+", "aab a") == ["aa", "a"]


def test_every_change_of_a_bit_is_seen_and_mended(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns.compile("a+")
    patterns.keep()
    data = cache.read_bytes()
    for at in range(0, len(data), 7):
        cache.write_bytes(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
        _forget(monkeypatch)
        patterns.compile("a+")
        assert patterns._new == [("a+", 0)]
        patterns.keep()
        assert cache.read_bytes() == data


def test_a_pipe_in_the_place_of_the_cache_is_not_waited_for(cache: Path) -> None:
    cache.parent.mkdir()
    os.mkfifo(cache)
    assert patterns.findall("a+", "aab a") == ["aa", "a"]


def test_nothing_is_left_where_the_cache_cannot_be_replaced(cache: Path) -> None:
    cache.mkdir(parents=True)
    patterns.compile("a+")
    patterns.keep()
    assert list(cache.parent.iterdir()) == [cache]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_cache_of_another_user_is_not_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns.compile("a+")
    patterns.keep()
    _forget(monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)
    patterns.compile("a+")
    assert patterns._new == [("a+", 0)]


def test_they_are_kept_where_python_keeps_no_modules(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "dont_write_bytecode", True
    )  # as in most images of containers, where a module is compiled at a build
    patterns.compile("a+")
    patterns.keep()
    assert cache.exists()


def test_a_folder_that_cannot_be_made_is_no_error(cache: Path) -> None:
    cache.parent.write_text("")
    patterns.compile("a+")
    patterns.keep()
    assert cache.parent.read_text() == ""


def test_what_other_versions_left_goes_when_there_is_too_much(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_MOST", 2)
    for number in range(4):
        patterns.compile(f"a{number}")
        patterns.keep()
        _forget(monkeypatch)
    _, kept = marshal.loads(cache.read_bytes()[8:])
    assert set(kept) == {("a2", 0), ("a3", 0)}
