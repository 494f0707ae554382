"""The step that writes the report into the pull request: one comment, which later runs update."""

from __future__ import annotations

import hashlib
import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from promptguard_action.base import read_event
from promptguard_action.errors import ActionError
from promptguard_action.runner import annotate, say

COMMENT_BYTES = 65_000
"""A comment has at most 65,536 characters; the rest is for the mark by which it is found again."""
_PAGES = 30
_SECONDS = 30


def comment() -> int:
    """Write the comment. Where that cannot be done it is said; it is no reason to fail."""
    number = read_event().get("pull_request", {}).get("number")
    if not isinstance(number, int):
        say("No comment: this is no pull request.")
        return 0
    text = Path(os.environ["PROMPTGUARD_COMMENT"]).read_text(encoding="utf-8")
    try:
        _Issue(number).write(text)
    except ActionError as error:
        annotate("warning", f"promptguard: the comment cannot be written: {error}")
    return 0


def mark() -> str:
    """What the comment begins with: another job of the same workflow, and another use of the action in it, has its own.

    ``GITHUB_ACTION`` is the id of the step that uses the action, or a name that the runner makes (``__owner_promptguard_2``). The
    steps inside of a composite action get that of the outermost one, so uses inside of another action differ by what they check.
    """
    names = [os.environ[name] for name in ("GITHUB_WORKFLOW", "GITHUB_JOB", "GITHUB_ACTION", "PROMPTGUARD_IDENTITY")]
    return f"<!-- promptguard {hashlib.sha256(json.dumps(names).encode()).hexdigest()[:16]} -->"


class _Issue:
    """The conversation of a pull request."""

    def __init__(self, number: int) -> None:
        self._repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
        self._comments = f"{self._repository}/issues/{number}/comments"

    def write(self, text: str) -> None:
        body = {"body": f"{mark()}\n{text}"}
        known = self._known()
        if known is None:
            _request("POST", self._comments, body)
        else:
            _request("PATCH", f"{self._repository}/issues/comments/{known}", body)

    def _known(self) -> int | None:
        """The comment that an earlier run wrote. Anybody can write the mark, so the author has to be a bot too."""
        for page in range(1, _PAGES + 1):
            comments = _request("GET", f"{self._comments}?per_page=100&page={page}")
            for item in comments:
                if (item["user"] or {}).get("type") == "Bot" and (item["body"] or "").startswith(mark()):
                    return int(item["id"])
            if len(comments) < 100:
                break
        return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes to the host that the runner names, and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _request(method: str, url: str, body: dict[str, str] | None = None) -> Any:
    if not re.match("https?://", url):
        raise ActionError(f"{url} is no address")
    request = urllib.request.Request(  # noqa: S310 - looked at just now
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "promptguard",
        },
    )
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        hint = "; the job needs the permission pull-requests: write, which a pull request from a fork does not get"
        raise ActionError(f"{method} is answered with {error.code}{hint if error.code in (403, 404) else ''}") from None
    except (OSError, ValueError) as error:
        raise ActionError(f"{method} fails ({error})") from None
