from copy import deepcopy
from typing import Any

from promptguard.toolschema.unsafe import Change, normalize_descriptions


def test_descriptions_and_titles_are_normalized_and_nothing_else() -> None:
    dirty = "e\u0301 \t\r\nb \rc "
    tools: list[dict[str, Any]] = [
        {
            "name": dirty,
            "description": dirty,
            "inputSchema": {
                "title": "a ",
                "properties": {
                    "description": {"description": "x\r\n", "default": dirty, "enum": [dirty]},
                    dirty: {"description": "e\u0301", "x": {"description": dirty}},
                },
            },
        }
    ]
    before = deepcopy(tools)
    made, changes = normalize_descriptions(tools)
    assert tools == before
    assert changes == (
        Change("/0/description", "line ends, trailing spaces, NFC"),
        Change("/0/inputSchema/title", "trailing spaces"),
        Change("/0/inputSchema/properties/description/description", "line ends"),
        Change(f"/0/inputSchema/properties/{dirty}/description", "NFC"),
    )
    expected = before[0]
    expected["description"] = "é\nb\nc"
    expected["inputSchema"]["title"] = "a"
    expected["inputSchema"]["properties"]["description"]["description"] = "x\n"
    expected["inputSchema"]["properties"][dirty]["description"] = "é"
    assert made == before


def test_clean_tools_have_no_changes() -> None:
    assert normalize_descriptions({"tools": [{"name": "f", "description": "a\n\nb"}]})[1] == ()
