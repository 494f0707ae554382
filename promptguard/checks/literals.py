"""Values that a prompt or a tool schema should not have in it as literals: a time of making, the id of a session, a path with a
random part.

A value counts only where its shape leaves no doubt (a temporary path with a random part) or where a label in front of it says
what it is (``Generated at 2026-11-29T10:11:12Z``, ``session 36ee5b``, ``cwd: /home/ann/shop``). A date without a label is a fact
that somebody wrote down, and so is one that is shown as an example.
"""

from __future__ import annotations

from promptguard.checks.base import Changes
from promptguard.core import patterns as re
from promptguard.core.light import Callable, Iterator, Literal, NamedTuple, Sequence, bisect_right, regex

LiteralKind = Literal["clock", "id", "temp-path", "environment"]

_BEFORE = 64  # code points in front of a value that its label is looked for in


class VolatileLiteral(NamedTuple):
    """A value that is another one at another time.

    Attributes:
        start, end: its code points in the text.
        kind: ``clock``: a date or a time; ``id``: of a session, a request, a build; ``temp-path``: with a random part;
            ``environment``: the folder that somebody works in.
        changes: how often it is another one.
    """

    start: int
    end: int
    kind: LiteralKind
    changes: Changes


_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?"
    "|Dec(?:ember)?)"
)
_WEEKDAY = "(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?"
_TIME = r"[0-2]?\d:[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?: ?[AaPp][Mm]\b)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})\b)?"
_DATE = (
    rf"{_WEEKDAY}(?:(?:19|20)\d{{2}}[-/][01]?\d[-/][0-3]?\d|[0-3]?\d[./][0-3]?\d[./](?:19|20)\d{{2}}"
    rf"|{_MONTH}\.? [0-3]?\d(?:st|nd|rd|th)?,? (?:19|20)\d{{2}}"
    rf"|[0-3]?\d(?:st|nd|rd|th)?\.? (?:of )?{_MONTH}\.?,? (?:19|20)\d{{2}})"
)
_AS_DATE_PRINTS = (
    rf"{_WEEKDAY}{_MONTH} [ 0-3]?\d \d\d:[0-5]\d:[0-5]\d (?:[A-Z]{{2,5}} )?(?:19|20)\d{{2}}"  # the command, and ctime()
)
_HEX = "[0-9a-fA-F]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

# A cheap look at what every value has in it; only where it finds something the line is read. The other patterns are compiled when
# they are first used, since most texts never come to them.
_TRIGGER = regex(r"\d(?::[0-5]\d|\d{3}|[A-Fa-f]|(?<=[A-Fa-f]\d)|[G-Zg-z]{1,8}\d)|/(?:home|Users|tmp|var)/|\\(?:Users|Temp)\\")
_LONGEST = 200  # code points of a value in front of what triggers

# Every value starts at the edge of a word and has a digit in it, or is a path.
_VALUE = (
    rf"(?<![\w./-])(?:(?P<clock>{_AS_DATE_PRINTS}"
    rf"|{_DATE}(?:(?:T|,? (?:at )?){_TIME})?|{_TIME}|1[5-9]\d{{8}}(?:\d{{3}}|\.\d{{1,9}})?)(?![\w-]|\.\d)"
    rf"|(?P<id>{_UUID}|(?=[A-Za-z_-]{{0,24}}\d)[A-Za-z0-9][A-Za-z0-9_-]{{4,127}})(?![\w/@-]|\.\w|:/))"
    r"|(?P<temp>(?<![\w.])(?:/private)?(?:/var/folders|/var/tmp|/tmp)/[\w./+-]{1,200}"
    r"|(?<!\w)[A-Za-z]:\\[\w\\ ~.-]{0,80}?\\Temp\\[\w\\.-]{1,120})"
    r"|(?P<path>(?<![\w./~:])(?:/home|/Users)/[\w.@+-]{1,60}[\w./@+-]{0,200}|(?<!\w)[A-Za-z]:\\Users\\[\w.@+-]{1,60}[\w.\\@+-]{0,200})"
)

