"""Which strings of a JSON or YAML file are prompts."""

from __future__ import annotations

from promptguard.checks.base import BLOCKS, Block, Syntax
from promptguard.core.light import Iterator, Mapping, NamedTuple, regex
from promptguard.linting.reading.blocks import ROLES
from promptguard.linting.reading.data import PromptString, Value, child_pointer, texts
from promptguard.linting.reading.names import words
from promptguard.linting.reading.syntax import guess_syntax

MAX_DEPTH = 100
"""Prompts do not lie deeper than this."""

# Keys that nobody uses for anything but a prompt, in snake case.
_CERTAIN: dict[str, Block | None] = {
    "system_prompt": "system",
    "system_message": "system",
    "system_instruction": "system",
    "system_instructions": "system",
    "system_template": "system",
    "system_prompt_template": "system",
    "system_message_template": "system",
    "developer_prompt": "system",
    "developer_message": "system",
    "developer_instructions": "system",
    "user_prompt": "user",
    "user_template": "user",
    "user_prompt_template": "user",
    "user_message_template": "user",
    "human_prompt": "user",
    "human_template": "user",
    "prompt_template": None,
    "agent_prompt": None,
    "agent_instructions": None,
    "custom_instructions": None,
}
# Keys that may be anything, in a file that has a prompt for sure.
_POSSIBLE: dict[str, Block | None] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "history",
    "prompt": None,
    "template": None,
    "instructions": None,
    "instruction": None,
    "persona": None,
    "preamble": None,
    "content": None,
    "text": None,
    "prefix": None,
    "suffix": None,
}
# Keys at the top of a file whose text is a prompt if it has placeholders.
_AT_TOP = frozenset({"system", "system_prompt", "prompt", "instructions"})
# What they say stands behind a system prompt that has a key of its own.
_BEHIND_SYSTEM = frozenset({"prompt", "template", "prompt_template"})
_MESSAGES = frozenset({"messages", "prompt_messages", "prompts", "chat", "chat_template", "prompt", "template"})
# Who speaks in a message of LangChain: its `_type`, or the beginning of its class, which is the last part of its `id`. A chat
# message says its role besides.
_SPEAKERS: dict[str, Block] = {"Human": "user", "AI": "history", "System": "system"}
_CLASSES: dict[str, Block] = {**_SPEAKERS, "Chat": "user", "Tool": "history", "Function": "history"}
_LANGCHAIN: dict[str, Block] = {
    **{name.lower(): block for name, block in _SPEAKERS.items()},
    **{name + end: block for name, block in _CLASSES.items() for end in ("Message", "MessageChunk", "MessagePromptTemplate")},
}
_EXAMPLES = frozenset({"examples", "few_shot", "few_shot_examples", "shots", "few_shots"})
_CREW = frozenset({"role", "goal", "backstory"})
# A mapping that has one of these beside its prompt is about a prompt.
_BESIDE = frozenset({"input_variables", "template_format", "model", "model_name", "model_id", "temperature", "max_tokens", "llm"})
# One that has one of these is a sample of a data set or a recorded answer.
_OF_A_RECORD = frozenset(
    {"completion", "completions", "response", "answer", "output", "outputs", "label", "chosen", "rejected", "expected", "score"}
    | {"choices", "usage", "conversation_id", "ideal", "target", "generations", "created", "timestamp"}
)
_IDS = frozenset({"id", "question_id", "task_id", "sample_id"})
_NOT_PROMPTS = frozenset(
    {"description", "name", "version", "author", "authors", "notes", "note", "comment", "title", "id", "model", "tags", "license"}
    | {
        "type",
        "metadata",
        "tests",
        "test_data",
        "evaluators",
        "inputs",
        "sample",
        "samples",
        "changelog",
        "url",
        "summary",
        "path",
    }
    | {"input_variables", "template_format", "validators", "output_schema", "response_format", "tools", "functions"}
)
# The keys at the top of files that hold prompts only by accident; all of a set have to be there.
_ORDINARY = (
    {"apiVersion", "kind"},
    {"openapi"},
    {"swagger"},
    {"jobs"},
    {"services"},
    {"stages"},
    {"Resources"},
    {"AWSTemplateFormatVersion"},
    {"name", "version", "dependencies"},
    {"$schema", "properties"},
    {"results", "config"},  # what promptfoo writes of a run
)
_FORMATS: dict[str, Syntax] = {
    "f-string": "format",
    "fstring": "format",
    "jinja2": "jinja",
    "jinja": "jinja",
    "mustache": "mustache",
    "handlebars": "mustache",
}
_LONG = 80
_RANKS: dict[Block | None, int] = {None: BLOCKS.index("system"), **{block: number for number, block in enumerate(BLOCKS)}}
_PATH = regex(r"[\w./\\:~-]*")


class _Message(NamedTuple):
    """A message of LangChain: its block, and the pointer of what holds its conversation."""

    block: Block
    group: str


