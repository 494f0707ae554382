from __future__ import annotations

import json
from pathlib import Path

import pytest
from adoption.conftest import Make

CLOCK = "You help the customers of a shop.\nNow: {{ now() }}\n"
CLEAN = "You help the customers of a shop.\n"
CLOCK_MESSAGE = "`{{ now() }}` prints a clock, which changes with every request\n1 token behind it are computed again when it changes"


def test_a_clean_repository(make_runner: Make) -> None:
    job = make_runner({"prompts/system.j2": CLEAN}).run()
    assert job.succeeded, job.log
    assert (job.outputs["verdict"], job.outputs["findings"], job.outputs["hit-rate"]) == ("passed", "0", "")
    assert job.annotations == []
    print(job.summary, job.log)
    assert job.summary.startswith("## ✅ promptguard: passed\n")
