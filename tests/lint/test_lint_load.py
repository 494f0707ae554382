from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptguard.checks.base import BLOCKS, SYNTAXES
from promptguard.checks.catalog import RULES
from promptguard.checks.rule import RuleOption
from promptguard.core.errors import ConfigError
from promptguard.core.option_tables import PROMPT_OPTIONS
from promptguard.core.options import FINDING_FORMATS, Option
from promptguard.linting.load import make_plan, rule_options
from promptguard.linting.settings import PromptDeclaration, Settings
from promptguard.report.findings import FORMATS

EVERYTHING = """
[lint]
select = ["PG1", "PG3"]
ignore = ["clock"]
extend-select = ["PG401"]
exclude = ["gen/"]
pedantic = true
tokenizer = "t/tokenizer.json"
baseline = "known.json"
unsafe-fixes = true
output-format = "concise"
report = ["sarif=out/a.sarif"]
cache-dir = "tmp/cache"
jobs = 3

[lint.per-file-ignores]
"*.txt" = ["PG3"]
"a/" = ["clock", "PG2"]

[[lint.ignore-at]]
path = "tools/*.json"
pointer = "/tools/0"
rules = ["PG405"]

[[prompts]]
path = "prompts/*.tpl"
block = "system"
syntax = "mustache"
stable = ["company"]
dynamic = ["user.name"]
context = "context.json"
name = "agent"

[[prompts]]
path = "other.txt"
"""


def own(folder: Path, text: str) -> None:
    (folder / "promptguard.toml").write_text(text)


def settings(**flags: Any) -> Settings:
    return make_plan(flags).settings


def test_without_a_file(folder: Path) -> None:
    plan = make_plan({})
    assert plan.settings == Settings(str(folder))
    assert (plan.output_format, plan.baseline, plan.jobs, plan.reports) == ("full", None, None, ())
    assert plan.cache_dir == f"{folder}/.promptguard_cache"


def test_everything_that_the_file_may_say(folder: Path) -> None:
    own(folder, EVERYTHING)
    (folder / "t").mkdir()
    (folder / "t" / "tokenizer.json").write_text("{}")
    plan = make_plan({})
    assert plan.settings == Settings(
        str(folder),
        select=("PG1", "PG3", "PG401"),
        ignore=("clock",),
        per_file_ignores=(("*.txt", ("PG3",)), ("a/", ("clock", "PG2"))),
        pointer_ignores=(("tools/*.json", "/tools/0", ("PG405",)),),
        pedantic=True,
        tokenizer=f"{folder}/t/tokenizer.json",
        prompts=(
            PromptDeclaration("prompts/*.tpl", "system", "mustache", ("company",), ("user.name",), "context.json", "agent"),
            PromptDeclaration("other.txt"),
        ),
    )
    assert plan.exclude == (("gen/",), str(folder))
    assert (plan.baseline, plan.unsafe_fixes, plan.output_format) == ("known.json", True, "concise")
    assert (plan.reports, plan.cache_dir, plan.jobs) == (("sarif=out/a.sarif",), "tmp/cache", 3)


def test_flags_come_before_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(folder, '[lint]\npedantic = true\noutput-format = "json"\nexclude = ["a"]\njobs = 3\n')
    (folder / "x").mkdir()
    monkeypatch.chdir(folder / "x")
    plan = make_plan({"pedantic": False, "output_format": "github", "exclude": ("b", "c"), "jobs": 1, "cache_dir": "d"})
    assert (plan.settings.pedantic, plan.output_format, plan.jobs, plan.cache_dir) == (False, "github", 1, "d")
    assert plan.exclude == (("b", "c"), f"{folder}/x")
    assert plan.settings.root == str(folder)


def test_a_select_flag_sets_aside_what_the_file_selects_and_ignores(folder: Path) -> None:
    own(folder, '[lint]\nselect = ["PG3"]\nignore = ["PG101"]\nextend-select = ["PG4"]\n')
    assert (settings().select, settings().ignore) == (("PG3", "PG4"), ("PG101",))
    only = settings(select=("PG101, clock", "PG2"))
    assert (only.select, only.ignore) == (("PG101", "clock", "PG2"), ())
    more = settings(extend_select=("PG1",), ignore=("PG102",))
    assert (more.select, more.ignore) == (("PG3", "PG1"), ("PG102",))


def test_ignores_by_file_are_added_by_flags(folder: Path) -> None:
    own(folder, '[lint.per-file-ignores]\na = ["PG1"]\n')
    assert settings(per_file_ignores=("c:/b:PG2,PG3",)).per_file_ignores == (("a", ("PG1",)), ("c:/b", ("PG2", "PG3")))


@pytest.mark.parametrize("flag", ["x", ":PG1", "a:", "a: ,"])
def test_ignores_by_file_that_are_none(folder: Path, flag: str) -> None:
    with pytest.raises(ConfigError, match=r"a pattern or the rules are missing; write it as PATTERN:CODES"):
        settings(per_file_ignores=(flag,))


def test_tokenizers(folder: Path) -> None:
    assert settings(tokenizer="tiktoken:o200k_base").tokenizer == "tiktoken:o200k_base"
    with pytest.raises(ConfigError, match=r"--tokenizer: there is no file no.json; name a tokenizer.json"):
        settings(tokenizer="no.json")
    own(folder, '[lint]\ntokenizer = "no.gguf"\n')
    with pytest.raises(ConfigError, match=rf"tokenizer: there is no file {folder}/no.gguf"):
        settings()


