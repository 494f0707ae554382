"""PG701, PG702: how a model server is started, as far as that decides whether a prefix can be found in its cache.

The flags and what they do are those of llama.cpp (common/arg.cpp, tools/server), vLLM, SGLang and Ollama.
"""

from __future__ import annotations

from promptguard.checks.base import Document, Hit, shown
from promptguard.core.light import Any, Iterator, Mapping, NamedTuple, Sequence, lru_cache, regex
from promptguard.parse.commands import Launch, Setting, Word, assignment, only_talks, read_dockerfile, read_script

SERVER_WORDS = ("llama-server", "llama.cpp", "llama_cpp.server", "vllm", "ollama", "sglang", "LLAMA_ARG_", "OLLAMA_")
"""One of them is in every text that starts a model server or sets a variable of one."""

_IMAGES = (
    ("llama.cpp", regex(r"(?:[\w.-]{1,100}(?::\d{1,5})?/){0,5}llama\.cpp:server[\w.-]{0,100}(?:@.{0,100})?")),
    ("vllm", regex(r"(?:[\w.-]{1,100}(?::\d{1,5})?/){0,5}vllm-openai(?::[\w.-]{1,100})?(?:@.{0,100})?")),
)
_MODULES = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "llama_cpp.server": "llama-cpp-python",
    "sglang.launch_server": "sglang",
}
_PREFIXES = {"LLAMA_ARG_": "llama.cpp", "OLLAMA_": "ollama"}