# What stands between a label and its value: ``:``, ``=``, ``is``, quotes, the closing bracket of a tag, marks of Markdown. A key
# in quotes is no label: a prompt that shows JSON shows an example.
_LINK = r"(?:['\u2019]s?)?[\s`*_>]{0,4}(?:[:=|]|\b(?:is|was|at|on)\b)?[\s\"'`*_<(\[]{0,4}(?:it is |is )?$"
_NOW = (
    r"(?i)\b(?:(?:today|now)(?:'s|\u2019s)?(?:[ _-](?:date|day|time))?"
    r"|(?:current|server|system)[ _-]?(?:local[ _-])?(?:date|time|day|timestamp|datetime)(?:(?:[ _/&-]| and )time)?"
    r"|(?:it|time) is (?:now|currently))" + _LINK
)
_CONDITION = (
    r"(?i)\b(?:if|when(?:ever)?|until|till|unless|while|once|after|before|whether|assum(?:e|ing)|suppos(?:e|ing)|imagine|pretend)"
    r"(?: that)?(?: the)? $"
)
_SAYS_TIME = r"(?i)time|now|currently"
_NOW_WORDS = ("now", "date", "time", "day", "current")  # one of these is in every such label
_STAMPED = (
    r"(?i)\b(?:(?:generated|created|updated|built|rendered|compiled|fetched|retrieved|exported|synced|refreshed|modified|started|loaded)"
    r"(?:[ _-](?:at|on|time))?|timestamp|build[ _-](?:time|date)|as[ _]of|epoch|ts)(?: \(?(?:utc|iso|local)\)?)?" + _LINK
)
# What stands at the head of a line or a sentence, since a sentence may speak of the report that was generated on a day.
_MADE_ON = (
    r"(?i)(?:^|[.;)\]|>*_#-] {0,3})[ \t#>*_(-]{0,8}(?:(?:auto(?:matically)?[ -]?)?generated|rendered)(?: on| at|\**:)" + _LINK
)
_MADE_WORDS = ("generated", "rendered")
_ENDS_SENTENCE = r"[ \t`*_)>\]\"']{0,6}(?:[.;](?:\s|\Z)|-->|[\r\n]|\Z)"
_ID = (
    r"(?i)\b(?:(?P<conversation>session|conversation|chat|thread)|(?P<user>user(?=[ _-]?id\b))"
    r"|(?P<request>request|req|trace|span|run|call|invocation|correlation|transaction|execution|traceparent|nonce)"
    r"|(?P<deployment>commit|revision|git[ _-]sha|build|digest|checksum|etag))"
    r"(?P<named>[ _-]?(?:id|uuid|guid|hash|sha|key|token|number|no\.?))?(?P<link>" + _LINK.removesuffix("$") + ")#?$"
)
_ID_WORDS = (
    *("session", "conversation", "chat", "thread", "user", "req", "trace", "span", "run", "call", "invocation", "correlation"),
    *("transaction", "execution", "nonce", "commit", "revision", "git", "build", "digest", "checksum", "etag"),
)
_NAMES_OF_IDS = ("nonce", "traceparent")
_TRACES = ("trace", "correlation", "request")
_TRACE_ID = rf"{_UUID}|{_HEX}{{32}}"
_FOLDER = (
    r"(?i)\b(?:cwd|pwd|work(?:ing)?[ _-]?dir(?:ectory)?|(?:current|project|workspace|repo(?:sitory)?)[ _-]"
    r"(?:dir(?:ectory)?|folder|path|root)|working folder|workspace)" + _LINK
)
_HEADER = r"(?:^|\n)[ \t]{0,8}[A-Za-z][\w-]{1,60}: {0,4}(?:[\w.-]{1,40}=[^;\s]{1,80}; {0,2}){1,20}[\w.-]{1,40}=$"
_HEADER_BEFORE = 400
_COLOUR = (3, 6, 8)  # digits of one

_RANDOM_PART = (
    rf"(?:^|[/\\._+-])(?:{_UUID}|tmp(?=[a-z_]*\d)[a-z0-9_]{{8}}(?![a-z0-9_])|tmp\.[A-Za-z0-9]{{6,12}}(?![A-Za-z0-9])"
    rf"|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{8,64}}(?!\w)|(?=\w{{6,32}}(?!\w))[A-Za-z]*\d+[A-Za-z]+\d+[A-Za-z][A-Za-z0-9]*)"
)
_RUN = r"\d+|\D+"
_MAC_TEMP = r"/var/folders/\w{2}/\w{10,40}/"
# Names in paths that stand for whoever it is.
_SOMEBODY = frozenset(
    ("user", "username", "you", "yourname", "your_name", "your-name", "me", "name", "someone", "example", "ubuntu")
)

