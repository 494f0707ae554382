"""What a builder sees of the world, set from inside its process before its module is imported.

Standard library only, and as little of it as can be: a module that is imported here was not imported by the builder's own code,
which may have wanted to.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_TICK = 1_000  # nanoseconds from one reading of the clock to the next: loops that wait for it end


class Clock:
    """A clock that starts at a given time with each call of the builder, and moves by a microsecond with each reading.

    It replaces that of ``time`` and of ``datetime``. The clocks that only count on stay, since timeouts go by them, and those of
    processor time, whose readings could be any small number, give readings of ``time.monotonic()``, by which ``compare`` knows
    them: from where either counts is not defined. Processes that the builder starts, and native code that asks the system
    itself, see the real one.

    Args:
        start: Unix time in seconds.
    """

    def __init__(self, start: float) -> None:
        self._start = round(start * 1e9)
        self._now = self._start

    def reset(self) -> None:
        self._now = self._start

    def nanoseconds(self) -> int:
        self._now += _TICK
        return self._now

    def seconds(self) -> float:
        return self.nanoseconds() / 1e9

    def install(self) -> str | None:
        """Take the place of the real clock.

        Returns:
            What of it could not be replaced, ``None`` where all is.
        """
        self._replace_time()
        self._replace_uuid1()
        try:
            self._replace_datetime()
        except Exception as error:  # it takes the inner workings of CPython
            return f"datetime.now() ({type(error).__name__}: {error})"
        return None

    def _replace_time(self) -> None:
        module: Any = time
        nanoseconds, seconds = self.nanoseconds, self.seconds
        module.time, module.time_ns = seconds, nanoseconds
        for name in ("localtime", "gmtime", "ctime"):
            setattr(module, name, _with_default(getattr(time, name), seconds))
        strftime, asctime, localtime = time.strftime, time.asctime, time.localtime
        module.strftime = lambda form, *given: strftime(form, *(given or (localtime(),)))
        module.asctime = lambda *given: asctime(*(given or (localtime(),)))
        for name in ("process_time", "thread_time"):
            if hasattr(time, name):  # not every system has the clock of a thread
                setattr(module, name, time.monotonic)
                setattr(module, f"{name}_ns", time.monotonic_ns)
        for name, reading in (("clock_gettime", seconds), ("clock_gettime_ns", nanoseconds)):
            real = getattr(time, name, None)
            if real is not None:
                setattr(module, name, _for_real_time(real, reading))

    def _replace_uuid1(self) -> None:
        try:
            import _uuid  # type: ignore[import-not-found]
        except ImportError:
            return
        if hasattr(_uuid, "generate_time_safe"):  # the system's own, with the system's clock; without it, uuid asks ``time``
            delattr(_uuid, "generate_time_safe")

    def _replace_datetime(self) -> None:
        """Replace ``now`` in the class itself: a subclass in its place would be another type to whatever knows the real one."""
        import ctypes
        import datetime as dt

        seconds = self.seconds

        def now(cls: type[dt.datetime], tz: dt.tzinfo | None = None) -> dt.datetime:
            return cls.fromtimestamp(seconds(), tz)

        def utcnow(cls: type[dt.datetime]) -> dt.datetime:
            return cls.fromtimestamp(seconds(), dt.timezone.utc).replace(tzinfo=None)

        (namespace,) = gc.get_referents(dt.datetime.__dict__)
        namespace["now"] = classmethod(now)
        namespace["utcnow"] = classmethod(utcnow)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))
        for reading in (dt.datetime.now().timestamp(), dt.datetime.today().timestamp()):  # noqa: DTZ002, DTZ005
            if abs(reading - self._start / 1e9) > 1:
                raise RuntimeError("it does not take")


def _with_default(function: Callable[..., Any], seconds: Callable[[], float]) -> Callable[..., Any]:
    def call(given: float | None = None, /) -> Any:
        return function(seconds() if given is None else given)

    return call


def _for_real_time(function: Callable[[int], Any], reading: Callable[[], Any]) -> Callable[[int], Any]:
    def call(clock: int, /) -> Any:
        return reading() if clock == time.CLOCK_REALTIME else function(clock)

    return call


class _Reversed:
    """``os.listdir`` with its result the other way round; an object, since pathlib may keep it in a class."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self._real = real

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._real(*arguments, **named)[::-1]


class _ReversedScan(_Reversed):
    """The same for ``os.scandir``."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        with self._real(*arguments, **named) as entries:
            return _Scan(reversed(list(entries)))


class _Scan:
    def __init__(self, entries: Iterator[Any]) -> None:
        self._entries = entries

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def reverse_listings() -> None:
    """Let folders list their entries in the opposite order."""
    module: Any = os
    module.listdir, module.scandir = _Reversed(os.listdir), _ReversedScan(os.scandir)


def rename_host(name: str) -> None:
    """Let the machine have another name."""
    module: Any = os
    try:
        import _socket
    except ImportError:
        pass
    else:
        _socket.gethostname = lambda: name
    if hasattr(os, "uname"):
        real = os.uname()
        module.uname = lambda: os.uname_result((real.sysname, name, real.release, real.version, real.machine))


def rename_user(name: str) -> None:
    """Let the user have another name, where the environment is not asked for it."""
    module: Any = os
    module.getlogin = lambda: name
    try:
        import pwd
    except ImportError:
        return
    database: Any = pwd
    by_number, by_name, number = pwd.getpwuid, pwd.getpwnam, os.getuid()

    def renamed(entry: pwd.struct_passwd) -> pwd.struct_passwd:
        return pwd.struct_passwd((name, *entry[1:4], name, *entry[5:])) if entry.pw_uid == number else entry

    database.getpwuid = lambda uid, /: renamed(by_number(uid))
    database.getpwnam = lambda given, /: renamed(by_number(number) if given == name else by_name(given))


class NumpySeeder:
    """Seeds ``numpy.random`` when it is first imported: a builder may do so in its first call. It stands in ``sys.meta_path``."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(self, name: str, *_: object) -> Any:
        if name != "numpy.random":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_seed(module: Any) -> None:
                execute(module)
                module.seed(self._seed)

            spec.loader.exec_module = execute_and_seed  # type: ignore[method-assign]
        return spec


def seed_random(seed: int) -> None:
    """Let the shared random numbers start from a seed."""
    random.seed(seed)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(seed)
