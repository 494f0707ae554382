"""docs/jetson.md, docs/doctor.md and the example service name what is there, and the warm-up warms up."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import xllamacpp
from llama_server import serve

from promptguard.cli.doctor import doctor
from promptguard.cli.replay import replay
from promptguard.diagnosis import board, catalog, context, facts, probes, reuse, run, template, traffic
from promptguard.models.default import default_model

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "jetson.md").read_text(encoding="utf-8")
DOCTOR = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
UNIT = (ROOT / "docs" / "examples" / "llama-server.service").read_text(encoding="utf-8")
BINARY = (Path(xllamacpp.__file__).parent / "xllamacpp.abi3.so").read_bytes()
ADVICE = "\n".join(
    inspect.getsource(module) for module in (board, catalog, context, facts, probes, reuse, run, template, traffic)
)
OTHERS = {
    "--build", "--config", "--target",  # cmake
    "--data-binary", "--fail", "--header", "--max-time", "--output", "--retry", "--retry-all-errors", "--retry-delay",
    "--show-error", "--silent",  # curl
    "--groups", "--now", "--runtime", "--system", "--version", "--show",  # useradd, systemctl, docker, jetson_clocks
    "--report",  # promptguard
}  # fmt: skip


def flags(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+[a-z]\b", text))


def known(word: str) -> bool:
    """Whether a word is a whole string of the server: it compares arguments with these, and prints its help from them."""
    return word.encode() + b"\0" in BINARY


def own() -> set[str]:
    return {name for command in (doctor, replay) for option in command.params for name in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("text", [PAGE, DOCTOR, UNIT, ADVICE], ids=["jetson", "doctor", "unit", "advice"])
def test_every_flag_is_one_of_the_server(text: str) -> None:
    named = flags(text) - OTHERS - own()
    assert len(named) > 5
    # A flag that switches something off is put together by newer builds: --no- and the name of the flag.
    assert [flag for flag in named if not known(flag) and not known(flag.replace("--no-", "--"))] == []


@pytest.mark.parametrize("text", [PAGE, DOCTOR, ADVICE], ids=["jetson", "doctor", "advice"])
def test_every_variable_is_one_of_the_server(text: str) -> None:
    named = set(re.findall(r"LLAMA_ARG_\w+", text)) - {"LLAMA_ARG_NO_CACHE_PROMPT"}  # LLAMA_ARG_NO_ and the rest of a name
    assert len(named) > 5
    assert [name for name in named if not known(name)] == []


def test_a_flag_that_is_none_is_found() -> None:
    assert not known("--cache-prompts")


def test_the_page_of_the_doctor_is_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "build_doctor.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_names_every_option_of_the_doctor() -> None:
    named = {"--server", "--task", "--no-requests", "--jetson", "--no-jetson", "--output-format", "--report", "--exit-zero"}
    assert named <= flags(DOCTOR)


# -- the service


def settings() -> dict[str, list[str]]:
    """The settings of the unit, continued lines joined."""
    found: dict[str, list[str]] = {}
    for line in UNIT.replace("\\\n", " ").splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_has_its_sections_and_absolute_programs() -> None:
    assert re.findall(r"^\[(\w+)\]$", UNIT, re.MULTILINE) == ["Unit", "Service", "Install"]
    every = settings()
    assert (every["Type"], every["WantedBy"], len(every["ExecStart"])) == (["exec"], ["multi-user.target"], 1)
    programs = [value.lstrip("+-").split()[0] for key, values in every.items() if key.startswith("Exec") for value in values]
    assert len(programs) == 4
    assert [program for program in programs if not program.startswith("/")] == []


def test_the_warm_up_of_the_unit_leaves_the_resident_prefix_in_the_cache(tmp_path: Path) -> None:
    assert shutil.which("curl"), "this test needs curl"
    body = json.loads((ROOT / "docs" / "examples" / "warm-up.json").read_text(encoding="utf-8"))
    body["messages"][0]["content"] *= 40
    (tmp_path / "warm-up.json").write_text(json.dumps(body), encoding="utf-8")
    with serve(default_model(), 4096) as server:
        for command in settings()["ExecStartPost"]:
            there = command.lstrip("-").replace("http://127.0.0.1:8080", server.address)
            words = shlex.split(there.replace("/etc/llama-server/warm-up.json", str(tmp_path / "warm-up.json")))
            done = subprocess.run(["curl", *words[1:]], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")
        prefix = server.tokenize(server.render(body["messages"], body["tools"]))
        body["messages"][1]["content"] = "Something else."
        timings = server.post("/v1/chat/completions", body)["timings"]
    assert timings["cache_n"] > 0.9 * len(prefix)
    assert timings["prompt_n"] < 20


def test_the_wait_of_the_unit_fails_where_nothing_answers() -> None:
    assert shutil.which("curl"), "this test needs curl"
    wait = (
        settings()["ExecStartPost"][0].replace("http://127.0.0.1:8080", "http://127.0.0.1:9").replace("--retry 600", "--retry 0")
    )
    assert subprocess.run(["curl", *shlex.split(wait)[1:]], capture_output=True).returncode == 7