# A format that is spelled out (``the format is YYYY-MM-DD,``) is said of something else than a value behind the comma.
_EXAMPLE = (
    r"(?i)\be\.?g\b|\bi\.?e\b|\bex\.|\bexamples?\b|\bsuch as\b|\blike\b|\bsample\b|\binstance\b|→|->|=>"
    r"|\bformat(?:ted)?\b(?!(?: is| as| in|:){0,2} {0,2}[`'\"]?(?:YYYY|DD|MM|HH)[\w/.:-]{0,30}[`'\"]?[,;])"
)
_EXAMPLE_WORDS = ("eg", "e.g", "ie", "i.e", "ex", "such as", "like", "sample", "instance", "format", "→", "->", "=>")
_EXAMPLE_BEHIND = r"(?i)[\s\"'`*_)\].,]{0,4}(?:(?:is|was|being)? ?(?:just |only )?an? |\(|for )(?:sample|example|placeholder)\b"
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019"}
_EXAMPLE_BEFORE = 120
_FENCE = r"(?m)^[ \t]{0,3}(```|~~~)"
_EXAMPLE_TAG = r"(?i)<(/?)(?:\w{1,30}[_-])?(?:examples?|samples?|demonstrations?|shots?)(?:[_-]?\d{1,3})?(?:\s[^<>\n]{0,80})?>"
_HEADING = r"(?m)^(?:(#{1,6}) .{0,80}|\*\*[^*\n]{1,80}\*\*:?[ \t]*|[A-Z][^\n:]{0,40}:[ \t]*)$"
_EXAMPLE_HEADING = r"(?i)\b(?:examples?|samples?|demonstrations?|few-shot)\b"


def volatile_literals(text: str) -> Iterator[VolatileLiteral]:
    """The values in a text that are others at another time, in their order."""
    in_example: Callable[[int], bool] | None = None
    for match in _values(text):
        changes = _FINDERS[match.lastgroup or ""](text, match)
        if changes is None or _is_example(text, match.start(), match.end()):
            continue
        in_example = in_example or _examples(text)
        if in_example(match.start()):
            continue
        end = match.end() - len(match.group()) + len(match.group().rstrip(".-/\\"))
        yield VolatileLiteral(match.start(), end, _KINDS[match.lastgroup or ""], changes)


def _values(text: str) -> Iterator[re.Match[str]]:
    end = 0
    while (trigger := _TRIGGER.search(text, end)) is not None:
        start = max(end, trigger.start() - _LONGEST, text.rfind("\n", end, trigger.start()) + 1)
        end = text.find("\n", trigger.end())
        end = end if end >= 0 else len(text)
        yield from re.compile(_VALUE).finditer(text, start, end)


def _clock(text: str, match: re.Match[str]) -> Changes | None:
    value = match.group()
    before = text[max(0, match.start() - _BEFORE) : match.start()].rpartition("\n")[2]
    if not any(map(str.isalpha, before)):
        return None
    colons = value.count(":")
    is_epoch = value[0] == "1" and value.replace(".", "").isdigit() and len(value) >= 10
    has_date = colons == 0 or len(value) > 15
    label = _label(_NOW, _NOW_WORDS, before)
    if label is not None and re.search(_CONDITION, before[: label.start()]):
        return None  # "if today is 2026-01-01"
    if is_epoch or (has_date and colons >= 1):
        if label or re.search(_STAMPED, before):
            return "minute" if colons == 1 else "request"
        return None
    if label is None and has_date and re.compile(_ENDS_SENTENCE).match(text, match.end(), match.end() + _BEFORE):
        label = _label(_MADE_ON, _MADE_WORDS, before)
    if label is None or (not has_date and not re.search(_SAYS_TIME, label.group())):
        return None  # "the shop opens today at 9:00"
    return "day" if colons == 0 else "minute" if colons == 1 else "request"


def _id(text: str, match: re.Match[str]) -> Changes | None:
    value = match.group()
    if not _is_random(value):
        return None
    before = text[max(0, match.start() - _BEFORE) : match.start()].rpartition("\n")[2]
    label = _label(_ID, _ID_WORDS, before)
    if label is None:
        is_header = (
            before.endswith("=")
            and len(value) not in _COLOUR
            and re.search(_HEADER, text[max(0, match.start() - _HEADER_BEFORE) : match.start()])
        )
        return "request" if is_header else None
    if not label["named"] and not label["link"].strip(" #") and not _is_hexadecimal(value):
        return None  # "session start-2024": a word behind a word
    bare = label["request"] and not label["named"] and label["request"].lower() not in _NAMES_OF_IDS
    if bare and ":" in label["link"] and not re.fullmatch(_TRACE_ID if label["request"].lower() in _TRACES else _UUID, value):
        return None  # "Run: 7f3c2a9b1e4d"
    if label["deployment"]:
        return "deployment" if re.search("[:=]", label["link"]) else None  # "since commit 9fceb02": a reference
    if label["user"]:
        return "conversation" if re.search("[:=]", label["link"]) else None
    return "conversation" if label["conversation"] else "request"


