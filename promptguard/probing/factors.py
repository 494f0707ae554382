"""What a prompt may depend on that it should not, and how each of these is changed."""

# ruff: noqa: PTH109, PTH110, PTH111, PTH118 - paths here are texts for an environment

from __future__ import annotations

import getpass
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from promptguard.prompts import causes
from promptguard.prompts.causes import Cause

Factor = Literal[
    "call",
    "run",
    "clock",
    "hash-seed",
    "random-seed",
    "listing-order",
    "environment-order",
    "time-zone",
    "locale",
    "directory",
    "home",
    "temporary-folder",
    "user",
    "host",
]
"""What a prompt changes with. ``call`` and ``run`` are no factor of the surroundings: it changes from one call to the next in one
process, or from one process to the next, where nothing else does."""

Changes = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"]
"""How often a clock changes a prompt, at most."""

VARIED: tuple[Factor, ...] = get_args(Factor)[2:]

WORDS: Mapping[Factor, str] = {
    "call": "from one call to the next",
    "run": "from one process to the next, with nothing else changed",
    "clock": "with the clock",
    "hash-seed": "with the hash seed (the order of sets)",
    "random-seed": "with the random numbers",
    "listing-order": "with the order in which folders list their entries",
    "environment-order": "with the order of the environment variables",
    "time-zone": "with the time zone",
    "locale": "with the locale",
    "directory": "with the working directory",
    "home": "with the home folder",
    "temporary-folder": "with the folder for temporary files",
    "user": "with the name of the user",
    "host": "with the name of the host",
}
CAUSES: Mapping[Factor, Cause] = {
    "call": causes.ENVIRONMENT,
    "run": causes.RANDOM_ID,
    "clock": causes.CLOCK,
    "hash-seed": causes.LIST_ORDER,
    "random-seed": causes.RANDOM_ID,
    "listing-order": causes.LIST_ORDER,
    "environment-order": causes.LIST_ORDER,
    "time-zone": causes.CLOCK,
    "locale": causes.ENVIRONMENT,
    "directory": causes.ENVIRONMENT,
    "home": causes.ENVIRONMENT,
    "temporary-folder": causes.ENVIRONMENT,
    "user": causes.VARIABLE_BEFORE_STATIC,
    "host": causes.ENVIRONMENT,
}
"""The cause that a factor gives where the texts do not tell another one."""

MAY_BE: Mapping[Factor, tuple[Cause, ...]] = {
    "hash-seed": (causes.SCHEMA_ORDER, causes.RANDOM_ID),
    "random-seed": (causes.LIST_ORDER, causes.SCHEMA_ORDER),
    "listing-order": (causes.SCHEMA_ORDER,),
    "environment-order": (causes.SCHEMA_ORDER,),
    "home": (causes.VARIABLE_BEFORE_STATIC,),
    "call": (causes.CLOCK, causes.RANDOM_ID, causes.LIST_ORDER, causes.SCHEMA_ORDER, causes.TOOL_SET, causes.MEMORY),
    "run": (causes.CLOCK, causes.LIST_ORDER, causes.SCHEMA_ORDER, causes.TOOL_SET, causes.MEMORY, causes.ENVIRONMENT),
}
"""The other causes that a factor can have, where the texts tell one."""

_HOUR, _DAY = 3600, 86400

OFTEN: tuple[tuple[Changes, int], ...] = (("second", 1), ("minute", 60), ("hour", _HOUR), ("day", _DAY))
SELDOM: tuple[tuple[Changes, int], ...] = (
    *(("day", hours * _HOUR) for hours in (4, 8, 12, 16, 20)),
    *(("week", days * _DAY) for days in (2, 3, 4, 5, 6)),
    *(("month", days * _DAY) for days in (14, 28)),
    ("quarter", 91 * _DAY),
    *(("year", days * _DAY) for days in (182, 273, 364)),
)
"""Seconds by which the clock of the first run is moved to see how often a clock changes a prompt: by the first that does."""

FIRST_CLOCK = datetime(2026, 2, 11, 10, 20, 20, 250_000, timezone.utc)
"""A Wednesday in the middle of a month and a quarter, so that each step leads into another period of its own kind and no larger
one; and an hour from which a step of an hour leads to another day in no time zone from UTC-10 to UTC+12. It is no date of today:
what is found must not depend on the day on which it is looked for.
"""
OTHER_CLOCKS = tuple(
    datetime.fromisoformat(f"{text}.750000+00:00")
    for text in (
        "2027-11-27T18:05:41",  # a weekend, and an evening in Kathmandu too
        "2028-05-08T22:47:03",
        "2029-08-16T02:31:57",
        "2030-03-03T06:12:35",
        "2031-12-30T14:53:11",
        "2032-06-04T10:39:29",
    )
)
"""Those of the runs in which all is changed: other years, months, days of the week, and hours no more than four apart."""
_ZONES = ("Asia/Kathmandu", "America/St_Johns", "NPT-5:45")
_LOCALES = ("de_DE", "fr_FR", "ja_JP", "pt_BR", "en_GB", "en_US")
_USER_NAMES = ("USER", "LOGNAME", "USERNAME")
_MOST_ENTRIES = 5_000


