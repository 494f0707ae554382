"""The checks: what each one reads, what it means, what to set. docs/doctor.md is made of this."""

from __future__ import annotations

from typing import Literal, NamedTuple

Area = Literal["server", "reuse", "prompt", "board"]


class Entry(NamedTuple):
    """A check.

    Attributes:
        name: as in ``Check.name``.
        area: what it is about.
        title: the question it answers.
        reads: where the answer comes from.
        means: what it is to reuse, and when the check is in the way.
        remedy: what to set, with flags in backticks.
    """

    name: str
    area: Area
    title: str
    reads: str
    means: str
    remedy: str


AREAS: dict[Area, str] = {
    "server": "The server",
    "prompt": "The prompt",
    "reuse": "Reuse",
    "board": "The board",
}

CATALOG: tuple[Entry, ...] = (
    Entry(
        "address",
        "server",
        "Is this the address of the server?",
        "the answer to `GET /props`, its `Server` and `Via` headers",
        "`--server` takes the address without `/v1` or another path of the API; with one the check is in the way. A proxy in "
        "between is said, since it decides which server a request goes to.",
        "`--server http://HOST:PORT`; in nginx `proxy_buffering off` and one server in `upstream`",
    ),
    Entry(
        "build",
        "server",
        "Does the build say what it cached?",
        "`build_info` of `/props`, and `timings.cache_n` of an answer, which counts more",
        "Without the figure nothing can be measured. It is there since September 2025 (b6451 and later have it); a build "
        "without the figure is in the way. A build that does not say its number is judged by its answers.",
        "a newer llama.cpp",
    ),
    Entry(
        "slots-endpoint",
        "server",
        "Can other traffic be seen?",
        "`GET /slots`",
        "It is on by default. Without it nobody can tell whether another request took the cache. Never in the way.",
        "`--slots` (`LLAMA_ARG_ENDPOINT_SLOTS`)",
    ),
    Entry(
        "metrics-endpoint",
        "server",
        "Are there counters?",
        "`GET /metrics`",
        "It is off by default and not needed: the counters show other traffic that came and went between two looks. Never in "
        "the way.",
        "`--metrics` (`LLAMA_ARG_ENDPOINT_METRICS`)",
    ),
    Entry(
        "traffic",
        "server",
        "Does anybody else use the server?",
        "two looks at `/slots` and `/metrics` with nothing of ours in between, and one behind the probes, where exactly ours "
        "have to have been added",
        "Another request takes the slot, and with it the cache, between two turns. In the way where a slot is at work or a "
        "counter moved; no probe is sent then, and what probes showed until then is in doubt.",
        "one client at a time; in CI a `concurrency` group for the board",
    ),
    Entry(
        "context",
        "prompt",
        "Does the task fit into a slot?",
        "`n_ctx` of `/props` and `/slots`; the longest turn of the task, as the server itself renders and counts it "
        "(`/apply-template`, `/tokenize`): its prompt, the reply that follows in the task, and one token that an engine "
        "generates behind them; the same number that `promptguard replay` names where the context is too small",
        "A prompt that does not fit is refused, or the agent cuts its history, which loses the cache. Several slots divide "
        "`--ctx-size` among them, unless they share it (`--kv-unified`).",
        "`--ctx-size N` (`LLAMA_ARG_CTX_SIZE`), `--parallel 1` (`LLAMA_ARG_N_PARALLEL`)",
    ),
    Entry(
        "template-date",
        "prompt",
        "Does the chat template print a date?",
        "the chat template of `/props`, rendered at two times; and what the server itself renders today",
        "What stands behind a date is computed again when it changes: rule PG501. A date that the server is given as a fixed "
        "one is fine.",
        '`--chat-template-kwargs \'{"date_string": "01 Jan 2026"}\'` (`LLAMA_ARG_CHAT_TEMPLATE_KWARGS`), or a template without a '
        "date: `--chat-template-file FILE` (`LLAMA_ARG_CHAT_TEMPLATE_FILE`)",
    ),
    Entry(
        "template",
        "prompt",
        "Does the chat template print the history as it was?",
        "the chat template of `/props`, rendered turn by turn in the conversations of `promptguard template check`",
        "Rules PG502 to PG506. In the way where tokens are lost at tool calls, or the tools are printed at another place. What "
        "is lost only at new user messages, or depends on how the model writes, is said and not in the way.",
        "the switch of the template that mends it (`--chat-template-kwargs`), or a corrected template (`--chat-template-file "
        "FILE`)",
    ),
    Entry(
        "prompt-cache",
        "reuse",
        "Is a prompt found again?",
        "probes: a prompt of about 2,000 tokens, the same again, and the same with a reply and a message behind it",
        "In the way where less than 80% of what was there is used. Where nothing is, the last prompt is sent once more with "
        "`cache_prompt` in the request: if that helps, the cache is off by default.",
        "`--cache-prompt` (`LLAMA_ARG_CACHE_PROMPT`); for recurrent and hybrid models `--ctx-checkpoints 32` "
        "(`LLAMA_ARG_CTX_CHECKPOINTS`)",
    ),
    Entry(
        "slots",
        "reuse",
        "Does a conversation find its slot?",
        "`total_slots` of `/props`; the slot of each probe, as the answer or `/slots` tells it; and the first conversation, "
        "which goes on after a second one began with the same system prompt",
        "The server gives a request to the slot whose prompt is most like it, if more than `--slot-prompt-similarity` of the "
        "request is there already, and else to the one that was not used for the longest time. With 0, or a high value, a "
        "request of one agent is sent away from the slot that holds its beginning: in the way. With the default of 0.1 it is "
        "not, but a second conversation of the same agent takes the slot of the first although others are free: at risk. "
        "Without probes several slots are a cannot tell.",
        "`--slot-prompt-similarity 0.1` with several slots. For conversations that take turns `--parallel 1` "
        "(`LLAMA_ARG_N_PARALLEL`) `--slot-prompt-similarity 0 --cache-ram N` (`LLAMA_ARG_CACHE_RAM`): whatever comes, the slot "
        "saves what it holds. Or a slot for each, `id_slot` in each request, and `--no-kv-unified` (`LLAMA_ARG_KV_UNIFIED`), "
        "which divides the context: with the unified one, which is the default without `--parallel`, idle slots are cleared, "
        "and a request with `id_slot` finds nothing",
    ),
    Entry(
        "resident-prefix",
        "reuse",
        "Does a new conversation find the tools and the system prompt?",
        "a probe with the same system prompt and another first message",
        "That is what a warm-up is for. A model with a sliding window, or a recurrent one, can go back to where two "
        "conversations part only with a checkpoint there; llama-server makes one at a user message.",
        "`--ctx-checkpoints 32` (`LLAMA_ARG_CTX_CHECKPOINTS`, on by default); with a sliding window `--swa-full` "
        "(`LLAMA_ARG_SWA_FULL`)",
    ),
    Entry(
        "window",
        "reuse",
        "What does a change in the middle cost?",
        "a probe with a system prompt that is changed in its middle",
        "An ordinary model keeps what stands in front of the change. A sliding window has forgotten it: everything is computed "
        "again. The probe sees windows of up to about 1,000 tokens. For a recurrent model no flag helps, so the check is not in "
        "the way there.",
        "`--swa-full` (`LLAMA_ARG_SWA_FULL`)",
    ),
    Entry(
        "host-cache",
        "reuse",
        "Does a conversation survive another one in between?",
        "a short probe of something else, then the last prompt once more; with one slot also the first conversation, which goes "
        "on after a second one began with the same system prompt",
        "With one slot only the host prompt cache can bring it back (`--cache-ram`, 8,192 MiB by default, of the memory that a "
        "Jetson shares with its GPU). Where it cannot, that is at risk: one conversation at a time loses nothing, and a replay "
        "measures most cleanly without. A slot that is found by its likeness is saved there only where less than half of it is "
        "of use to the next prompt; with a similarity of 0 it always is.",
        "`--cache-ram N` (`LLAMA_ARG_CACHE_RAM`) with `--slot-prompt-similarity 0`",
    ),
    Entry(
        "projector",
        "reuse",
        "Is a multimodal projector loaded?",
        "`modalities` of `/props`",
        "llama-server switches `--cache-reuse` and `--context-shift` off with one, and makes no checkpoint behind a picture. In "
        "the way where no probe finds anything again; without probes a cannot tell.",
        "`--no-mmproj` (`LLAMA_ARG_MMPROJ_AUTO`)",
    ),
    Entry(
        "board",
        "board",
        "Which board is it?",
        "`/etc/nv_tegra_release`, `/proc/device-tree/model`",
        "Jetson Linux 36 is that of JetPack 6. Never in the way.",
        "nothing",
    ),
    Entry(
        "power-mode",
        "board",
        "Is the power mode the highest?",
        "`nvpmodel -q`, `/etc/nvpmodel.conf` for the number of the highest",
        "Below MAXN the power budget holds the clocks down, and times are those of a smaller board.",
        "`sudo nvpmodel -m 0` on an AGX Orin",
    ),
    Entry(
        "clocks",
        "board",
        "Are the clocks fixed?",
        "`jetson_clocks --show` (needs root): memory (EMC) and GPU",
        "Clocks that follow the load make the same turn take another time on the next run. Reuse itself does not depend on them.",
        "`sudo jetson_clocks`",
    ),
    Entry(
        "memory",
        "board",
        "Is memory left?",
        "`MemAvailable` of `/proc/meminfo`",
        "GPU and CPU share it. In the way below 1 GiB.",
        "a smaller `--ctx-size` or `--cache-ram`; no desktop: `sudo systemctl isolate multi-user.target`",
    ),
    Entry(
        "swap",
        "board",
        "Is memory swapped out?",
        "`/proc/swaps`, `SwapTotal` and `SwapFree` of `/proc/meminfo`",
        "In the way where more than 256 MiB are: a part of the model may be among it.",
        "`--load-mode mlock` (`LLAMA_ARG_LOAD_MODE`); with zram `sudo systemctl disable nvzramconfig`",
    ),
    Entry(
        "gpu-layers",
        "board",
        "Does the GPU compute the model?",
        "arguments, environment and libraries of the process llama-server below `/proc`",
        "In the way where no layer is on the GPU, or the server has not loaded CUDA.",
        "`--n-gpu-layers all` (`LLAMA_ARG_N_GPU_LAYERS`); build with `-DGGML_CUDA=ON`",
    ),
)

ORDER = {entry.name: number for number, entry in enumerate(CATALOG)}
AREA = {entry.name: entry.area for entry in CATALOG}
