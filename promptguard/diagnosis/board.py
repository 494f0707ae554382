"""What a Jetson board itself does to a measurement: read, never set."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from promptguard.diagnosis.result import Check

RELEASE = "etc/nv_tegra_release"
LEAST_FREE = 1 << 20
"""KiB that have to be available: an engine that grows beyond them makes the board swap or kills it."""
MOST_SWAPPED = 256 << 10
"""KiB in swap from which on a part of the model may be there."""

_COMMAND_SECONDS = 10.0
_BYTES = 1 << 20
_MODEL = re.compile(r"<\s*POWER_MODEL\s+ID=(\d{1,3})\s+NAME=([A-Za-z0-9_+.-]{1,40})\s*>")
_MODE = re.compile(r"NV Power Mode:\s*([A-Za-z0-9_+.-]{1,40})")
_CLOCK = re.compile(r"^(EMC|GPU) MinFreq=(\d+) MaxFreq=(\d+) CurrentFreq=(\d+)(?: FreqOverride=(\d))?", re.MULTILINE)
_MEMORY = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
_LAYERS = ("-ngl", "--gpu-layers", "--n-gpu-layers")


class Board:
    """The machine, as far as its files and two commands tell.

    Args:
        root: where its file system begins.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    @property
    def is_jetson(self) -> bool:
        return (self._root / RELEASE).is_file()

    def checks(self, url: str) -> list[Check]:
        """All checks of the board.

        Args:
            url: address of the server, whose port tells its process from others.
        """
        return [self._release(), self._power(), self._clocks(), self._memory(), self._swap(), self._gpu(urlsplit(url).port)]

    # -- what is read

    def _read(self, name: str) -> str | None:
        try:
            with (self._root / name).open("rb") as file:
                return file.read(_BYTES).decode("utf-8", "replace")
        except OSError:
            return None

    def _run(self, name: str, *arguments: str) -> str | None:
        """What a command says, its errors included; ``None`` where it is not there or does not end."""
        program = self._root / name
        try:
            done = subprocess.run(
                [str(program), *arguments],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_COMMAND_SECONDS,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout[:_BYTES].decode("utf-8", "replace")

    # -- checks

    def _release(self) -> Check:
        text = self._read(RELEASE)
        found = re.search(r"R(\d{1,3}) \(release\), REVISION: ([\d.]{1,10})", text or "")
        model = (self._read("proc/device-tree/model") or "").strip("\0 \n")[:80]
        if found is None:
            return Check("board", "unknown", f"/{RELEASE} not found: no Jetson, or a container without its files")
        what = f"{model or 'a board'}, Jetson Linux {found[1]}.{found[2]}"
        if int(found[1]) < 36:
            why = "docs/jetson.md is written for JetPack 6, which has Jetson Linux 36"
            return Check("board", "unknown", what, why)
        return Check("board", "ok", what)

    def _power(self) -> Check:
        name = "power-mode"
        said = self._run("usr/sbin/nvpmodel", "-q")
        if said is None:
            return Check(name, "unknown", "/usr/sbin/nvpmodel not found", "inside a container: ask on the board itself")
        mode = _MODE.search(said)
        if mode is None:
            return Check(name, "unknown", "nvpmodel -q names no power mode", "it may need root", "sudo nvpmodel -q")
        if mode[1].upper().startswith("MAXN"):
            return Check(name, "ok", mode[1])
        modes = _MODEL.findall(self._read("etc/nvpmodel.conf") or "")
        number = next((number for number, model in modes if model.upper().startswith("MAXN")), "0")
        why = "the power budget holds the clocks of GPU and memory down; times are those of a smaller board"
        return Check(name, "in-the-way", mode[1], why, f"sudo nvpmodel -m {number}")

    def _clocks(self) -> Check:
        name = "clocks"
        said = self._run("usr/bin/jetson_clocks", "--show")
        if said is None:
            return Check(name, "unknown", "/usr/bin/jetson_clocks not found", "inside a container: ask on the board itself")
        clocks = {found[0]: found[1:] for found in _CLOCK.findall(said)}
        if "EMC" not in clocks:
            return Check(
                name, "unknown", "jetson_clocks --show names no memory clock (EMC)", "it needs root", "sudo jetson_clocks --show"
            )
        _, highest, current, fixed = clocks["EMC"]
        low, gpu_highest, _, _ = clocks.get("GPU", ("0", "0", "0", ""))
        what = f"memory at {_mhz(current)} of {_mhz(highest)}" + (
            f", GPU from {_mhz(low)} to {_mhz(gpu_highest)}" if "GPU" in clocks else ""
        )
        if fixed == "1" and int(current) >= int(highest) and low == gpu_highest:
            return Check(name, "ok", f"{what}, fixed")
        why = "the clocks follow the load, so that the same turn takes another time on the next run"
        return Check(name, "in-the-way", what, why, "sudo jetson_clocks")

    def _memory(self) -> Check:
        name = "memory"
        sizes = self._sizes()
        if not {"MemTotal", "MemAvailable"} <= sizes.keys():
            return Check(name, "unknown", "/proc/meminfo tells of no available memory")
        what = f"{_gib(sizes['MemAvailable'])} of {_gib(sizes['MemTotal'])} available"
        if sizes["MemAvailable"] >= LEAST_FREE:
            return Check(name, "ok", what)
        why = "GPU and CPU share the memory: what does not fit is swapped out, or the server is killed"
        return Check(
            name, "in-the-way", what, why, "a smaller --ctx-size or --cache-ram, or sudo systemctl isolate multi-user.target"
        )

    def _swap(self) -> Check:
        name = "swap"
        sizes = self._sizes()
        devices = self._read("proc/swaps")
        if devices is None or not {"SwapTotal", "SwapFree"} <= sizes.keys():
            return Check(name, "unknown", "/proc/swaps or /proc/meminfo does not tell of swap")
        used = sizes["SwapTotal"] - sizes["SwapFree"]
        compressed = "zram" in devices
        what = f"{_gib(used)} of {_gib(sizes['SwapTotal'])} used" + (", compressed in memory (zram)" if compressed else "")
        if used <= MOST_SWAPPED:
            return Check(name, "ok", what if sizes["SwapTotal"] else "none")
        why = "what is swapped out has to come back before a prompt is computed, at the speed of the disk or of a CPU core"
        remedy = "--load-mode mlock keeps the model in memory" + ("; sudo systemctl disable nvzramconfig" if compressed else "")
        return Check(name, "in-the-way", what, why, remedy)

    def _sizes(self) -> dict[str, int]:
        return {key: int(value) for key, value in _MEMORY.findall(self._read("proc/meminfo") or "")}

    def _gpu(self, port: int | None) -> Check:
        name = "gpu-layers"
        server = self._server(port)
        if server is None:
            return Check(
                name, "unknown", "no process llama-server found", "it may run in a container that hides it, or under another name"
            )
        process, arguments = server
        layers = _value(arguments, _LAYERS) or self._variable(process, "LLAMA_ARG_N_GPU_LAYERS")
        what = f"--n-gpu-layers {layers}" if layers is not None else "--n-gpu-layers not given (all that fit)"
        if layers == "0":
            return Check(name, "in-the-way", what, "the CPU computes the whole model", "--n-gpu-layers all")
        maps = self._read(f"{process}/maps")
        if not maps:
            return Check(
                name,
                "unknown",
                what,
                f"/{process}/maps cannot be read, which names the libraries",
                "ask as the user of the server, or as root",
            )
        if "libcuda.so" not in maps:
            why = "the server has not loaded CUDA: the CPU computes the whole model"
            return Check(
                name, "in-the-way", f"{what}, no libcuda.so", why, "build it with -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=87"
            )
        return Check(name, "ok", f"{what}, CUDA loaded")

    def _server(self, port: int | None) -> tuple[str, list[str]] | None:
        """Folder below /proc and arguments of a llama-server: of the one at this port, or else of the first."""
        found = list(self._servers())
        exact = [each for each in found if _value(each[1], ("--port",)) == str(port)]
        return next(iter(exact or found), None)

    def _servers(self) -> Iterator[tuple[str, list[str]]]:
        try:
            folders = sorted(path.name for path in (self._root / "proc").iterdir() if path.name.isdigit())
        except OSError:
            return
        for folder in folders:
            if (self._read(f"proc/{folder}/comm") or "").strip() == "llama-server":
                yield f"proc/{folder}", (self._read(f"proc/{folder}/cmdline") or "").split("\0")

    def _variable(self, process: str, name: str) -> str | None:
        entries = (self._read(f"{process}/environ") or "").split("\0")
        return next((value for key, _, value in (entry.partition("=") for entry in entries) if key == name), None)


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    host = (urlsplit(url).hostname or "").lower()
    return host in ("localhost", "::1") or host.startswith("127.")


def _value(arguments: Sequence[str], names: Sequence[str]) -> str | None:
    """The last value that a flag is given."""
    found = None
    for at, argument in enumerate(arguments):
        flag, equals, value = argument.partition("=")
        if flag in names:
            found = value if equals else arguments[at + 1] if at + 1 < len(arguments) else None
    return found[:20] if found is not None else None


def _mhz(hertz: str) -> str:
    return f"{int(hertz) // 10**6:,} MHz"


def _gib(kib: int) -> str:
    return f"{kib / 2**20:.1f} GiB"
