"""Does the tiny-random twin of a model reuse its cache as the model itself does?

    python benchmarks/twin_equals_real.py model.gguf

Sends the same token sequences to a real model and to its twin, each on a llama-server of its own with one slot and no host cache:
five turns that only append, and five in which the system prompt changes in the middle ahead of the fourth. Prints cached and
prefilled tokens of each turn and the time of each run; exits 1 unless all counts are equal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptguard.models.twin import make_twin

SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.n_parallel = 1
params.cache_ram_mib = 0
params.warmup = False
params.verbosity = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""

FIRST, APPENDED, TURNS, CHANGED_TURN = 1942, 352, 5, 4
Counts = list[tuple[int, int]]


def sequences(vocabulary: int) -> dict[str, list[list[int]]]:
    """The prompts of each turn, without and with a change in the middle of the first prompt."""
    source = random.Random(20260101)
    low, high = min(300, vocabulary // 4), min(vocabulary, 30000)  # clear of special tokens
    whole = [source.randrange(low, high) for _ in range(FIRST + APPENDED * (TURNS - 1))]
    clean = [whole[: FIRST + APPENDED * turn] for turn in range(TURNS)]
    changed = [list(prompt) for prompt in clean]
    for prompt in changed[CHANGED_TURN - 1 :]:
        prompt[FIRST // 2] = low if prompt[FIRST // 2] != low else low + 1
    return {"append only": clean, f"changed in the middle at turn {CHANGED_TURN}": changed}


@contextlib.contextmanager
def serve(model: Path) -> Iterator[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        if not address:
            raise SystemExit(f"{model}: the server did not start")
        yield address
    finally:
        child.stdin.close()
        child.wait(timeout=60)


def complete(address: str, prompt: Sequence[int]) -> tuple[int, int]:
    body = json.dumps({"prompt": prompt, "n_predict": 1, "cache_prompt": True}).encode()
    request = urllib.request.Request(f"{address}/completion", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as reply:
        timings = json.load(reply)["timings"]
    return timings["cache_n"], timings["prompt_n"]


def measure(model: Path, prompts: dict[str, list[list[int]]]) -> tuple[dict[str, Counts], float]:
    """Cached and prefilled tokens of every turn, and the seconds that all took, without loading."""
    counts: dict[str, Counts] = {}
    seconds = 0.0
    for name, turns in prompts.items():
        with serve(model) as address:
            start = time.perf_counter()
            counts[name] = [complete(address, prompt) for prompt in turns]
            seconds += time.perf_counter() - start
    return counts, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a GGUF file with weights")
    model = parser.parse_args().model
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        report = make_twin(model, Path(folder) / "twin.gguf")
        made = time.perf_counter() - start
        prompts = sequences(report.vocabulary)
        real, real_seconds = measure(model, prompts)
        twin, twin_seconds = measure(report.path, prompts)
    print(f"real: {model.name}, {model.stat().st_size / 1e6:.1f} MB")
    print(f"twin: {report.architecture}, {report.layers} layers, {report.size / 1e6:.1f} MB, made in {made:.1f} s")
    for note in report.notes:
        print(f"note: {note}")
    for name in prompts:
        print(f"\n{name}\n  turn  real cached/prefilled  twin cached/prefilled")
        for turn, (a, b) in enumerate(zip(real[name], twin[name], strict=True), 1):
            print(f"  {turn:4}  {f'{a[0]}/{a[1]}':>21}  {f'{b[0]}/{b[1]}':>21}{'' if a == b else '  DIFFERENT'}")
    equal = real == twin
    print(f"\n{'all counts are equal' if equal else 'the counts differ'}")
    print(f"real {real_seconds:.1f} s, twin {twin_seconds:.1f} s: {real_seconds / twin_seconds:.1f} times as fast")
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
