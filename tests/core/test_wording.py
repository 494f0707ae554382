from __future__ import annotations

import pytest

from promptguard.core.errors import ConfigError, EngineError
from promptguard.core.wording import arguments_for_flags, say_of_arguments


@pytest.mark.parametrize(
    ("text", "reworded"),
    [
        ("raise --timeout or try a smaller model", "raise timeout= or try a smaller model"),
        ("compare it too with --whole", "compare it too with whole=True"),
        ("leave out --no-swa-full", "leave out swa_full=False"),
        ("give one with --chat-template", "give one with chat_template="),
        ("its cache is off (llama-server: --swa-full)", "its cache is off (llama-server: --swa-full)"),
        ("with a larger -c / --ctx-size", "with a larger -c / --ctx-size"),
        ("--cache-ram or --cache-reuse", "--cache-ram or --cache-reuse"),
        ("a--timeout ---timeout", "a--timeout ---timeout"),
    ],
)
def test_flags_become_arguments(text: str, reworded: str) -> None:
    assert arguments_for_flags(text) == reworded


def test_an_error_speaks_of_arguments_but_for_what_others_said() -> None:
    error = ConfigError("--live goes with --server", where="--slot 3", hint="leave out --live")
    say_of_arguments(error)
    assert str(error) == "slot=3: live=True goes with server=; leave out live=True"
    said = EngineError("unknown option --timeout", where="--inject")
    say_of_arguments(said)
    assert str(said) == "inject: unknown option --timeout"