def prompt_strings(root: Value, *, sure: bool, lenient: bool, declared: bool) -> list[PromptString]:
    """The prompts in a file, in the order of the file.

    Args:
        root: the value of the file.
        sure: something besides the content says that the file holds prompts.
        lenient: it is YAML, which people write; of what else JSON holds only what has placeholders is a prompt.
        declared: the configuration says that it holds prompts.
    """
    if not declared and root.kind == "mapping":
        top = {key for key, _ in root.items}
        if any(needed <= top for needed in _ORDINARY):
            return []
    finder = _Finder(sure=sure or declared, lenient=lenient)
    finder.find(root)
    found: dict[int, PromptString] = {}
    for item in finder.found:  # an alias is where its anchor is: that counts which stands in the earlier block
        known = found.get(item.value.start)
        if known is None or _RANKS[item.block] < _RANKS[known.block]:
            found[item.value.start] = item
    if declared and not found:
        found = {value.start: PromptString(value, pointer, "") for pointer, value in texts(root) if _is_prose(value.text)}
    return [found[start] for start in sorted(found)]


def is_record(root: Value) -> bool:
    """Whether a mapping is a sample of a data set, or has the answer that was given beside what was asked."""
    members = {_snake(name): child for name, child in root.items}
    if not _OF_A_RECORD.isdisjoint(members):
        return True
    if _IDS.isdisjoint(members):
        return False
    # An agent may have an id and a prompt too, and tools; a sample has functions, and asks what no template would.
    return "question" in members or ("functions" in members and "prompt" in members and "{" not in members["prompt"].text)


class _Finder:
    def __init__(self, *, sure: bool, lenient: bool) -> None:
        self.found: list[PromptString] = []
        self._sure = sure
        self._lenient = lenient

    def find(self, root: Value) -> None:
        if root.kind == "list" and _is_messages(root):
            self._add_messages(root, "", "", None)
            return
        if root.kind == "list" and not (self._sure or self._lenient):
            return  # a data set
        stack: list[tuple[str, Value, _Message | None]] = [("", root, None)]
        while stack:
            pointer, value, message = stack.pop()
            taken: set[str] = set()
            if value.kind == "mapping":
                message = _message(pointer, value) or message
                taken = self._look_into(pointer, value, message)
            if pointer.count("/") < MAX_DEPTH:
                stack.extend(
                    (child_pointer(pointer, name), child, message)
                    for name, child in value.items
                    if child.items and name not in taken and _snake(name) not in _NOT_PROMPTS
                )

    def _look_into(self, pointer: str, value: Value, message: _Message | None) -> set[str]:
        """Take the prompts of a mapping, which may lie in a message; the keys that need no further look."""
        keys = {_snake(name) for name, _ in value.items}
        recorded = not keys.isdisjoint(_OF_A_RECORD)
        says = {_snake(name): child.text for name, child in value.items if " " in child.text.strip()}
        has_system = any("system" in (_CERTAIN.get(key), _POSSIBLE.get(key)) for key in says)
        about_prompts = self._sure or not keys.isdisjoint(_BESIDE) or ("user" in keys and _is_prose(says.get("system", "")))
        syntax = _syntax_beside(value)
        taken: set[str] = set()
        for name, child in value.items:
            key = _snake(name)
            below = child_pointer(pointer, name)
            if child.kind == "list" and key in _MESSAGES and _is_messages(child):
                taken.add(name)
                if not recorded:
                    self._add_messages(child, below, pointer, syntax)
            elif child.kind == "list" and key == "system" and not recorded and _is_blocks(child):
                taken.add(name)
                blocks = [(index, dict(item.items)["text"]) for index, item in child.items]
                if self._sure or any(_is_template(item.text, syntax) for _, item in blocks):
                    for index, item in blocks:
                        self._add(item, f"{below}/{index}/text", pointer, "system", syntax)
            elif child.kind in ("list", "text") and key == "prompts":
                for inner, item in _listed_prompts(child):
                    if self._sure or _is_template(item.text, syntax):
                        block: Block | None = None if _is_long(item.text) else "user"  # promptfoo sends each as a message
                        self._add(item, below + inner, below + inner, block, syntax)
            elif child.kind == "list" and key in _EXAMPLES and self._sure:
                taken.add(name)
                for inner, item in texts(child):
                    self._add(item, below + inner, pointer, "history", syntax)
            elif child.kind == "text" and not recorded:
                if keys >= _CREW and key in _CREW:
                    self._add(child, below, pointer, "system", "format" if "{" in child.text else None)
                elif self._is_prompt(key, child.text, syntax, about_prompts, "messages" in keys, at_top=pointer == ""):
                    block = "user" if has_system and key in _BEHIND_SYSTEM else _CERTAIN.get(key) or _POSSIBLE.get(key)
                    if message is None:
                        self._add(child, below, pointer, block, syntax)
                    else:
                        self._add(child, below, message.group, block or message.block, syntax)
        return taken

    def _is_prompt(
        self, key: str, text: str, syntax: Syntax | None, about_prompts: bool, beside_messages: bool, *, at_top: bool
    ) -> bool:
        if self._sure and (key in _CERTAIN or key in _POSSIBLE):
            return " " in text.strip()
        template = _is_template(text, syntax)
        if not (template or _is_prose(text)):
            return False
        if key in _CERTAIN:
            return template or self._lenient or not beside_messages
        if key.endswith(("_prompt", "_prompt_template")) and key != "negative_prompt":
            return self._sure or _begins_like_prompt(text)  # else it may be a question to somebody at a terminal
        if at_top and key in _AT_TOP and _is_prose(text) and guess_syntax(text) in ("jinja", "mustache"):
            return not _is_foreign(text)
        if key in _POSSIBLE:
            return about_prompts and (template or self._lenient)
        return self._sure and at_top and key not in _NOT_PROMPTS and (template or _is_long(text))

    def _add_messages(self, messages: Value, pointer: str, group: str, syntax: Syntax | None) -> None:
        """Take the messages of a conversation, unless it is a recorded one."""
        found: list[PromptString] = []
        for index, message in messages.items:
            members = dict(message.items)
            block = ROLES.get(members["role"].text.lower())
            found += [
                PromptString(value, f"{pointer}/{index}/content{inner}", group, block, syntax)
                for inner, value in texts(members["content"])
                if not inner or inner.endswith("/text")
            ]
        if self._sure or any(_is_template(item.value.text, syntax) for item in found):
            self.found += found

    def _add(self, value: Value, pointer: str, group: str, block: Block | None, syntax: Syntax | None) -> None:
        self.found.append(PromptString(value, pointer, group, block, syntax))


