"""What can be set: the one table of options that the reader of the configuration, its JSON Schema and the flags are made from."""

from __future__ import annotations

from promptguard.core.light import Mapping
from promptguard.core.options import LINT_OPTIONS, REPORT_HELP, Option

REPORT_FORMATS = ("text", "json", "sarif", "markdown", "junit")

_MOST = 2**31 - 1

REPLAY_OPTIONS = (
    Option("system", "path", "System prompt: plain text, or a Jinja template that is rendered anew on each turn."),
    Option("context", "path", "JSON or YAML with values for the variables of the templates."),
    Option("tools", "path", "Tool schemas: JSON, or a Jinja template (.j2) that gives it."),
    Option(
        "chat-template",
        "path",
        "Chat template to use instead of the model's own; it is judged as promptguard template check does.",
    ),
    Option("task", "path", "Folder or file of the task to run instead of the built-in four-tool task."),
    Option(
        "server",
        "text",
        "Address of a running llama-server to measure, such as http://jetson:8080.",
        pattern=r"https?://\S+",
        form="an http or https URL, such as http://127.0.0.1:8080",
    ),
    Option(
        "engine",
        "text",
        "Engine to start where no server is given.",
        choices=("llama-server", "llama-cpp-python"),
        default="llama-server",
    ),
    Option("model", "path", "GGUF file to run the engine on.", default="the built-in tiny model"),
    Option(
        "model-from", "path", "GGUF (or tokenizer.json) to run a tiny-random twin of: same tokenizer, template and attention."
    ),
    Option("slot", "integer", "Slot of the server to pin the run to.", minimum=0, maximum=_MOST, default="an idle one"),
    Option(
        "ctx-size", "integer", "Context of the started engine, in tokens.", minimum=256, maximum=1 << 24, default="fits the task"
    ),
    Option("swa-full", "boolean", "Keep the whole cache of sliding-window layers.", default="as the engine does"),
    Option(
        "timeout",
        "number",
        "Seconds to wait for the engine to start, and for each of its answers.",
        minimum=1,
        maximum=86400,
        default="120; 600 with a server",
    ),
    Option("min-hit-rate", "number", "Least hit rate that passes, between 0 and 1.", minimum=0, maximum=1, default="0.8"),
    Option(
        "prompt-loss-tolerance",
        "integer",
        "Tokens of prompt loss that a turn, or a finding in the chat template, may have.",
        minimum=0,
        maximum=_MOST,
        default="0",
    ),
    Option(
        "engine-loss-tolerance",
        "integer",
        "Tokens of engine loss that a turn may have.",
        minimum=0,
        maximum=_MOST,
        default="0",
    ),
    Option("live", "boolean", "Let the model itself answer (temperature 0); only the tools are scripted."),
    Option("max-turns", "integer", "Most requests of a live run.", minimum=2, maximum=1000, default="32"),
    Option("max-tokens", "integer", "Most tokens of one reply in a live run.", minimum=1, maximum=32768, default="256"),
    Option("compare-uncached", "boolean", "Run the task again with the cache off and give both times."),
    Option("seed", "integer", "Seed of the values that differ between turns.", minimum=0, maximum=_MOST, default="0"),
    Option("output-format", "text", "Format of what is printed.", choices=REPORT_FORMATS, default="text"),
    Option(
        "report",
        "list",
        REPORT_HELP,
        pattern=f"({'|'.join(REPORT_FORMATS)})=.+",
        form=f"one of {'=FILE, '.join(REPORT_FORMATS)}=FILE",
    ),
)
PROBE_OPTIONS = (
    Option("whole", "boolean", "Compare the last user message too, which may otherwise change."),
    Option("runs", "integer", "Processes in other surroundings.", minimum=1, maximum=100),
    Option("timeout", "number", "Seconds that one process may take.", minimum=0.1, maximum=86400),
    Option("python", "path", "Interpreter of the project.", default="the one that promptguard runs in"),
    Option("tokenizer", "text", "What counts tokens: a tokenizer.json, a GGUF file or tiktoken:ENCODING."),
)
FORMAT_OPTIONS = (
    Option("exclude", "list", "Files and folders to leave out, in the words of .gitignore."),
    Option("sort-properties", "boolean", "Put the properties of schemas into alphabetical order as well."),
    Option("unsafe-fixes", "boolean", "Also normalize line ends, trailing spaces and Unicode (NFC) in descriptions."),
)
PROMPT_OPTIONS = (
    Option("path", "text", "A file, or files in the words of .gitignore.", required=True),
    Option("block", "text", "Block that it is, or begins with.", choices=("tools", "system", "history", "user")),
    Option(
        "syntax",
        "text",
        "How its placeholders are written.",
        choices=("jinja", "format", "mustache", "dollar", "erb"),
        default="as the kind of file says",
    ),
    Option("stable", "list", "Variables whose values never change within a deployment."),
    Option("dynamic", "list", "Variables whose values change between requests."),
    Option("context", "text", "JSON or YAML file with values for variables, which are stable."),
    Option("name", "text", "Name of the prompt that it is a part of; files of one name make one prompt."),
)
OPTIONS: Mapping[str, tuple[Option, ...]] = {"replay": REPLAY_OPTIONS, "format": FORMAT_OPTIONS, "lint": LINT_OPTIONS}
"""The options of each command that has a table of its own in the file."""
TABLES: Mapping[str, str] = {
    "prompts": "Declared prompts: which files they are, and what is known of their variables.",
    "rules": "Options of rules, by code.",
}
"""What else the file may hold."""
