"""What an option is, and those of lint, which is started on every commit; all others are in ``option_tables``."""

from __future__ import annotations

from promptguard.core.light import Literal, Mapping, NamedTuple

Kind = Literal["text", "path", "integer", "number", "boolean", "list", "lists", "tables"]

FINDING_FORMATS = ("full", "concise", "json", "sarif", "github", "junit", "markdown")

REPORT_HELP = "Also write a report, as FORMAT=FILE."

AS_FOUND_HELP = (
    "Take the files that are named as if they were found below the current folder: leave out those that exclude and .gitignore "
    "name, and pass over those that hold nothing of interest. For pre-commit."
)


class Option(NamedTuple):
    """One option of a command.

    Attributes:
        name: as in the file; the flag is the same with ``--`` in front.
        kind: the type of its value. A ``path`` is relative to the configuration file, a ``list`` is one of texts, ``lists`` is a
            table of them, ``tables`` a list of tables.
        help: what it does, for ``--help`` and the schema.
        minimum, maximum: the least and the greatest allowed number, both included.
        choices: the allowed texts, where not every text is.
        pattern: a regular expression that a text, or every text of a list, matches as a whole.
        form: what such a text is, in words.
        default: what holds where it is not given, for ``--help``.
        fields: what each of the ``tables`` may hold.
        required: one of the ``fields`` that cannot be left out.
    """

    name: str
    kind: Kind
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    default: str | None = None
    fields: tuple[Option, ...] = ()
    required: bool = False
    form: str = ""


LINT_OPTIONS = (
    Option("select", "list", "Rules that report: codes (PG101), prefixes of codes (PG1) or names (clock).", default="PG"),
    Option("ignore", "list", "Rules that do not report; the longer selector holds, this one on a tie."),
    Option("extend-select", "list", "Further rules that report."),
    Option("per-file-ignores", "lists", "Rules that do not report, by files in the words of .gitignore."),
    Option(
        "ignore-at",
        "tables",
        "What is not reported at a place in JSON and YAML files, and below it.",
        fields=(
            Option("path", "text", "Files, in the words of .gitignore.", required=True),
            Option(
                "pointer",
                "text",
                "JSON pointer to the value.",
                pattern=r"(?:/[^/]*)+",
                form="a JSON pointer, such as /tools/0",
                required=True,
            ),
            Option("rules", "list", "Rules that do not report there.", required=True),
        ),
    ),
    Option("exclude", "list", "Files and folders to leave out, in the words of .gitignore."),
    Option("pedantic", "boolean", "Report notes too."),
    Option("tokenizer", "text", "What counts tokens: a tokenizer.json, a GGUF file or tiktoken:ENCODING.", default="built in"),
    Option("baseline", "path", "File of known findings, which are not reported; promptguard baseline writes it."),
    Option("unsafe-fixes", "boolean", "Also apply fixes that may change what a model reads."),
    Option("output-format", "text", "Format of what is printed.", choices=FINDING_FORMATS, default="full"),
    Option(
        "report",
        "list",
        REPORT_HELP,
        pattern=f"({'|'.join(FINDING_FORMATS)})=.+",
        form=f"one of {'=FILE, '.join(FINDING_FORMATS)}=FILE",
    ),
    Option("cache-dir", "path", "Folder of the cache.", default=".promptguard_cache beside the configuration file"),
    Option("jobs", "integer", "Most processes to work with.", minimum=1, maximum=1024, default="the number of CPUs"),
)
RuleOptions = Mapping[str, tuple[Option, ...]]
"""The options of each rule, by code."""
