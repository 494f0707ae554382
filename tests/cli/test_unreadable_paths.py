"""A file that cannot be read is said in promptguard's own words in every command."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from promptguard.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["replay", "--config", "secret.toml"], "the configuration file"),
        (["replay", "--system", "secret.toml"], "the system prompt"),
        (["format", "--config", "secret.toml"], "the configuration file"),
        (["format", "secret.toml"], "the file"),
        (["model", "tiny", "--from", "secret.toml", "-o", "x.gguf"], "the model"),
    ],
)
def test_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], what: str
) -> None:
    opened = os.open

    def refuse(path: object, *rest: int) -> int:
        if str(path) == "secret.toml":
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest)  # type: ignore[call-overload, no-any-return]

    monkeypatch.chdir(tmp_path)
    Path("secret.toml").touch()
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK or str(path) != "secret.toml")
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    error = f"promptguard: error: secret.toml: {what} cannot be read (Permission denied)\n"
    assert (stop.value.code, capsys.readouterr().err) == (2, error)


def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    folder = shlex.quote(str(gone))
    command = f"cd {folder} && rmdir {folder} && exec {shlex.quote(sys.executable)} -m promptguard lint ."
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, env=environment)
    said = "promptguard: error: the current folder cannot be used (No such file or directory); change into another one\n"
    assert (done.returncode, done.stderr) == (2, said)
