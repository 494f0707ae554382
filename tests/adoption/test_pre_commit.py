"""The hooks, run by pre-commit itself from a copy of this checkout."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from adoption.scratch import ROOT, environment, git, repository, write

from promptguard.core.discover import find_files
from promptguard.formatting.documents import SUFFIXES as TOOL_SUFFIXES
from promptguard.linting.run import BEGINNINGS, SUFFIXES

CLOCK = "You help the customers of a shop.\nNow: {{ now() }}\n"
CLEAN = "You help the customers of a shop.\n"
TOOLS = [{"description": "The time.", "name": "get_time", "inputSchema": {"type": "object", "properties": {}}}]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environments of hooks: one for all tests."""
    return tmp_path_factory.mktemp("pre-commit")


class Project:
    """A repository that has installed hooks.

    Args:
        folder: for it.
        home: where pre-commit keeps its environments.
        config: the text of its .pre-commit-config.yaml.
        variables: further ones of its environment.
    """

    def __init__(self, folder: Path, home: Path, config: str, **variables: str) -> None:
        self.folder = folder
        # Only wheels, and a compiler that fails: nothing in the hook's environment needs to be compiled.
        self._environment = environment(PRE_COMMIT_HOME=str(home), PIP_ONLY_BINARY=":all:", CC="false", CXX="false", **variables)
        repository(folder, {".pre-commit-config.yaml": config})
        self.run(sys.executable, "-m", "pre_commit", "install")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def commit(self, files: dict[str, str]) -> tuple[bool, str]:
        """Whether git takes the commit, and what it and the hooks print."""
        before = git(self.folder, "rev-parse", "HEAD")
        write(self.folder, files)
        git(self.folder, "add", "--all")
        done = self.run("git", "commit", "--message", "change")
        made = git(self.folder, "rev-parse", "HEAD") != before
        assert made == (done.returncode == 0), done.stdout
        return made, done.stdout


@pytest.fixture
def project(tmp_path: Path, source: Path, home: Path, request: pytest.FixtureRequest) -> Project:
    hooks = [{"id": hook} for hook in request.param]
    repo = {"repo": str(source), "rev": git(source, "rev-parse", "HEAD"), "hooks": hooks}
    return Project(tmp_path / "project", home, yaml.safe_dump({"repos": [repo]}))


LINT = ("promptguard-lint",)
FORMAT = ("promptguard-format",)
CHECK = ("promptguard-format-check",)
ALL = (*FORMAT, *LINT)


@pytest.mark.parametrize("project", [LINT], indirect=True)
def test_a_bad_template_blocks_the_commit_and_a_mended_one_does_not(project: Project) -> None:
    made, said = project.commit({"prompts/system.j2": CLOCK})
    assert not made
    assert "prompts/system.j2:2:6: PG101 [error]" in said
    made, said = project.commit({"prompts/system.j2": CLEAN})
    assert made
    assert re.search(r"^promptguard lint\.+Passed$", said, re.MULTILINE)


@pytest.mark.parametrize("project", [FORMAT], indirect=True)
def test_format_mends_and_blocks_once(project: Project) -> None:
    made, said = project.commit({"tools.json": json.dumps(TOOLS)})
    assert not made
    assert "files were modified by this hook" in said
    assert "formatted tools.json" in said
    assert list(json.loads((project.folder / "tools.json").read_text())[0]) == ["name", "description", "inputSchema"]
    assert project.commit({})[0]


@pytest.mark.parametrize("project", [CHECK], indirect=True)
def test_format_check_blocks_and_changes_nothing(project: Project) -> None:
    made, said = project.commit({"tools.json": json.dumps(TOOLS)})
    assert not made
    assert "would format tools.json" in said
    assert (project.folder / "tools.json").read_text() == json.dumps(TOOLS)


@pytest.mark.parametrize("project", [ALL], indirect=True)
def test_files_of_other_programs_do_not_block(project: Project) -> None:
    files = {
        "package.json": '{"name": "shop"}\n',
        "tsconfig.json": '{\n  // for the editor\n  "compilerOptions": {}\n}\n',
        "README.md": "# A shop\n",
        "a folder/-notes.md": "Some notes.\n",
    }
    assert project.commit(files)[0]


