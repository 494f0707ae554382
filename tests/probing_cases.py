"""Builders, and what their prompts change with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from promptguard.probing.result import ProbeResult

Probe = Callable[..., ProbeResult]

_TOOLS = """
NAMES = ("search_notes", "send_mail", "get_weather", "book_seats", "read_file", "list_files")
def tool(name, required=("place",)):
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in ("place", "unit", "days")}}
    schema["required"] = list(required)
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": schema}}
"""


class Case(NamedTuple):
    name: str
    code: str
    factors: tuple[str, ...]
    cause: str
    block: str = "system"
    runs: int = 1


CASES = (
    Case("time", 'def build(): return f"{RULES} It is {time.time()}."', ("clock",), "K1"),
    Case("day in a message", 'def build(): return [{"role": "system", "content": f"{date.today()} {RULES}"}]', ("clock",), "K1"),
    Case(
        "clock in a tool",
        _TOOLS + 'def build(): return {"tools": [tool(f"at {datetime.now(dt.timezone.utc)}")], "messages": []}',
        ("clock",),
        "K1",
        "tools",
    ),
    Case(
        "clock in the history",
        'def build(): return [{"role": "user", "content": str(time.time())}, {"role": "assistant", "content": "ok"}]',
        ("clock",),
        "K1",
        "history",
    ),
    Case("uuid1", 'def build(): return f"{RULES} {uuid.uuid1(node=1, clock_seq=2)}"', ("call", "clock"), "K2"),
    Case("uuid4", 'def build(): return f"{RULES} {uuid.uuid4()}"', ("call", "run"), "K2"),
    Case("unseeded generator", 'R = random.Random()\ndef build(): return f"{RULES} {R.random()}"', ("call", "run"), "K2"),
    Case("random", 'def build(): return f"{RULES} {random.random()}"', ("random-seed",), "K2"),
    Case("random at import", 'N = random.random()\ndef build(): return f"{RULES} {N}"', ("random-seed",), "K2"),
    Case("counter", 'N = []\ndef build(): N.append(1); return f"{RULES} turn {len(N)}"', ("call",), "K7"),
    Case(
        "tools in a set",
        _TOOLS + "def build(): return {'tools': [tool(name) for name in set(NAMES)], 'messages': []}",
        ("hash-seed",),
        "K3",
        "tools",
    ),
    Case(
        "required from a set",
        _TOOLS + "def build(): return {'tools': [tool('a', set(NAMES))], 'messages': []}",
        ("hash-seed",),
        "K4",
        "tools",
    ),
    Case("two in a set", "def build(): return RULES + ' '.join({'red', 'blue'})", ("hash-seed",), "K3", runs=12),
    Case("hash", "def build(): return f'{RULES} {hash(RULES)}'", ("hash-seed",), "K2"),
    Case("hash in hexadecimal", "def build(): return f'{RULES} id:{hash(RULES) & 0xffffffff:08x}'", ("hash-seed",), "K2"),
    Case(
        "hash as a key",
        "def build(): return [{'role': 'assistant', 'content': RULES, 'n': hash(RULES)}]",
        ("hash-seed",),
        "K2",
        "history",
    ),
    Case("one of a set", "def build(): return RULES + set(RULES.split()).pop()", ("hash-seed",), "K3", runs=12),
    Case(
        "listing",
        "for n in 'abc': open(f'{n}.md', 'w').close()\nNAMES = None\n"
        "def build(): return RULES + ', '.join(n for n in os.listdir() if n.endswith('.md'))",
        ("listing-order",),
        "K3",
    ),
    Case(
        "environment",
        "def build(): return RULES + ' '.join(os.environ)",
        ("environment-order",),
        "K3",
    ),
    Case("zone", "def build(): return RULES + time.strftime(' %z')", ("time-zone",), "K1"),
    Case("language", "def build(): return RULES + os.environ.get('LANG', '')", ("locale",), "K7"),
    Case("directory", "def build(): return f'{RULES} cwd: {os.getcwd()}'", ("directory",), "K7"),
    Case("home", "def build(): return f\"{RULES} home: {os.path.expanduser('~')}\"", ("home",), "K7"),
    Case("user", "import getpass\ndef build(): return f'{RULES} Hello {getpass.getuser()}'", ("user",), "K15"),
    Case("user of the system", "import pwd\ndef build(): return RULES + pwd.getpwuid(os.getuid()).pw_name", ("user",), "K15"),
    Case("temporary folder", "import tempfile\ndef build(): return RULES + tempfile.gettempdir()", ("temporary-folder",), "K7"),
    Case("monotonic", 'def build(): return f"{RULES} {time.monotonic()}"', ("call", "run"), "K1"),
    *(
        Case(clock, f'def build(): return f"{{RULES}} {{time.{clock}()}}"', ("call", "run"), "K1")
        for clock in ("monotonic_ns", "perf_counter_ns", "process_time", "process_time_ns", "thread_time", "thread_time_ns")
    ),
    Case("milliseconds", 'def build(): return f"{RULES} {time.perf_counter() * 1000:.0f}"', ("call", "run"), "K1"),
    Case(
        "numpy imported late",
        'def build():\n    import numpy\n    return f"{RULES} {numpy.random.rand(3)}"',
        ("random-seed",),
        "K2",
    ),
    Case("in one word", 'N = []\ndef build(): N.append(1); return f"{RULES} {os.getpid()}-{len(N)}"', ("call", "run"), "K2"),
    Case("host", "import socket\ndef build(): return f'{RULES} on {socket.gethostname()}'", ("host",), "K7"),
    Case(
        "cache key",
        "def build(): return {'instructions': RULES, 'input': 'hi', 'prompt_cache_key': f'agent-{uuid.uuid4()}'}",
        ("call", "run"),
        "K14",
    ),
    Case(
        "call id",
        "def build(): return [{'role': 'assistant', 'tool_calls': [{'id': f'call_{random.random()}', 'type': 'function',"
        " 'function': {'name': 'a', 'arguments': '{}'}}]}, {'role': 'tool', 'content': 'ok'}]",
        ("random-seed",),
        "K2",
        "history",
    ),
)
STABLE = {
    "text": "def build(): return RULES",
    "bytes": "def build(): return RULES.encode()",
    "clock in the last user message": """
        def build(): return [{"role": "system", "content": RULES}, {"role": "user", "content": str(time.time())}]""",
    "clock in the input of a responses request": "def build(): return {'instructions': RULES, 'input': str(time.time())}",
    "names of the environment": "def build(): return RULES + ' '.join(sorted(os.environ))",
    "sorted set": "def build(): return RULES + ' '.join(sorted({'red', 'blue', 'green'}))",
    "keys of a message in another order": """
        def build():
            keys = [("role", "system"), ("content", RULES)]
            return [dict(sorted(keys, key=lambda key: hash(key)))]""",
    "async": "async def build(): return RULES",
    "prints": "def build():\n    print('{}\\n' * 10000); os.system('echo [1]'); return RULES",
    "reads standard input": "import sys\ndef build(): return RULES + sys.stdin.read()",
    "leaves a thread": "import threading\ndef build(): threading.Thread(target=time.sleep, args=(600,)).start(); return RULES",
    "waits for its clock": """
        def build():
            begin = time.time()
            while time.time() < begin + 0.01: pass
            return RULES""",
    "dataclass and pydantic": """
        import dataclasses, pydantic
        @dataclasses.dataclass
        class Message:
            role: str
            content: str
        class Request(pydantic.BaseModel):
            system: str
            messages: list[Message]
            made: float = pydantic.Field(default_factory=time.time)
        def build(): return Request(system=RULES, messages=[Message("user", "hi")])""",
}
CLOCKS = (
    "datetime.now(dt.timezone.utc)",
    "datetime.fromtimestamp(time.time(), dt.timezone.utc)",
    "datetime.fromtimestamp(time.time_ns() / 1e9, dt.timezone.utc)",
    "datetime.fromtimestamp(time.clock_gettime(time.CLOCK_REALTIME), dt.timezone.utc)",
    "time.strftime('%H:%M:%S', time.gmtime())",
    "time.asctime(time.gmtime())",
    "datetime.fromtimestamp((uuid.uuid1().time - 0x01B21DD213814000) / 1e7, dt.timezone.utc)",
)
PERIODS = {
    "date.today().timetuple().tm_yday": "day",
    "9 <= datetime.now(dt.timezone.utc).hour < 17": "day",
    "datetime.now(dt.timezone.utc).hour >= 18": "day",
    "datetime.now(dt.timezone.utc).hour < 12": "day",
    "date.today().weekday() >= 5": "week",
    "date.today().isocalendar()[1]": "week",
    "date.today().strftime('%B')": "month",
    "(date.today().month - 1) // 3": "quarter",
    "date.today().year": "year",
}
"""What a prompt may say of the clock, and how often that changes at most."""
