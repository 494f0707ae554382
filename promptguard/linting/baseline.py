"""Known findings, which are not reported: kept by path, rule and the text of the lines, never by line number."""

# ruff: noqa: PTH100, PTH118, PTH120 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.core.light import Any
from promptguard.linting.result import Counts, FileResult, Record
from promptguard.linting.select import ALWAYS

DEFAULT = ".promptguard-baseline.json"
_VERSION = 1
_MAX_BYTES = 64 << 20


class Baseline:
    """The findings of a baseline file.

    Args:
        findings: how many there are, by path relative to ``root``, and then by code and hash of the lines.
        root: absolute path of the folder of the baseline file.
    """

    def __init__(self, findings: Mapping[str, Counts], root: str) -> None:
        self._findings = findings
        self._root = root
        self._matched: dict[str, int] = {}

    def without(self, result: FileResult, again: Callable[[Counts], FileResult]) -> FileResult:
        """A result without the findings that are known; their number is kept, for ``stale``.

        Args:
            result: what is found in a file.
            again: finds it once more without those that are known. It is asked where some that are not known are too many to be
                among the records.
        """
        path = _inside(result.path, self._root)
        here = self.known(result.path)
        left = dict(here)
        records = []
        for record in result.records:
            key = record.code, _hash(record)
            if left.get(key, 0):
                left[key] -= 1
            else:
                records.append(record)
        matched = len(result.records) - len(records)
        is_complete = True
        for code, lines, count in result.rest:
            same = min(left.get((code, lines), 0), count)
            if same:
                left[code, lines] -= same
                matched += same
            is_complete = is_complete and same == count
        self._matched.setdefault(path, matched)
        if not matched:
            return result
        if not is_complete:
            return again(here)
        return result._replace(records=tuple(records), suppressed=result.suppressed + matched, rest=())

    def known(self, path: str) -> Counts:
        """The known findings of a file."""
        return self._findings.get(_inside(path, self._root), {})

    def stale(self) -> int:
        """How many known findings are no longer there, in the files that ``without`` was asked about."""
        return sum(sum(self._findings.get(path, {}).values()) - matched for path, matched in self._matched.items())

    def besides(self, paths: Iterable[str]) -> Iterator[tuple[str, str, str, int]]:
        """The path, code, hash and number of the known findings that are not in some files and folders."""
        left_out = {os.path.abspath(path) for path in paths}
        for path, counts in self._findings.items():
            here = os.path.normpath(os.path.join(self._root, path))
            if not any(here == top or here.startswith(os.path.join(top, "")) for top in left_out):
                yield from ((path, code, key, count) for (code, key), count in counts.items())


def baseline_root(path: str) -> str:
    """The folder that the paths in a baseline file are relative to: the one that it lies in."""
    return os.path.dirname(os.path.abspath(path))


def read_baseline(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        InputError: it cannot be read, or it is none.
    """
    what = "the baseline"
    text = read_text(path, limit=_MAX_BYTES, what=what)
    try:
        return Baseline(_findings(json.loads(text)), baseline_root(path))
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            f"{what} is not one that promptguard wrote", where=path, hint="make it anew: promptguard baseline"
        ) from None


def baseline_text(
    results: Iterable[FileResult], root: str, *, known: Baseline | None = None, looked_at: Iterable[str] = ()
) -> str:
    """The text of a baseline file with all findings of some files; those that keep promptguard from judging are never known.

    Args:
        results: what is found in them.
        root: absolute path of the folder of the baseline file.
        known: an earlier baseline, whose findings elsewhere are kept.
        looked_at: the files and folders that ``results`` are about.
    """
    findings: dict[str, dict[str, dict[str, int]]] = {}

    def add(path: str, code: str, key: str, count: int) -> None:
        hashes = findings.setdefault(path, {}).setdefault(code, {})
        hashes[key] = hashes.get(key, 0) + count

    for path, code, key, count in known.besides(looked_at) if known is not None else ():
        add(path, code, key, count)
    for result in results:
        path = _inside(result.path, root)
        for code, key, count in (*((record.code, _hash(record), 1) for record in result.records), *result.rest):
            if code not in ALWAYS:
                add(path, code, key, count)
    return json.dumps({"version": _VERSION, "findings": findings}, indent=2, sort_keys=True) + "\n"


def _findings(data: Any) -> dict[str, Counts]:
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("findings"), dict):
        raise TypeError
    found: dict[str, Counts] = {}
    for path, codes in data["findings"].items():
        if not isinstance(codes, dict):
            raise TypeError
        counts: dict[tuple[str, str], int] = {}
        found[path] = counts
        for code, hashes in codes.items():
            if not isinstance(hashes, dict) or not all(type(count) is int and count > 0 for count in hashes.values()):
                raise TypeError
            counts.update(((code, key), count) for key, count in hashes.items())
    return found


def _hash(record: Record) -> str:
    """The part of the fingerprint that says what stands there: its hash of code and lines, without the number."""
    return record.fingerprint.partition(":")[0]


def _inside(path: str, root: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")
