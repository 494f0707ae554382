"""What the probes say about reuse."""

from __future__ import annotations

from promptguard.diagnosis.facts import Facts
from promptguard.diagnosis.probes import Probe, Probes
from promptguard.diagnosis.result import Check

_RECURRENT = 16  # tokens by which a recurrent model falls short of a prompt that it has just seen: it goes back to a checkpoint
NOT_TRIED = "not tried"
_TURNS = "--slot-prompt-similarity 0 --cache-ram 2048 (MiB of memory, or more)"
"""What lets conversations take turns in one slot. A slot that is chosen because it is alike saves what it holds to the host cache
only where less than half of that is of use to the next prompt; one that is chosen because it was not used always does.
"""
_ASTRAY = {
    "again": "the same prompt",
    "appended": "a prompt that went on",
    "changed": "a prompt with a change in its middle",
    "other": "a new conversation with the same system prompt",
}
"""The probes of what one agent does, as they are named where they went astray."""


def prompt_cache(found: Probes) -> Check:
    """Whether a prompt is found again, and what goes on from it."""
    name = "prompt-cache"
    again, appended = found.again, found.appended
    if again.cached is None:
        return Check(name, "unknown", "the server does not say what it cached", remedy="see the check build")
    if again.astray or appended is None or appended.astray:
        return _elsewhere(name)
    if again.found and appended.found:
        return Check(name, "ok", f"{again.figure} when a prompt was sent again, {appended.figure} when it went on")
    if appended.found:
        return Check(
            name,
            "in-the-way",
            f"{again.figure} when a prompt was sent again, but {appended.figure} when it went on",
            "a recurrent or hybrid model can only go back to a checkpoint of its state, and keeps none",
            "--ctx-checkpoints 32 (LLAMA_ARG_CTX_CHECKPOINTS)",
        )
    if again.found:
        return Check(
            name,
            "in-the-way",
            f"{appended.figure} when a prompt went on, although {again.figure} when it was sent again",
            "the chat template prints the reply in another way than the model gives it, or another request came in between",
            "see the checks template and traffic",
        )
    why = "every turn computes its whole prompt again"
    if found.asked is not None and found.asked.found:
        return Check(
            name,
            "in-the-way",
            f"{again.figure} when a prompt was sent again, {found.asked.figure} when the request asked for it (cache_prompt)",
            f"the prompt cache is off unless a request asks for it: {why}",
            "--cache-prompt in the place of --no-cache-prompt (LLAMA_ARG_CACHE_PROMPT=1, no LLAMA_ARG_NO_CACHE_PROMPT)",
        )
    return Check(
        name,
        "in-the-way",
        f"{again.figure} when a prompt was sent again, {appended.figure} when it went on",
        f"{why}: the cache is off, the model is recurrent and keeps no checkpoints, or a proxy spreads requests over servers",
        "--cache-prompt, --ctx-checkpoints 32, and one server behind the proxy",
    )


def resident_prefix(found: Probes) -> Check:
    """Whether a new conversation finds the tools and the system prompt of the last one."""
    name = "resident-prefix"
    if found.other is None:
        return Check(name, "unknown", NOT_TRIED, "the prompt cache has to work first")
    if found.other.astray:
        return _elsewhere(name)
    what = f"{found.other.figure} when a new conversation began with the same system prompt"
    if found.other.found:
        return Check(name, "ok", what)
    if _keeps_state(found):
        return Check(
            name,
            "in-the-way",
            what,
            "a recurrent or hybrid model can only go back to a checkpoint, and has none where the conversations part",
            "--ctx-checkpoints 32 (LLAMA_ARG_CTX_CHECKPOINTS), and a build that makes one at each user message",
        )
    return Check(
        name,
        "in-the-way",
        what,
        "a model with a sliding window cannot go back to where the conversations part without a checkpoint there",
        "--swa-full (LLAMA_ARG_SWA_FULL), or --ctx-checkpoints 32 (LLAMA_ARG_CTX_CHECKPOINTS) where there are none",
    )


