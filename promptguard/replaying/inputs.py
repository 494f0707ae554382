"""The user's files of a replay, read once and checked before any engine starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.core.source import Source
from promptguard.parse.data import load_mapping
from promptguard.prompts.request import Tool
from promptguard.prompts.tools import load_tools
from promptguard.replaying.task import Task, load_task

JINJA_SUFFIXES = (".j2", ".jinja", ".jinja2")
MAX_TEMPLATE = 1 << 20


@dataclass(frozen=True)
class Inputs:
    """What a replay is made of.

    Attributes:
        task: the scripted conversation.
        system: the system prompt; ``system_is_template`` says whether it is rendered anew on every turn.
        context: values for the variables of the templates.
        tools: the tool schemas; ``None`` where ``tools_source`` is a template that gives them anew on every turn.
        tools_source: the text of the tools file.
        chat_template: the user's own, ``None`` to use the model's.
        chat_template_name: its name, where its file holds several.
    """

    task: Task
    system: Source
    system_is_template: bool
    context: Mapping[str, Any]
    tools: tuple[Tool, ...] | None
    tools_source: Source
    chat_template: Source | None
    chat_template_name: str | None = None


def load_inputs(
    *,
    task: Path | None = None,
    system: Path | None = None,
    context: Path | None = None,
    tools: Path | None = None,
    chat_template: Path | None = None,
) -> Inputs:
    """Read the files of a replay; what is not given comes from the task.

    Raises:
        InputError: a file is missing, too large, not UTF-8, or not what it should be.
    """
    loaded = load_task(task)
    system_path = system or loaded.system
    system_source = Source(str(system_path), read_text(system_path, limit=MAX_TEMPLATE, what="the system prompt"), "text")
    is_template = system_path.suffix.lower() in JINJA_SUFFIXES or "{{" in system_source.text or "{%" in system_source.text
    if is_template:
        system_source = Source(system_source.path, system_source.text, "jinja")
    tools_path = tools or loaded.tools
    if tools_path.suffix.lower() in JINJA_SUFFIXES:
        tools_source = Source(str(tools_path), read_text(tools_path, limit=MAX_TEMPLATE, what="the tools template"), "jinja")
        tool_list = None
    else:
        tool_list, tools_source = load_tools(tools_path)
    if tools is None and tool_list is not None:
        offered = {str(tool["function"]["name"]) for tool in tool_list}
        unknown = next((name for name in loaded.tool_names if name not in offered), None)
        if unknown is not None:
            raise InputError(
                f"calls the tool {unknown!r}, which {tools_path.name} does not have",
                where=str(loaded.path),
                hint="correct its name, or add the tool",
            )
    template, name = None, None
    if chat_template is not None:
        from promptguard.replaying.template_file import read_chat_template

        template, name = read_chat_template(chat_template, tools=tool_list is None or bool(tool_list))
    return Inputs(
        task=loaded,
        system=system_source,
        system_is_template=is_template,
        context=load_mapping(context) if context is not None else {},
        tools=tool_list,
        tools_source=tools_source,
        chat_template=template,
        chat_template_name=name,
    )
