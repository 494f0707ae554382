"""The action as it is checked out on a runner, and the environment that its first step makes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from adoption.scratch import copy_of_checkout, repository
from adoption.simulated_runner import Runner


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as a repository."""
    return copy_of_checkout(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def action(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the action, with a blank in its path."""
    folder = tmp_path_factory.mktemp("actions") / "a checkout"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git"))
    return folder


@pytest.fixture(scope="session")
def installed(action: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The outputs of the first step, run once for all tests."""
    runner = Runner(action, tmp_path_factory.mktemp("workspace"), tmp_path_factory.mktemp("temp"), done={"base": {}, "check": {}})
    job = runner.run(replay="on")
    assert job.steps["Install promptguard"].outcome == "success", job.log
    return job.steps["Install promptguard"].outputs


Make = Callable[[Mapping[str, str]], Runner]


@pytest.fixture
def make_runner(action: Path, installed: dict[str, str], tmp_path: Path) -> Make:
    """A runner with promptguard installed, and a repository with some files as its workspace."""

    def make(files: Mapping[str, str]) -> Runner:
        workspace = repository(tmp_path / "work space" / "shop", files)
        return Runner(action, workspace, tmp_path / "temp", done={"install": installed})

    return make
