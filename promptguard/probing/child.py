"""The process that calls a builder: told on standard input what to do, it answers with one line of JSON.

It imports the standard library and ``toolschema.plain`` alone, so that it runs in the interpreter of the user's project, whatever
is installed there.
"""

# ruff: noqa: PTH100, PTH119, PTH120, PTH206 - pathlib must not be imported before the surroundings are set

from __future__ import annotations

import base64
import faulthandler
import json
import os
import pickle
import sys
from types import FrameType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptguard.probing.surroundings import Clock

MAX_ANSWER = 1 << 25
"""Bytes of one prompt as JSON."""

_MAX_VALUES = 1_000_000
_MAX_FILES = 1_000
_MAX_PROGRAMS = 5
_MAX_NAME = 40
_MOST_NAMES = 10
_MAX_MESSAGE = 500


class Refusal(Exception):  # noqa: N818 - what the user is told, not an accident
    """Why there is no prompt, in words, with what to do about it."""

    def __init__(self, what: str, *, hint: str | None = None, place: tuple[str, int] | None = None) -> None:
        super().__init__(what)
        self.answer = {"what": what, "hint": hint, "place": place}


def main() -> None:
    """Take the job and the channel of the answer, keep both from the builder, and never return."""
    channel = os.dup(1)  # not inherited by what the builder starts
    os.dup2(2, 1)  # what the builder prints, whoever prints it
    job = json.loads(sys.stdin.buffer.readline())
    life = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    clock, unchanged = _set(job["surroundings"])
    from promptguard.core.child import end_with_parent  # it imports pathlib, which keeps functions of os in Python 3.10

    end_with_parent(life)
    faulthandler.enable(2)
    faulthandler.dump_traceback_later(job["timeout"], exit=True, file=2)
    try:
        answer = {**_answer(job, clock), "unchanged": unchanged}
    except Refusal as refusal:
        answer = {"error": refusal.answer}
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.flush()
    sys.stderr.flush()
    data = json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(channel, data) :]
    os._exit(0)  # nothing that the builder left behind can keep it


def _answer(job: dict[str, Any], clock: Clock) -> dict[str, Any]:
    from promptguard.probing.surroundings import seed_random

    sys.argv = ["promptguard"]
    sys.path[:] = job["path"] or [job["root"], *(entry for entry in sys.path if entry != job["root"])]
    files: dict[str, None] = {}
    started: dict[str, None] = {}
    if job["watch"]:
        _watch(files, started)
    home = _Home(job)
    build = _guarded(home, lambda: find(job["target"]), "cannot be imported")
    if not callable(build):
        from promptguard.core.wording import named_type

        raise Refusal(f"is {named_type(build)}, not a function that builds a prompt")
    home.builder = definition(build)
    _check_call(build, job["kwargs"], home.builder)
    prompts: list[str] = []
    for _ in range(job["calls"]):
        clock.reset()
        seed_random(job["surroundings"]["seed"])
        built = _guarded(home, lambda: _finished(build(**job["kwargs"])), "failed")
        prompts.append(_guarded(home, lambda built=built: _text(built), "cannot be read"))
    modules = [str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())]
    return {
        "prompts": prompts if len(set(prompts)) > 1 else prompts[:1],
        "place": home.builder,
        "files": [name for name in {**dict.fromkeys(modules), **files} if name],
        "started": list(started),
    }


def _check_call(build: Any, kwargs: dict[str, Any], place: tuple[str, int] | None) -> None:
    """Refuse a call that has too few arguments or a wrong one; what Python says of it has no place."""
    import inspect

    try:
        parameters = list(inspect.signature(build).parameters.values())
    except Exception:  # a builtin may have none, and others make their own: the call will tell
        return
    by_name = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    names = [each.name for each in by_name]
    missing = [each.name for each in by_name if each.default is each.empty and each.name not in kwargs]
    if missing[:1] == ["self"] and "." in getattr(build, "__qualname__", ""):
        hint = "name a function, a static method or a class method, or give promptguard.probe() the method of an object"
        raise Refusal("is a method that has no object (it needs 'self')", hint=hint, place=place)
    if missing:
        what = f"needs the argument{'s' if len(missing) > 1 else ''} {_listed(missing)}"
        raise Refusal(what, hint="give it the arguments that it needs with --args", place=place)
    unknown = [name for name in kwargs if name not in names]
    if unknown and not any(each.kind == each.VAR_KEYWORD for each in parameters):
        raise Refusal(f"takes no argument {_listed(unknown)}", hint=f"it takes {_listed(names) or 'none'}", place=place)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_MOST_NAMES])) + (", …" if len(names) > _MOST_NAMES else "")


