"""What the probes say about reuse."""

from __future__ import annotations

from promptguard.diagnosis.facts import Facts
from promptguard.diagnosis.probes import Probe, Probes
from promptguard.diagnosis.result import Check

_RECURRENT = 16  # tokens by which a recurrent model falls short of a prompt that it has just seen: it goes back to a checkpoint
NOT_TRIED = "not tried"


def prompt_cache(found: Probes) -> Check:
    """Whether a prompt is found again, and what goes on from it."""
    name = "prompt-cache"
    again, appended = found.again, found.appended
    if again.cached is None:
        return Check(name, "unknown", "the server does not say what it cached", remedy="see the check build")
    if found.wandered:
        return Check(name, "unknown", "the second prompt went to another slot", remedy="see the check slots")
    assert appended is not None
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
    what = f"{found.other.figure} when a new conversation began with the same system prompt"
    if found.other.found:
        return Check(name, "ok", what)
    return Check(
        name,
        "in-the-way",
        what,
        "a model with a sliding window, or a recurrent one, cannot go back to where the conversations part without a checkpoint",
        "--swa-full (LLAMA_ARG_SWA_FULL) where the model has a window; --ctx-checkpoints 32 (not 0) where it is recurrent",
    )


def window(found: Probes) -> Check:
    """What a change in the middle of the prompt costs."""
    name = "window"
    if found.changed is None:
        return Check(name, "unknown", NOT_TRIED, "the prompt cache has to work first")
    what = f"{found.changed.figure} when the middle of the system prompt changed"
    if found.changed.found:
        return Check(name, "ok", what)
    if _recurrent(found.again):
        return Check(
            name,
            "ok",
            what,
            "the state of a recurrent or hybrid model cannot be taken back, and no flag changes that: one changed character "
            "costs "
            "the whole prompt, so that the prefix has to stay stable to the byte",
        )
    return Check(
        name,
        "in-the-way",
        what,
        "a sliding window has forgotten what stands in front of the change: one changed character costs the whole prompt",
        "--swa-full (LLAMA_ARG_SWA_FULL), which takes more memory for the cache",
    )


def host_cache(found: Probes) -> Check:
    """Whether a conversation survives somebody else's request."""
    name = "host-cache"
    if found.returned is None:
        return Check(name, "unknown", NOT_TRIED, "the prompt cache has to work first")
    what = f"{found.returned.figure} after another prompt came in between"
    if found.returned.found:
        return Check(name, "ok", what)
    return Check(
        name,
        "ok",
        what,
        "one slot holds one conversation, and the next request takes its place: alone on the server, as in CI, nothing is lost",
        "--cache-ram 2048 (MiB of memory) or --parallel 2, if several conversations are to take turns",
    )


def slots(facts: Facts, found: Probes | None) -> Check:
    """Whether a conversation finds its slot again."""
    name, count = "slots", facts.server.slots
    if count == 1:
        return Check(name, "ok", "1 slot")
    single = f"--parallel 1 (LLAMA_ARG_N_PARALLEL), or send id_slot, one from 0 to {count - 1} for each conversation"
    if found is None:
        return Check(name, "unknown", f"{count} slots", "a request that does not send id_slot can land in any of them", single)
    if found.wandered:
        return Check(
            name,
            "in-the-way",
            f"{count} slots; the same prompt went to slot {found.first.slot}, then to slot {found.again.slot}",
            "what one slot holds does not help another",
            f"--slot-prompt-similarity 0.1 (it is 0, or too high), or {single}",
        )
    if found.resumed is None:
        return Check(name, "unknown", f"{count} slots", "the prompt cache has to work first", single)
    what = f"{count} slots; {found.resumed.figure} when a conversation went on after a second one had begun"
    if found.resumed.found:
        return Check(name, "ok", what)
    return Check(
        name,
        "in-the-way",
        what,
        "the second conversation is sent to the slot that holds the same system prompt, and takes it away from the first",
        single,
    )


def _recurrent(again: Probe) -> bool:
    """Whether a prompt that was sent again fell short by what a checkpoint falls short; a window falls short by nothing."""
    return again.cached is not None and 0 < again.expected - again.cached <= _RECURRENT
