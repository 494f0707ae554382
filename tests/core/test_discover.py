from __future__ import annotations

import os
from pathlib import Path

import pytest
from formatting.trees import write

from promptguard.core.discover import Target, exclude_rule, find_files
from promptguard.core.errors import InputError
from promptguard.formatting.documents import SUFFIXES


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree(*names: str) -> None:
    write(Path(), dict.fromkeys(names, "{}"))


def found(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [target.path for target in targets(*paths, exclude=exclude)]


def targets(*paths: str, exclude: tuple[str, ...] = ()) -> list[Target]:
    return find_files(paths, SUFFIXES, [exclude_rule(exclude, ".")])


def test_an_empty_path_is_not_the_current_folder() -> None:
    tree("a.json")
    with pytest.raises(InputError, match="PATHS: a path is empty"):
        found("")


def test_suffixes() -> None:
    tree("a.json", "b.jsonl", "c.yaml", "d.yml", "E.JSON", "f.toml", "g.json5", "json", "h.json.bak")
    assert found(".") == ["E.JSON", "a.json", "b.jsonl", "c.yaml", "d.yml"]


def test_the_order_is_that_of_the_names() -> None:
    tree("b/a.json", "b.json", "a/z.json", "a/b/c.json")
    expected = ["a/b/c.json", "a/z.json", "b/a.json", "b.json"]
    assert found("b.json", "b", "a") == found("a", "b", "b.json") == found(".") == expected


def test_what_is_always_left_out() -> None:
    tree(
        "a.json",
        ".b.json",
        ".venv/c.json",
        "node_modules/d.json",
        "x/venv/e.json",
        "__pycache__/f.json",
        "lib/site-packages/g.json",
    )
    assert found(".") == ["a.json"]


def test_what_is_named_is_never_left_out() -> None:
    tree(".hidden/a.json", ".b.json", "node_modules/d.json", "x.txt")
    assert found(".hidden", ".b.json", "node_modules", "x.txt") == [".b.json", ".hidden/a.json", "node_modules/d.json", "x.txt"]


def test_each_file_once(folder: Path) -> None:
    tree("a/b.json")
    assert found("a/b.json", "a", "./a/../a/b.json", ".", str(folder / "a")) == ["a/b.json"]


def test_gitignore() -> None:
    tree("a.json", "gen/b.json", "x/gen/c.json", "x/keep.json", "x/drop.json", "top.json", "x/top.json")
    write(Path(), {".gitignore": "gen/\n/top.json\n*drop*", "x/.gitignore": "*.json\n!keep.json\n!top.json\n"})
    assert found(".") == ["a.json", "x/keep.json", "x/top.json"]


def test_gitignore_of_the_repository_around() -> None:
    tree("x/a.json", "x/b.json", ".git/config")
    write(Path(), {".gitignore": "b.json"})
    assert found("x") == ["x/a.json"]


def test_gitignore_above_counts_only_in_a_repository() -> None:
    tree("x/b.json", "y/b.json", "y/.git/config")
    write(Path(), {".gitignore": "b.json"})
    assert found("x", "y") == ["x/b.json", "y/b.json"]


def test_an_ignored_folder_that_is_named() -> None:
    tree("build/a.json", "build/b.json", ".git/config")
    write(Path(), {".gitignore": "build/", "build/.gitignore": "b.json"})
    assert (found("."), found("build")) == ([], ["build/a.json"])


def test_a_gitignore_that_cannot_be_read_says_nothing() -> None:
    tree("a.json")
    write(Path(), {".gitignore": b"\xff\na.json"})
    assert found(".") == ["a.json"]


def test_the_files_that_are_found() -> None:
    tree("a.json", "b.jsonl", "c.ndjson", "d.yaml", "e.YML", "f.txt", "g.json5")
    assert found(".") == ["a.json", "b.jsonl", "c.ndjson", "d.yaml", "e.YML"]


def test_exclude() -> None:
    tree("a.json", "x/b.json", "x/y/c.json")
    assert found(".", exclude=("x/y",)) == ["a.json", "x/b.json"]
    assert found("x", exclude=("c.json",)) == ["x/b.json"]
    assert found(".", "x/b.json", exclude=("x",)) == ["a.json", "x/b.json"]


def test_links_are_followed_where_they_are_named_only(folder: Path) -> None:
    tree("real/a.json")
    Path("linked").symlink_to("real")
    Path("a.json").symlink_to("real/a.json")
    Path("real/loop").symlink_to(".")
    Path("broken.json").symlink_to("gone")
    assert found(".") == ["real/a.json"]
    assert found("linked") == ["linked/a.json"]
    assert found("a.json") == ["a.json"]
    assert found("broken.json") == ["broken.json"]


def test_pipes_are_no_files() -> None:
    os.mkfifo("a.json")
    assert found(".") == []


def test_a_path_that_does_not_exist() -> None:
    tree("a.json", "b.json")
    found = targets("no.json", "b.json", "a.json/x")
    assert [(target.path, str(target.error)) for target in found] == [
        ("a.json/x", "a.json/x: there is no such file or folder; check the path"),
        ("b.json", "None"),
        ("no.json", "no.json: there is no such file or folder; check the path"),
    ]


def test_a_path_that_may_not_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "lstat", refuse)
    (target,) = targets("x/a.json")
    assert (target.named, str(target.error)) == (True, "x/a.json: the file cannot be read (Permission denied)")