def _set(given: dict[str, Any]) -> tuple[Clock, str | None]:
    """Set what is not set from outside; the clock, and what of it could not be."""
    from promptguard.probing import surroundings

    clock = surroundings.Clock(given["clock"])
    unchanged = clock.install()
    surroundings.seed_random(given["seed"])
    sys.meta_path.insert(0, surroundings.NumpySeeder(given["seed"]))
    if given["listing"] == "reversed":
        surroundings.reverse_listings()
    if given["host"] is not None:
        surroundings.rename_host(given["host"])
    if given["user"] is not None:
        surroundings.rename_user(given["user"])
    return clock, unchanged


def _watch(files: dict[str, None], started: dict[str, None]) -> None:
    """Note which files are read: what a prompt says may stand in one of them; and which programs are started."""

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.posix_spawn", "os.system") and len(started) < _MAX_PROGRAMS:
            started[_program(arguments)] = None
        if event == "open" and len(files) < _MAX_FILES:
            name, mode = arguments[0], arguments[1]
            if isinstance(name, str) and not (isinstance(mode, str) and mode.strip("rbtU")):
                files[os.path.abspath(name)] = None

    sys.addaudithook(note)


def _program(arguments: tuple[Any, ...]) -> str:
    """The name of a program that is started, of a command of a shell that of its first."""
    words = arguments[1] if len(arguments) > 1 else arguments[0]
    if isinstance(words, (list, tuple)):
        words = [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in words]
        words = words[2] if words[1:2] == ["-c"] and len(words) > 2 else next(iter(words), "")
    first = next(iter((os.fsdecode(words) if isinstance(words, bytes) else str(words)).split()), "")
    return os.path.basename(first)[:_MAX_NAME] or "a program"


def find(target: dict[str, Any]) -> Any:
    """The object that a target names, see ``targets``."""
    if target["kind"] == "pickle":
        return _Unpickler(base64.b64decode(target["data"])).load()
    if target["folder"] is not None:  # what lies beside a file can be imported from it
        sys.path.insert(0, target["folder"])
    return attribute(load(target["module"], target["file"]), target["name"])


def attribute(module: ModuleType, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            import difflib

            names = [each for each in dir(found) if callable(getattr(found, each, None))]
            close = difflib.get_close_matches(part, names, n=1)
            owner = getattr(module, "__file__", None) or module.__name__
            raise Refusal(f"{owner} has no {part!r}", hint=f"did you mean {close[0]!r}?" if close else None)
        found = getattr(found, part)
    return found


def load(name: str, file: str | None) -> ModuleType:
    """Import a module by its name where that leads to its file, else from the file."""
    import importlib
    import importlib.util

    if file is None:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                raise Refusal(
                    f"there is no module {error.name!r}", hint="run it where python -m finds it, or name the file"
                ) from None
            raise
    if name in sys.modules and _same_file(getattr(sys.modules[name], "__file__", None), file):
        return sys.modules[name]
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and _same_file(spec.origin, file):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Refusal(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _same_file(one: str | None, other: str) -> bool:
    return one is not None and os.path.realpath(one) == os.path.realpath(other)


class _Unpickler(pickle.Unpickler):
    """Finds functions and classes by the file of their module where the name alone does not lead there."""

    def __init__(self, data: bytes) -> None:
        import io

        super().__init__(io.BytesIO(data))

    def persistent_load(self, reference: Any) -> Any:
        return attribute(load(reference[0], reference[1]), reference[2])


def _finished(built: Any) -> Any:
    """What a builder gives, waited for where it is an ``async def``."""
    if not hasattr(built, "__await__"):
        return built
    import asyncio

    async def wait() -> Any:
        return await built

    return asyncio.run(wait())


class _Home:
    """Which code is the user's: that below the root, and that beside the builder."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._roots = [job["root"]]
        self.builder: tuple[str, int] | None = None

    def holds(self, file: str) -> bool:
        roots = [*self._roots, *([os.path.dirname(self.builder[0])] if self.builder is not None else [])]
        path = os.path.abspath(file)
        return not _foreign(path) and any(path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)

    def frame(self, traceback: TracebackType | None) -> tuple[str, int] | None:
        """The innermost place in the user's code, or else in any code but ours."""
        places = []
        while traceback is not None:
            frame: FrameType = traceback.tb_frame
            places.append((frame.f_code.co_filename, traceback.tb_lineno))
            traceback = traceback.tb_next
        places = [place for place in places if not place[0].startswith("<")]  # frozen modules, and texts that were compiled
        own = [place for place in places if self.holds(place[0])]
        others = [place for place in places if not place[0].startswith(_PACKAGE + os.sep)]
        return (own or others or [None])[-1]  # type: ignore[list-item]


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))


