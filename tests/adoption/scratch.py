"""Scratch git repositories, and a copy of this checkout that others can take as their source."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = (
    *("promptguard", "fixtures", "rules", "docs", "pyproject.toml", "README.md", "LICENSE"),
    *(".pre-commit-hooks.yaml", ".github", "action.yml"),
)
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def environment(**more: str) -> dict[str, str]:
    """The environment, without what a hook of git may have put there, and with no configuration of git but the repository's."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("GIT_")}, **_GIT, **more}


def git(folder: Path, *arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def commit(folder: Path, files: Mapping[str, str], message: str = "change") -> str:
    """Write and commit files; the name of the commit."""
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A new repository with one commit on its branch main."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, files, "first")
    return folder


def copy_of_checkout(folder: Path) -> Path:
    """This checkout, as it lies there, as a repository with one commit: what installs it from git takes it."""
    for name in _PACKAGE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return repository(folder, {})
