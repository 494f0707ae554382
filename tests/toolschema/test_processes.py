"""The same bytes in every process."""

import json
import os
import subprocess
import sys

SCRIPT = """
import json, sys
from promptguard import canonical_json, tools_fingerprint
from promptguard.toolschema.regular import regular_json
names = {"search", "mail", "weather", "notes", "calendar"}  # a set: another order under every hash seed
keys = {("type", "object"), ("title", "T"), ("x-b", 1), ("description", "D"), ("x-a", 2)}
tools = [
    {**dict({("name", name), ("description", name)}), "input_schema": {**dict(keys), "required": list({"a", "b", "c"}),
     "properties": {"b": dict(keys), "a": {}}}}
    for name in names
]
text = [("name", "zz"), ("description", "d"), ("title", "t")]
kinds = {("type", "ephemeral"), ("ttl", "1h")}
hints = {("title", "t"), ("readOnlyHint", True), ("idempotentHint", False), ("openWorldHint", True)}
regular = {
    **dict(set(text)), "cache_control": dict(kinds), "annotations": dict(hints),
    "input_schema": {"$defs": dict.fromkeys({"d", "b", "a", "c"}, {}), "required": list({"z", "y", "x"})},
}
assert regular_json(regular) is not None
tools += [regular]
print(json.dumps([json.dumps(tools), canonical_json(tools).decode(), tools_fingerprint(tools)]))
"""


def test_hash_seeds_do_not_matter() -> None:
    results = []
    for seed in ("0", "1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
        results.append(json.loads(done.stdout))
    assert len({raw for raw, _, _ in results}) > 1
    assert len({text for _, text, _ in results}) == 1
    # Another fingerprint here means another canonical form: FORM_VERSION has to go up.
    assert {fingerprint for _, _, fingerprint in results} == {"1-7723c4d49ea4f07e"}
