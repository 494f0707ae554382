"""A board made of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptguard.diagnosis.board import Board, is_loopback
from promptguard.diagnosis.result import Check
from promptguard.diagnosis.run import wants_board

URL = "http://127.0.0.1:8080"
RELEASE = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025\n"
CONF = "< POWER_MODEL ID=0 NAME=15W >\nCPU_ONLINE CORE_0 1\n< POWER_MODEL ID=2 NAME=MAXN_SUPER >\n"
FIXED = """SOC family:tegra234  Machine:NVIDIA Jetson AGX Orin Developer Kit
GPU MinFreq=1300500000 MaxFreq=1300500000 CurrentFreq=1300500000
EMC MinFreq=204000000 MaxFreq=3199000000 CurrentFreq=3199000000 FreqOverride=1
"""
FOLLOWING = """GPU MinFreq=306000000 MaxFreq=1300500000 CurrentFreq=306000000
EMC MinFreq=204000000 MaxFreq=3199000000 CurrentFreq=2133000000 FreqOverride=0
"""
MEMORY = "MemTotal:       64349000 kB\nMemAvailable:   {available} kB\nSwapTotal:      {swap} kB\nSwapFree:       {free} kB\n"
SERVER = ["/opt/llama.cpp/bin/llama-server", "--port", "8080", "--n-gpu-layers", "all"]


class Files:
    """The file system of a board; everything is well at first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("etc/nv_tegra_release", RELEASE)
        self.write("proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\0")
        self.say("usr/sbin/nvpmodel", "NVPM WARN: fan mode is not set!\nNV Power Mode: MAXN\n0\n")
        self.say("usr/bin/jetson_clocks", FIXED)
        self.write("proc/meminfo", MEMORY.format(available=50_000_000, swap=0, free=0))
        self.write("proc/swaps", "Filename Type Size Used Priority\n")
        self.process(SERVER)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def say(self, name: str, text: str) -> None:
        """A command that prints a text."""
        self.write(name, f"#!/bin/sh\ncat <<'END'\n{text}END\n")
        (self.root / name).chmod(0o755)

    def process(self, arguments: list[str], *, number: int = 42, maps: str = "7f00 libcuda.so.1.1\n", environ: str = "") -> None:
        self.write(f"proc/{number}/comm", "llama-server\n")
        self.write(f"proc/{number}/cmdline", "\0".join(arguments) + "\0")
        self.write(f"proc/{number}/maps", maps)
        self.write(f"proc/{number}/environ", environ)

    def check(self, name: str, url: str = URL) -> Check:
        return next(check for check in Board(self.root).checks(url) if check.name == name)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_board_where_all_is_well(files: Files) -> None:
    assert [(check.name, check.status, check.found) for check in Board(files.root).checks(URL)] == [
        ("board", "ok", "NVIDIA Jetson AGX Orin Developer Kit, Jetson Linux 36.4.3"),
        ("power-mode", "ok", "MAXN"),
        ("clocks", "ok", "memory at 3,199 MHz of 3,199 MHz, GPU from 1,300 MHz to 1,300 MHz, fixed"),
        ("memory", "ok", "47.7 GiB of 61.4 GiB available"),
        ("swap", "ok", "none"),
        ("gpu-layers", "ok", "--n-gpu-layers all, CUDA loaded"),
    ]


def test_nothing_is_there(tmp_path: Path) -> None:
    checks = Board(tmp_path).checks(URL)
    assert [check.status for check in checks] == ["unknown"] * 6
    assert [check.found for check in checks] == [
        "/etc/nv_tegra_release not found: no Jetson, or a container without its files",
        "/usr/sbin/nvpmodel not found",
        "/usr/bin/jetson_clocks not found",
        "/proc/meminfo tells of no available memory",
        "/proc/swaps or /proc/meminfo does not tell of swap",
        "no process llama-server found",
    ]


def test_an_older_release_is_said(files: Files) -> None:
    files.write("etc/nv_tegra_release", RELEASE.replace("R36", "R35"))
    assert files.check("board").status == "unknown"


def test_a_power_mode_below_the_highest(files: Files) -> None:
    files.say("usr/sbin/nvpmodel", "NV Power Mode: MODE_30W\n2\n")
    found = files.check("power-mode")
    assert (found.status, found.found, found.remedy) == ("in-the-way", "MODE_30W", "sudo nvpmodel -m 0")


