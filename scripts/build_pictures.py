"""Draw docs/pictures from what the commands print on a terminal; ``--check`` compares the text, times and engine builds left out.

Each command runs on a pseudo-terminal, in a folder of its own that holds the files of its scene.
"""

from __future__ import annotations

import argparse
import fcntl
import html
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
TOOLS = ROOT / "fixtures" / "tasks" / "four_tool" / "tools.json"
COLUMNS = 110

_SYSTEM = """\
You are the service desk of Example Works.{session}

Answer briefly. Use the tools before you guess.
{{% for rule in rules %}}
- {{{{ rule }}}}
{{% endfor %}}
"""
_LINT = """\
You are the service desk of Example Works.
Current time: {{ now().strftime('%Y-%m-%d %H:%M:%S') }}

Answer briefly. Use the tools before you guess.
{% for rule in rules %}
- {{ rule }}
{% endfor %}
What you remember of the user: {{ retrieve_memories(question) }}
Never promise a date.\x20\x20
"""
_SETTINGS = """\
[replay]
system = "prompts/system.j2"
tools = "prompts/tools.json"
"""


class Scene(NamedTuple):
    """A command, the files that it finds (by path), and the exit code that it has to have."""

    arguments: str
    files: dict[str, str]
    code: int


def _replay(session: str) -> dict[str, str]:
    tools = TOOLS.read_text(encoding="utf-8")
    system = _SYSTEM.format(session=session)
    return {"promptguard.toml": _SETTINGS, "prompts/system.j2": system, "prompts/tools.json": tools}


SCENES = {
    "replay-failing": Scene("replay", _replay(" Session {{ session_id }}."), 1),
    "replay-passing": Scene("replay", _replay(""), 0),
    "lint": Scene("lint prompts/", {"prompts/system.j2": _LINT}, 1),
}
THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
    [
        (110, 118, 129),
        (255, 161, 152),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (255, 255, 255),
    ],
)
# As rich fills it in. Fonts are those of the reader: a picture that asks another host for one is not shown everywhere.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" class="rich-terminal" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 20px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def draw(name: str) -> str:
    """The picture of a scene."""
    scene = SCENES[name]
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(f"\x1b[1m$ promptguard {scene.arguments}\x1b[0m\n{_output(scene)}".rstrip("\n")))
    svg = console.export_svg(title="", theme=THEME, code_format=FRAME, unique_id=name)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _output(scene: Scene) -> str:
    """What the command prints on a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in scene.files.items():
            target = Path(folder, path)
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
        environment |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color"}
        command = [sys.executable, "-m", "promptguard", *scene.arguments.split()]
        process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, cwd=folder, env=environment)
        os.close(theirs)
        data = bytearray()
        try:
            while piece := os.read(ours, 65536):
                data += piece
        except OSError:  # Linux says so where the other end is closed
            pass
        os.close(ours)
        if process.wait() != scene.code:
            raise SystemExit(f"promptguard {scene.arguments} exited with {process.returncode}, not {scene.code}")
    return data.decode().replace("\r\n", "\n")


def words(svg: str) -> list[str]:
    """The text of a picture, without what is another on another machine: times, the build of the engine, the port."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", svg[svg.index("<g ") :])).replace("\xa0", " ")
    text = re.sub(r"\bxllamacpp [\d.]+", "xllamacpp BUILD", text)
    return re.sub(r"\b\d+(?:\.\d+)? m?s\b", "TIME", text).split()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a picture is stale")
    check = parser.parse_args().check
    stale = False
    FOLDER.mkdir(exist_ok=True)
    for name in SCENES:
        path, svg = FOLDER / f"{name}.svg", draw(name)
        if not check:
            path.write_text(svg, encoding="utf-8")
        elif not path.is_file() or words(path.read_text(encoding="utf-8")) != words(svg):
            sys.stderr.write(f"docs/pictures/{path.name} is stale: run python scripts/build_pictures.py\n")
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
