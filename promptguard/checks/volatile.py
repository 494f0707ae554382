"""Which values change between requests, judged by what makes them: the name of a variable, a function, a filter.

What the words of a name mean is in ``prompts/names.py``; here is what a rule makes of it, and how often the value changes.
"""

from __future__ import annotations

from promptguard.checks.base import Changes
from promptguard.core import patterns as re
from promptguard.core.finding import Confidence
from promptguard.core.light import NamedTuple, lru_cache, regex
from promptguard.prompts.names import Kind, kind_of_name, words

UNKNOWN = "PG106"
"""The code of a variable of which nothing is known."""
_HEADERS = regex(r"(?:^|[._])req(?:uest)?[._]headers$")
ORDERS = frozenset(("PG201", "PG204"))
"""Codes that are about the order of a value; sorting mends it."""


class Nature(NamedTuple):
    """What a value is.

    Attributes:
        code: of the rule that is about it.
        what: it is, as the object of "prints".
        changes: how often.
        confidence: ``high`` for a call, ``medium`` where only a name says it.
    """

    code: str
    what: str
    changes: Changes
    confidence: Confidence


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DAYS = _set("date day weekday month year today yesterday tomorrow week")
_PROCESS = _set("hostname host gethostname pid getpid uname node platform environ getenv env environment os workspace")

_ASKED = _set("question query input message")

# What is counted anew on each turn; other counts (``tool_count``) are sizes of something that stays.
_COUNTED = _set("message messages turn token tokens request retry call step attempt query conversation visit error")

_GETTERS = _set("get fetch load read make new generate create gen compute build current")
_FORMATTERS = _set("format fmt parse to as is has render humanize localize convert escape quote indent wrap validate check")
_RANDOM_MODULES = _set("random rng rand np numpy secrets faker")
_DRAWS = _set("choice choices sample shuffle shuffled randint randrange uniform randn")
_RANDOM = _set("random rand lipsum random_choice random_sample random_item random_element pick_random randomize")
_CLOCK_CALLS = _set(
    "time time_ns now utcnow today localtime gmtime ctime monotonic perf_counter fromtimestamp strftime_now clock"
)
_LISTINGS = _set("listdir glob iglob iterdir walk scandir rglob fileglob")
_RETRIEVALS = _set("retrieve recall similarity_search get_relevant_documents")
_UNORDERED = _set("set frozenset")

# Compounds of "set" that are no Python set.
_ORDERED_SETS = _set(
    "data skill rule char character instruction problem training test eval mind sub result type off re is not up question word"
    " feature change code rec value parameter exercise tool_use style icon color colour heading head as un has to was been"
)

PURE = _set(
    "range dict namespace cycler joiner list tuple str int float bool len enumerate zip min max sum abs round sorted reversed"
    " raise_exception gettext ngettext _ static include"
)
"""Functions whose result depends on nothing but their arguments."""

SORTING = _set("sort sorted dictsort groupby sum max min")
"""Filters and functions behind which the order of a value no longer matters."""
TESTING = _set("length count wordcount")
"""Filters that print a size."""
CONVERSATIONS = _set("messages history turns chat_history conversation_history message_history")
"""Variables whose size is another one on each turn."""
TIME_FILTERS = _set(
    "strftime datetimeformat date dateformat timeformat datetime time format_datetime format_date format_time formatdate"
    " format_timestamp date_format datetime_format to_datetime strptime as_timestamp timestamp_custom timestamp_local"
    " localdate localtime"
)
"""Filters that write a time."""
NOW_FILTERS = _set("now utcnow today strftime_now")
"""Filters that read the clock, whatever they are given."""
RELATIVE_FILTERS = _set("timeago time_ago naturaltime timesince timeuntil relative_time time_since ago fromnow from_now")
"""Filters that measure a time from now on, even a fixed one."""
HASH_FILTERS = _set("hash md5 sha1 sha256 sha512 checksum hexdigest crc32 uuid uuid5 to_uuid")
"""Filters that make an id of a value."""
DRAWING_FILTERS = _set("random shuffle sample")
"""Filters that draw lots."""
LISTING_FILTERS = _set("fileglob glob listdir iterdir")
UNORDERED_FILTERS = _set("set to_set frozenset")
CLOCK_METHODS = _set("strftime isoformat format ctime humanize diff_for_humans to_date_string to_datetime_string timestamp")
"""Methods that write a time; what they are called on decides."""
DAY_ATTRIBUTES = _set("year month day date weekday isoweekday toordinal")
"""Of a clock: they change at midnight at the most."""
TIME_ATTRIBUTES: dict[str, Changes] = {"hour": "hour", "minute": "minute"}
"""Of a clock, with how often they change."""

RANDOM_CHOICE = Nature("PG107", "a random choice", "request", "high")
HASHED = Nature("PG102", "a hash of a value that is not known here", "conversation", "low")
WRITTEN_TIME = Nature("PG101", "a time", "request", "medium")
HEADERS = Nature("PG102", "what came with the request", "request", "medium")
CLOCK = Nature("PG101", "a clock", "request", "high")
TURNS = Nature("PG104", "a counter", "request", "medium")
UNORDERED = Nature("PG201", "a set", "deployment", "high")
LISTING = Nature("PG204", "a listing of files", "deployment", "high")