_FALSE = frozenset({"false", "off", "disabled", "no", "0"})
_TRUE = frozenset({"true", "on", "enabled", "yes", "1"})
_NUMBER = regex(r"-?[0-9]{1,9}")
_SHORT_NUMBER = regex(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([kKmM]?)")
_SCALES = {"": 1, "k": 1000, "K": 1 << 10, "m": 10**6, "M": 1 << 20}
_NO_TIME = regex(r"0(?:ms|s|m|h)?")

# A server for embeddings or ranking has neither a conversation nor a prefix worth keeping.
_NO_CHAT = frozenset({"--embedding", "--embeddings", "--rerank", "--reranking", "--is-embedding"})
_NO_CHAT_VALUES = frozenset({"embed", "embedding", "pooling", "score", "classify", "reward"})

_CONTEXT = {
    "llama.cpp": (("-c", "--ctx-size"), "LLAMA_ARG_CTX_SIZE"),
    "llama-cpp-python": (("--n-ctx",), ""),
    "vllm": (("--max-model-len",), ""),
    "sglang": (("--context-length",), ""),
    "ollama": ((), "OLLAMA_CONTEXT_LENGTH"),
}
_PAD = 256  # llama.cpp rounds the context of a slot up to a multiple of this


class _Run(NamedTuple):
    """One start of a server: which, with what arguments, in what environment."""

    engine: str
    arguments: Sequence[Word]
    settings: Mapping[str, Setting]


class _Given(NamedTuple):
    """A flag or a variable as it is given; ``value`` is ``None`` where it is not known before the command runs."""

    name: str
    start: int
    end: int
    value: str | None

    def quote(self, text: str) -> str:
        """What stands there, for a message; with the name where that is somewhere else."""
        there = text[self.start : self.end]
        return f"`{shown(there)}`" if self.name in there else f"`{shown(there)}` as {self.name}"


def check(document: Document, options: Mapping[str, Any]) -> Iterator[Hit]:
    """Look at the model servers that a file starts."""
    seen: set[tuple[str, int]] = set()
    minimum = int(options["PG702"]["min-context"])
    for launch in _launches(document.source.kind, document.text):
        for run in _runs(launch):
            for hit in [*_cache_off(document.text, run), *_small_slots(document.text, run, minimum)]:
                if (hit.code, hit.start) not in seen:  # one environment may be that of several commands
                    seen.add((hit.code, hit.start))
                    yield hit


def _wanted(text: str) -> bool:
    return any(word in text for word in SERVER_WORDS)


def starts_server(document: Document) -> bool:
    """Whether a file starts a model server or sets a variable of one."""
    return any(True for launch in _launches(document.source.kind, document.text) for _ in _runs(launch))


@lru_cache(maxsize=1)  # who reads a file asks before who checks it
def _launches(kind: str, text: str) -> list[Launch]:
    if kind == "yaml":
        from promptguard.parse.yaml_commands import read_yaml_launches

        return read_yaml_launches(text, _wanted)
    return read_dockerfile(text, _wanted) if kind == "dockerfile" else [read_script(text, _wanted)]


def _runs(launch: Launch) -> Iterator[_Run]:
    engines = set()
    settings = dict(launch.settings)  # with what was exported so far
    for command in launch.commands:
        if only_talks(command):
            continue
        own = {made.name: made for made in map(assignment, command) if made is not None}
        for index in range(len(command)):
            engine, first = _server(command, index)
            if engine:
                engines.add(engine)
                yield _Run(engine, command[first:], settings | own)
                break
        else:
            settings |= own
    for engine, image in _IMAGES:
        if engine not in engines and image.fullmatch(launch.image):
            engines.add(engine)
            yield _Run(engine, [word for command in launch.commands for word in command], settings)
    for prefix, engine in _PREFIXES.items():
        if engine not in engines and any(name.startswith(prefix) for name in settings):
            yield _Run(engine, (), settings)


def _server(command: Sequence[Word], index: int) -> tuple[str, int]:
    """The engine that a word starts, empty where it starts none, and the index of its first argument."""
    text = command[index].text.lstrip("@-+")
    if text != "m" and not _wanted(text):
        return "", 0
    following = command[index + 1].text if index + 1 < len(command) else ""
    name = text.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")
    if name == "llama-server" or (name == "server" and "llama" in text):
        return "llama.cpp", index + 1
    if name in {"vllm", "ollama", "sglang"} and following == "serve":
        return name, index + 2
    if command[index].text == "-m" and following in _MODULES:
        return _MODULES[following], index + 2
    for engine, image in _IMAGES:
        if image.fullmatch(text):
            return engine, index + 1
    return "", 0


# PG701


def _cache_off(text: str, run: _Run) -> Iterator[Hit]:
    if not _chats(run):
        return
    if run.engine == "llama.cpp":
        flag = _last(text, run, ("--cache-prompt", "--no-cache-prompt"), takes_value=False)
        if flag is None:
            flag = _given(run.settings.get("LLAMA_ARG_NO_CACHE_PROMPT"))  # whatever its value
            if flag is not None or _says(flag := _given(run.settings.get("LLAMA_ARG_CACHE_PROMPT")), _FALSE):
                yield _off(text, flag, "leave it out or write `LLAMA_ARG_CACHE_PROMPT=1`")
        elif "no" in flag.name:
            yield _off(text, flag, "leave it out")
    elif run.engine == "vllm":
        flag = _last(text, run, ("--enable-prefix-caching", "--no-enable-prefix-caching"), takes_value=False)
        if flag is not None and flag.name.startswith("--no"):
            yield _off(text, flag, "leave it out or write `--enable-prefix-caching`")
        elif _says(flag := _last(text, run, ("--enable-prefix-caching",)), _FALSE):
            yield _off(text, flag, "write `--enable-prefix-caching`")
    elif run.engine == "sglang":
        flag = _last(text, run, ("--disable-radix-cache",), takes_value=False)
        if flag is not None:
            yield _off(text, flag, "leave it out")
    elif run.engine == "ollama":
        flag = _given(run.settings.get("OLLAMA_KEEP_ALIVE"))
        if flag is not None and flag.value is not None and _NO_TIME.fullmatch(flag.value):
            message = (
                f"{flag.quote(text)} unloads the model after every request, and its prefix cache with it; give it at least 5m"
            )
            yield Hit("PG701", flag.start, flag.end, message)


def _off(text: str, flag: _Given | None, remedy: str) -> Hit:
    assert flag is not None
    message = f"{flag.quote(text)} turns the prefix cache off, so that every turn computes its whole prompt again; {remedy}"
    return Hit("PG701", flag.start, flag.end, message)


# PG702


def _small_slots(text: str, run: _Run, minimum: int) -> Iterator[Hit]:
    flags, variable = _CONTEXT[run.engine]
    context = _last(text, run, flags) or _given(run.settings.get(variable))
    size = _size(context, run.engine)
    if context is None or size is None or size <= 0 or not _chats(run):
        return  # 0 is what the model was trained with
    slots = 1
    related: tuple[tuple[int, int, str], ...] = ()
    if run.engine == "llama.cpp":
        parallel = _last(text, run, ("-np", "--parallel")) or _given(run.settings.get("LLAMA_ARG_N_PARALLEL"))
        if parallel is not None:
            count = _size(parallel, run.engine)
            if count is None:
                return
            # Without a number there are four slots that share one pool, so that each may fill it.
            if count > 1 and not _unified(text, run):
                slots, related = count, ((parallel.start, parallel.end, f"{count} slots share the context"),)
    share = size // slots
    if run.engine == "llama.cpp":
        share = -(-share // _PAD) * _PAD
    if share >= minimum:
        return
    quote = context.quote(text)
    needed = f"fewer than the {minimum:,} that a task of four tools takes"
    if slots > 1:
        message = f"the context {quote} leaves each of {slots} slots {share:,} tokens, {needed}; "
        message += f"write {minimum * slots} or use fewer slots"
    else:
        message = f"the context {quote} is {size:,} tokens, {needed}; write {minimum} or more"
    yield Hit("PG702", context.start, context.end, message, related=related)


def _unified(text: str, run: _Run) -> bool:
    flag = _last(text, run, ("-kvu", "--kv-unified", "-no-kvu", "--no-kv-unified"), takes_value=False)
    if flag is not None:
        return "no" not in flag.name
    return _says(_given(run.settings.get("LLAMA_ARG_KV_UNIFIED")), _TRUE)


def _size(given: _Given | None, engine: str) -> int | None:
    """The number that is given; vLLM takes ``16k`` and ``16K`` too."""
    if given is None or given.value is None:
        return None
    if _NUMBER.fullmatch(given.value):
        return int(given.value)
    short = _SHORT_NUMBER.fullmatch(given.value)
    return int(float(short[1]) * _SCALES[short[2]]) if short and engine == "vllm" else None


# Flags and variables


def _chats(run: _Run) -> bool:
    return not any(
        word.text in _NO_CHAT or (word.text in _NO_CHAT_VALUES and before.text in {"--task", "--runner"})
        for before, word in zip([Word(0, 0, ""), *run.arguments], run.arguments, strict=False)
    )


def _last(text: str, run: _Run, names: tuple[str, ...], *, takes_value: bool = True) -> _Given | None:
    """The last of some flags among the arguments, with its value where it stands right behind it."""
    arguments = run.arguments
    for index in range(len(arguments) - 1, -1, -1):
        word = arguments[index]
        name, equals, inline = word.text.partition("=")
        canonical = name.replace("_", "-") if name.startswith("--") else name
        if canonical not in names:
            continue
        if not takes_value or equals:
            return _Given(name, word.start, word.end, inline if word.literal else None)
        if index + 1 == len(arguments):
            return _Given(name, word.start, word.end, None)
        value = arguments[index + 1]
        joined = not text[word.end : value.start].strip(" \t")
        return _Given(name, word.start if joined else value.start, value.end, value.text if value.literal else None)
    return None


def _given(setting: Setting | None) -> _Given | None:
    if setting is None:
        return None
    return _Given(setting.name, setting.start, setting.end, setting.value if setting.literal else None)


def _says(given: _Given | None, values: frozenset[str]) -> bool:
    return given is not None and given.value is not None and given.value.lower() in values
