"""Print the sizes of a task in tokens of a real tokenizer, and the highest hit rate that a prompt can reach with it.

    python scripts/task_sizes.py --gguf ggml-vocab-qwen2.gguf
    python scripts/task_sizes.py --tokenizer tokenizer.json --task my_task/task.yaml

The prompts are rendered in the manner of ChatML: one block for each message, tools as JSON lines behind the system prompt, calls
and results between tags. A real chat template differs by a few tokens for each message.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from promptguard.core.errors import PromptguardError
from promptguard.prompts.request import Message, Tool
from promptguard.prompts.tools import load_tools
from promptguard.replaying.script import Script, ScriptedTurn
from promptguard.replaying.task import Task, load_task

Count = Callable[[str], int]


def render_head(system: str, tools: Sequence[Tool]) -> str:
    """The resident prefix: system prompt and tools."""
    if not system and not tools:
        return ""
    lines = "".join(f"\n{json.dumps(tool, ensure_ascii=False)}" for tool in tools)
    return f"<|im_start|>system\n{system}" + (f"\n\n# Tools\n{lines}" if tools else "") + "<|im_end|>\n"


def render_reply(message: Message) -> str:
    """What the model generates, without the token that ends it."""
    reasoning = message.get("reasoning_content")
    text = f"<think>\n{reasoning}\n</think>\n\n" if reasoning else ""
    text += str(message["content"])
    for call in message.get("tool_calls", ()):
        function = call["function"]
        text += f'\n<tool_call>\n{{"name": "{function["name"]}", "arguments": {function["arguments"]}}}\n</tool_call>'
    return text


def render_message(message: Message) -> str:
    if message["role"] == "assistant":
        return f"<|im_start|>assistant\n{render_reply(message)}<|im_end|>\n"
    if message["role"] == "tool":
        return f"<|im_start|>user\n<tool_response>\n{message['content']}\n</tool_response><|im_end|>\n"
    return f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n"


def prompt_sizes(head: str, turns: Sequence[ScriptedTurn], count: Count) -> list[tuple[int, int]]:
    """Tokens of each turn's prompt, and of the prompt with its reply."""
    sizes = []
    for turn in turns:
        prompt = head + "".join(map(render_message, turn.messages)) + "<|im_start|>assistant\n"
        sizes.append((count(prompt), count(prompt + render_reply(turn.reply))))
    return sizes


def ceiling(sizes: Sequence[tuple[int, int]], resident: int) -> float:
    """The hit rate of an append-only run: what was there before each prompt, over all prompt tokens."""
    ideal = [resident, *(whole for _, whole in sizes[:-1])]
    return sum(ideal) / sum(prompt for prompt, _ in sizes)


def report(task: Task, tools: Sequence[Tool], system: str, count: Count) -> list[str]:
    """The lines of the table."""
    lines = [f"{'system prompt':44}{count(system):>8,}"]
    sizes = [count(json.dumps(tool, ensure_ascii=False, separators=(",", ":"))) for tool in tools]
    lines += [f"{'tool ' + tool['function']['name']:44}{size:>8,}" for tool, size in zip(tools, sizes, strict=True)]
    lines += [f"{'tools together, compact JSON':44}{sum(sizes):>8,}", "", f"{'turn':44}{'new':>8}{'reply':>8}{'prompt':>8}"]
    script = Script(task, tools)
    head = render_head(system, tools)
    turns = prompt_sizes(head, script.turns, count)
    held = resident = count(head)
    for turn, (prompt, whole) in zip(script.turns, turns, strict=True):
        lines.append(f"{turn.number:>2}  {turn.label:40}{prompt - held:>8,}{whole - prompt:>8,}{prompt:>8,}")
        held = whole
    bare = prompt_sizes("", Script(task, ()).turns, count)
    lines += [
        "",
        f"{'context at the end':44}{held:>8,}",
        f"{'ceiling':44}{ceiling(turns, resident):>8.3f}",
        f"{'ceiling without warm-up':44}{ceiling(turns, 0):>8.3f}",
        f"{'ceiling with an empty system, no tools':44}{ceiling(bare, 0):>8.3f}",
    ]
    return lines


def counter(arguments: argparse.Namespace) -> Count:
    """A function that counts the tokens of a text, special tokens parsed."""
    if arguments.gguf:
        from llama_cpp import Llama

        model = Llama(str(arguments.gguf), vocab_only=True, verbose=False)
        return lambda text: len(model.tokenize(text.encode(), add_bos=False, special=True))
    if arguments.tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(arguments.tokenizer))
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    import tiktoken

    encoding = tiktoken.get_encoding(arguments.tiktoken)
    return lambda text: len(encoding.encode(text, allowed_special="all"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the sizes of a task in tokens, and its ceiling.")
    tokenizer = parser.add_mutually_exclusive_group(required=True)
    tokenizer.add_argument("--gguf", type=Path, metavar="FILE", help="a GGUF file, of which only the vocabulary is read")
    tokenizer.add_argument("--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json")
    tokenizer.add_argument("--tiktoken", metavar="NAME", help="an encoding that tiktoken has on this machine, such as o200k_base")
    parser.add_argument("--task", type=Path, metavar="FILE", help="a task.yaml; the four-tool task by default")
    arguments = parser.parse_args()
    try:
        task = load_task(arguments.task)
        tools, _ = load_tools(task.tools)
        print("\n".join(report(task, tools, task.system.read_text(encoding="utf-8"), counter(arguments))))
    except PromptguardError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
