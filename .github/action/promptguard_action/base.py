"""The step that fetches the files of the base branch, so that the replay of a pull request can be compared with it."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from promptguard_action.errors import ActionError
from promptguard_action.inputs import read_folders, switch
from promptguard_action.runner import annotate, say, set_outputs

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def base() -> int:
    """Write the files of the base into a folder; the step's outputs say where, and which commit that is.

    Where there is no base, or it cannot be had, the outputs say why: a comparison that is missing is no reason to fail.
    """
    if not switch(os.environ, "replay"):
        return 0
    given = base_of_event(read_event())
    if given is None:
        say("No base to compare with: this is no pull request.")
        return 0
    try:
        _, repository = read_folders()
        if repository is None:
            raise ActionError("the working directory lies in no git repository; check out with actions/checkout")
        checkout = _Checkout(repository)
        commit = checkout.base(given, os.environ["GITHUB_SHA"])
        folder = checkout.files(commit)
    except ActionError as error:
        note = f"no comparison with the base: {error}"
        annotate("warning", note)
        set_outputs({"note": note})
        return 0
    say(f"Comparing with {commit}.")
    set_outputs({"folder": str(folder), "commit": commit})
    return 0


def read_event() -> dict[str, Any]:
    """What made the workflow run."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    return event if isinstance(event, dict) else {}


def base_of_event(event: dict[str, Any]) -> str | None:
    """The commit that a pull request, or a group in the merge queue, is to be merged into."""
    if "merge_group" in event:
        return str(event["merge_group"]["base_sha"])
    if "pull_request" in event:
        return str(event["pull_request"]["base"]["sha"])
    return None


class _Checkout:
    """A repository. Nothing in it is changed but that objects are fetched; its hooks are not run."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def base(self, given: str, head: str) -> str:
        """The commit to compare with, and its objects in the repository.

        Where the merge of the pull request is checked out, as on ``pull_request`` it is, that is its first parent, else the
        merge base, or the tip of the base branch where a shallow history does not reach to it.
        """
        if not _COMMIT.fullmatch(given):
            raise ActionError("the event names no commit")
        parents = re.findall(r"^parent (\S+)$", self._git("cat-file", "commit", "HEAD").partition("\n\n")[0], re.MULTILINE)
        if len(parents) == 2 and self._git("rev-parse", "HEAD").strip() == head:
            given = parents[0]
        self._fetch(given)
        done = self._try("merge-base", "HEAD", given)
        return done.stdout.strip() if done.returncode == 0 else given

    def files(self, commit: str) -> Path:
        """The files of a commit in a new folder, with no trace of them in the repository."""
        folder = Path(tempfile.mkdtemp(prefix="promptguard-base-", dir=os.environ["RUNNER_TEMP"]))
        index = {"GIT_INDEX_FILE": str(folder / "index")}
        self._git("read-tree", commit, more=index)
        self._git("checkout-index", "--all", f"--prefix={folder / 'files'}/", more=index)
        (folder / "files").mkdir(exist_ok=True)
        return folder / "files"

    def _fetch(self, commit: str) -> None:
        if self._try("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0:
            return
        # A depth would cut off the history of a whole clone.
        depth = ["--depth=1"] if self._git("rev-parse", "--is-shallow-repository").strip() == "true" else []
        fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *depth, "origin", commit)
        done = self._try(*fetch)
        if done.returncode:
            done = self._try(*fetch, more=self._credentials())
        if done.returncode:
            raise ActionError(f"{commit} cannot be fetched ({_last_line(done.stderr)}); check out with fetch-depth: 0")

    def _credentials(self) -> dict[str, str]:
        """The job's token for git, where the checkout has not kept it. In the environment, since everybody sees arguments."""
        token = os.environ.get("GITHUB_TOKEN", "")
        server = os.environ["GITHUB_SERVER_URL"]
        if not token or not self._try("remote", "get-url", "origin").stdout.startswith(f"{server}/"):
            return {}
        secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{server}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {secret}",
        }

    def _git(self, *arguments: str, more: dict[str, str] | None = None) -> str:
        done = self._try(*arguments, more=more)
        if done.returncode:
            raise ActionError(f"git {arguments[0]} failed ({_last_line(done.stderr)})")
        return done.stdout

    def _try(self, *arguments: str, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        settings = ("-c", "core.hooksPath=/dev/null", "-c", f"safe.directory={self._root}")
        environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C", **(more or {})}
        environment.pop("GITHUB_TOKEN", None)
        try:
            return subprocess.run(
                ["git", "-C", str(self._root), *settings, *arguments],  # noqa: S607 - the runner's own
                capture_output=True,
                text=True,
                errors="replace",
                env=environment,
                check=False,
            )
        except FileNotFoundError:
            raise ActionError("git is not installed") from None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it does not say why"
