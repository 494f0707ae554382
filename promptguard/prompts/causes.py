"""The causes of prefix-cache misses, as docs/causes.md describes them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cause:
    """A cause of prefix-cache misses, as numbered in docs/causes.md.

    Attributes:
        code: ``K1`` … ``K15``, ``WS`` for whitespace, ``K0`` where the cause is not known.
        name: ``clock``, ``random-id``, ``list-order``, ``schema-order``, ``tool-set``, ``memory``, ``environment``,
            ``history-rewritten``, ``chat-template``, ``reply-round-trip``, ``variable-before-static``, ``whitespace``,
            ``unknown``, and the names of the causes that lie in an engine or a service.
        summary: what happens, in one line.
        remedy: what to do, in one sentence.
    """

    code: str
    name: str
    summary: str = field(default="", compare=False, repr=False)
    remedy: str = field(default="", compare=False, repr=False)


UNKNOWN = Cause(
    "K0",
    "unknown",
    "text in the prefix changed for a reason that cannot be told from the prompts",
    "keep this text the same on every turn, or move it into the last user message",
)
CLOCK = Cause(
    "K1",
    "clock",
    "a date or time in the prefix",
    "move the clock to the end of the last user message",
)
RANDOM_ID = Cause(
    "K2",
    "random-id",
    "a random or per-request id in the prefix",
    "remove the id from the prompt, or create it once per conversation",
)
LIST_ORDER = Cause(
    "K3",
    "list-order",
    "the same items in another order",
    "send the items in one fixed order: sort them once, at session start",
)
SCHEMA_ORDER = Cause(
    "K4",
    "schema-order",
    "the same JSON with its keys or lists in another order",
    "write the schema with one fixed order of keys and lists: build them from lists, not from sets",
)
TOOL_SET = Cause(
    "K5",
    "tool-set",
    "tools added or removed in the middle of a conversation",
    "send the same tools for the whole conversation, and refuse a call in its result instead of removing the tool",
)
MEMORY = Cause(
    "K6",
    "memory",
    "retrieved or remembered text above static text",
    "move retrieved text into the last user message, behind everything static",
)
ENVIRONMENT = Cause(
    "K7",
    "environment",
    "a directory, host, repository state or counter in the prefix",
    "move what describes the environment into the last user message",
)
HISTORY_REWRITTEN = Cause(
    "K8",
    "history-rewritten",
    "earlier messages dropped or changed",
    "replay every earlier message exactly as it was sent, and shorten the history rarely and by a lot",
)
CHAT_TEMPLATE = Cause(
    "K9",
    "chat-template",
    "the chat template prints earlier turns in another way than before",
    "use a chat template that prints earlier turns exactly as it printed them at first",
)
REPLY_ROUND_TRIP = Cause(
    "K10",
    "reply-round-trip",
    "the reply is not replayed as the model wrote it",
    "store the reply as the model wrote it, and replay it unchanged",
)
ENGINE_REWIND = Cause(
    "K11",
    "engine-rewind",
    "the model's attention cannot be rewound to the middle of the prompt",
    "keep the prompt append-only, or run the engine with a full attention cache where it has that option",
)
EVICTION = Cause(
    "K12",
    "eviction",
    "another request took the slot or the memory of the cache",
    "give side requests a slot of their own, and pin the conversation to one",
)
ENGINE_SWITCH = Cause(
    "K13",
    "engine-switch",
    "the engine's prefix cache is off or cannot be used",
    "turn the prefix cache on, and give the slot a context that the conversation fits into",
)
CACHE_MARKER = Cause(
    "K14",
    "cache-marker",
    "a cache marker or key is missing, misplaced or different on each request",
    "use one cache key per conversation, and set the marker at the end of the static part",
)
VARIABLE_BEFORE_STATIC = Cause(
    "K15",
    "variable-before-static",
    "text that varies by user or conversation above static text",
    "put what is the same for all users first, and the user's own data behind it",
)
WHITESPACE = Cause(
    "WS",
    "whitespace",
    "spaces or line ends that differ",
    "print the same spaces and line ends on every turn",
)

CAUSES = (
    CLOCK,
    RANDOM_ID,
    LIST_ORDER,
    SCHEMA_ORDER,
    TOOL_SET,
    MEMORY,
    ENVIRONMENT,
    HISTORY_REWRITTEN,
    CHAT_TEMPLATE,
    REPLY_ROUND_TRIP,
    ENGINE_REWIND,
    EVICTION,
    ENGINE_SWITCH,
    CACHE_MARKER,
    VARIABLE_BEFORE_STATIC,
    WHITESPACE,
    UNKNOWN,
)
