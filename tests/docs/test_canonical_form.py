"""The page on the canonical form says what the code does."""

import re
from pathlib import Path

import pytest

from promptguard.toolschema.vocabulary import HOLDER, SCHEMA, TOOL, Vocabulary

PAGE = (Path(__file__).parents[2] / "docs" / "canonical-form.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("block", "vocabulary"), [("keys-of-a-tool", TOOL), ("keys-of-a-schema", SCHEMA), ("keys-of-what-holds-tools", HOLDER)]
)
def test_the_keys_stand_in_their_order(block: str, vocabulary: Vocabulary) -> None:
    found = re.search(rf"```{block}\n(.+?)```", PAGE, re.DOTALL)
    assert found is not None
    assert found.group(1).split() == list(vocabulary.roles)


def test_the_keys_with_an_order_of_their_own_are_named() -> None:
    row = {key for line in PAGE.split("\n") if line.startswith("| `") for key in re.findall(r"`([^`]+)`", line.split("|")[1])}
    by_name = {key for key, role in SCHEMA.roles.items() if role == "map"} - {"defs"}  # Gemini's name for $defs
    literal = {key for vocabulary in (SCHEMA, TOOL) for key, role in vocabulary.roles.items() if role == "literal"}
    assert by_name | literal <= row
