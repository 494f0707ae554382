"""Results of earlier runs, by the content of the file.

One file for each set of settings holds a line for each result: a key, which is a hash of the name and the content of the checked
file, its path below the root, and the result. What does not read as a result is none.
"""

# pathlib takes longer to import than a small file takes to check
# ruff: noqa: PTH100, PTH103, PTH105, PTH108, PTH112, PTH113, PTH116, PTH118, PTH120, PTH123
from __future__ import annotations

import os

from promptguard import __version__
from promptguard.linting.result import FileResult
from promptguard.linting.settings import Settings

_MAX_BYTES = 64 << 20  # of a cache file; a larger one is not read
_MAX_ENTRIES = 50_000
_MAX_FILES = 8  # settings whose results are kept
_WORTH = 64 << 10  # work of a run from which on its results are written: to find them again takes longer than to write them
_PER_FILE = 1 << 10  # bytes of prompts that take as long to check as the rest of what is done for a file
_CODE = (
    "checks",
    "core",
    "linting",
    "linting/reading",
    "parse",
    "prompts",
    "prompts/blame",
    "prompts/preservation",
    "toolschema",
)
"""The folders of the package whose code has a say in the results; to look for them takes longer than to name them."""
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of promptguard and can be deleted.\n"


class Cache:
    """The results under one set of settings.

    A run that has little to do, as on a commit or in an editor, reads what there is and writes nothing.

    Args:
        folder: of the cache; it is made when there is something to keep.
        settings: what holds.
    """

    def __init__(self, folder: str, settings: Settings) -> None:
        self._folder = folder
        self._root = settings.root
        self._settings = settings
        self._file: str | None = None
        self._lines: dict[str, bytes] | None = None
        self._used: set[str] = set()
        self._fresh: dict[str, FileResult] = {}
        self._work = 0

    @property
    def entries(self) -> dict[str, bytes]:
        """The lines of the file by their keys."""
        if self._lines is None:
            self._lines = self._load()
        return self._lines

    @property
    def _name(self) -> str:
        if self._file is None:
            self._file = os.path.join(self._folder, settings_key(self._settings) + ".cache")
        return self._file

    def get(self, key: str, path: str, work: int = 0) -> FileResult | None:
        """The result for a key, ``None`` where there is none that can be trusted.

        Args:
            key: see ``result_key`` of ``linting.run``.
            path: of the file.
            work: bytes of prompts that take as long to check as the file.
        """
        line = self.entries.get(key)
        if line is None:
            return None
        from promptguard.linting.cached_results import read_result, written  # only here: most small runs find no cache

        data = line.split(b"\t", 2)[-1]
        clean = FileResult(path, checked=True)
        if data == written(clean).encode():  # the usual result
            self._use(key, work)
            return clean
        try:
            result = read_result(data)
        except (ValueError, TypeError, IndexError, KeyError, RecursionError):
            return None
        shown = path.replace(os.sep, "/")
        if result.path != path or any(record.path != shown for record in result.records):
            return None
        self._use(key, work)
        return result

    def _use(self, key: str, work: int) -> None:
        self._used.add(key)
        self._work += work + _PER_FILE

    def put(self, key: str, result: FileResult, work: int) -> None:
        """Keep a result that took some work; one that says what may be otherwise next time is not kept."""
        self._work += work + _PER_FILE
        if any(record.code == "PG999" for record in result.records):
            return
        self._fresh[key] = result

    def save(self) -> None:
        """Write what is new, without the results of files that are gone; silent where the folder cannot be written to.

        Nothing is written in a run that had little to do: it would only take longer.
        """
        if not self._fresh or self._work < _WORTH:
            return
        try:
            self._make_folder()
            self._write(b"".join(line + b"\n" for line in self._kept()))
            self._drop_old()
        except OSError:
            return

    def _write(self, data: bytes) -> None:
        target = self._name
        temporary = f"{target}.{os.urandom(6).hex()}.tmp"
        try:
            with open(temporary, "xb") as file:
                file.write(data)
            os.replace(temporary, target)
        except BaseException:
            if os.path.lexists(temporary):
                os.unlink(temporary)
            raise

    def _load(self) -> dict[str, bytes]:
        if not os.path.isdir(self._folder):
            return {}  # without a look at what the file would be called, which takes longer
        from promptguard.core.digest import LENGTH

        try:
            with open(self._name, "rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except OSError:
            return {}
        if len(data) > _MAX_BYTES:
            return {}
        return {line[:LENGTH].decode("latin-1"): line for line in data.split(b"\n") if line[LENGTH : LENGTH + 1] == b"\t"}

    def _kept(self) -> list[bytes]:
        """The lines to write: what was used or made now comes last, so that it is the last to go where there are too many."""
        lines = self._load()  # another run may have added to it since
        fresh = [self._line(key, result) for key, result in self._fresh.items()]
        written = {_path(line) for line in fresh}
        old: list[bytes] = []
        used: list[bytes] = []
        there: dict[bytes, bool] = {}
        for key, line in lines.items():
            if key in self._used:
                used.append(line)
                continue
            path = _path(line)
            if key in self._fresh or path in written:
                continue
            if path not in there:
                there[path] = self._exists(path)
            if there[path]:
                old.append(line)
        kept = [*old, *used, *fresh][-_MAX_ENTRIES:]
        size = 0
        for index in range(len(kept) - 1, -1, -1):
            size += len(kept[index]) + 1
            if size > _MAX_BYTES:
                return kept[index + 1 :]
        return kept

    def _line(self, key: str, result: FileResult) -> bytes:
        from promptguard.linting.cached_results import written

        path = written(os.path.relpath(os.path.abspath(result.path), self._root))
        return f"{key}\t{path}\t{written(result)}".encode()

    def _exists(self, path: bytes) -> bool:
        from promptguard.core.json_text import loads

        try:
            name = loads(path.decode())
            return isinstance(name, str) and os.path.lexists(os.path.join(self._root, name))
        except (ValueError, RecursionError):
            return False

    def _make_folder(self) -> None:
        if os.path.isdir(self._folder):
            return
        os.makedirs(self._folder, exist_ok=True)
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
            with open(os.path.join(self._folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def _drop_old(self) -> None:
        """Remove the results under settings that were last used longest ago, and what a run that was killed has left."""
        with os.scandir(self._folder) as entries:
            files = [(entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in entries if ".cache" in entry.name]
        files.sort(reverse=True)
        for _, path in files[_MAX_FILES:]:
            os.unlink(path)


def settings_key(settings: Settings) -> str:
    """A name for all that has a say in the results beside the files themselves."""
    inputs = [os.path.join(settings.root, item.context) for item in settings.prompts if item.context is not None]
    if settings.tokenizer is not None and not settings.tokenizer.startswith("tiktoken:"):
        inputs.append(settings.tokenizer)
    from promptguard.core.digest import digest

    said = repr((__version__, _code_stamp(), settings, [_stamp(path) for path in inputs]))
    return digest(said.encode("utf-8", "backslashreplace"), 24)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _code_stamp() -> list[tuple[str, tuple[int, int] | None]]:
    """The state of promptguard's own code: the version alone says nothing of what was installed from a working tree, or is one.

    What is installed is replaced with its folders; in a working tree each file is looked at.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [os.path.join(package, name) for name in _CODE]
    stamps = [(folder, _stamp(folder)) for folder in folders]
    if os.path.isfile(os.path.join(os.path.dirname(package), "pyproject.toml")):
        for folder in folders:
            with os.scandir(folder) as entries:
                stamps += [(entry.path, _stamp(entry.path)) for entry in entries if entry.name.endswith(".py")]
    return sorted(stamps, key=repr)


def _path(line: bytes) -> bytes:
    return line.split(b"\t", 2)[1]
