"""Size of the environment that pre-commit makes for the hooks, and the time that takes: well under a minute, with no compiler.

The hooks are installed by pre-commit from a copy of this checkout, twice: with an empty cache of pip, so that everything is
downloaded, and again with a full one. Compilers are put out of the way, and only wheels are allowed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 60.0
UNWANTED = ("httpx", "xllamacpp", "llama_cpp_python", "numpy", "tokenizers")
CONFIG = """\
repos:
  - repo: {repo}
    rev: {rev}
    hooks:
      - id: promptguard-lint
      - id: promptguard-format
"""

sys.path.insert(0, str(ROOT / "tests"))

from adoption.scratch import copy_of_checkout, environment, git, repository


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = copy_of_checkout(folder / "source")
        config = CONFIG.format(repo=source, rev=git(source, "rev-parse", "HEAD"))
        project = repository(folder / "project", {".pre-commit-config.yaml": config, "system.j2": "You help.\n"})
        seconds = [install(project, folder / f"home{number}", folder / "cache") for number in (1, 2)]
        home = folder / "home2"
        (made,) = home.glob("repo*/py_env-*")
        packages = sorted(path.name.split("-")[0] for path in made.glob("lib/python3*/site-packages/*.dist-info"))
        size = sum(path.lstat().st_size for path in made.rglob("*") if not path.is_dir())
        compiled = [path.name for path in made.rglob("*.so") if not path.is_symlink()]
    unwanted = sorted(set(UNWANTED) & {package.lower() for package in packages})
    print(f"packages      {len(packages)}: {', '.join(packages)}")
    print(f"size          {size / 1e6:.1f} MB, {len(compiled)} compiled modules, all from wheels")
    print(f"time          {seconds[0]:.1f} s with downloads, {seconds[1]:.1f} s with a full cache (limit {LIMIT:.0f} s)")
    print(f"not wanted    {', '.join(unwanted) or 'none'}")
    missed = bool(unwanted) or max(seconds) > LIMIT
    print("MISSED" if missed else "ok")
    return int(missed)


def install(project: Path, home: Path, cache: Path) -> float:
    """Seconds until the hooks are installed."""
    shutil.rmtree(home, ignore_errors=True)
    variables = {"PRE_COMMIT_HOME": str(home), "PIP_CACHE_DIR": str(cache), "PIP_ONLY_BINARY": ":all:"}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "install-hooks"],
        cwd=project,
        env=environment(**variables, CC="false", CXX="false", CARGO="false"),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
