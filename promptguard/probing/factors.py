"""What a prompt may depend on that it should not, and how each of these is changed."""

# ruff: noqa: PTH109, PTH110, PTH111, PTH118 - paths here are texts for an environment

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
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
    "user",
    "host",
]
"""What a prompt changes with. ``call`` and ``run`` are no factor of the surroundings: it changes from one call to the next in one
process, or from one process to the next, where nothing else does."""

Changes = Literal["second", "minute", "hour", "day"]
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
    "user": causes.VARIABLE_BEFORE_STATIC,
    "host": causes.ENVIRONMENT,
}
"""The cause that a factor gives where the texts do not tell another one."""

MAY_BE: Mapping[Factor, tuple[Cause, ...]] = {
    "hash-seed": (causes.SCHEMA_ORDER,),
    "random-seed": (causes.LIST_ORDER, causes.SCHEMA_ORDER),
    "listing-order": (causes.SCHEMA_ORDER,),
    "environment-order": (causes.SCHEMA_ORDER,),
    "home": (causes.VARIABLE_BEFORE_STATIC,),
    "call": (causes.CLOCK, causes.RANDOM_ID, causes.LIST_ORDER, causes.SCHEMA_ORDER, causes.TOOL_SET, causes.MEMORY),
    "run": (causes.CLOCK, causes.LIST_ORDER, causes.SCHEMA_ORDER, causes.TOOL_SET, causes.MEMORY, causes.ENVIRONMENT),
}
"""The other causes that a factor can have, where the texts tell one."""

STEPS: Mapping[Changes, float] = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}

_EVERYTHING = sum(STEPS.values()) + 32 * 86400  # another month and another day of the week too
_TIME_OF_DAY = 10 * 3600 + 20 * 60 + 20.25  # from here no step but that of a day leads to another day in UTC-12 to UTC+12
_ZONES = ("Asia/Kathmandu", "America/St_Johns", "NPT-5:45")
_LOCALES = ("de_DE", "fr_FR", "ja_JP", "pt_BR", "en_GB", "en_US")
_MOST_ENTRIES = 5_000


@dataclass(frozen=True)
class Surroundings:
    """What a run is told to see.

    Attributes:
        clock: Unix time in seconds at which each call begins.
        hash_seed, random_seed: of Python's hashes and random numbers.
        changed: the factors that differ from the first run.
        step: by how many seconds the clock differs from it.
    """

    clock: float
    hash_seed: int = 1
    random_seed: int = 1
    changed: frozenset[Factor] = frozenset()
    step: float = 0

    def with_all(self, changed: frozenset[Factor], number: int) -> Surroundings:
        """These with every one of some factors changed, in the ``number``-th way (from 0) where there are many."""
        return replace(
            self,
            changed=changed,
            hash_seed=number + 2 if "hash-seed" in changed else self.hash_seed,
            random_seed=number + 2 if "random-seed" in changed else self.random_seed,
            step=_EVERYTHING if "clock" in changed else 0,
        )

    def with_one(self, factor: Factor, like: Surroundings, step: float = _EVERYTHING) -> Surroundings:
        """These with one factor changed, as it is in ``like``; the clock by ``step`` seconds."""
        return replace(
            self,
            changed=frozenset({factor}),
            hash_seed=like.hash_seed if factor == "hash-seed" else self.hash_seed,
            random_seed=like.random_seed if factor == "random-seed" else self.random_seed,
            step=step if factor == "clock" else 0,
        )

    def job(self) -> dict[str, Any]:
        """What ``child`` sets."""
        return {
            "clock": self.clock + self.step,
            "seed": self.random_seed,
            "listing": "reversed" if "listing-order" in self.changed else None,
            "host": "another-host" if "host" in self.changed else None,
            "user": "another-user" if "user" in self.changed else None,
        }


def first_surroundings(now: float) -> Surroundings:
    """Those of the first run: of the day of ``now`` (Unix time), at 10:20 UTC."""
    return Surroundings(now - now % 86400 + _TIME_OF_DAY)


class Places:
    """Folders that stand in for the working directory and the home folder: they hold links to what is in these."""

    def __init__(self, folder: Path) -> None:
        self.root = os.getcwd()
        self._folder = folder
        self._home = os.path.expanduser("~")

    def environment(self, surroundings: Surroundings) -> dict[str, str]:
        """The environment variables of a run."""
        found = {name: value for name, value in os.environ.items() if name != "PROMPTGUARD_API_KEY"}
        changed = surroundings.changed
        if "time-zone" in changed:
            found["TZ"] = other_zone(found.get("TZ"))
        if "locale" in changed:
            found |= dict.fromkeys(("LC_ALL", "LANG"), other_locale()[0])
        if "home" in changed:
            found["HOME"] = str(self._stand_in("other-home", self._home))
        if "user" in changed:
            found |= dict.fromkeys(("USER", "LOGNAME", "USERNAME"), "another-user")
        if "host" in changed:
            found["HOSTNAME"] = "another-host"
        if "directory" in changed:
            found["PWD"] = self.directory(surroundings)
        found["PYTHONHASHSEED"] = str(surroundings.hash_seed)
        return dict(reversed(found.items())) if "environment-order" in changed else found

    def directory(self, surroundings: Surroundings) -> str:
        """The working directory of a run."""
        return str(self._stand_in("other-folder", self.root)) if "directory" in surroundings.changed else self.root

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
    with TemporaryDirectory(prefix="promptguard-") as folder:
        yield Places(Path(folder))


def other_zone(current: str | None) -> str:
    """A time zone that is not the current one: one of the installed ones, or one that says its offset."""
    for name in _ZONES:
        if name != current and (":" in name or os.path.exists(f"/usr/share/zoneinfo/{name}")):
            return name
    return "<+13>-13"


@lru_cache(maxsize=1)
def other_locale() -> tuple[str, bool]:
    """A locale that is not the current one, and whether it is installed."""
    current = next((value for name in ("LC_ALL", "LANG") if (value := os.environ.get(name))), "C").split(".")[0]
    try:
        listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, timeout=10, check=False).stdout.split()  # noqa: S607
    except (OSError, subprocess.SubprocessError):
        listed = []
    names = {name.split(".")[0]: name for name in listed if name.lower().endswith((".utf8", ".utf-8"))}
    for wanted in (*_LOCALES, *sorted(names)):
        if wanted in names and wanted not in (current, "C", "POSIX"):
            return names[wanted], True
    return next(f"{name}.UTF-8" for name in _LOCALES if name != current), False
