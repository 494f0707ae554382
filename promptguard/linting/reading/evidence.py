"""What the content of a file says about it."""

from __future__ import annotations

from promptguard.checks.base import mentions
from promptguard.core import patterns as re
from promptguard.core.light import TYPE_CHECKING, regex

if TYPE_CHECKING:  # most kinds of files have no templates
    from promptguard.parse.template_nodes import Template

_HEAD = 8192
"""Code points that are looked at to tell what a text is."""

# The first sentence of a prompt; not that of a page which welcomes its reader.
_OPENING = (
    r"(?:#[^\r\n]{0,200}[\r\n]+\s{0,20}|<[a-z_]{1,40}>\s{0,20})?"
    r"(?:You are|You're|You will act as|Act as|Your task is to|Your role is to)[ ]"
    r"(?!(?:welcome|here|about|reading|viewing|looking|invited|free|encouraged|using|responsible|expected|required)\b)"
)
_OPENING_BYTES = regex((r"\s{0,100}" + _OPENING).encode("ascii"))
# Patterns are compiled when they are first used: most runs need few of them, and compiling all takes longer than such a run.
_LEADING_TAGS = r"(?:\s+|\{%[^%]{0,300}%\}|\{#[^#]{0,2000}#\}|<!--[^>]{0,2000}-->){0,50}"
_FOREIGN_START = r"""(?x)
      <!doctype\b | <\?(?:xml|php)\b
    | <(?:html|head|div|span|ul|tr|td|nav|footer|script|meta|link|svg|h[1-6]|img|mjml)(?:\s[^<>]{0,500})?/?>
    | <a\s{1,20}href= | \#! | \\documentclass
    | \[[\w .:"-]{1,80}\][ \t]{0,20}\r?\n(?:[ \t]{0,20}[;\#][^\n]{0,200}\n){0,20}[\w.-]{1,60}[ \t]{0,20}=
    | (?:Subject|MIME-Version|Content-Type):\ # mail
    | apiVersion: | (?:server|upstream\ \w{1,60}|http|events|location\ [^{\n]{1,60})\s{0,20}\{\s | \#include\b
    | FROM\ [\w./:-]{1,100}(?:\ AS\ \w{1,60})?\r?\n
    | (?:SELECT\s[^;]{1,2000}?\sFROM|INSERT\ INTO|CREATE\ (?:OR\ REPLACE|TABLE|VIEW|INDEX)|(?:ALTER|DROP)\ TABLE|DELETE\ FROM)\s
    | (?i:with\s{1,20}\w{1,60}\s{1,20}as\s{0,20}\()
    | (?:package|import)\ [\w.]{1,100};?\r?\n | from\ [\w.]{1,100}\ import\  | (?:resource|variable|provider)\ "
    | (?:(?:export\ )?[A-Z][A-Z0-9_]{0,60}=[^\n]{0,500}(?:\n|\Z)\s{0,20}){2}
    | ---\r?\n(?:-\ |[\w-]{1,60}:)
"""
_FOREIGN_FIRST = (
    "<", "#!", "#include", "\\", "[", "apiVersion", "server", "upstream", "http", "events", "location", "---", "FROM ",
    "SELECT", "INSERT", "CREATE", "ALTER", "DROP", "DELETE", "with ", "WITH ", "With ", "package ", "import ", "from ",
    "Subject: ", "MIME-", "Content-", "resource ", "variable ", "provider ", "export ",
)  # fmt: skip
_FOREIGN_ANYWHERE = r"""(?x)
      \b(?:ansible_\w{1,60}|hostvars|cookiecutter\.\w|csrf_token|url_for\(|hidden_tag\(|pillar\[|grains\[|copier_answers)
    | \{\{-?\s{0,20}(?:config|ref|source)\(\s{0,20}(?:['"]|materialized)
    | \{%-?\s{0,20}(?:extends|include|import|from)\s{1,20}['"][^'"\n]{1,200}\.(?:html?|xml|sql|jinja\.html|html\.j2)['"]
    | \{%-?\s{0,20}(?:load|url|static)\s
    | </(?:div|td|body|html)>
"""
_FOREIGN_WORDS = (
    "ansible_", "hostvars", "cookiecutter.", "csrf_token", "url_for(", "hidden_tag(", "pillar[", "grains[", "copier_",
    "config(", "ref(", "source(", ".htm", ".xml", ".sql", "% load ", "% url ", "% static ",
    "</div>", "</td>", "</body>", "</html>",
)  # fmt: skip
_CHAT_WORDS = (
    r"add_generation_prompt|\b[be]os_token\b|raise_exception\(|<\|\w|\[INST\]|<start_of_turn>"
    r"|(?:\brole|\[\s?['\"]role['\"]\s?\])\s{0,5}(?:==|!=)\s{0,5}['\"]"
)


def begins_like_prompt(text: str) -> bool:
    """Whether the first sentence speaks to a model: ``You are …``."""
    return re.match(r"\s{0,100}" + _OPENING, text) is not None


def head_begins_like_prompt(head: bytes) -> bool:
    """The same for the first bytes of a file, which may have front matter."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    end = head.find(b"\n---", 3) if head.startswith(b"---") else -1
    begin = end + 4 if end >= 0 else 0
    return _OPENING_BYTES.match(head, begin, begin + 1000) is not None


def is_foreign_text(text: str) -> bool:
    """Whether a Jinja template makes something else than a prompt: a page, a configuration, a program, a query."""
    head = text[:_HEAD]
    foreign = False
    begin = head.lstrip()
    if begin.startswith(("{%", "{#", "<!--")):
        leading = re.match(_LEADING_TAGS, begin)
        begin = begin[leading.end() :] if leading else begin
    if begin.startswith(_FOREIGN_FIRST) or (begin[:1].isupper() and "=" in begin[:80]):
        foreign = re.match(_FOREIGN_START, begin) is not None
    if not foreign and mentions(head, _FOREIGN_WORDS):
        foreign = re.search(_FOREIGN_ANYWHERE, head) is not None
    return foreign and not begins_like_prompt(begin)


def is_chat_template(template: Template) -> bool:
    """Whether a template puts the messages of a whole conversation into the tokens of a model."""
    text = template.text
    if "messages" not in text or "role" not in text or not re.search(_CHAT_WORDS, text):
        return False
    from promptguard.parse.template_nodes import Block, Name

    stack = list(template.body)
    while stack:
        node = stack.pop()
        if not isinstance(node, Block):
            continue
        for section in node.sections:
            if section.tag.name == "for" and any(
                isinstance(inner, Name) and ("messages" in inner.name)
                for expression in section.tag.expressions[:1]
                for inner in expression.walk()
            ):
                return True
            stack.extend(section.body)
    return False