@pytest.mark.parametrize("project", [ALL], indirect=True)
def test_what_the_configuration_excludes_does_not_block(project: Project) -> None:
    settings = '[lint]\nexclude = ["old/"]\n\n[format]\nexclude = ["old/"]\n'
    files = {"promptguard.toml": settings, "old/system.j2": CLOCK, "old/tools.json": json.dumps(TOOLS)}
    assert project.commit(files)[0]


@pytest.mark.parametrize("project", [ALL], indirect=True)
def test_a_name_that_looks_like_an_option_blocks(project: Project) -> None:
    """pre-commit gives names as they are; one of this kind must not turn into a passing run."""
    assert not project.commit({"--exit-zero.md": CLOCK})[0]


@pytest.mark.parametrize("project", [ALL], indirect=True)
def test_the_environment_is_small(project: Project, home: Path) -> None:
    assert project.commit({"README.md": "# A shop\n"})[0]
    (environment_,) = home.glob("repo*/py_env-*")
    installed = {path.name.split("-")[0].lower() for path in environment_.glob("lib/python3*/site-packages/*.dist-info")}
    assert {"click", "jinja2", "promptguard_ci"} <= installed
    assert not installed & {"httpx", "xllamacpp", "llama_cpp_python", "tokenizers", "numpy"}


PUSHED = "https://github.com/OWNER/promptguard"


def shown(page: str) -> list[str]:
    """The configurations that a page shows."""
    return re.findall(r"```yaml\n(repos:\n.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/pre-commit.md"])
def test_what_the_documents_show_works_beside_a_clone(page: str, tmp_path: Path, source: Path, home: Path) -> None:
    """COMMIT alone is replaced, by what the command beside it prints."""
    git(tmp_path, "clone", "--quiet", str(source), "promptguard")
    (tmp_path / "shop").mkdir()
    (command,) = re.findall(r"`COMMIT` stands for what `git (-C [^`]*)` prints", (ROOT / page).read_text(encoding="utf-8"))
    config = shown(page)[0].replace("COMMIT", git(tmp_path / "shop", *command.split()))
    project = Project(tmp_path / "shop", home, config)
    made, said = project.commit({"prompts/system.j2": CLOCK})
    assert (made, "prompts/system.j2:2:6: PG101 [error]" in said) == (False, True)
    assert project.commit({"prompts/system.j2": CLEAN})[0]


def test_what_the_documents_show_works_with_a_repository_that_was_pushed(tmp_path: Path, source: Path, home: Path) -> None:
    address = PUSHED.replace("OWNER", "shop")
    _, config = shown("docs/pre-commit.md")
    config = config.replace("OWNER", "shop").replace("COMMIT", git(source, "rev-parse", "HEAD"))
    instead = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{source}.insteadOf", "GIT_CONFIG_VALUE_0": address}
    made, said = Project(tmp_path / "project", home, config, **instead).commit({"prompts/system.j2": CLOCK})
    assert (made, "prompts/system.j2:2:6: PG101 [error]" in said) == (False, True)


def test_the_readme_names_the_same_address() -> None:
    assert PUSHED in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_manifest_is_current_and_valid() -> None:
    for command in (["scripts/build_hooks.py", "--check"], ["-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"]):
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), command


NAMES = (
    *(f"a{suffix}" for suffix in (*SUFFIXES, *TOOL_SUFFIXES)),
    *(f"{beginning}x" for beginning in BEGINNINGS),
    *("A.J2", "DOCKERFILE", "Dockerfile.cuda", "a.j2.bak", "a.py", "json", "aDockerfile.cuda", "a.mdx", "x.jsonc", ".env.md"),
)


@pytest.mark.parametrize(("hook", "suffixes"), [("promptguard-lint", SUFFIXES), ("promptguard-format", TOOL_SUFFIXES)])
def test_a_hook_is_given_the_files_that_its_command_finds(
    hook: str, suffixes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, dict.fromkeys([*NAMES, *(f"sub/{name}" for name in NAMES)], "x"))

    def also(path: str) -> bool:
        return hook == "promptguard-lint" and Path(path).name.lower().startswith(BEGINNINGS)

    found = {target.path for target in find_files(["."], suffixes, also=also)}
    names = [*NAMES, *(f"sub/{name}" for name in NAMES)]
    given = {name for name in names if re.search(HOOKS[hook]["files"], name) and not Path(name).name.startswith(".")}
    assert given == found
