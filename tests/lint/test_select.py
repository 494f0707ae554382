from __future__ import annotations

from pathlib import Path

import pytest

from promptguard.checks.catalog import RULES
from promptguard.core.errors import ConfigError
from promptguard.linting.select import ALWAYS, parts_below, selected_codes


@pytest.mark.parametrize(
    ("select", "ignore", "code", "selected"),
    [
        (["PG"], [], "PG101", True),
        (["PG1"], [], "PG101", True),
        (["PG1"], [], "PG301", False),
        (["clock"], [], "PG101", True),
        (["pg101"], [], "PG101", True),
        (["PG"], ["PG1"], "PG101", False),
        (["PG101"], ["PG1"], "PG101", True),
        (["PG101"], ["PG1"], "PG102", False),
        (["PG1"], ["PG1"], "PG101", False),
        (["PG", "PG1"], ["PG1"], "PG101", False),
        (["clock"], ["PG10"], "PG101", True),
        (["PG10"], ["clock"], "PG101", False),
        ([], [], "PG101", False),
    ],
)
def test_the_longer_selector_holds(select: list[str], ignore: list[str], code: str, selected: bool) -> None:
    assert (code in selected_codes(select, ignore)) is selected


def test_what_keeps_promptguard_from_judging_is_always_reported() -> None:
    assert selected_codes(["PG101"], ["PG901"]) == {"PG101", "PG901", "PG999"} == {"PG101", *ALWAYS}
    assert selected_codes(["PG"], []) == set(RULES)


@pytest.mark.parametrize(
    ("selector", "hint"), [("PG8", ""), ("clok", "did you mean clock"), ("", ""), ("PG1010", "did you mean PG101")]
)
def test_a_selector_that_means_no_rule(selector: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no rule '{selector}'; .*{hint}"):
        selected_codes([selector], [])


def test_the_names_of_a_path_from_a_folder_on(folder: Path) -> None:
    assert parts_below("a/b.j2", str(folder)) == ("a", "b.j2")
    assert parts_below(str(folder / "a"), str(folder)) == ("a",)
    assert parts_below("../b.j2", str(folder)) == ()
    assert parts_below("/a/b", "/") == ("a", "b")
