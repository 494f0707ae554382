"""What is kept between processes."""

from __future__ import annotations

import datetime as dt
import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from promptguard.core import config
from promptguard.core.config import load_config
from promptguard.core.errors import ConfigError
from promptguard.core.kept import hash_of, kept_path, read_kept, write_kept

TEXT = """
[tool.promptguard.lint]
ignore = ["PG106"]
pedantic = true
jobs = 2

[[tool.promptguard.prompts]]
path = "a.txt"
block = "user"
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_kept("a", {"b": b"c"})
    assert (read_kept("a"), read_kept("b")) == ({"b": b"c"}, {})


def test_a_configuration_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, TEXT)
    first = load_config(explicit=path)
    monkeypatch.setattr(config, "_parsed", None)
    assert load_config(explicit=path) == first
    assert (first.lint["ignore"], first.lint["jobs"], first.prompts[0]["block"]) == (["PG106"], 2, "user")


def test_the_next_process_does_without_the_parser(tmp_path: Path) -> None:
    written(tmp_path, TEXT)
    (tmp_path / "a.j2").write_text("You are {{ company }}.\n")
    code = (
        "import sys; from promptguard.cli.main import _run; _run(['lint', '--no-cache', 'a.j2']); print('tomllib' in sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"]
    said = [subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert [text.splitlines()[-1] for text in said] == [str(sys.version_info >= (3, 11)), "False"]


def test_a_configuration_that_changed_is_parsed_again(tmp_path: Path) -> None:
    for code in ("PG106", "PG101", "PG106"):
        assert load_config(explicit=written(tmp_path, TEXT.replace("PG106", code))).lint["ignore"] == [code]


def test_a_broken_configuration_is_an_error_each_time(tmp_path: Path) -> None:
    path = written(tmp_path, "[tool.promptguard]\nlint = [")
    for _ in range(2):
        with pytest.raises(ConfigError, match="not valid TOML"):
            load_config(explicit=path)


def test_a_configuration_with_a_date_is_not_kept() -> None:
    for _ in range(2):
        assert config._parse("promptguard.toml", "day = 2026-01-02") == {"day": dt.date(2026, 1, 2)}
    assert read_kept("configurations") == {}


def test_of_a_project_only_what_is_about_promptguard_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT + '[tool.other]\ntoken = "s3cr3t"\nday = 2026-01-02\n')
    assert load_config(explicit=path).lint["jobs"] == 2
    (kept,) = read_kept("configurations").values()
    assert marshal.loads(kept)["tool"].keys() == {"promptguard"}
    (file,) = (tmp_path / "cache" / "promptguard").iterdir()
    assert b"s3cr3t" not in file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_last_configurations_are_kept() -> None:
    for number in range(60):
        config._parse("promptguard.toml", f"a = {number}")
    assert [marshal.loads(value) for value in read_kept("configurations").values()] == [{"a": number} for number in range(10, 60)]


def test_a_long_configuration_is_not_kept() -> None:
    assert config._parse("promptguard.toml", f'a = "{"b" * 5000}"') == {"a": "b" * 5000}
    assert read_kept("configurations") == {}


def test_a_folder_in_the_place_of_the_file_keeps_nothing_open(tmp_path: Path) -> None:
    Path(str(kept_path("a"))).mkdir(parents=True)
    before = len(list(Path("/dev/fd").iterdir()))
    assert [read_kept("a") for _ in range(3)] == [{}] * 3
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_file_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    write_kept("a", {"b": b"c"})
    Path(str(kept_path("a"))).chmod(0o620)
    assert read_kept("a") == {}


def test_what_another_version_of_python_kept_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write_kept("a", {"b": b"c"})
    monkeypatch.setattr(sys, "version", "another")
    assert read_kept("a") == {}


@pytest.mark.parametrize("value", [b"", b"x", marshal.dumps(1)])
def test_a_value_that_is_no_configuration_is_parsed_anew(value: bytes) -> None:
    write_kept("configurations", {hash_of("promptguard.tomla = 1"): value})
    assert config._parse("promptguard.toml", "a = 1") == {"a": 1}


def test_only_the_user_may_look_into_the_folder(tmp_path: Path) -> None:
    write_kept("a", {"b": b"c"})
    assert (tmp_path / "cache" / "promptguard").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x"),
        ({"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/h/.cache"),
        ({"HOME": "/h"}, "/h/.cache"),
        ({}, None),
        ({"HOME": "h"}, None),
    ],
)
def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str | None) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert kept_path("a") == (f"{folder}/promptguard/a.{sys.implementation.cache_tag}-{sys.hexversion:x}" if folder else None)