def test_the_number_of_the_highest_mode_is_that_of_the_board(files: Files) -> None:
    files.say("usr/sbin/nvpmodel", "NV Power Mode: 15W\n0\n")
    files.write("etc/nvpmodel.conf", CONF)
    assert files.check("power-mode").remedy == "sudo nvpmodel -m 2"


def test_a_power_mode_that_is_not_said(files: Files) -> None:
    files.say("usr/sbin/nvpmodel", "permission denied\n")
    assert files.check("power-mode").status == "unknown"


def test_clocks_that_follow_the_load(files: Files) -> None:
    files.say("usr/bin/jetson_clocks", FOLLOWING)
    found = files.check("clocks")
    assert (found.status, found.remedy) == ("in-the-way", "sudo jetson_clocks")
    assert found.found == "memory at 2,133 MHz of 3,199 MHz, GPU from 306 MHz to 1,300 MHz"


def test_clocks_that_only_root_may_see(files: Files) -> None:
    files.say("usr/bin/jetson_clocks", "Error: Run this script(/usr/bin/jetson_clocks) as a root user\n")
    found = files.check("clocks")
    assert (found.status, found.remedy) == ("unknown", "sudo jetson_clocks --show")


def test_little_memory(files: Files) -> None:
    files.write("proc/meminfo", MEMORY.format(available=900_000, swap=0, free=0))
    assert (files.check("memory").status, files.check("memory").found) == ("in-the-way", "0.9 GiB of 61.4 GiB available")


def test_swap_in_use(files: Files) -> None:
    files.write("proc/meminfo", MEMORY.format(available=5_000_000, swap=8_000_000, free=6_000_000))
    assert files.check("swap").remedy == "--load-mode mlock keeps the model in memory"
    files.write("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 4000000 2000000 5\n")
    found = files.check("swap")
    assert (found.status, found.found) == ("in-the-way", "1.9 GiB of 7.6 GiB used, compressed in memory (zram)")
    assert found.remedy.endswith("sudo systemctl disable nvzramconfig")


def test_swap_that_is_hardly_used(files: Files) -> None:
    files.write("proc/meminfo", MEMORY.format(available=5_000_000, swap=8_000_000, free=7_900_000))
    assert (files.check("swap").status, files.check("swap").found) == ("ok", "0.1 GiB of 7.6 GiB used")


@pytest.mark.parametrize("flags", [["-ngl", "0"], ["--gpu-layers=0"], ["--n-gpu-layers", "99", "-ngl", "0"]])
def test_no_layer_on_the_gpu(files: Files, flags: list[str]) -> None:
    files.process(["llama-server", *flags])
    found = files.check("gpu-layers")
    assert (found.status, found.found, found.remedy) == ("in-the-way", "--n-gpu-layers 0", "--n-gpu-layers all")


def test_layers_by_a_variable(files: Files) -> None:
    files.process(["llama-server"], environ="HOME=/\0LLAMA_ARG_N_GPU_LAYERS=0\0")
    assert files.check("gpu-layers").status == "in-the-way"


def test_a_server_without_cuda(files: Files) -> None:
    files.process(["llama-server"], maps="7f00 libc.so.6\n")
    found = files.check("gpu-layers")
    assert (found.status, found.found) == ("in-the-way", "--n-gpu-layers not given (all that fit), no libcuda.so")


def test_libraries_that_cannot_be_read(files: Files) -> None:
    files.process(SERVER, maps="")
    assert files.check("gpu-layers").status == "unknown"


def test_the_server_at_the_port_is_the_one(files: Files) -> None:
    files.process(["llama-server", "--port", "9090", "-ngl", "0"], number=7)
    assert files.check("gpu-layers").status == "ok"
    assert files.check("gpu-layers", "http://127.0.0.1:9090").status == "in-the-way"


def test_wants_the_board_only_where_it_runs_the_server(files: Files, tmp_path: Path) -> None:
    board = Board(files.root)
    assert wants_board(URL, board)
    assert not wants_board("http://jetson:8080", board)
    assert not wants_board(URL, Board(tmp_path / "elsewhere"))
    assert [is_loopback(f"http://{host}:80") for host in ("localhost", "[::1]", "127.9.9.9", "10.0.0.1", "")] == [
        True,
        True,
        True,
        False,
        False,
    ]