def window(found: Probes) -> Check:
    """What a change in the middle of the prompt costs."""
    name = "window"
    if found.changed is None:
        return Check(name, "unknown", NOT_TRIED, "the prompt cache has to work first")
    if found.changed.astray:
        return _elsewhere(name)
    what = f"{found.changed.figure} when the middle of the system prompt changed"
    if found.changed.found:
        return Check(name, "ok", what)
    if _keeps_state(found):
        return Check(
            name,
            "ok",
            what,
            "the state of a recurrent or hybrid model cannot be taken back, and no flag changes that: one changed character "
            "costs the whole prompt, so that the prefix has to stay stable to the byte",
        )
    return Check(
        name,
        "in-the-way",
        what,
        "a sliding window has forgotten what stands in front of the change: one changed character costs the whole prompt",
        "--swa-full (LLAMA_ARG_SWA_FULL), which takes more memory for the cache",
    )


def host_cache(facts: Facts, found: Probes) -> Check:
    """Whether a conversation survives somebody else's request; with one slot also another conversation of the same agent."""
    name = "host-cache"
    resumed, returned = found.resumed, found.returned
    if resumed is None or returned is None:
        return Check(name, "unknown", NOT_TRIED, "the prompt cache has to work first")
    if returned.astray:
        return _elsewhere(name)
    if not found.again.found:
        return Check(
            name, "unknown", "a prompt is not found again even with nothing in between", remedy="see the check prompt-cache"
        )
    single = facts.server.slots == 1
    what = f"{returned.figure} after another prompt came in between"
    if single:
        what = f"{_resumed(resumed)}, {what}"
    if returned.found and (resumed.found or not single):
        return Check(name, "ok", what)
    return Check(
        name,
        "at-risk",
        what,
        "one slot holds one conversation, and the next request takes its place: alone on the server, as in CI, nothing is lost",
        f"{_TURNS}, if several conversations are to take turns",
    )


def slots(facts: Facts, found: Probes | None) -> Check:
    """Whether a conversation finds its slot again."""
    name, count = "slots", facts.server.slots
    if count == 1:
        return Check(name, "ok", "1 slot")
    single = "--parallel 1 (LLAMA_ARG_N_PARALLEL)"
    if found is None:
        return Check(name, "unknown", f"{count} slots", "a request that does not send id_slot can land in any of them", single)
    for each, what in _ASTRAY.items():
        sent: Probe | None = getattr(found, each)
        if sent is not None and sent.astray:
            return Check(
                name,
                "in-the-way",
                f"{count} slots; {what} was sent to slot {sent.slot}, although slot {sent.better} held more of it: {sent.figure}",
                "what one slot holds does not help another",
                f"--slot-prompt-similarity 0.1 (it is 0, or too high), or {single}",
            )
    if found.resumed is None:
        return Check(name, "unknown", f"{count} slots", "the prompt cache has to work first", single)
    what = f"{count} slots; {_resumed(found.resumed)}"
    if found.resumed.found:
        return Check(name, "ok", what)
    return Check(
        name,
        "at-risk",
        what,
        "the second conversation is sent to the slot that holds the same system prompt, and takes it away from the first: one "
        "conversation at a time loses nothing",
        f"--parallel 1 {_TURNS}, or --no-kv-unified and id_slot in each request, one from 0 to {count - 1} for each conversation",
    )


def _resumed(resumed: Probe) -> str:
    return f"{resumed.figure} when a conversation went on after a second one had begun"


def _elsewhere(name: str) -> Check:
    return Check(name, "unknown", "the prompt was sent to another slot than the one that held it", remedy="see the check slots")


def _keeps_state(found: Probes) -> bool:
    """Whether the model is recurrent or hybrid: it goes on from where it is, but not back, or only to a checkpoint a few tokens
    before the end. A prompt that was sent again falls short by that; with a window it falls short by nothing.
    """
    again, appended = found.again, found.appended
    if again.cached is None:
        return False
    if again.found:
        return 0 < again.expected - again.cached <= _RECURRENT
    return appended is not None and appended.found
