"""What the name of a file says: how it is read, whether it is a prompt, and which block it is."""

from __future__ import annotations

from promptguard.checks.base import Block
from promptguard.core.light import Literal, Sequence, lru_cache, regex

FileKind = Literal["jinja", "mustache", "text", "prompty", "yaml", "json", "jsonl"]


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_KINDS: dict[str, FileKind] = {
    ".j2": "jinja",
    ".jinja": "jinja",
    ".jinja2": "jinja",
    ".mustache": "mustache",
    ".hbs": "mustache",
    ".handlebars": "mustache",
    ".md": "text",
    ".markdown": "text",
    ".txt": "text",
    ".prompt": "prompty",
    ".prompty": "prompty",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_MARKDOWN = (".md", ".markdown")
_TEMPLATE_JSON = ("tokenizer_config.json", "chat_template.json", "processor_config.json")
_TEMPLATE_FILES = _set("chat_template.jinja chat_template.jinja2 chat_template.j2")

# What a template makes is something else than a prompt where its name has one of these in front of the suffix.
_FOREIGN_SUFFIXES = _set(
    """
    html htm xhtml xml svg css scss sass less rss xsl xslt xsd wsdl mjml eml hbs vue
    js mjs cjs ts tsx jsx py pyi pyx rb php go rs java kt scala c h cc cpp hpp cs swift lua pl r jl dart gradle sbt proto graphql
    sh bash zsh fish ksh ps1 psm1 bat cmd awk sql ddl hql tf tfvars hcl nix
    yaml yml toml ini cfg conf cnf env properties plist service socket timer target mount netdev network desktop
    dockerfile containerfile makefile mk cmake ninja tex latex rst adoc csv tsv ics vcf ipynb lock pem crt crontab cron sudoers
    repo vhost htaccess nginx manifest
    """
)
_FOREIGN_NAMES = _set(
    """
    dockerfile containerfile makefile jenkinsfile vagrantfile hosts crontab sudoers fstab motd profile bashrc zshrc vimrc
    gitignore dockerignore env
    """
)
_MAIL_FOLDERS = _set("emails mails mailer mailers newsletters email_templates mail_templates templates/email templates/mail")
_FOREIGN_ENDS = frozenset({"config", "conf", "cfg", "rc"})
# Files that are named like this say something to people, wherever they lie; in capitals, the second row does too.
_FOR_PEOPLE = _set(
    "readme changelog changes contributing license licence copying codeowners requirements robots cmakelists humans"
)
_IN_CAPITALS = _set(
    "HISTORY NEWS AUTHORS NOTICE SECURITY SUPPORT GOVERNANCE MAINTAINERS ROADMAP TODO FAQ INSTALL UPGRADING MIGRATION CODE"
)
_FOLDERS_FOR_PEOPLE = frozenset({"docs", "doc", "documentation", "website", "site", "blog", "wiki", "adr", "rfcs"})
VERBATIM = frozenset({"agents", "claude", "gemini", "skill", "copilot-instructions", "claude.local", "agents.override"})
"""Files that agents read as they are (AGENTS.md): nothing in them is a placeholder."""
_PROMPT = frozenset({"prompt", "prompts", "systemprompt", "sysprompt", "metaprompt", "promptlib"})
# What stands behind the word prompt where a text is about prompts, and in front of it where that is another sort of prompt.
_BEHIND_PROMPT = _set(
    """
    engineering guide guides guideline guidelines tips tutorial caching cache injection injections overview design notes report
    results evaluation comparison best practices practice roadmap testing security changelog readme docs documentation index
    """
)
_BEFORE_PROMPT = _set("bash shell zsh fish terminal git how why about writing")
# A whole name of such words, with at least one of the second row.
_FILLING = _set("base default my the agent assistant bot chat llm ai gpt role custom developer v version text tmpl template")
_WHOLE = frozenset({"system", "persona", "personas", "instruction", "instructions", "sys"})
_WITH_WHOLE = frozenset({"message", "messages", "msg", "context", "role"})
_PROMPT_FOLDERS = frozenset({"personas", "persona"})

# One of these is in every path that says so.
_HINTS = ("prompt", "sys", "instruction", "persona", *VERBATIM)

_WORD = regex(r"[^\W\d_]+|\d+")
_CAMEL = regex(r"(?<=[a-z])(?=[A-Z])")
_BREAK = regex(r"[.\-_ ]")
_GENERIC = _set("prompt prompts template templates tmpl message messages msg text content body v version base default main part")
_BLOCK_WORDS: dict[str, Block] = {
    "user": "user",
    "human": "user",
    "usr": "user",
    "history": "history",
    "conversation": "history",
    "transcript": "history",
    "tools": "tools",
    "functions": "tools",
    "toolset": "tools",
    "toolbox": "tools",
}
_ALONE: dict[str, Block] = {"question": "user", "query": "user", "input": "user", "task": "user", "tool": "tools"}
_TOOL_PARTS = _set("tool tools function functions schema schemas definition definitions spec specs list json")


def file_kind(path: str) -> FileKind | None:
    """How a file is read; ``None`` for a file that holds nothing for promptguard."""
    dot = path.rfind(".")
    return _KINDS.get(path[dot:].lower()) if dot >= 0 else None


def is_markdown(path: str) -> bool:
    return path.lower().endswith(_MARKDOWN)


def is_template_json(path: str) -> bool:
    """Whether the name of a JSON file says that it may hold a chat template."""
    return path.lower().endswith(_TEMPLATE_JSON)


def is_template_file(path: str) -> bool:
    """Whether the name of a Jinja file says that it is a chat template, whatever is in it."""
    *folders, name = path.lower().split("/")
    return name in _TEMPLATE_FILES or folders[-1:] == ["additional_chat_templates"]


@lru_cache(maxsize=1 << 12)  # the keys of many files are the same
def words(name: str) -> tuple[str, ...]:
    """The words of a name in snake, kebab or camel case, lower case."""
    return tuple(_WORD.findall(_CAMEL.sub("_", name).lower()))


def stem(path: str) -> str:
    """The name of a file without its last suffix."""
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    return name[:dot] if dot > 0 else name


def inner_suffix(path: str) -> str:
    """The suffix in front of the last one, lower case: ``html`` of ``index.html.j2``; empty where there is none."""
    inner = stem(path)
    return inner[inner.rfind(".") + 1 :].lower() if "." in inner else ""


def is_foreign_template(path: str) -> bool:
    """Whether the name of a Jinja template says that it makes something else than a prompt."""
    folders = path.lower().split("/")[:-1]
    if _is_named_for_people(path[path.rfind("/") + 1 :]) or ("roles" in folders and "templates" in folders):  # Ansible's
        return True
    inner = inner_suffix(path)
    if inner:
        return inner in _FOREIGN_SUFFIXES
    name = stem(path).lower().lstrip(".")
    found = words(name)
    return name in _FOREIGN_NAMES or (len(found) > 1 and found[-1] in _FOREIGN_ENDS)


def is_mail(path: str) -> bool:
    """Whether the folder of a template says that it makes mail to people: ``emails/welcome.j2``."""
    folders = path.lower().split("/")[:-1]
    return folders[-1:] != [] and not _MAIL_FOLDERS.isdisjoint((folders[-1], "/".join(folders[-2:])))


def is_for_people(path: str) -> bool:
    """Whether a file is documentation by its name or folder."""
    *folders, name = path.split("/")
    return _is_named_for_people(name) or not _FOLDERS_FOR_PEOPLE.isdisjoint(map(str.lower, folders))


def _is_named_for_people(name: str) -> bool:
    first = _BREAK.split(name, maxsplit=1)[0]
    return first.lower() in _FOR_PEOPLE or first in _IN_CAPITALS


def is_verbatim(path: str) -> bool:
    """Whether agents read the file as it is (``AGENTS.md``)."""
    name = stem(path).lower()
    return is_markdown(path) and (name in VERBATIM or name.endswith(".instructions"))


def says_prompt(path: str) -> bool:
    """Whether the name of a file or of one of its folders says that it is a prompt."""
    lower = path.lower()
    for hint in _HINTS:  # most names end here, and this is faster than any()
        if hint in lower:
            break
    else:
        return False
    if is_verbatim(path):
        return True
    name = stem(path)
    found = words(name)
    if _is_named_for_people(name):
        return False
    if name.lower().endswith(".prompt"):
        return True
    folders = path.split("/")[:-1]
    in_documentation = any(folder.lower() in _FOLDERS_FOR_PEOPLE for folder in folders)
    if _is_prompt(found) and not (in_documentation and len(found) == 1):  # docs/prompts.md is about them
        return True
    rest = [word for word in found if word not in _FILLING and not word.isdigit()]
    if any(word in _WHOLE for word in rest) and all(word in _WHOLE or word in _WITH_WHOLE for word in rest):
        return True
    return not in_documentation and any(_is_prompt_folder(folder) for folder in folders[-3:])


def _is_prompt_folder(folder: str) -> bool:
    if folder.lower() in _PROMPT_FOLDERS:
        return True
    found = [word for word in words(folder) if word != "v" and not word.isdigit()]
    return _is_prompt(found) and found[-1] in _PROMPT


def _is_prompt(found: Sequence[str]) -> bool:
    """Whether the words of a name say that something is a prompt, not that it is about prompts."""
    at = next((position for position, word in enumerate(found) if word in _PROMPT), None)
    return at is not None and _BEFORE_PROMPT.isdisjoint(found[:at]) and _BEHIND_PROMPT.isdisjoint(found[at + 1 :])


def name_block(path: str) -> Block | None:
    """The block that the name of a file says it is: ``user`` for ``user_prompt.j2``, ``tools`` for ``tools.json.j2``."""
    name = stem(path)
    inner = inner_suffix(path)
    if inner in ("md", "txt", "markdown", "json", "prompt", "text"):
        name = name[: -len(inner) - 1]
    block = _block_of(words(name))
    if block is not None:
        return block
    parts = path.split("/")
    folder = words(parts[-2]) if len(parts) > 1 else ()
    found = _block_of(folder)
    return found if found == "user" else None


def _block_of(found: Sequence[str]) -> Block | None:
    if "system" in found:
        return "system"
    rest = [word for word in found if word not in _GENERIC and not word.isdigit()]
    if not rest:
        return None
    if len(rest) == 1 and rest[0] in _ALONE:
        return _ALONE[rest[0]]
    if rest[-1] in _BLOCK_WORDS:
        return _BLOCK_WORDS[rest[-1]]
    if rest[0] in ("tools", "tool", "functions") and all(word in _TOOL_PARTS for word in rest):
        return "tools"
    return "user" if rest[0] == "user" and rest[-1] in ("question", "query", "input", "request", "turn", "task") else None
