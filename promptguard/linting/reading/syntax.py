"""How the placeholders of a text are written, where its name does not say."""

from __future__ import annotations

from promptguard.checks.base import Syntax
from promptguard.core import patterns as re
from promptguard.core.light import Iterator, Sequence

_ERB = r"<%="
_STATEMENT = (
    r"\{%[-+]?[ \t]*(?:if|for|set|block|include|macro|raw|extends|import|from|call|filter|with|endif|endfor)\b[^%]{0,500}%\}"
)
_DOUBLE = r"(?<![$\\{])\{\{(?P<mark>[#^/>!&{]?)(?P<inside>[^{}]{1,300})\}\}"
_PRINTED = r"[-+]?\s*[A-Za-z_][\w.]*\s*(?:[(|\[~+*]|(?:if|or|and|in|is|not)\b|-?\Z)"
_PAIRED = r"\$\{([^{}\n]{0,100})\}"
_NAME = r"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){0,5}"
_EXPRESSION = rf"(?:new\s)?{_NAME}(?:\([^()]{{0,60}}\)(?:\.{_NAME})?){{0,4}}"  # of JavaScript; a shell has none with brackets
_FIELD = (
    r"\{\{|\}\}|\{(?P<name>[A-Za-z_]\w{0,60}(?:\.\w{1,60}|\[\w{1,60}\]){0,5})"
    r"(?:![rsa])?(?::(?:[\w<>^+,.%=-]{1,20}|%[\w:/., %-]{1,40}))?\}|[{}]"
)
_JOINED_BEFORE = r"[\w/\\.-]\{|(?<=:):\{"
_JOINED_BEHIND = r"[\w/-]|\.\w"
_VAGUE = frozenset({"id", "ids", "seed", "salt"})
_OBJECT = r"\{\s{0,200}\"[^\"\n]{0,200}\"\s{0,20}:"  # the begin of a JSON object


def guess_syntax(text: str, *, markdown: bool = False) -> Syntax | None:
    """The notation of the placeholders; ``None`` where there are none, or where braces may as well be text.

    Code in Markdown has no say: what stands there is likely to show something.
    """
    if "{" not in text and "<%" not in text:
        return None
    code: list[tuple[int, int]] = []
    if markdown and ("`" in text or "~~~" in text):
        from promptguard.parse.markdown import code_ranges

        code = code_ranges(text)
    if "<%=" in text and any(_outside(_ERB, text, code)):
        return "erb"
    if "{%" in text and any(_outside(_STATEMENT, text, code)):
        return "jinja"
    return _double(text, code) or _single(text, code)


def _double(text: str, code: Sequence[tuple[int, int]]) -> Syntax | None:
    if "{{" not in text:
        return None
    printed = spaced = False
    for match in _outside(_DOUBLE, text, code):
        if match.group("mark"):
            return "mustache"
        inside = match.group("inside")
        if re.match(_PRINTED, inside.strip()):
            printed = True
            spaced = spaced or inside[0].isspace()
    if not printed:
        return None
    # {{name}} is how a format string writes {name}: so it is where single names stand beside it.
    return "format" if not spaced and _single(text, code) == "format" else "jinja"


def _single(text: str, code: Sequence[tuple[int, int]]) -> Syntax | None:
    if "${" in text:
        dollars = [re.fullmatch(_EXPRESSION, match.group(1)) for match in _outside(_PAIRED, text, code)]
        if dollars:
            return "dollar" if all(dollars) else None
    names: set[str] = set()
    known = in_snake_case = objects = doubled = odd = False
    depth = 0  # of objects, and of braces of another kind
    for match in _outside(_FIELD, text, code):
        found, name = match.group(), match.group("name")
        if name:
            if name[0].islower() or name[0] == "_":
                names.add(name)
                in_snake_case = in_snake_case or ("_" in name and not _around(text, match, '"'))
            known = known or (not depth and _is_known(text, match, name))
        elif found == "{{":
            doubled = doubled or re.compile(_OBJECT).match(text, match.start() + 1) is not None
        elif found == "{":
            is_object = re.compile(_OBJECT).match(text, match.start()) is not None
            objects, odd = objects or is_object, odd or not is_object
            depth += 1
        else:
            odd = odd or (found == "}" and not (depth or objects))
            depth = max(0, depth - len(found))
    if known and not (doubled and (objects or odd)):
        return "format"
    if odd:  # neither a format string nor an object would have it
        return None
    if objects:  # what fills it in replaces names one by one
        return "format" if in_snake_case and not doubled else None
    return "format" if len(names) > 1 or any("_" in name for name in names) else None


def _is_known(text: str, match: re.Match[str], name: str) -> bool:
    """Whether a name alone says that it stands for a value, and that of a request: ``{date}``, ``{CURRENT_TIME}``, ``{uuid}``.

    It does not as a part of something, as in ``/at/{time}``, ``log-{date}.txt`` and ``f{time}``, or where it is quoted.
    """
    if re.compile(_JOINED_BEFORE).match(text, match.start() - 1) or re.compile(_JOINED_BEHIND).match(text, match.end()):
        return False
    if name.lower() in _VAGUE or any(_around(text, match, sign) for sign in "\"'`"):
        return False
    from promptguard.prompts.names import kind_of_name, words  # most texts have no single braces

    kind = kind_of_name(name)
    return kind in ("clock", "id") or (kind != "text" and len(words(name)) > 1)


def _around(text: str, match: re.Match[str], sign: str) -> bool:
    """Whether a sign stands directly on both sides."""
    return text[match.start() - 1 : match.start()] == sign == text[match.end() : match.end() + 1]


def _outside(pattern: str, text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """The matches that do not begin in one of some ranges, which are in order."""
    at = 0
    for match in re.finditer(pattern, text):
        while at < len(ranges) and ranges[at][1] <= match.start():
            at += 1
        if at == len(ranges) or match.start() < ranges[at][0]:
            yield match