def test_a_folder_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a/b.json", "c.json")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = targets(".")
    assert [(target.path, str(target.error)) for target in found] == [
        ("a", "a: the folder cannot be read (Permission denied)"),
        ("c.json", "None"),
    ]


def test_a_deep_tree() -> None:
    name = "/".join("d" * 300)
    tree(f"{name}/a.json")
    assert found(".") == [f"{name}/a.json"]


def test_other_files_that_are_wanted(folder: Path) -> None:
    tree("x/a.tpl", "x/b.tpl", "x/c.json", "y/a.tpl")
    write(Path(), {".gitignore": "b.tpl"})
    asked: list[str] = []

    def also(path: str) -> bool:
        asked.append(path)
        return path.startswith(f"{folder}/x/")

    assert [target.path for target in find_files(["."], (".json",), also=also)] == ["x/a.tpl", "x/c.json"]
    assert sorted(asked) == [f"{folder}/x/a.tpl", f"{folder}/x/b.tpl", f"{folder}/y/a.tpl"]


def as_found(*paths: str, exclude: tuple[str, ...] = ()) -> list[tuple[str, bool]]:
    rules = [exclude_rule(exclude, ".")] if exclude else []
    return [(target.path, target.named) for target in find_files(paths, SUFFIXES, rules, as_found=True)]


def test_named_files_as_if_they_were_found() -> None:
    tree("a.json", "x/b.json", "x/c.json", "x/d.toml", "x/y/e.json", ".z/f.json", "node_modules/g.json", "old/h.json", "i.json")
    write(Path(), {".gitignore": "c.json"})
    Path("x/link.json").symlink_to("b.json")
    named = ["x/b.json", "x/c.json", "x/d.toml", "x/y/e.json", ".z/f.json", "node_modules/g.json", "old/h.json", "x/link.json"]
    assert as_found(*named, exclude=("old/",)) == [("x/b.json", False), ("x/y/e.json", False)]
    assert as_found(str(Path("x/b.json").absolute()), "x/../a.json") == [("a.json", False), ("x/b.json", False)]


def test_as_found_is_about_files_that_are_below_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("x/a.json", "y/b.toml", "x/z/c.json")
    monkeypatch.chdir(folder / "x")
    assert as_found("../y/b.toml", "z", "gone.json") == [("../y/b.toml", True), ("gone.json", True), ("z/c.json", False)]


def test_as_found_reads_no_folder_that_nothing_is_named_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.json", "x/b.json", "y/z/c.json")
    read: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: read.append(str(path)) or scandir(path))
    assert as_found("y/z/c.json") == [("y/z/c.json", False)]
    assert read == [".", "y/", "y/z/"]
