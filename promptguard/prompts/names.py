"""What the name of a template variable says about its value.

A name is evidence, not proof: words are compared whole (``runtime`` is not ``time``, ``valid`` is not ``id``), and a word that is
used in many senses counts only in the sense that varies (``current_date``, but neither ``release_date`` nor ``date_format``).
"""

from __future__ import annotations

import itertools

from promptguard.core import patterns as re
from promptguard.core.light import Literal, lru_cache, regex

Kind = Literal["clock", "id", "user", "counter", "memory", "environment", "text"]

_LONGEST = 500  # code points of a name or an expression that are looked at


@lru_cache(maxsize=None)
def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that say what a value is wherever they stand in a name.
_CLOCK = _set("now today tomorrow yesterday timestamp datetime utcnow strftime localtime gmtime isoformat")
_ID = _set("uuid uuid1 uuid4 uuid7 guid nonce ulid nanoid uid rand random randint randbytes traceparent urandom")
_MEMORY = _set("memories retrieved retrieval rag recalled")
_ENVIRONMENT = _set(
    "cwd pwd getcwd hostname gethostname workdir environ getenv tmpdir tempdir gettempdir tmp git pid getpid uname"
)
_USER = _set("username email surname nickname firstname lastname")

# Words that count only at the end of a name, save for the suffixes below.
_CLOCK_LAST = _set("date time day weekday month year hour minute clock epoch")
_ID_LAST = _set("id ids token hash salt seed")
_COUNTER_LAST = _set("counter count turn turns step iteration attempt retry retries remaining left")
_MEMORY_LAST = _set(
    "memory recall scratchpad documents docs passages snippets chunks results facts history question query input message"
)
_ENVIRONMENT_LAST = _set("branch commit host workspace env environment listing tree")
_USER_LAST = _set("user customer client member person patient employee account tenant")

# What may stand behind such a word without changing what it is.
_SUFFIX = _set("string str text iso utc local formatted fmt value block section list content ms sec seconds number s")

# Qualifiers that make a fixed value of a word that otherwise varies; split into words when one is asked for, as those below.
_FIXED = {
    "clock": (
        "release released birth due cutoff launch publication effective expiry expiration lead run response delivery process"
        " max min opening full part real first one life start end training build version fiscal per business long"
        " created updated published issued signed founded policy contract joined since until valid hire order invoice closing"
        " founding foundation incorporation inception establishment graduation election wedding holiday harvest"
    ),
    "id": (
        "model agent tool app application template prompt schema product voice language locale project package plugin bot"
        " max bos eos pad stop end start file doc role git content version"
        " store course department dept region org organization organisation company brand site section category rule policy item"
        " page lesson skill team channel topic intent dataset index collection table column field node vendor partner"
    ),
    "counter": "max min limit per each next first last every by top",
    "memory": "max min error system welcome assistant example sample static api no expected shared gpu video product project",
    "environment": "max default decision syntax parse db database smtp mail api base",
    "user": "api http bank service model every super new",
}

_ABOUT = _set("rule rules format template policy instruction instructions guideline guidelines limit size zone tool")
"""A name that ends in one of these is about a thing and does not hold it."""
_NOTE = _set("note")
"""The same for clocks, ids and the environment; memory and users have notes themselves."""

_SENDERS = _set(
    "support contact from sender company sales billing help helpdesk service office admin team press privacy noreply organization"
    " organisation org business hr legal security brand shop store hotel clinic emergency"
)
"""Whose address stays the same: ``support_email``, ``company.email``."""

# A message, a question or an input varies only where the name says whose.
_NEEDS_QUALIFIER = {
    "message": "user last latest current",
    "input": "user last latest current",
    "results": "search retrieval query lookup",
    "history": "chat conversation message dialog session",
    "docs": "relevant retrieved search related",
    "documents": "relevant retrieved search related",
    "facts": "relevant retrieved known user remembered",
    "token": "session request csrf auth access nonce random",
    "hash": "session request random",
    "tree": "file directory dir project",
    "listing": "file directory dir project",
    "client": "current",
    "account": "current user customer",
    "step": "current",
    "left": "tokens token turns budget steps messages seconds calls tries",
    "env": "os",
    "day": "current this week",
    "month": "current this",
    "year": "current this",
    "hour": "current this",
    "minute": "current this",
}

