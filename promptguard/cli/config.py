"""``promptguard config``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from promptguard.cli.output import write_output
from promptguard.core.config import Config, load_config, origins
from promptguard.core.option_tables import OPTIONS

FILE = click.Path(readable=False)


@click.command("config", short_help="Print the settings that hold, and where each comes from.")
@click.option(
    "--config", type=FILE, metavar="FILE", help="Configuration file.  [default: closest promptguard.toml or pyproject.toml]"
)
def config_command(config: str | None) -> int:
    """Print the settings that hold, as they would stand in promptguard.toml, and where each comes from."""
    return print_settings({"config": config})


def print_settings(flags: Mapping[str, Any]) -> int:
    """Print the settings that hold under some flags of ``lint``, which come before those of the file.

    Raises:
        PromptguardError: they cannot be used.
    """
    from promptguard.linting.load import make_plan, rule_options

    make_plan(flags)  # says what is wrong
    config = load_config(explicit=flags.get("config"), rules=rule_options)
    lines = [f"# configuration file: {config.path or 'none'}", *_lines(config, flags)]
    write_output(lambda write: write("\n".join([*lines, ""])), "utf-8")
    return 0


def _lines(config: Config, flags: Mapping[str, Any]) -> Iterator[str]:
    place = origins(explicit=flags.get("config"))
    for command, options in OPTIONS.items():
        yield ""
        yield f"[{command}]"
        said: Mapping[str, Any] = getattr(config, command)
        for option in options:
            given = flags.get(option.name.replace("-", "_")) if command == "lint" else None
            if given not in (None, ()):
                yield f"{option.name} = {_toml(given)}  # --{option.name}"
            elif option.name in said:
                yield f"{option.name} = {_toml(said[option.name])}  # {place(command, option.name)}"
            else:
                yield f"# {option.name}: {option.default or 'not set'}"
    for prompt in config.prompts:
        yield ""
        yield "[[prompts]]"
        yield from (f"{name} = {_toml(value)}" for name, value in prompt.items())
    for code, values in config.rules.items():
        yield ""
        yield f"[rules.{code}]"
        yield from (f"{name} = {_toml(value)}  # {place(f'rules.{code}', name)}" for name, value in values.items())


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(str(name))} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)
