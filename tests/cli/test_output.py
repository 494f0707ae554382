"""What becomes of answers that nobody reads, or that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "promptguard"]


@pytest.mark.parametrize("arguments", [["config"], ["rule", "--all"], ["lint", "--show-settings"]], ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=30, cwd=tmp_path)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "config"], stdout=full, stderr=subprocess.PIPE, timeout=30, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"promptguard: error: standard output cannot be written (No space left on device)\n"