def _is_messages(value: Value) -> bool:
    """Whether a list is one of messages with a role and a content."""
    for _, item in value.items:
        members = dict(item.items) if item.kind == "mapping" else {}
        role, content = members.get("role"), members.get("content")
        if role is None or content is None or role.text.lower() not in ROLES or content.kind not in ("text", "list"):
            return False
    return bool(value.items)


def _message(pointer: str, value: Value) -> _Message | None:
    """The message of LangChain that a mapping is."""
    members = dict(value.items)
    name = members.get("_type")
    if name is None and "kwargs" in members and "id" in members:
        name = next((part for _, part in reversed(members["id"].items)), None)
    block = _LANGCHAIN.get(name.text) if name else None
    if block is None:
        return None
    role = dict(members.get("kwargs", value).items).get("role")
    holder, _, index = pointer.rpartition("/")
    group = holder.rpartition("/")[0] if index.isdigit() else pointer
    return _Message(ROLES.get(role.text.lower(), block) if role else block, group)


def _listed_prompts(value: Value) -> Iterator[tuple[str, Value]]:
    """What promptfoo sends as it stands of its list of prompts: a text, or the ``raw`` of an item, but no path and no chat."""
    found = [("", value)] if value.kind == "text" else [(f"/{index}", item) for index, item in value.items]
    found += [(f"{inner}/raw", raw) for inner, item in found for name, raw in item.items if name == "raw"]
    for inner, item in found:
        if _is_prose(item.text) and not item.text.startswith("file://") and not _is_written_chat(item.text):
            yield inner, item


def _is_written_chat(text: str) -> bool:
    """Whether a text is a list of messages, in JSON or YAML."""
    begin = text.lstrip()
    return begin.startswith("- role:") or (begin.startswith("[") and '"role"' in begin)


def _is_blocks(value: Value) -> bool:
    """Whether a list is one of blocks of text, as a system prompt with cache breakpoints has them."""
    members = [dict(item.items) for _, item in value.items]
    return bool(members) and all("text" in item and item["text"].kind == "text" for item in members)


def _syntax_beside(value: Value) -> Syntax | None:
    """What a mapping says of the placeholders of its prompts, in the words of the common frameworks."""
    members: Mapping[str, Value] = dict(value.items)
    said = members.get("template_format")
    if said is not None:
        return _FORMATS.get(said.text.lower())
    return "format" if "input_variables" in members and "{{" not in "".join(child.text for child in members.values()) else None


def _is_template(text: str, syntax: Syntax | None) -> bool:
    if syntax is not None:
        return "{" in text
    return guess_syntax(text) in ("jinja", "mustache")


def _is_prose(text: str) -> bool:
    """Whether a text may be said to a model: words, rather than a path or a name."""
    return len(text) > 11 and " " in text.strip() and not _PATH.fullmatch(text, 0, 500)


def _is_long(text: str) -> bool:
    return len(text) >= _LONG or "\n" in text.strip() or _begins_like_prompt(text)


def _begins_like_prompt(text: str) -> bool:
    from promptguard.linting.reading.evidence import begins_like_prompt  # a file that says what it is does without

    return begins_like_prompt(text)


def _is_foreign(text: str) -> bool:
    from promptguard.linting.reading.evidence import is_foreign_text  # likewise

    return is_foreign_text(text)


def _snake(name: str) -> str:
    return "_".join(words(name))
