"""Which builder a probe is about, said so that another process finds it."""

# ruff: noqa: PTH100, PTH109, PTH113, PTH118, PTH119, PTH122 - a path to import from keeps its links

from __future__ import annotations

import base64
import io
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from promptguard.core.errors import ConfigError
from promptguard.core.wording import named_type

_HOW = "name it as package.module:function or path/to/file.py:function"
_MOVE = "define the builder at the top level of a module, and give it its arguments with functools.partial"


@dataclass(frozen=True)
class Target:
    """A builder.

    Attributes:
        name: as the user knows it.
        job: what ``child.find`` takes.
        path: where its process looks for modules; empty for the current folder and what its interpreter has.
    """

    name: str
    job: dict[str, Any]
    path: tuple[str, ...]


def target(build: Callable[..., Any] | str) -> Target:
    """What a builder is called and how it is found.

    Args:
        build: the builder, or ``module:function`` or ``path/to/file.py:function``, relative to the current folder.

    Raises:
        ConfigError: it cannot be found from another process.
    """
    return _named(build) if isinstance(build, str) else _given(build)


def target_of_this_process(build: Callable[..., Any] | str) -> Target:
    """The same, but a name leads where an import in this process leads, and only else to the current folder.

    Raises:
        ConfigError: it cannot be found from another process.
    """
    found = target(build)
    if not isinstance(build, str):
        return found
    loaded = sys.modules.get(found.job["module"])
    file = getattr(loaded, "__file__", None) if found.job["file"] is None else None
    job = {**found.job, "file": os.path.abspath(file)} if file is not None else found.job
    return Target(found.name, job, (*_path(), os.getcwd()))


def _named(text: str) -> Target:
    module, colon, name = text.rpartition(":")
    if not colon or not module or not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"{text!r} names no function", hint=_HOW)
    path = (os.getcwd(), *_path())
    if module.endswith(".py"):
        file = os.path.abspath(module)
        if not os.path.isfile(file):
            raise ConfigError("there is no such file", where=module, hint=_HOW)
        package, folder = _package(file)
        return Target(text, {"kind": "name", "module": package, "file": file, "name": name, "folder": folder}, path)
    if not all(part.isidentifier() for part in module.split(".")):
        raise ConfigError(f"{text!r} names no module", hint=_HOW)
    return Target(text, {"kind": "name", "module": module, "file": None, "name": name, "folder": None}, path)


def _package(file: str) -> tuple[str, str]:
    """The name under which a file is imported, with its packages where it lies in some, and the folder that this starts from."""
    folder, base = os.path.split(file)
    parts = [os.path.splitext(base)[0]]
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.basename(folder).isidentifier():
        folder, base = os.path.split(folder)
        parts.insert(0, base)
    return ".".join(parts), folder


def _given(build: Callable[..., Any]) -> Target:
    if not callable(build):
        raise ConfigError(f"must be a function or its name, and is {named_type(build)}", where="build", hint=_HOW)
    name = _name(build)
    data = io.BytesIO()
    try:
        _Pickler(data).dump(build)
    except ConfigError:
        raise
    except Exception as error:  # whatever the arguments are, they may refuse in any way
        what = f"cannot be sent to another process ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
        raise ConfigError(what, where=name, hint=_MOVE) from None
    return Target(name, {"kind": "pickle", "data": base64.b64encode(data.getvalue()).decode()}, _path())


def _path() -> tuple[str, ...]:
    """Where this process looks for modules."""
    return tuple(dict.fromkeys(os.path.abspath(entry) for entry in sys.path))


def _name(build: Any) -> str:
    while hasattr(build, "func") and hasattr(build, "keywords"):  # a functools.partial
        build = build.func
    named = build if hasattr(build, "__qualname__") else type(build)
    return f"{named.__module__}:{named.__qualname__}"


class _Pickler(pickle.Pickler):
    """Writes functions and classes as the file and the name of their definition: a test module is no importable one."""

    def persistent_id(self, value: Any) -> tuple[str, str | None, str] | None:
        if not isinstance(value, type) and not hasattr(value, "__code__"):
            return None
        if hasattr(value, "__func__"):  # a bound method: pickle goes on to its object
            return None
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if not isinstance(module, str) or module == "builtins":
            return None
        if "<" in name:
            what = "a lambda" if name.endswith("<lambda>") else "defined inside another function"
            raise ConfigError(f"is {what}, which another process cannot find", where=f"{module}:{name}", hint=_MOVE)
        loaded = sys.modules.get(module)
        file = getattr(loaded, "__file__", None)
        if module == "__main__":
            if file is None:
                raise ConfigError("is defined in no file", where=f"{module}:{name}", hint=_MOVE)
            return "__mp_main__", os.path.abspath(file), name
        return module, os.path.abspath(file) if file is not None else None, name