# What a person has: "user_name" and "customer.email" vary by person, "user_rules" and "client_library" do not.
_PERSONAL = _set(
    "name id ids email mail phone address city country location locale language role plan tier profile info details data"
    " preferences prefs first last full display age birthday timezone uuid uid handle segment"
)
_PEOPLE = _USER_LAST | _set("author caller visitor subscriber guest student learner applicant buyer recipient")

_PAIRS: dict[tuple[str, str], Kind] = {
    ("time", "zone"): "text",
    ("now", "serving"): "text",
    ("now", "playing"): "text",
    ("time", "limit"): "text",
    ("date", "format"): "text",
    ("time", "format"): "text",
    ("call", "id"): "id",
    ("last", "user"): "memory",
    ("first", "name"): "user",
    ("last", "name"): "user",
    ("full", "name"): "user",
    ("working", "dir"): "environment",
    ("working", "directory"): "environment",
    ("work", "dir"): "environment",
    ("current", "dir"): "environment",
    ("current", "directory"): "environment",
    ("home", "dir"): "environment",
    ("temp", "dir"): "environment",
    ("temp", "path"): "environment",
    ("host", "name"): "environment",
    ("ip", "address"): "environment",
    ("open", "files"): "environment",
    ("generated", "at"): "clock",
    ("rendered", "at"): "clock",
    ("requested", "at"): "clock",
    ("sent", "at"): "clock",
    ("token", "hex"): "id",
    ("token", "bytes"): "id",
    ("token", "urlsafe"): "id",
    ("tokens", "used"): "counter",
    ("remaining", "tokens"): "counter",
    ("remaining", "turns"): "counter",
    ("remaining", "steps"): "counter",
    ("remaining", "calls"): "counter",
    ("remaining", "budget"): "counter",
    ("user", "agent"): "text",
    ("memory", "limit"): "text",
    ("relevant", "context"): "memory",
    ("retrieved", "context"): "memory",
    ("search", "context"): "memory",
    ("conversation", "context"): "memory",
    ("conversation", "summary"): "memory",
    ("chat", "summary"): "memory",
}

# Names of one word that say nothing as a part of a longer one.
_WHOLE: dict[str, Kind] = {
    "context": "memory",
    "documents": "memory",
    "search": "memory",
    "retrieve": "memory",
    "day": "clock",
    "month": "clock",
    "year": "clock",
    "weekday": "clock",
    "customer": "user",
    "client": "user",
    "env": "environment",
    "step": "counter",
}

