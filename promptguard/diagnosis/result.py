"""What a diagnosis has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "at-risk", "in-the-way", "unknown"]
"""``in-the-way``: the task of one agent loses tokens, does not fit or cannot be measured. ``at-risk``: it loses tokens when other
conversations come. ``unknown``: it could not be told; the check says why.
"""

Verdict = Literal["clear", "obstructed", "unknown"]
"""``obstructed``: at least one check is in the way. ``clear``: none is, though some may be at risk. ``unknown``: there is no
server that could be judged.
"""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: one of ``diagnosis.catalog``.
        status: what it means for reuse.
        found: what was seen, with the figure.
        why: what that does to reuse; empty where there is nothing to add.
        remedy: what to set, in one line; empty where nothing has to be.
    """

    name: str
    status: Status
    found: str
    why: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Server:
    """Which server was looked at.

    Attributes:
        kind: ``llama-server``, or what else answers there.
        build: as it says itself.
        model: file name or alias of the model.
        slots: number of slots.
        context: context per slot, in tokens.
        prefill_rate: tokens per second of a prompt that was not cached, ``None`` where none was sent.
    """

    kind: str
    build: str = ""
    model: str = ""
    slots: int = 0
    context: int = 0
    prefill_rate: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """Everything that was found.

    Attributes:
        url: the address that answered, or that was to.
        server: ``None`` where nothing answers that says what it is.
        checks: in the order of the catalogue; where there is an ``error``, those that could be made.
        task: name of the task that the context has to hold.
        needed: tokens that it takes, ``None`` where that is not known.
        requests: number of prompts that were sent to the model.
        prompt_tokens: tokens of these prompts that the server computed.
        error: why the server could not be judged.
    """

    url: str
    server: Server | None = None
    checks: tuple[Check, ...] = ()
    task: str = ""
    needed: int | None = None
    requests: int = 0
    prompt_tokens: int = 0
    error: str | None = None

    @property
    def in_the_way(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == "in-the-way")

    @property
    def at_risk(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == "at-risk")

    @property
    def verdict(self) -> Verdict:
        if self.error is not None:
            return "unknown"
        return "obstructed" if self.in_the_way else "clear"