def test_options_of_rules(folder: Path) -> None:
    own(folder, "[rules.PG106]\nmin-static-characters = 7\n")
    assert settings().rule_options == {"PG106": {"min-static-characters": 7}}
    own(folder, "[rules.PG106]\nmin-static-characters = '7'\n")
    with pytest.raises(ConfigError, match=r"promptguard.toml:2: min-static-characters: must be an integer; "):
        settings()


@pytest.mark.parametrize(("default", "kind"), [(("x",), "list"), ((), "list"), (True, "boolean"), (3, "integer"), ("x", "text")])
def test_the_kind_of_an_option_is_that_of_its_default(monkeypatch: pytest.MonkeyPatch, default: object, kind: str) -> None:
    rule = RULES["PG101"]._replace(options=(RuleOption("names", default, "Names."),))
    monkeypatch.setattr("promptguard.linting.load.RULES", {"PG101": rule})
    assert rule_options() == {"PG101": (Option("names", kind, "Names."),)}  # type: ignore[arg-type]


def test_lists_of_options_become_tuples(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RULES["PG101"]._replace(options=(RuleOption("names", (), "Names."),))
    monkeypatch.setattr("promptguard.linting.load.RULES", {"PG101": rule})
    own(folder, "[rules.PG101]\nnames = ['x', 'y']\n")
    assert settings().rule_options == {"PG101": {"names": ("x", "y")}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[rules.PG10x]\n", "promptguard.toml:1: PG10x: unknown key; did you mean PG10"),
        ("[rules]\nPG101 = 1\n", r"promptguard.toml:2: PG101: must be a table; write \[rules.PG101\]"),
        ("[rules.PG901]\nx = 1\n", "promptguard.toml:2: x: unknown key; it has no options"),
        ("rules = 1\n", r"promptguard.toml:1: rules: must be a table; write \[rules\]"),
        ("[prompts]\n", r"promptguard.toml:1: prompts: must be a list of tables; write \[\[prompts\]\]"),
        (
            '[[prompts]]\nblock = "system"\n',
            "promptguard.toml:1: prompts: the key path is missing; a file, or files in the words of",
        ),
        ('[[prompts]]\npath = "a"\n[[prompts]]\npath = ""\n', "promptguard.toml:4: path: must not be empty"),
        ('[[prompts]]\npath = "a"\nblok = "user"\n', "promptguard.toml:3: blok: unknown key; did you mean block?"),
        ('[[prompts]]\npath = "a"\nblock = "prefix"\n', "promptguard.toml:3: block: must be one of tools, system, history, user"),
        ("[lint]\nper-file-ignores = 1\n", "promptguard.toml:2: per-file-ignores: must be a table of lists of strings"),
        ("[lint.per-file-ignores]\na = 1\n", "promptguard.toml:1: per-file-ignores: must be a list of strings"),
        ("[lint]\nignore-at = 1\n", r"promptguard.toml:2: ignore-at: must be a list of tables; write \[\[lint.ignore-at\]\]"),
        ('[[lint.ignore-at]]\npath = "a"\n', "promptguard.toml:1: ignore-at: the key pointer is missing"),
        (
            '[[lint.ignore-at]]\npath = "a"\npointer = "b"\n',
            "promptguard.toml:3: pointer: 'b' is not a JSON pointer, such as /tools/0",
        ),
        ('[lint]\nselect = ["PG77"]\n', "promptguard.toml:2: there is no rule 'PG77'"),
        ('[lint.per-file-ignores]\n"a" = ["PG1"]\n"b" = ["PG77"]\n', "promptguard.toml:3: there is no rule 'PG77'"),
        ('[[lint.ignore-at]]\npath = "a"\npointer = "/b"\nrules = ["PG77"]\n', "promptguard.toml:1: there is no rule 'PG77'"),
        ("[lint]\njobs = 0\n", "promptguard.toml:2: jobs: must be between 1 and 1024"),
        ("[lint]\noutput_format = 1\n", "promptguard.toml:2: output_format: unknown key; did you mean output-format?"),
    ],
)
def test_what_the_file_may_not_say(folder: Path, text: str, expected: str) -> None:
    own(folder, text)
    with pytest.raises(ConfigError, match=rf"^{folder}/{expected}"):
        make_plan({})


@pytest.mark.parametrize("flags", [{"select": ("PG77",)}, {"ignore": ("PG1,PG77",)}, {"per_file_ignores": ("a:PG77",)}])
def test_flags_that_name_no_rule(folder: Path, flags: dict[str, Any]) -> None:
    own(folder, "[lint]\nextend-select = ['PG3']\n")
    with pytest.raises(ConfigError, match=f"^--{next(iter(flags)).replace('_', '-')}.*: there is no rule 'PG77'"):
        make_plan(flags)


def test_the_words_are_those_of_the_linter() -> None:
    choices = {option.name: option.choices for option in PROMPT_OPTIONS}
    assert choices["block"] == BLOCKS
    assert choices["syntax"] == SYNTAXES
    assert [option.name for option in PROMPT_OPTIONS] == list(PromptDeclaration._fields)
    assert FINDING_FORMATS == FORMATS
    assert list(rule_options()) == list(RULES)


def test_a_variable_is_not_both_stable_and_dynamic(folder: Path) -> None:
    (folder / "promptguard.toml").write_text('[[prompts]]\npath = "a.j2"\nstable = ["b", "now"]\ndynamic = ["now"]\n')
    with pytest.raises(ConfigError, match=r"promptguard\.toml: now is both stable and dynamic in the prompt a\.j2"):
        make_plan({})
