"""What a lint run is told, from the configuration file and the flags."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING, Any, Mapping, MappingProxyType, NamedTuple

if TYPE_CHECKING:
    from promptguard.checks.base import Block, Syntax

UNUSED = "PG900"
"""The rule that reports what suppresses nothing; it is suppressed by its own code alone, or a comment could hide itself."""
DIRECTIVE = "promptguard:"
"""What every comment to promptguard begins with."""
MODEL_SUFFIX = ".gguf"
"""How the name of a model in GGUF form ends; of such a file the header alone is read."""
MAX_BYTES = 8 << 20
"""A larger file is not read."""


class PromptDeclaration(NamedTuple):
    """One ``[[tool.promptguard.prompts]]`` of the configuration.

    Attributes:
        path: a file or pattern in the words of ``.gitignore``, relative to ``Settings.root``.
        block: the block that the file is, or begins with.
        syntax: how its placeholders are written; ``None``: as the kind of file says.
        stable, dynamic: variables whose value never changes within a deployment, or changes between requests.
        context: a JSON or YAML file with values for variables, relative to ``Settings.root``; they are stable.
        name: of the prompt that the file is a part of; files of one name are one prompt, in the order of their blocks.
    """

    path: str
    block: Block | None = None
    syntax: Syntax | None = None
    stable: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    context: str | None = None
    name: str | None = None


class Settings(NamedTuple):
    """All that has a say in the findings of a file: two runs with equal settings find the same in the same bytes.

    Attributes:
        root: absolute path of the folder that the configuration lies in, of the current one where there is none.
        select, ignore: codes, prefixes of codes (``PG1``) or names of rules; the longer match holds, ``ignore`` on a tie.
        per_file_ignores: the same, by a pattern in the words of ``.gitignore``.
        pointer_ignores: (pattern of files, JSON pointer, codes): what is at or below the pointer is not reported.
        pedantic: report notes too.
        tokenizer: what counts tokens: a path (tokenizer.json or GGUF) or ``tiktoken:ENCODING``; ``None``: the bundled one.
        prompts: declared prompts.
        rule_options: by code.
    """

    root: str
    select: tuple[str, ...] = ("PG",)
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    pointer_ignores: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    pedantic: bool = False
    tokenizer: str | None = None
    prompts: tuple[PromptDeclaration, ...] = ()
    rule_options: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
