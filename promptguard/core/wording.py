"""What errors and reports say of flags, said of the arguments of the Python interface."""

from __future__ import annotations

import re

from promptguard.core.errors import ConfigError, PromptguardError
from promptguard.core.option_tables import PROBE_OPTIONS, REPLAY_OPTIONS
from promptguard.core.options import LINT_OPTIONS

_OPTIONS = (*LINT_OPTIONS, *PROBE_OPTIONS, *REPLAY_OPTIONS)
_SWITCHES = frozenset(option.name for option in _OPTIONS if option.kind == "boolean")
_FLAGS = frozenset({"args", "inject", *(option.name for option in _OPTIONS)})
_OF_SERVER = r"(?<!-c / )(?<!llama-server: )"
_FLAG = re.compile(rf"{_OF_SERVER}(?<![\w-])--(no-)?([a-z]+(?:-[a-z]+)*)")


def named_type(value: object) -> str:
    """What a value is, in words: "an int", "a str", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def arguments_for_flags(text: str) -> str:
    """A text with ``timeout=`` where it says ``--timeout``; the flags of a llama-server stay as they are."""

    def argument(found: re.Match[str]) -> str:
        no, name = found.groups()
        if name not in _FLAGS:
            return found[0]
        value = str(not no) if name in _SWITCHES else ""
        return f"{name.replace('-', '_')}={value}"

    return _FLAG.sub(argument, text)


def say_of_arguments(error: PromptguardError) -> None:
    """Let an error of a command be one of a function. What a user's code or an engine said in it stays as it is."""
    if error.where is not None:
        error.where = re.sub(r" ?=( |$)", lambda found: "=" if found[1] else "", arguments_for_flags(error.where))
    if error.hint is not None:
        error.hint = arguments_for_flags(error.hint)
    if isinstance(error, ConfigError):
        error.what = arguments_for_flags(error.what)
