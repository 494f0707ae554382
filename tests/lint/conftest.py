from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from promptguard.checks.base import Document, Hit

Fake = Callable[..., None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def detect(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Let detectors give some hits in the place of their own; an exception in the place of a hit is raised."""

    def use(*detectors: list[Hit | Exception]) -> None:
        def detector(hits: list[Hit | Exception]) -> Any:
            def check(_document: Document, _options: Mapping[str, Any]) -> Iterator[Hit]:
                for hit in hits:
                    if isinstance(hit, Exception):
                        raise hit
                    yield hit

            return check

        found = tuple((f"fake{number}", detector(hits)) for number, hits in enumerate(detectors))
        monkeypatch.setattr("promptguard.linting.check.detectors", lambda _kind: found)

    return use
