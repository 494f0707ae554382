from __future__ import annotations

from pathlib import Path

import pytest

from promptguard.core import resources
from promptguard.core.errors import InputError
from promptguard.core.resources import resource


def test_checkout_is_found() -> None:
    assert resource("fixtures/models/tiny/promptguard-tiny.gguf").read_bytes()[:4] == b"GGUF"
    assert resource("fixtures/models").is_dir()


def test_installed_copy_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path / "package" / "_data", tmp_path):
        (folder / "fixtures").mkdir(parents=True)
        (folder / "fixtures" / "a.txt").touch()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "package")
    assert resource("fixtures/a.txt") == tmp_path / "package" / "_data" / "fixtures" / "a.txt"


def test_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"fixtures/none\.txt: a file of promptguard itself is missing"):
        resource("fixtures/none.txt")


@pytest.mark.parametrize("name", ["../LICENSE", "fixtures/../../x", "/etc/passwd", "C:/x", "fixtures\\x"])
def test_no_way_out_of_the_project(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a resource"):
        resource(name)
