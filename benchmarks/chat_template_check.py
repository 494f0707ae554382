"""How long the check of a chat template takes, and in multiples of what plain jinja2 takes to render the same prompts.

Run it as ``python benchmarks/chat_template_check.py [FILE…]``; without files it takes the fixtures and a template of 10 KB.
``first`` is the first check of a template in a process that renders already, ``warm`` any later one; both are the fastest of some
rounds. The goal is 150 ms for the one of 10 KB, warm.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, nodes
from jinja2.ext import Extension, loopcontrols

from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.counting import counter
from promptguard.prompts.preservation import check_template
from promptguard.prompts.rendering import ChatCall, Renderer
from promptguard.prompts.request import chat_template_source
from promptguard.prompts.sandbox import raise_exception, to_json

FIXTURES = Path(__file__).parent.parent / "fixtures" / "chat_templates"
ROUNDS = 9
SIZE = 10_000


class Generation(Extension):
    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Recorder(Renderer):
    """A renderer that keeps what it was asked to render."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[ChatCall] = []

    def render_chats(self, source: Any, calls: Any, **options: Any) -> Any:
        self.calls += calls
        return super().render_chats(source, calls, **options)


def long_template() -> str:
    """The append-only fixture, with as many further macros and conditions as make 10 KB; each message passes through some."""
    text = (FIXTURES / "append_only.jinja").read_text(encoding="utf-8")
    macros, number = "", 0
    while len(text) + len(macros) < SIZE:
        below = f"{{%- set text = step_{number - 1}(text, role) -%}}" if number % 8 else ""
        macros += (
            f"{{%- macro step_{number}(text, role) -%}}\n"
            f"  {{%- if role == 'tool_{number}' and text is string and text | length > {number} -%}}"
            f"{{{{- '<section_{number}>' ~ (text | trim) ~ '</section_{number}>' -}}}}\n"
            f"  {{%- else -%}}{below}{{{{- text -}}}}{{%- endif -%}}\n"
            "{%- endmacro -%}\n"
        )
        number += 1
    top = (number - 1) // 8 * 8 - 1
    return macros + text.replace("{{- message.content -}}", f"{{{{- step_{top}(message.content, message.role) -}}}}")


def fastest(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return 1000 * min(taken)


def plain(text: str, calls: list[ChatCall]) -> Callable[[], object]:
    """Plain jinja2, without a sandbox, rendering every prompt once."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation])
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    template = environment.from_string(text)
    unique = list({str((call.variables(), call.clock)): call for call in calls}.values())

    def render() -> None:
        for call in unique:
            with contextlib.suppress(Exception):  # what a template refuses is refused here too
                template.render(strftime_now=call.clock.strftime, **call.variables())

    return render


def main(files: list[str]) -> None:
    encode = counter(None).encode
    texts = {Path(file).name: Path(file).read_text(encoding="utf-8") for file in files}
    if not texts:
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("*.jinja"))}
        texts["10 KB"] = long_template()
    with Recorder() as renderer:
        check_template(ChatTemplate(renderer, chat_template_source("{{ messages }}", "start")), encode)
        for name, text in texts.items():

            def check(comment: str = "", text: str = text) -> object:
                return check_template(ChatTemplate(renderer, chat_template_source(text + comment, "c.jinja")), encode)

            comments = iter(f"{{# {number} #}}" for number in range(ROUNDS))
            first = fastest(lambda check=check, comments=comments: check(next(comments)))
            check()
            renderer.calls.clear()
            defects = len(check().defects)
            bare = fastest(plain(text, list(renderer.calls)))
            warm = fastest(check)
            print(
                f"{name:44}{len(text):7,} characters {defects:2} defects  first {first:6.1f} ms  warm {warm:6.1f} ms"
                f"  {warm / bare:5.1f} times plain jinja2"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
