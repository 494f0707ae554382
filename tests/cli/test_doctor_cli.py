from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from command_line import Outcome
from llama_server import serve

from promptguard.cli.main import _run
from promptguard.core.resources import resource
from promptguard.models.default import default_model

SCHEMA = json.loads(resource("docs/schemas/doctor-1.json").read_text(encoding="utf-8"))
KEY = "a-key-that-nobody-guesses"


@pytest.fixture(scope="module")
def address() -> object:
    with serve(default_model(), 4096, api_key=KEY) as server:
        yield server.address


@pytest.fixture
def doctor(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("PROMPTGUARD_API_KEY", KEY)

    def run(*arguments: str) -> Outcome:
        code = _run(["doctor", *arguments])
        captured = capsys.readouterr()
        assert KEY not in captured.out + captured.err
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run


def test_nothing_in_the_way(doctor, address: str) -> None:
    done = doctor("--server", address, "--task", "task")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nnothing in the way; 1 at risk: host-cache\n")
    assert "the task tiny takes" in done.out


def test_something_in_the_way_names_the_flag(doctor, address: str) -> None:
    done = doctor("--server", address, "--no-requests")
    assert done.code == 1
    assert "in the way   context" in done.out
    assert "set  --ctx-size 11264 (LLAMA_ARG_CTX_SIZE)" in done.out
    assert "\n1 in the way: context (5 could not be told)\n" in done.out
    assert doctor("--server", address, "--no-requests", "--exit-zero").code == 0


def test_json_and_reports(doctor, address: str, tmp_path: Path) -> None:
    done = doctor("--server", address, "--no-requests", "--output-format", "json", "--report", "markdown=report.md")
    value = json.loads(done.out)
    jsonschema.validate(value, SCHEMA)
    assert (value["verdict"], value["url"], value["requests"]) == ("obstructed", address, 0)
    assert [each["name"] for each in value["checks"] if each["status"] == "in-the-way"] == ["context"]
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("### promptguard doctor: something is in the way\n")


def test_a_server_that_is_not_there(doctor, tmp_path: Path) -> None:
    done = doctor("--server", "http://127.0.0.1:9", "--report", "json=report.json")
    assert done.code == 2
    assert "promptguard: error: http://127.0.0.1:9: cannot be reached" in done.err
    value = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(value, SCHEMA)
    assert (value["verdict"], value["server"], value["checks"]) == ("unknown", None, [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--server: is missing; give the address of a llama-server"),
        (["--server", "127.0.0.1:8080"], "is not an http or https URL; give something like http://127.0.0.1:8080"),
        (["--server", "http://me:secret@127.0.0.1"], "put the API key in PROMPTGUARD_API_KEY"),
        (["--server", "http://127.0.0.1:9", "--report", "xml=x"], "unknown report format 'xml'"),
        (["--server", "http://127.0.0.1:9", "--timeout", "nan"], "nan is not a number"),
        (["--server", "http://127.0.0.1:9", "--task", "nowhere"], "nowhere"),
    ],
)
def test_usage_errors(doctor, arguments: list[str], message: str) -> None:
    done = doctor(*arguments)
    assert done.code == 2
    assert message in done.err


def test_the_address_of_the_configuration_is_used(doctor, address: str, tmp_path: Path) -> None:
    settings = f'[replay]\nserver = "{address}"\ntask = "task"\n'
    (tmp_path / "promptguard.toml").write_text(settings, encoding="utf-8")
    done = doctor("--no-requests")
    assert done.code == 0
    assert "the task tiny takes" in done.out


def test_the_board_is_looked_at_when_asked(doctor, address: str) -> None:
    done = doctor("--server", address, "--task", "task", "--no-requests", "--jetson")
    assert "cannot tell  board" in done.out
    assert "/etc/nv_tegra_release not found" in done.out
