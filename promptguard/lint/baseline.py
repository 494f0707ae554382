"""Known findings, which are not reported: kept by path, rule and the text of the lines, never by line number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.lint.result import FileResult, Record
from promptguard.lint.select import ALWAYS, parts_below

DEFAULT = ".promptguard-baseline.json"
_VERSION = 1
_MAX_BYTES = 64 << 20
_Counts = dict[tuple[str, str], int]  # by code and hash of the lines


class Baseline:
    """The findings of a baseline file.

    Args:
        findings: how many there are, by path below ``root``, and then by code and hash of the lines.
        root: absolute path of the folder of the configuration.
    """

    def __init__(self, findings: Mapping[str, _Counts], root: str) -> None:
        self._findings = findings
        self._root = root
        self._matched: dict[str, int] = {}

    def without(self, result: FileResult) -> FileResult:
        """A result without the findings that are known; their number is kept, for ``stale``."""
        known = dict(self._findings.get(_inside(result.path, self._root), {}))
        records = []
        for record in result.records:
            key = record.code, _hash(record)
            if known.get(key, 0):
                known[key] -= 1
            else:
                records.append(record)
        matched = len(result.records) - len(records)
        self._matched.setdefault(_inside(result.path, self._root), matched)
        return result._replace(records=tuple(records), suppressed=result.suppressed + matched) if matched else result

    def stale(self) -> int:
        """How many known findings are no longer there, in the files that ``without`` was asked about."""
        return sum(sum(self._findings.get(path, {}).values()) - matched for path, matched in self._matched.items())


def read_baseline(path: str, root: str) -> Baseline:
    """Read a baseline file.

    Raises:
        InputError: it cannot be read, or it is none.
    """
    what = "the baseline"
    text = read_text(path, limit=_MAX_BYTES, what=what)
    try:
        return Baseline(_findings(json.loads(text)), root)
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            f"{what} is not one that promptguard wrote", where=path, hint="make it anew: promptguard baseline"
        ) from None


def baseline_text(records: Iterable[Record], root: str) -> str:
    """The text of a baseline file with some findings; those that keep promptguard from judging are never known."""
    findings: dict[str, dict[str, dict[str, int]]] = {}
    for record in records:
        if record.code not in ALWAYS:
            hashes = findings.setdefault(_inside(record.path, root), {}).setdefault(record.code, {})
            hashes[_hash(record)] = hashes.get(_hash(record), 0) + 1
    return json.dumps({"version": _VERSION, "findings": findings}, indent=2, sort_keys=True) + "\n"


def _findings(data: Any) -> dict[str, _Counts]:
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("findings"), dict):
        raise TypeError
    found: dict[str, _Counts] = {}
    for path, codes in data["findings"].items():
        if not isinstance(codes, dict):
            raise TypeError
        counts = found.setdefault(path, {})
        for code, hashes in codes.items():
            if not isinstance(hashes, dict) or not all(type(count) is int and count > 0 for count in hashes.values()):
                raise TypeError
            counts.update(((code, key), count) for key, count in hashes.items())
    return found


def _hash(record: Record) -> str:
    """The part of the fingerprint that says what stands there: its hash of path, code and lines, without the number."""
    return record.fingerprint.partition(":")[0]


def _inside(path: str, root: str) -> str:
    return "/".join(parts_below(path, root)) or path