@lru_cache(maxsize=4_096)
def of_variable(name: str) -> Nature | None:
    """What a variable is that is called so (dotted); ``None`` where its name does not say."""
    if _HEADERS.search(name):
        return HEADERS
    kind = kind_of_name(name)
    found = words(name.rpartition(".")[2])
    if kind == "counter" and len(found) > 1 and found[-1] == "count" and _COUNTED.isdisjoint(found):
        return None
    if kind == "text":
        if len(found) > 1 and found[-1] == "set" and _ORDERED_SETS.isdisjoint(found):
            return UNORDERED._replace(what="a set, as its name says", confidence="medium")
        return None
    return _of_kind(kind, name, "medium")


@lru_cache(maxsize=1_024)
def of_call(name: str) -> Nature | None:
    """What a function returns that is called so (dotted); ``None`` where its name does not say."""
    module, _, function = name.rpartition(".")
    root = module.rpartition(".")[2]
    if function in _UNORDERED and not module:
        return UNORDERED
    if function in _LISTINGS:
        return LISTING
    if function in _RANDOM or (function in _DRAWS and (root in _RANDOM_MODULES or not module)):
        return RANDOM_CHOICE
    if function in _CLOCK_CALLS and (
        not module or kind_of_name(root) == "clock" or root in ("dt", "pendulum", "arrow", "timezone")
    ):
        return _of_kind("clock", name, "high")
    if function in _RETRIEVALS:
        return _of_kind("memory", name, "high")
    if function == "Date" and not module:  # of JavaScript
        return CLOCK
    found = words(function)
    while len(found) > 1 and found[0] in _GETTERS:
        found = found[1:]
    if not found or found[0] in _FORMATTERS:
        return None
    kind = kind_of_name("_".join(found) if not module else f"{module}.{'_'.join(found)}")
    return None if kind == "text" else _of_kind(kind, name, "high")


def of_declared(name: str) -> Nature:
    """What a variable is that the configuration declares to change."""
    nature = of_variable(name)
    if nature is None or nature.code in ORDERS:
        return Nature(UNKNOWN, "a variable that is declared to change", "request", "high")
    return nature._replace(confidence="high")


def _of_kind(kind: Kind, name: str, confidence: Confidence) -> Nature:
    found = words(name.rpartition(".")[2]) or [""]
    if kind == "clock":
        return Nature("PG101", "a clock", "day" if not _DAYS.isdisjoint(found) and "time" not in found else "request", confidence)
    if kind == "id":
        lasting = not {"session", "conversation", "thread", "chat", "tenant", "visitor"}.isdisjoint(words(name))
        if lasting:
            return Nature("PG102", "an id of the conversation", "conversation", confidence)
        return Nature("PG102", "an id", "request", confidence)
    if kind == "user":
        return Nature("PG103", "who the user is", "conversation", confidence)
    if kind == "memory":
        what = "what the user asks" if found[-1] in _ASKED else "retrieved content"
        return Nature("PG105", what, "request", confidence)
    if kind == "counter":
        return Nature("PG104", "a counter", "request", confidence)
    changes: Changes = "deployment" if not _PROCESS.isdisjoint(found) else "conversation"
    return Nature("PG104", "the environment", changes, confidence)


_SECONDS = regex(r"%[-_0^#]?[SfsTXcrLN]")
_WITH_SECONDS = ("c", "r", "U")  # of PHP: ISO 8601, RFC 2822, seconds since 1970
_MINUTES = regex(r"%[-_0^#]?[MR]")
_HOURS = regex(r"%[-_0^#]?[HIpkl]")


def changes_of_format(pattern: str) -> Changes:
    """How often a time changes that is written with a format: of strftime, PHP (``H:i:s``) or Unicode (``HH:mm:ss``)."""
    if "%" in pattern:
        if _SECONDS.search(pattern):
            return "request"
        return "minute" if _MINUTES.search(pattern) else "hour" if _HOURS.search(pattern) else "day"
    if pattern in _WITH_SECONDS:
        return "request"
    letters = re.sub(r"full|long|medium|short|iso", "", pattern[:100].lower())
    if "s" in letters:
        return "request"
    hours = "h" in letters
    return "minute" if re.search("[im]" if hours else r"\bi\b", letters) else "hour" if hours else "day"


_DATE_CODES = frozenset("YymbBhdejaAuwUWGVDFxgC")
_DIRECTIVE = regex(r"%[-_0^#]?([a-zA-Z])")


def coarser_format(pattern: str) -> str | None:
    """A strftime format that changes less often: only its date where it has one, else without seconds; ``None`` where there is
    none that reads well.
    """
    directives = list(_DIRECTIVE.finditer(pattern[:200]))
    dates = [match for match in directives if match.group(1) in _DATE_CODES]
    if dates and len(dates) < len(directives):
        first, last = directives.index(dates[0]), directives.index(dates[-1])
        if last - first >= len(dates):
            return None
        start = dates[0].start() if first else 0
        return pattern[start : dates[-1].end()] if last < len(directives) - 1 else pattern[start:]
    if dates:
        return None
    without = re.sub(r"[:.,]?%[-_0^#]?[Sf]", "", pattern)
    return without if without != pattern and "%" in without else None
