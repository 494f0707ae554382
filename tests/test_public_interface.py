import subprocess
import sys

import pytest

import promptguard


def test_the_public_names_are_there() -> None:
    assert set(promptguard.__all__) <= set(dir(promptguard))
    for name in promptguard.__all__:
        assert getattr(promptguard, name) is getattr(promptguard, name)
    assert promptguard.canonical_json([]) == b"[]"
    assert issubclass(promptguard.ToolSchemaError, promptguard.PromptguardError)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'promptguard' has no attribute 'canonical'"):
        _ = promptguard.canonical  # type: ignore[attr-defined]


def test_the_import_of_the_package_imports_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import promptguard; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["__future__", "promptguard"]