def _label(pattern: str, words: Sequence[str], before: str) -> re.Match[str] | None:
    """What says what a value is, in the text in front of it; the words are looked for first, since that is quick."""
    lower = before.lower()
    return re.search(pattern, before) if any(word in lower for word in words) else None


def _is_hexadecimal(value: str) -> bool:
    return all(character in "0123456789abcdefABCDEF-" for character in value)


def _is_random(value: str) -> bool:
    """Whether a word looks drawn: hexadecimal, or letters and digits in turns; ``gpt-4o`` and ``step2`` are not."""
    parts = [part for part in re.split("[-_]", value) if any(map(str.isalpha, part)) and any(map(str.isdigit, part))]
    return any((len(part) >= 5 and _is_hexadecimal(part)) or (len(part) >= 8 and _turns(part) >= 3) for part in parts)


def _turns(part: str) -> int:
    """How often letters follow digits or the reverse."""
    return len(re.findall(_RUN, part)) - 1


def _temp(_: str, match: re.Match[str]) -> Changes | None:
    value = match.group()
    return "conversation" if re.search(_RANDOM_PART, value) or re.search(_MAC_TEMP, value) else None


def _path(text: str, match: re.Match[str]) -> Changes | None:
    owner = re.split(r"[/\\]", match.group())[2]
    before = text[max(0, match.start() - _BEFORE) : match.start()].rpartition("\n")[2]
    return "conversation" if owner.lower() not in _SOMEBODY and re.search(_FOLDER, before) else None


_FINDERS: dict[str, Callable[[str, re.Match[str]], Changes | None]] = {"clock": _clock, "id": _id, "temp": _temp, "path": _path}
_KINDS: dict[str, LiteralKind] = {"clock": "clock", "id": "id", "temp": "temp-path", "path": "environment"}


def _is_example(text: str, start: int, end: int) -> bool:
    """Whether the words around a value, in its sentence, say that it is one of many, or it stands in a quotation."""
    line = text[max(0, start - _EXAMPLE_BEFORE) : start].rpartition("\n")[2]
    lower = line.lower()
    if any(word in lower for word in _EXAMPLE_WORDS):
        sentence = re.split(r"(?i)(?<!\be\.g)(?<!\bi\.e)(?<!\be\.)(?<!\bi\.)[.;] ", line)[-1]
        if re.search(_EXAMPLE, sentence):
            return True
    if re.compile(_EXAMPLE_BEHIND).match(text, end, end + _BEFORE):
        return True
    return _is_quoted(line, text[end : end + 2])


def _is_quoted(line: str, behind: str) -> bool:
    """Whether a value stands in quotes together with words in front of it, and those are not all of the line."""
    for opening, closing in _QUOTES.items():
        if closing not in behind:
            continue
        at = line.rfind(opening)
        inside = line[at + 1 :]
        if at > 0 and line[at - 1] in " (" and line[:at].strip() and inside.strip():  # others are apostrophes, or close
            return True
    return False


def _examples(text: str) -> Callable[[int], bool]:
    """Tells whether a place is in an example: between fences or example tags, or below a heading that says so."""
    ranges: list[tuple[int, int]] = []
    fences = [match.start() for match in re.finditer(_FENCE, text)]
    ranges += zip(fences[::2], [*fences[1::2], len(text)], strict=False)
    opened: list[int] = []
    for tag in re.finditer(_EXAMPLE_TAG, text):
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            ranges.append((opened.pop(), tag.end()))
    start: int | None = None
    level = 0
    for heading in re.finditer(_HEADING, text):
        depth = len(heading[1]) if heading[1] else 7
        if start is not None and depth <= level:
            ranges.append((start, heading.start()))
            start = None
        if start is None and re.search(_EXAMPLE_HEADING, heading.group()):
            start, level = heading.start(), depth
    if start is not None:
        ranges.append((start, len(text)))
    ranges.sort()
    starts: list[int] = []
    ends: list[int] = []
    for low, high in ranges:  # make them disjoint
        if ends and low <= ends[-1]:
            ends[-1] = max(ends[-1], high)
        else:
            starts.append(low)
            ends.append(high)

    def contains(at: int) -> bool:
        number = bisect_right(starts, at) - 1
        return number >= 0 and at < ends[number]

    return contains
