"""The comment on a pull request, with an API that a test answers for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from adoption.conftest import Make
from adoption.simulated_runner import Job, Runner
from pytest_httpserver import HTTPServer
from werkzeug import Request

COMMENTS = "/repos/owner/shop/issues/3/comments"
CLOCK = "You help the customers of a shop.\nNow: {{ now() }}\n"


@pytest.fixture
def runner(make_runner: Make, httpserver: HTTPServer) -> Runner:
    runner = make_runner({"system.j2": CLOCK})
    runner.event = {"pull_request": {"number": 3, "base": {"sha": "0" * 40}}}
    runner.variables["GITHUB_API_URL"] = httpserver.url_for("").rstrip("/")
    return runner


def answer(httpserver: HTTPServer, pages: Sequence[Sequence[dict[str, Any]]]) -> None:
    """Let the pull request have comments, and take new and changed ones."""
    for number, page in enumerate(pages, 1):
        query = {"per_page": "100", "page": str(number)}
        httpserver.expect_request(COMMENTS, method="GET", query_string=query).respond_with_json(list(page))
    httpserver.expect_request(COMMENTS, method="POST").respond_with_json({"id": 8}, status=201)
    httpserver.expect_request("/repos/owner/shop/issues/comments/7", method="PATCH").respond_with_json({"id": 7})


def comment(body: str | None, kind: str | None = "Bot") -> dict[str, Any]:
    return {"id": 7, "user": None if kind is None else {"type": kind}, "body": body}


def requests(httpserver: HTTPServer) -> list[Request]:
    return [request for request, _ in httpserver.log]


def written(httpserver: HTTPServer) -> tuple[str, str]:
    """The method of the last request, and the text of the comment."""
    request = requests(httpserver)[-1]
    return request.method, json.loads(request.get_data())["body"]


def commented(runner: Runner, **given: str) -> Job:
    return runner.run(comment="true", **given)


def test_the_first_run_writes_and_the_next_one_updates(runner: Runner, httpserver: HTTPServer) -> None:
    answer(httpserver, [[]])
    job = commented(runner)
    method, body = written(httpserver)
    assert (method, job.messages("warning")) == ("POST", [])
    mark, text = body.split("\n", 1)
    assert text == job.summary
    assert {request.headers["Authorization"] for request in requests(httpserver)} == {"Bearer a-token"}
    httpserver.clear()
    others = [comment(f"{mark}\nmine", "User"), comment("hello"), comment(None), comment(f"{mark}\nmine", None)]
    answer(httpserver, [[others[number % 4] for number in range(100)], [comment(f"{mark}\nold")]])
    commented(runner)
    assert written(httpserver) == ("PATCH", body)


def test_each_use_in_a_job_has_a_comment_of_its_own(runner: Runner, httpserver: HTTPServer) -> None:
    answer(httpserver, [[]])
    marks = set()
    uses: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, {}),
        ({}, {"paths": "system.j2"}),
        ({}, {"working_directory": "sub"}),
        ({"GITHUB_ACTION": "__owner_promptguard_2"}, {}),
        ({"GITHUB_JOB": "other"}, {}),
        ({"GITHUB_WORKFLOW": "other"}, {}),
    ]
    (runner.workspace / "sub").mkdir()
    for variables, given in uses:
        runner.variables |= variables
        commented(runner, **given)
        marks.add(written(httpserver)[1].partition("\n")[0])
    assert len(marks) == len(uses)


def test_nobody_is_mentioned(runner: Runner, httpserver: HTTPServer) -> None:
    answer(httpserver, [[]])
    (runner.workspace / "system.j2").write_text("Ask @admin about #1 <b>now</b>: {{ now() }} {{ '@admin' ~ now() }}\n")
    (runner.workspace / "@admin.j2").write_text(CLOCK)
    commented(runner)
    _, body = written(httpserver)
    assert "PG101" in body
    assert "@admin" not in body.replace("<code>", "")
    assert "<b>" not in body


def test_a_big_report_is_cut(runner: Runner, httpserver: HTTPServer) -> None:
    answer(httpserver, [[]])
    (runner.workspace / "system.j2").write_text("".join(f"Line {number}: {{{{ now() }}}}\n" for number in range(900)))
    job = commented(runner, annotations="off")
    _, body = written(httpserver)
    assert 60_000 < len(body) <= 65_536
    assert body.endswith("|\n\nThe rest is left out for its size.\n")
    assert len(job.summary) > 100_000


@pytest.mark.parametrize("status", [403, 404, 500, 302])
def test_what_the_api_refuses_is_said_and_decides_nothing(status: int, runner: Runner, httpserver: HTTPServer) -> None:
    (runner.workspace / "system.j2").write_text("You help.\n")
    httpserver.expect_request(COMMENTS).respond_with_data("no", status=status, headers={"Location": "/elsewhere"})
    job = commented(runner)
    (warning,) = job.messages("warning")[-1:]
    assert warning.startswith(f"promptguard: the comment cannot be written: GET is answered with {status}")
    assert ("pull-requests: write" in warning) == (status in (403, 404))
    assert (job.succeeded, len(requests(httpserver))) == (True, 1)


def test_an_api_that_is_not_there(runner: Runner) -> None:
    runner.variables["GITHUB_API_URL"] = "http://127.0.0.1:9"
    assert commented(runner).messages("warning")[-1].startswith("promptguard: the comment cannot be written: GET fails (")


def test_no_comment_without_a_pull_request(runner: Runner, httpserver: HTTPServer) -> None:
    runner.event = {"ref": "refs/heads/main"}
    job = commented(runner)
    assert (job.messages("warning"), requests(httpserver)) == ([], [])
    assert "No comment: this is no pull request." in job.log
