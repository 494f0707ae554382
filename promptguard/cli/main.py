"""The ``promptguard`` command: exit codes, and commands that are imported only when they run."""

from __future__ import annotations

import atexit
import sys

# The part of signal that every interpreter has loaded; signal itself imports enum.
from _signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

from promptguard import __version__
from promptguard.core.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130  # 128 and the number of the signal, as shells say it


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 clean, 1 findings or a failed gate, 2 anything that kept promptguard from judging."""
    own_process = arguments is None
    if own_process:
        _end_on_interrupt()
        atexit.register(signal, SIGINT, SIG_IGN)  # behind it the interpreter gives up our handlers one by one
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    quick = _quick_answer(arguments)
    if quick is not None:
        sys.stdout.write(quick)
        sys.exit(0 if arguments else EXIT_USAGE)
    code = _run(arguments, own_process=own_process)
    if own_process:
        _end_on_interrupt()
        if arguments[0] == "lint":
            from promptguard.core.patterns import keep

            keep()
    plain_lint = arguments[0] == "lint" and "click" not in sys.modules and "multiprocessing" not in sys.modules
    if own_process and (plain_lint or code == EXIT_INTERRUPTED):
        _leave(code)
    sys.exit(code)


def _end_on_interrupt() -> None:
    """Let Ctrl-C end the process at once, while there is nothing to unwind: modules are imported, or the interpreter exits."""
    if getsignal(SIGINT) is default_int_handler:  # else whoever started the process has it ignored
        signal(SIGINT, _end)


def _unwind_on_interrupt() -> None:
    if getsignal(SIGINT) is _end:
        signal(SIGINT, default_int_handler)


def _end(_number: int, _frame: object) -> None:
    import os

    try:
        os.write(2, b"promptguard: interrupted\n")
    finally:  # also where there is nowhere to say it
        os._exit(EXIT_INTERRUPTED)


def _quick_answer(arguments: Sequence[str]) -> str | None:
    """What can be said without importing click, which takes longer than Python itself takes to start."""
    if arguments in (["--version"], ["-V"]):
        return f"promptguard {__version__}\n"
    if arguments in ([], ["--help"], ["-h"]):
        # Made from the commands by scripts/build_help.py; a test says when it is stale.
        with open(__file__[: -len("main.py")] + "help.txt", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs as much again
            return file.read()
    return None


def _run(arguments: Sequence[str], *, own_process: bool = False) -> int:
    from promptguard.core.errors import PromptguardError

    try:
        _check_folder()
        run = _without_click(arguments) or _with_click(arguments)
        _unwind_on_interrupt()
        code = run()
        if own_process:  # here, as to free what many files gave takes some time, behind which an interrupt is noticed
            _end_on_interrupt()
        return code  # noqa: TRY300 - the interrupt is for the clause below
    except PromptguardError as error:
        from promptguard.cli.complain import complain

        complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        if own_process:
            signal(SIGINT, _end)  # one more may have come meanwhile
        from promptguard.cli.complain import say

        say("promptguard: interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        return _crashed(error)


def _check_folder() -> None:
    """See that the current folder is still there."""
    import os

    try:
        os.getcwd()  # noqa: PTH109 - pathlib takes longer to import than a small file to check
    except OSError as error:
        from promptguard.core.errors import InputError

        hint = "change into another one"
        raise InputError(f"the current folder cannot be used ({error.strerror})", hint=hint) from None


def _without_click(arguments: Sequence[str]) -> Callable[[], int] | None:
    """The command that is quick enough for the time to import click to count, where its arguments are plain."""
    if arguments[:1] != ["lint"]:
        return None
    import gc

    gc.set_threshold(100_000)  # a process that ends soon has much to make and little to collect
    from promptguard.cli import lint

    flags = lint.read_arguments(arguments[1:])
    return (lambda: lint.run(flags)) if flags is not None else None


def _with_click(arguments: Sequence[str]) -> Callable[[], int]:
    import click

    from promptguard.cli.commands import promptguard
    from promptguard.cli.complain import complain, say
    from promptguard.core.signals import unwind_on_signals

    def run() -> int:
        unwind_on_signals()
        try:
            code = promptguard.main(args=list(arguments), prog_name="promptguard", standalone_mode=False)
        except click.exceptions.Exit as stop:
            return stop.exit_code
        except click.Abort:
            say("promptguard: interrupted")
            return EXIT_INTERRUPTED
        except click.ClickException as error:  # click would exit with 1, which is the code for findings
            context = getattr(error, "ctx", None)
            usage = context.get_usage() if context is not None else ""
            message = error.format_message()
            if usage and message.startswith(usage):  # a group without a command: the message is its help
                say(message)
                return EXIT_USAGE
            if usage:
                say(usage)
            complain(message)
            return EXIT_USAGE
        return code if isinstance(code, int) else 0

    return run


def _leave(code: int) -> None:
    """Exit without taking the interpreter apart, which takes as long as to check a small file; nothing is left to be done.

    Under ``-m`` the interpreter would also kill itself with SIGINT instead of exiting with our code where Ctrl-C came within an
    ``exec`` or ``eval`` of a text, with which the standard library makes named tuples and data classes.
    """
    import os

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                return  # the interpreter says it
    os._exit(code)


def _crashed(error: Exception) -> int:
    import os
    import traceback

    if os.environ.get("PROMPTGUARD_TRACEBACK"):
        traceback.print_exc()
    last = traceback.extract_tb(error.__traceback__)[-1]
    sys.stderr.write(
        f"promptguard: internal error: {type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno}); "  # noqa: PTH119
        "please report it, with the output under PROMPTGUARD_TRACEBACK=1\n"
    )
    return EXIT_USAGE
