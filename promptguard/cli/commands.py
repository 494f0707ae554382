"""The group of commands."""

from __future__ import annotations

import importlib

import click

from promptguard import __version__

# name: (module, attribute, one line for --help)
COMMANDS = {
    "replay": (
        "promptguard.cli.replay",
        "replay",
        "Replay a four-tool agent task on a real llama.cpp and check its prefix cache.",
    ),
    "lint": ("promptguard.cli.lint", "command", "Find what breaks the prefix cache in prompts, tool schemas and configurations."),
    "baseline": ("promptguard.cli.baseline", "baseline", "Write down known findings, so that lint reports new ones alone."),
    "format": ("promptguard.cli.format", "format_command", "Rewrite tool schemas in canonical form."),
    "template": ("promptguard.cli.template", "template", "Try whether chat templates keep the prefix of a conversation."),
    "probe": ("promptguard.cli.probe", "probe", "Build prompts in other surroundings and say what they change with."),
    "rule": ("promptguard.cli.rule", "rule_command", "Explain a rule."),
    "config": ("promptguard.cli.config", "config_command", "Print the settings that hold, and where each comes from."),
    "doctor": ("promptguard.cli.doctor", "doctor", "Say what stands in the way of reuse on a llama-server."),
    "model": ("promptguard.cli.model", "model", "Make tiny-random models that cache like real ones."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used, not when the group is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):  # what makes one, in a module that does not need click otherwise
            command = command()
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"there is no command {args[0]!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, _, short) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=False,
)
@click.version_option(__version__, "-V", "--version", prog_name="promptguard", message="%(prog)s %(version)s")
def promptguard() -> None:
    """Keep the prefix of LLM prompts byte-stable, and prove it on a real engine.

    Exit codes: 0 clean, 1 findings or a failed gate, 2 usage, configuration, unreadable input or an engine that cannot be used,
    3 nothing to do where something was asked for.
    """
