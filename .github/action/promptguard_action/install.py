"""The step that installs promptguard into an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from promptguard_action.errors import ActionError
from promptguard_action.inputs import switch
from promptguard_action.runner import quoted_log, say, set_outputs

DISTRIBUTION = "promptguard-ci"
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+_-]{0,63}")


def install() -> int:
    """Make the environment; the step's outputs say where its Python is.

    Raises:
        ActionError: that cannot be done.
    """
    wanted = requirement(
        os.environ["GITHUB_ACTION_PATH"], os.environ["INPUT_VERSION"].strip(), replay=switch(os.environ, "replay")
    )
    folder = Path(tempfile.mkdtemp(prefix="promptguard-env-", dir=os.environ["RUNNER_TEMP"]))
    python = folder / "bin" / "python"
    _run(
        [sys.executable, "-I", "-m", "venv", str(folder)],
        "no virtual environment can be made; on Debian and Ubuntu install python3-venv, or run actions/setup-python first",
    )
    pip = [str(python), "-I", "-m", "pip", "install", "--quiet", "--no-input", "--no-user", "--disable-pip-version-check"]
    _run([*pip, "--", wanted], f"{wanted} cannot be installed; the log says why")
    say(_run([str(python), "-I", "-m", "promptguard", "--version"], "promptguard does not start").strip())
    set_outputs({"python": str(python)})
    return 0


def requirement(checkout: str, version: str, *, replay: bool) -> str:
    """What pip is to install: the action's own checkout, or a version from the package index.

    Raises:
        ActionError: ``version`` is none.
    """
    extra = "[replay]" if replay else ""
    if not version:
        return f"{checkout}{extra}"
    if not _VERSION.fullmatch(version):
        raise ActionError(f"version: {version!r} is no version, such as 0.1.0")
    return f"{DISTRIBUTION}{extra}=={version}"


def _run(command: list[str], otherwise: str) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode:
        with quoted_log("What went wrong"):
            say(done.stdout)
        raise ActionError(otherwise)
    return done.stdout
