"""How fast templates are parsed, in multiples of the time that ``jinja2.Environment().parse`` takes on the same text.

Run it as ``python benchmarks/template_parse.py [FILE ...]``; the files are chat templates, else those of the fixtures are joined
to about 10 KB. The 1 MB template is the dense one repeated, and is compared once more with itself at half the size.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment

from promptguard.parse.template import parse_template

FIXTURES = Path(__file__).parent.parent / "fixtures" / "chat_templates"
ROUNDS = 7
DENSE = """\
{%- for message in messages -%}
{% if message.role == 'user' and not loop.first %}{{ '<|user|>' + message['role'] + '\\n' + message.content | trim }}{% endif %}
{% if message.tool_calls is defined %}{% set ns.calls = message.tool_calls[0].function | default(none, true) %}{{ ns.calls }}
{%- else %}{{ raise_exception("no " ~ message.role) }}{% endif %}{{ user.name }}, {{ now }} {{ items | length }}
{% endfor %}
"""
SPARSE = (
    "Answer in short sentences and cite the sources that you used. Say that you do not know where they are silent.\n" * 4
    + "The user is {{ user.name }}.\n{% if tools %}Tools: {{ tools | tojson }}{% endif %}\n"
)


def fastest(works: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Seconds of the fastest round of each; they take turns, so that other work on the machine hits all alike."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            start = time.perf_counter()
            for _ in range(repeat):
                work()
            found[name] = min(found[name], (time.perf_counter() - start) / repeat)
    return found


def compare(label: str, text: str) -> None:
    environment = Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
    repeat = max(1, 100_000 // len(text))
    works = {"ours": lambda: parse_template(text), "jinja2": lambda: environment.parse(text)}
    times = fastest(works, repeat)
    print(f"{label:32} {len(text):9,} characters {times['ours'] * 1e3:9.3f} ms {times['ours'] / times['jinja2']:7.3f} x jinja2")


def main() -> None:
    compare("dense", DENSE * 5)
    compare("sparse", SPARSE * 4)
    if files := sys.argv[1:]:
        for file in files:
            compare(Path(file).name[-32:], Path(file).read_text(encoding="utf-8"))
    else:
        chat = "".join(path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("*.jinja")))
        compare("chat templates", chat * max(1, 10_000 // len(chat)))
    compare("no tags", "You are a helpful assistant. {name}\n" * 57)
    big, half = DENSE * (1_000_000 // len(DENSE)), DENSE * (500_000 // len(DENSE))
    compare("1 MB", big)
    times = fastest({"big": lambda: parse_template(big), "half": lambda: parse_template(half)}, 1)
    print(f"{'1 MB':32} {times['big'] / times['half']:.2f} x the time of half of it")


if __name__ == "__main__":
    main()