@dataclass(frozen=True)
class Surroundings:
    """What a run is told to see.

    Attributes:
        clock: Unix time in seconds at which each call begins.
        hash_seed, random_seed: of Python's hashes and random numbers.
        changed: the factors that differ from the first run.
    """

    clock: float
    hash_seed: int = 1
    random_seed: int = 1
    changed: frozenset[Factor] = frozenset()

    def with_all(self, changed: frozenset[Factor], number: int) -> Surroundings:
        """These with every one of some factors changed, in the ``number``-th way (from 0) where there are many."""
        return replace(
            self,
            changed=changed,
            clock=OTHER_CLOCKS[number % len(OTHER_CLOCKS)].timestamp() if "clock" in changed else self.clock,
            hash_seed=number + 2 if "hash-seed" in changed else self.hash_seed,
            random_seed=number + 2 if "random-seed" in changed else self.random_seed,
        )

    def with_one(self, factor: Factor, like: Surroundings) -> Surroundings:
        """These with one factor changed, as it is in ``like``."""
        return replace(
            self,
            changed=frozenset({factor}),
            clock=like.clock if factor == "clock" else self.clock,
            hash_seed=like.hash_seed if factor == "hash-seed" else self.hash_seed,
            random_seed=like.random_seed if factor == "random-seed" else self.random_seed,
        )

    def later(self, seconds: int) -> Surroundings:
        """These with the clock moved, and nothing else."""
        return replace(self, changed=frozenset({"clock"}), clock=self.clock + seconds)

    def job(self) -> dict[str, Any]:
        """What ``child`` sets."""
        return {
            "clock": self.clock,
            "seed": self.random_seed,
            "listing": "reversed" if "listing-order" in self.changed else None,
            "host": "another-host" if "host" in self.changed else None,
            "user": "another-user" if "user" in self.changed else None,
        }


class Places:
    """Folders that stand in for the working directory and the home folder: they hold links to what is in these."""

    def __init__(self, folder: Path) -> None:
        self.root = os.getcwd()
        self._folder = folder
        self._home = os.path.expanduser("~")
        self._usual = {
            "TZ": current_zone(),
            **dict.fromkeys(("LC_ALL", "LANG"), current_locale()),
            "HOME": self._home,
            "TMPDIR": tempfile.gettempdir(),
            **dict.fromkeys(_USER_NAMES, _current_user()),
            "HOSTNAME": platform.node(),
            "PWD": self.root,
        }

    def environment(self, surroundings: Surroundings) -> dict[str, str]:
        """The environment variables of a run: the same names in each, so that only what they say differs."""
        found = self._usual | {name: value for name, value in os.environ.items() if name != "PROMPTGUARD_API_KEY"}
        changed = surroundings.changed
        if "time-zone" in changed:
            found["TZ"] = other_zone(found["TZ"])
        if "locale" in changed:
            found |= dict.fromkeys(("LC_ALL", "LANG"), other_locale()[0])
        if "home" in changed:
            found["HOME"] = str(self._stand_in("other-home", self._home))
        if "temporary-folder" in changed:
            found["TMPDIR"] = str(self._empty("other-temporary"))
        if "user" in changed:
            found |= dict.fromkeys(_USER_NAMES, "another-user")
        if "host" in changed:
            found["HOSTNAME"] = "another-host"
        if "directory" in changed:
            found["PWD"] = self.directory(surroundings)
        found["PYTHONHASHSEED"] = str(surroundings.hash_seed)
        return dict(reversed(found.items())) if "environment-order" in changed else found

    def directory(self, surroundings: Surroundings) -> str:
        """The working directory of a run."""
        return str(self._stand_in("other-folder", self.root)) if "directory" in surroundings.changed else self.root

    def _empty(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _stand_in(self, name: str, of: str) -> Path:
        folder = self._folder / name
        if not folder.is_dir():
            folder.mkdir()
            with os.scandir(of) as entries:
                for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
                    (folder / entry.name).symlink_to(os.path.join(of, entry.name))
        return folder


@contextmanager
def places() -> Iterator[Places]:
    """``Places`` that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="promptguard-") as folder:
        yield Places(Path(folder))


def current_zone() -> str:
    """A value of ``TZ`` that says what holds where it is not set."""
    file = os.path.realpath("/etc/localtime")
    if not os.path.exists(file):
        return "UTC"
    return file.partition("/zoneinfo/")[2] or f":{file}"


def current_locale() -> str:
    """A value of ``LC_ALL`` that says what holds where it is not set."""
    values = map(os.environ.get, ("LC_ALL", "LANG", "LC_CTYPE"))
    return next((value for value in values if value not in (None, "", "C", "POSIX")), None) or "C"


def _current_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a number without a name, as in some containers
        return "user"


def other_zone(current: str) -> str:
    """A time zone that is not the current one: one of the installed ones, or one that says its offset."""
    for name in _ZONES:
        if name != current and (":" in name or os.path.exists(f"/usr/share/zoneinfo/{name}")):
            return name
    return "<+13>-13"


@lru_cache(maxsize=1)
def other_locale() -> tuple[str, bool]:
    """A locale that is not the current one, and whether it is installed."""
    current = current_locale().split(".")[0]
    try:
        listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, timeout=10, check=False).stdout.split()  # noqa: S607
    except (OSError, subprocess.SubprocessError):
        listed = []
    names = {name.split(".")[0]: name for name in listed if name.lower().endswith((".utf8", ".utf-8"))}
    for wanted in (*_LOCALES, *sorted(names)):
        if wanted in names and wanted not in (current, "C", "POSIX"):
            return names[wanted], True
    return next(f"{name}.UTF-8" for name in _LOCALES if name != current), False
