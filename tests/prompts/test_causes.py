import re
from pathlib import Path

import pytest

from promptguard.prompts import divergence
from promptguard.prompts.causes import CAUSES, CLOCK, Cause

DOCS = Path(__file__).parents[2] / "docs" / "causes.md"


def test_every_cause_is_documented_under_its_code_and_name() -> None:
    headings = re.findall(r"^## (\S+) (\S+)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [(cause.code, cause.name) for cause in CAUSES]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.code)
def test_summary_and_remedy_are_one_line_without_a_full_stop(cause: Cause) -> None:
    for text in (cause.summary, cause.remedy):
        assert re.fullmatch(r"[a-z][^\n]{10,}[^.\s]", text)


def test_a_cause_is_known_by_its_code_and_name() -> None:
    assert divergence.Cause("K1", "clock") == CLOCK