_WORDS = regex(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_STRING = regex(r"'[^'\\]{0,500}'|\"[^\"\\]{0,500}\"")
_CHAIN = regex(r"(\|\s{0,9})?\b([A-Za-z_]\w{0,99})")
_CALL = regex(r"\([^()]{0,200}\)|\[[^\[\]]{0,200}\]")
_DRAWS = regex(r"\|\s{0,9}(random|shuffle)\b")
_NOT_NAMES = _set("if else elif and or not in is for true false none True False None loop defined self")


def words(name: str) -> list[str]:
    """The lower-case words of a name in snake_case, kebab-case or camelCase."""
    return [word.lower() for word in _WORDS.findall(name[:_LONGEST])]


@lru_cache(maxsize=4_096)
def kind_of_name(name: str) -> Kind:
    """What a variable, attribute or function holds, judged by its name.

    The last part of a dotted name counts first (``user.session_id`` is an id), then the part before it (``user.name`` is a user).
    """
    parts = [words(part) for part in name[:_LONGEST].replace("()", "").split(".")]
    if parts and parts[0] in (["loop"], ["self"]):
        return "text"
    for position in range(len(parts) - 1, -1, -1):
        before = parts[position - 1][-1:] if position else []
        kind = _kind_of_words(parts[position], before)
        if kind != "text":
            return kind
        if before and parts[position] and _PAIRS.get((before[0], parts[position][0])) == "text":
            return "text"
    return "text"


def names_fixed_date(name: str) -> bool:
    """Whether a name says that it holds a date which does not move, such as ``release_date`` or ``policy.valid_from``."""
    return not _set(_FIXED["clock"]).isdisjoint(words(name))


def kind_of_expression(expression: str) -> Kind:
    """What a template expression prints, judged by the names in it; filters and literal strings do not count."""
    kinds = map(kind_of_name, chains(expression))
    return next((kind for kind in kinds if kind != "text"), "text")


def chains(expression: str) -> list[str]:
    """The names in an expression with their attributes, such as ``user.name``; neither filters nor literal strings."""
    plain = _STRING.sub("''", expression[:_LONGEST])
    for _ in range(4):
        opened = _CALL.sub(lambda match: " " + match.group()[1:-1] + " " if re.search(r"[A-Za-z_]", match.group()) else "", plain)
        if opened == plain:
            break
        plain = opened
    found: list[str] = []
    chain: list[str] = []
    end = 0
    for match in _CHAIN.finditer(plain):
        if chain and plain[end : match.start()].strip() != ".":
            found.append(".".join(chain))
            chain = []
        end = match.end()
        if match.group(1) is None and match.group(2) not in _NOT_NAMES:
            chain.append(match.group(2))
    return [*found, ".".join(chain)] if chain else found


def drawn_by(expression: str) -> str | None:
    """The filter that draws lots in an expression, ``random`` or ``shuffle``."""
    match = _DRAWS.search(_STRING.sub("''", expression[:_LONGEST]))
    return match.group(1) if match is not None else None


def _kind_of_words(found: list[str], before: list[str]) -> Kind:
    """The kind that the words of one part of a name give it; ``before`` is the last word of the part in front."""
    if not found:
        return "text"
    if len(found) == 1 and not before and found[0] in _WHOLE:
        return _WHOLE[found[0]]
    everything = before + found
    if len(found) == 3 and found[1] == "of":  # "summary of conversation" as "conversation summary"
        everything = [*before, found[2], found[0]]
    for pair in itertools.pairwise(everything):
        if pair in _PAIRS:
            return _PAIRS[pair] if found[-1] not in _ABOUT else "text"
    if any(person in _PEOPLE and attribute in _PERSONAL for person, attribute in itertools.pairwise(everything)):
        return "user"
    always: tuple[tuple[Kind, frozenset[str]], ...] = (
        ("id", _ID),
        ("clock", _CLOCK),
        ("memory", _MEMORY),
        ("environment", _ENVIRONMENT),
        ("user", _USER),
    )
    for kind, vocabulary in always:
        if any(word in vocabulary for word in found) and not _fixed(kind, everything):
            return kind
    stem = list(found)
    while len(stem) > 1 and stem[-1] in _SUFFIX:
        stem.pop()
    last = stem[-1]
    qualifiers = frozenset(before + stem[:-1])
    at_the_end: tuple[tuple[Kind, frozenset[str]], ...] = (
        ("clock", _CLOCK_LAST),
        ("id", _ID_LAST),
        ("counter", _COUNTER_LAST),
        ("memory", _MEMORY_LAST),
        ("environment", _ENVIRONMENT_LAST),
        ("user", _USER_LAST),
    )
    for kind, vocabulary in at_the_end:
        if last in vocabulary:
            needed = _NEEDS_QUALIFIER.get(last)
            if qualifiers & _set(_FIXED[kind]) or (needed is not None and not qualifiers & _set(needed)):
                return "text"
            return kind
    return "text"


def _fixed(kind: Kind, found: list[str]) -> bool:
    """Whether a word that always counts is qualified into something fixed, as in ``email_rules`` or ``datetime_format``."""
    if kind in ("clock", "id", "environment") and found[-1] in _NOTE:
        return True
    return found[-1] in _ABOUT or (kind == "user" and found[0] in _SENDERS)