def _foreign(path: str) -> bool:
    within = path.startswith((_PACKAGE + os.sep, _LIBRARY + os.sep))
    return within or any(part in ("site-packages", "dist-packages") for part in path.split(os.sep))


def _guarded(home: _Home, action: Any, verb: str) -> Any:
    """Do something of the user's, and say in a sentence what goes wrong."""
    try:
        return action()
    except Refusal:
        raise
    except SystemExit as stop:
        what = f"{verb}: it left the process with sys.exit({'' if stop.code is None else repr(stop.code)[:_MAX_MESSAGE]})"
        raise Refusal(what, place=home.frame(stop.__traceback__) or home.builder) from None
    except SyntaxError as error:
        place = (error.filename, error.lineno or 1) if error.filename and not error.filename.startswith("<") else None
        place = place or home.frame(error.__traceback__)
        raise Refusal(f"{verb}: SyntaxError: {error.msg}", place=place) from None
    except BaseException as error:
        from promptguard.core.errors import PromptguardError

        place = home.frame(error.__traceback__) or home.builder
        if isinstance(error, PromptguardError):
            where = f"{error.where}: " if error.where else ""
            raise Refusal(f"{verb}: {where}{error.what}", hint=error.hint, place=place) from None
        raise Refusal(f"{verb}: {_said(error)}", place=place) from None


def _said(error: BaseException) -> str:
    try:
        message = " ".join(str(error).split())[:_MAX_MESSAGE]
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def definition(build: Any) -> tuple[str, int] | None:
    """File and line of a builder."""
    import functools
    import inspect

    while isinstance(build, functools.partial):
        build = build.func
    build = getattr(build, "__func__", build)
    if not hasattr(build, "__code__") and not inspect.isclass(build) and not hasattr(build, "__wrapped__"):
        build = getattr(type(build), "__call__", build)  # noqa: B004
    code = getattr(inspect.unwrap(build), "__code__", None)
    return (os.path.abspath(code.co_filename), code.co_firstlineno) if code is not None else None


def _text(built: Any) -> str:
    """A prompt as JSON, its keys in their order."""
    text = json.dumps(_plain(built, "", [_MAX_VALUES], ()), ensure_ascii=True, allow_nan=False)
    if len(text) > MAX_ANSWER:
        raise Refusal(f"returned a prompt of more than {MAX_ANSWER >> 20} MiB")
    return text


def _plain(value: Any, pointer: str, budget: list[int], above: tuple[int, ...]) -> Any:
    from promptguard.core.json_text import escape
    from promptguard.toolschema.plain import plain

    if isinstance(value, (bytes, bytearray)):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            raise Refusal(_no_json("bytes that are not UTF-8", pointer)) from None
    if value is None and not pointer:
        raise Refusal("returned None", hint="let it return the prompt")
    try:
        found = plain(value, budget[0])
    except TypeError as error:
        raise Refusal(_no_json(str(error), pointer), hint="return texts, dicts and lists, or models") from None
    if not isinstance(found, (dict, list)):
        if isinstance(found, str):
            _check_text(found, pointer)
        if isinstance(found, float) and (found != found or found in (float("inf"), float("-inf"))):
            raise Refusal(_no_json(str(found), pointer))
        return found
    if id(value) in above or len(above) > 200:
        raise Refusal(_no_json("a value that contains itself, or is nested too deeply", pointer))
    above = (*above, id(value))
    budget[0] -= len(found)
    if budget[0] < 0:
        raise Refusal(f"returned more than {_MAX_VALUES:,} values")
    if isinstance(found, list):
        return [_plain(item, f"{pointer}/{at}", budget, above) for at, item in enumerate(found)]
    for key in found:
        if not isinstance(key, str):
            raise Refusal(_no_json(f"the key {key!r:.40}, which is no text", pointer))
        _check_text(key, pointer)
    return {str.__str__(key): _plain(item, f"{pointer}/{escape(key)}", budget, above) for key, item in found.items()}


def _check_text(text: str, pointer: str) -> None:
    """Refuse half a character: it cannot be written as UTF-8, so no engine can be sent it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        what = f"a lone surrogate (U+{ord(text[error.start]):04X}), which UTF-8 cannot hold"
        raise Refusal(_no_json(what, pointer), hint='decode bytes with errors="replace"') from None


def _no_json(what: str, pointer: str) -> str:
    return f"returned what is no prompt: {what}" + (f" (at {pointer})" if pointer else "")
