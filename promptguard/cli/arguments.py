"""Flags as a table, read in two ways: by click, and without it where the arguments are plain.

Importing click takes longer than checking a file. What the quick reader does not know for certain it leaves to click, which gives
the same values, the help and every error.
"""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING, Any, Callable, Literal, Mapping, NamedTuple, Sequence
from promptguard.core.options import Option

if TYPE_CHECKING:
    import click

Shape = Literal["switch", "pair", "value", "repeated"]


class Flag(NamedTuple):
    """A flag.

    Attributes:
        name: without dashes in front.
        shape: ``switch``: on or not given. ``pair``: on, off (``--no-NAME``) or not given. ``value``: the last one counts.
            ``repeated``: all count.
        help: what it does.
        metavar: what its value is called.
        short: its letter.
        choices: the allowed values, where not every one is.
        minimum, maximum: of a whole number; where there is a minimum the value is one.
    """

    name: str
    shape: Shape
    help: str
    metavar: str = ""
    short: str = ""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    @property
    def absent(self) -> object:
        """The value where it is not given."""
        return {"switch": False, "repeated": ()}.get(self.shape)


def flag(option: Option, metavar: str = "") -> Flag:
    """The flag for an option of the configuration."""
    text = option.help + (f"  [default: {option.default}]" if option.default else "")
    if option.kind == "boolean":
        return Flag(option.name, "pair", text)
    if option.kind in ("list", "lists"):
        return Flag(option.name, "repeated", f"{text}  [repeatable]", metavar)
    low, high = (None if limit is None else int(limit) for limit in (option.minimum, option.maximum))
    return Flag(option.name, "value", text, metavar, choices=option.choices, minimum=low, maximum=high)


def read_plain(arguments: Sequence[str], flags: Sequence[Flag]) -> dict[str, Any] | None:
    """The values of plain arguments, ``None`` where click has to look at them.

    Args:
        arguments: behind the name of the command.
        flags: those that it has.

    Returns:
        A value for each flag by ``Flag.key``, and the other arguments as ``paths``.
    """
    known = {f"--{item.name}": (item, True) for item in flags}
    known.update((f"-{item.short}", (item, True)) for item in flags if item.short)
    known.update((f"--no-{item.name}", (item, False)) for item in flags if item.shape == "pair")
    values: dict[str, Any] = {item.key: item.absent for item in flags}
    paths: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            paths += rest
            break
        if not argument.startswith("-") or argument == "-":
            paths.append(argument)
            continue
        name, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        item, on = known.get(name, (None, False))
        if item is None:
            return None
        if item.shape in ("switch", "pair"):
            if equals:
                return None
            values[item.key] = on
            continue
        if not equals:
            following = next(rest, None)
            if following is None:
                return None
            value = following
        read = _value(item, value)
        if read is None:
            return None
        values[item.key] = (*values[item.key], read) if item.shape == "repeated" else read
    return {"paths": tuple(paths), **values}


def _value(item: Flag, text: str) -> str | int | None:
    """A value, ``None`` where it is none or click may see it otherwise."""
    if item.minimum is None:
        return text if not item.choices or text in item.choices else None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        return None
    number = int(text)
    return number if number >= item.minimum and (item.maximum is None or number <= item.maximum) else None


def click_command(
    name: str, flags: Sequence[Flag], run: Callable[[Mapping[str, Any]], int], *, short: str, text: str
) -> click.Command:
    """The command for click.

    Args:
        name: of the command.
        flags: those that it has.
        run: takes the values as ``read_plain`` gives them, returns the exit code.
        short: one line for the list of commands.
        text: the help.
    """
    import click

    def callback(**values: Any) -> int:
        return run(values)

    parameters: list[click.Parameter] = [click.Argument(["paths"], nargs=-1)]
    parameters.extend(_click_option(item) for item in flags)
    return click.Command(name, callback=callback, params=parameters, help=text, short_help=short)


def _click_option(item: Flag) -> click.Option:
    import click

    names = [f"--{item.name}", item.key] + ([f"-{item.short}"] if item.short else [])
    if item.shape == "switch":
        return click.Option(names, is_flag=True, help=item.help)
    if item.shape == "pair":
        return click.Option([f"--{item.name}/--no-{item.name}", item.key], default=None, help=item.help)
    kind: click.ParamType[Any] = click.STRING
    if item.choices:
        kind = click.Choice(item.choices)
    elif item.minimum is not None:
        kind = click.IntRange(item.minimum, item.maximum)
    return click.Option(names, type=kind, multiple=item.shape == "repeated", metavar=item.metavar or None, help=item.help)
