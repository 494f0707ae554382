"""Values for what a template asks for and its context does not give.

A stand-in gets a kind by its name. What such a thing holds in a running agent decides whether it varies: a clock, a random id, a
user, a counter and a memory are other ones on another turn, everything else stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from promptguard.prompts.names import Kind, kind_of_name, words


@dataclass(frozen=True)
class StandIn:
    """A variable, function or filter that the context did not give.

    Attributes:
        name: as it stands in the template, such as ``user.name``, ``|shuffle`` or ``is admin``.
        kind: ``clock``, ``id``, ``user``, ``counter``, ``memory``, ``environment`` or ``text``.
        varies: whether its value changes from turn to turn.
    """

    name: str
    kind: str
    varies: bool


_VARYING = frozenset({"clock", "id", "user", "counter", "memory"})

_DATE_ONLY = frozenset({"date", "today", "day", "weekday", "tomorrow", "yesterday"})
_WITH_TIME = frozenset({"time", "now", "timestamp", "datetime", "clock"})
_CLOCK_FIELDS = frozenset({"year", "month", "day", "hour", "minute", "second", "microsecond"})
_CLOCK_METHODS = frozenset({"strftime", "isoformat", "timestamp", "weekday", "isoweekday", "ctime"})
_TEXT_METHODS = frozenset(
    {
        "capitalize",
        "casefold",
        "count",
        "endswith",
        "find",
        "index",
        "isalpha",
        "isdigit",
        "lower",
        "lstrip",
        "replace",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
    }
)
_PEOPLE = ("Ada Example", "Ben Sample", "Chris Specimen", "Dana Model", "Erin Instance")
_LOCALES = ("en-US", "de-DE", "fr-FR", "ja-JP", "pt-BR")
_TOPICS = ("the garden plan", "a bicycle repair", "the train to the coast", "a birthday dinner", "the quarterly figures")
_ENVIRONMENT = {
    "cwd": "/home/agent/project",
    "getcwd": "/home/agent/project",
    "gethostname": "edge-device",
    "path": "/home/agent/project",
    "dir": "/home/agent/project",
    "directory": "/home/agent/project",
    "folder": "/home/agent/project",
    "workspace": "/home/agent/project",
    "host": "edge-device",
    "hostname": "edge-device",
    "machine": "edge-device",
    "os": "Linux",
    "platform": "Linux",
    "arch": "aarch64",
    "branch": "main",
    "pid": "4242",
    "shell": "/bin/bash",
    "zone": "UTC",
    "timezone": "UTC",
    "tz": "UTC",
}


def kind_of(path: Sequence[str]) -> Kind:
    """The kind of a stand-in by its path, such as ``("user", "name")``."""
    return kind_of_name(".".join(path))


def varies(path: Sequence[str], kind: str) -> bool:
    if kind == "environment":
        have = {word for name in path for word in words(name)}
        return "git" in have and not have & {"branch"}
    return kind in _VARYING


class StandIns:
    """The stand-ins of one render.

    Args:
        clock: the time that clocks show.
        turn: number of the turn, from 1.
        seed: another seed gives other ids, people and topics.
    """

    def __init__(self, *, clock: datetime, turn: int, seed: int) -> None:
        self.clock = clock
        self.turn = turn
        self.seed = seed
        self.used: dict[str, StandIn] = {}

    def value(self, name: str) -> Value:
        return Value(self, (name,))

    def named(self, name: str) -> None:
        """List an unknown filter or test."""
        self.used.setdefault(name, StandIn(name, "text", varies=False))

    def digest(self, *key: object) -> str:
        """64 hexadecimal digits that depend on the seed, the turn and the key."""
        text = "\0".join(map(str, (self.seed, self.turn, *key)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Value:
    """A stand-in as a template sees it: it prints, and it stands for an object, a list, a function or a number where asked to.

    It has no public attributes: the environment asks it for items instead, so that a template finds whatever it names.
    """

    __slots__ = ("_index", "_kind", "_owner", "_path", "_varies")

    def __init__(self, owner: StandIns, path: tuple[str, ...], index: int = 0) -> None:
        self._owner = owner
        self._path = path
        self._index = index
        self._kind = kind_of(path)
        self._varies = varies(path, self._kind)

    # ---- what it holds

    def _use(self) -> None:
        name = ".".join(self._path)
        self._owner.used.setdefault(name, StandIn(name, self._kind, self._varies))

    def _text(self) -> str:
        self._use()
        make: Callable[[], str] = getattr(self, f"_{self._kind}_text")
        return make()

    def _words(self) -> list[str]:
        return words(self._path[-1])

    def _number(self) -> int:
        self._use()
        have = set(self._words())
        if self._kind == "counter":
            return max(0, 1000 - self._owner.turn) if have & {"remaining", "left", "budget"} else self._owner.turn + self._index
        if self._kind == "clock":
            fields = have & _CLOCK_FIELDS
            return int(getattr(self._owner.clock, fields.pop())) if len(fields) == 1 else int(self._owner.clock.timestamp())
        return 2

    def _is_date(self) -> bool:
        have = set(self._words())
        return bool(have & _DATE_ONLY) and not have & _WITH_TIME

    def _clock_text(self) -> str:
        have = set(self._words())
        moment = self._owner.clock + timedelta(days=("tomorrow" in have) - ("yesterday" in have))
        if have & {"weekday", "day"} and "date" not in have:
            return moment.strftime("%A")
        if self._is_date():
            return moment.date().isoformat()
        if have == {"month"}:
            return moment.strftime("%B")
        if len(have & _CLOCK_FIELDS) == 1:
            return str(self._number())
        return moment.isoformat(sep="T" if "timestamp" in have else " ", timespec="seconds")

    def _id_text(self) -> str:
        have = {word for name in self._path for word in words(name)}
        digits = self._owner.digest(*self._path, self._index)
        if have & {"random", "rand", "seed"}:
            return str(int(digits[:8], 16))
        if have & {"hash", "sha", "digest", "nonce", "token", "trace", "salt"}:
            return digits[:32]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"

    def _pick(self, choices: Sequence[str]) -> str:
        return choices[(self._owner.seed + self._owner.turn + self._index) % len(choices)]

    def _user_text(self) -> str:
        have = set(self._words())
        person = self._pick(_PEOPLE)
        if "locale" in have:
            return self._pick(_LOCALES)
        if "email" in have:
            return person.lower().replace(" ", ".") + "@example.com"
        if have & {"id", "account", "tenant", "customer"}:
            return f"{self._words()[0]}-{self._owner.digest(*self._path)[:8]}"
        return person.split()[0].lower() if "username" in have else person

    def _counter_text(self) -> str:
        return str(self._number())

    def _memory_text(self) -> str:
        topic = self._pick(_TOPICS)
        if set(self._words()) & {"question", "query", "input", "message", "request", "user", "utterance"}:
            return f"What do we know about {topic}?"
        return f"On turn {self._owner.turn} the talk was about {topic}."

    def _environment_text(self) -> str:
        if self._varies:  # the work tree
            return f"M notes_{self._owner.turn}.txt"
        for word in reversed(self._words()):
            if word in _ENVIRONMENT:
                return _ENVIRONMENT[word]
        return "production"

    def _text_text(self) -> str:
        text = " ".join(self._words()) or self._path[-1]
        return f"{text} {self._index}" if self._index else text

    # ---- what a template does with it

    def _child(self, name: str) -> Any:
        if self._kind == "clock" and name in _CLOCK_FIELDS:
            self._use()
            return getattr(self._owner.clock, name)
        return Value(self._owner, (*self._path, name), self._index)

    def _items(self) -> list[Value]:
        self._use()
        return [Value(self._owner, self._path, index) for index in (1, 2)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._kind == "clock" and args and isinstance(args[0], str) and "%" in args[0]:
            self._owner_of_method()._use()
            return self._owner.clock.strftime(args[0])
        if len(self._path) > 1:
            return self._call_method(self._owner_of_method(), self._path[-1], args, kwargs)
        return self

    def _owner_of_method(self) -> Value:
        return Value(self._owner, self._path[:-1], self._index) if len(self._path) > 1 else self

    def _call_method(self, parent: Value, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        clock = self._owner.clock
        if parent._kind == "clock":
            if parent._path[-1] == "time" and name == "time":  # time.time() gives seconds
                self._use()
                return clock.timestamp()
            if name in _CLOCK_METHODS:
                parent._use()
                return getattr(clock.date() if parent._is_date() and name == "isoformat" else clock, name)(*args, **kwargs)
            if kwargs:  # replace(microsecond=0), astimezone(tz=…)
                return parent
        if name in _TEXT_METHODS:
            return getattr(parent._text(), name)(*(str(arg) if isinstance(arg, Value) else arg for arg in args))
        if name in ("items", "keys", "values"):
            return getattr(parent, name)()
        if name == "get" and args:
            return parent._child(str(args[0]))
        return self

    def items(self) -> list[tuple[str, Value]]:
        return list(zip(self.keys(), self._items(), strict=True))

    def keys(self) -> list[str]:
        return ["first", "second"]

    def values(self) -> list[Value]:
        return self._items()

    def _as_json(self) -> Any:
        if self._kind == "counter":
            return self._number()
        return self._text()

    def __str__(self) -> str:
        return self._text()

    def __repr__(self) -> str:
        return repr(self._text())

    def __format__(self, form: str) -> str:
        if self._kind == "clock":
            self._use()
            return format(self._owner.clock, form) if form else self._text()
        return format(self._number() if self._kind == "counter" else self._text(), form)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._items())

    def __len__(self) -> int:
        self._use()
        return 2

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._child(key)
        if isinstance(key, slice):
            return self._items()[key] if self._kind == "memory" else self._text()[key]
        if isinstance(key, int):
            return self._items()[key]
        return self

    def __contains__(self, item: object) -> bool:
        self._use()
        return True

    def __bool__(self) -> bool:
        self._use()
        return True

    def __hash__(self) -> int:
        return hash(self._text())

    def __int__(self) -> int:
        return self._number()

    def __float__(self) -> float:
        return float(self._number())

    def __index__(self) -> int:
        return self._number()

    def __round__(self, digits: int | None = None) -> int:
        return self._number()

    def _pair(self, other: object) -> tuple[Any, Any]:
        """Both sides of an operator, as numbers where the other one is a number and as texts otherwise."""
        if isinstance(other, (int, float)):
            return self._number(), other
        return self._text(), str(other)

    def __eq__(self, other: object) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine == theirs)

    def __lt__(self, other: object) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine < theirs)

    def __le__(self, other: object) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine <= theirs)

    def __gt__(self, other: object) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine > theirs)

    def __ge__(self, other: object) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine >= theirs)

    def __add__(self, other: object) -> Any:
        if isinstance(other, (list, tuple)):
            return [*self._items(), *other]
        mine, theirs = self._pair(other)
        return mine + theirs

    def __radd__(self, other: object) -> Any:
        if isinstance(other, (list, tuple)):
            return [*other, *self._items()]
        mine, theirs = self._pair(other)
        return theirs + mine

    def __sub__(self, other: Any) -> Any:
        return self._number() - other

    def __rsub__(self, other: Any) -> Any:
        return other - self._number()

    def __mul__(self, other: Any) -> Any:
        return self._number() * other

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._number() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / (self._number() or 1)

    def __floordiv__(self, other: Any) -> Any:
        return self._number() // other

    def __mod__(self, other: Any) -> Any:
        return self._number() % other

    def __abs__(self) -> int:
        return abs(self._number())

    def __neg__(self) -> int:
        return -self._number()
