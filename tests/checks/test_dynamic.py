"""PG101 to PG107 beyond the cases of their rule files."""

import pytest
from checked_prompts import fixed, hits, jinja, plain, reported

from promptguard.checks import dynamic
from promptguard.checks.base import TOKENS_BEHIND, Region
from promptguard.checks.volatile import changes_of_format, coarser_format
from promptguard.linting.reading import read_documents
from promptguard.linting.settings import Settings

RULES = "Answer in one sentence.\nQuote your source.\n"

CODES = {
    "PG101": "now() utcnow() datetime.now() time.time() datetime.date.today() strftime_now('%Y') current_time now.year"
    " start|timeago x|strftime('%H') 'now'|date('Y') '%Y'|strftime get_current_date() time.strftime('%Y') user['current_time']"
    " ''|now 'Europe/Berlin'|now '%Y'|strftime_now",
    "PG102": "uuid4() uuid.uuid4() secrets.token_hex(8) request_id request.id trace_id nonce session.id text|hash thread_id"
    " request.headers",
    "PG103": "user user.name customer_email user['name'] customer.get('email') get_user_name() tenant_id",
    "PG104": "cwd os.getcwd() hostname git_branch git.status getenv('HOME') os.environ['HOME'] turn tokens_left message_count"
    " messages|length session.history|count",
    "PG105": "memories retrieved_docs context search(x) memories[:3]|join(',') chat_history last_user_message"
    " retriever.retrieve(x)",
    "PG107": "[1,2]|random tips|shuffle|join random.choice(tips) random.randint(1,6) lipsum() (range(9)|random)+1",
}


@pytest.mark.parametrize(("code", "expression"), [(code, value) for code, values in CODES.items() for value in values.split()])
def test_an_expression_is_judged_by_names_calls_and_filters(code: str, expression: str) -> None:
    text = f"{{{{ {expression} }}}}"
    assert reported(f"{text}\n{RULES}") == [f"{code} {text}"]


SILENT = """
name model product.title model_id agent.id tool.id store_id release_date policy.valid_from timezone date_format support_email
company.email max_turns tool_count loop.index system_message examples get_rules() format_date(day_one) release_date|date('Y')
memories|length tools|length headers.title
user_rules 'now' 'x'|strftime knowledge rules|upper range(3)|join data_set context_window
"""


@pytest.mark.parametrize("expression", SILENT.split())
def test_other_expressions_are_notes_at_most(expression: str) -> None:
    assert reported(f"{{{{ {expression} }}}}" + "static " * 200) == []


@pytest.mark.parametrize(
    ("expression", "changes", "severity"),
    [
        ("now()", "request", "error"),
        ("now().isoformat()", "request", "error"),
        ("now().strftime('%Y-%m-%d %H:%M')", "minute", "error"),
        ("now().strftime('%d %b %Y')", "day", "warning"),
        ("now().date()", "day", "warning"),
        ("now().isoformat()[:10]", "day", "warning"),
        ("now().isoformat()[:16]", "minute", "error"),
        ("now() | date('Y-m-d')", "day", "warning"),
        ("now() | date('H:i:s')", "request", "error"),
        ("'now' | date('c')", "request", "error"),
        ("'' | now", "request", "error"),
        ("now() | format_date('short')", "day", "warning"),
        ("now().hour", "hour", "error"),
        ("now().minute", "minute", "error"),
        ("today", "day", "warning"),
        ("request_id", "request", "error"),
        ("session_id", "conversation", "warning"),
        ("user.name", "conversation", "warning"),
        ("cwd", "conversation", "warning"),
        ("hostname", "deployment", "warning"),
        ("tokens_left", "request", "error"),
        ("memories", "request", "error"),
        ("[1, 2] | random", "request", "error"),
    ],
)
def test_how_often_a_value_changes(expression: str, changes: str, severity: str) -> None:
    (hit,) = hits(jinja(f"{{{{ {expression} }}}}\n{RULES}"))
    assert (hit.changes, hit.severity) == (changes, severity)


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (f"{RULES}User: {{{{ user.name }}}}\n", "note"),
        (f"{RULES}User: {{{{ user.name }}}} of {{{{ size }}}}\n", "note"),
        (f"User: {{{{ user.name }}}}\n{RULES}", "warning"),
        (f"{RULES}Time: {{{{ now() }}}}\n", "error"),
        (f"{RULES}Question: {{{{ question }}}}\n", "note"),
        (f"{RULES}Notes: {{{{ memories }}}}.\n", "note"),
        (f"{RULES}Notes: {{{{ memories }}}}\nAnswer now.\n", "error"),
        (f"{RULES}Notes: {{{{ memories }}}}\n{{{{ rules }}}}\n", "error"),
        (f"{RULES}Notes: {{{{ memories }}}}\n{{% include 'rules.j2' %}}\n", "error"),
        (f"{RULES}Host: {{{{ hostname }}}}\n", "warning"),
    ],
)
def test_what_stays_within_a_conversation_costs_nothing_at_the_end(text: str, severity: str) -> None:
    assert hits(jinja(text))[0].severity == severity


@pytest.mark.parametrize(
    ("pattern", "changes"),
    [
        ("%c", "request"),
        ("%H", "hour"),
        ("%I %p", "hour"),
        ("%I:%M %p", "minute"),
        ("%A", "day"),
        ("H:i", "minute"),
        ("HH:mm", "minute"),
        ("HH", "hour"),
        ("HH:mm:ss", "request"),
        ("yyyy-MM-dd", "day"),
        ("full", "day"),
        ("c", "request"),
        ("U", "request"),
    ],
)
def test_how_often_a_format_changes(pattern: str, changes: str) -> None:
    assert changes_of_format(pattern) == changes


@pytest.mark.parametrize(
    ("pattern", "coarser"),
    [
        ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"),
        ("%H:%M:%S on %d %b %Y", "%d %b %Y"),
        ("on %A at %H:%M UTC", "on %A"),
        ("%H:%M:%S.%f", "%H:%M"),
        ("%H:%M", None),
        ("%Y-%m-%d", None),
        ("%d %H %m", None),
        ("%S", None),
        ("", None),
    ],
)
def test_a_coarser_format(pattern: str, coarser: str | None) -> None:
    assert coarser_format(pattern) == coarser


def test_an_item_of_a_list_is_reported_once_for_the_loop() -> None:
    text = "{% for m in memories %}{{ m.text }}{{ m.date }}{{ m.id }}{% endfor %}{% for m in memories %}{{ m }}{% endfor %} Rules"
    assert reported(text) == ["PG105 {{ m.text }}", "PG105 {{ m }}"]


def test_what_an_unknown_list_holds_is_data() -> None:
    assert reported("{% for r in releases %}{{ r.date }} {{ r.id }} {{ r.day | strftime('%d %b') }}{% endfor %}") == []


def test_a_placeholder_is_reported_once_for_each_rule() -> None:
    assert reported("{{ user.name ~ now() ~ user.email }}\nBe kind.") == [
        "PG103 {{ user.name ~ now() ~ user.email }}",
        "PG101 {{ user.name ~ now() ~ user.email }}",
    ]


def test_the_place_that_a_value_comes_from_is_related() -> None:
    text = "{% set t = now() %}{{ t }}"
    (hit,) = hits(jinja(text))
    assert [(text[start:end], message) for start, end, message in hit.related] == [("now()", "the value comes from here")]


def test_a_branch_that_a_clock_chooses_is_a_note() -> None:
    text = "{% if now().hour < 12 %}Good morning{% elif [1, 2] | random == 1 %}x{% elif user.name == 'x' %}y{% endif %}"
    found = [(hit.code, text[hit.start : hit.end], hit.severity) for hit in hits(jinja(text))]
    assert found == [("PG101", "now().hour < 12", "note"), ("PG107", "[1, 2] | random == 1", "note")]


def test_only_prefix_blocks_count() -> None:
    text = "{{ now() }}{{ now() }}Now: 2026-11-29 10:11\n"
    assert hits(jinja(text, regions=[Region(0, len(text), "user")])) == []
    assert reported(jinja(text, regions=[Region(0, 11, "tools"), Region(11, len(text), "history")])) == ["PG101 {{ now() }}"]


def test_declared_variables() -> None:
    text = "{{ user.name }}{{ user.id }}{{ plan.name }}{{ plan.price }}{{ now }}{{ session_id }}\nBe kind."
    document = jinja(text, stable=["user.name", "session_id"], dynamic=["plan", "now"])
    assert reported(document) == ["PG103 {{ user.id }}", "PG101 {{ now }}", "PG106 {{ plan.name }}", "PG106 {{ plan.price }}"]


def test_the_values_of_a_context_file_are_stable() -> None:
    document = jinja("{{ user.name }}{{ cwd }}\nBe kind.")
    document.known = {"user": {"name": "Ann"}}
    assert reported(document) == ["PG104 {{ cwd }}"]


def test_the_first_unknown_variable_is_a_note() -> None:
    text = "{{ user.name }}{{ colour }}" + "s" * 1_200 + "{{ size }}"
    (note,) = [hit for hit in hits(jinja(text)) if hit.severity == "note"]
    assert note.message == (
        f"`{{{{ colour }}}}` prints a variable in front of {TOKENS_BEHIND} of static text:"
        " put it behind them, at the end of the block"
    )
    options = {"PG106": {"min-static-characters": 1_201}}
    assert [hit.code for hit in dynamic.check(jinja(text), options)] == ["PG103"]


@pytest.mark.parametrize(
    ("syntax", "written", "expression"),
    [("format", "{now}", "now"), ("mustache", "{{now}}", "now"), ("dollar", "${now}", "now"), ("erb", "<%= now %>", "now")],
)
def test_other_syntaxes(syntax: str, written: str, expression: str) -> None:
    text = f"Time: {written}\n{RULES}"
    (hit,) = hits(plain(text, [(written, expression)], syntax))  # type: ignore[arg-type]
    assert (hit.code, text[hit.start : hit.end]) == ("PG101", written)
    assert hit.fix is not None
    assert [edit.text for edit in hit.fix.edits] == ["", f"Time: {written}\n"]


def test_a_line_does_not_move_out_of_a_section() -> None:
    text = "Be kind.\n{{#if a}}\nTime: {{now}}\n{{/if}}\nStay calm and carry on.\n"
    (hit,) = hits(read_documents("prompts/a.txt", text, Settings("/"))[0])
    assert (hit.code, hit.fix) == ("PG101", None)


def test_a_format_behind_a_colon() -> None:
    (hit,) = hits(plain("Day: {now:%Y-%m-%d}", [("{now:%Y-%m-%d}", "now")], "format"))
    assert (hit.changes, hit.severity) == ("day", "warning")


STAMPS = {
    "Current time: 2026-11-29T10:11:12Z": "PG101 2026-11-29T10:11:12Z",
    "The current date is Sunday, 29 November 2026.": "PG101 Sunday, 29 November 2026",
    "**Today's date:** 2026-11-29": "PG101 2026-11-29",
    "<current_datetime>2026-11-29 10:11</current_datetime>": "PG101 2026-11-29 10:11",
    "You are kind. Today is Nov 29, 2026.": "PG101 Nov 29, 2026",
    "Generated at 29.11.2026, 10:11": "PG101 29.11.2026, 10:11",
    "timestamp: 2026-11-29 10:11:12": "PG101 2026-11-29 10:11:12",
    "Session ID: 7f3c2a9b1e4d": "PG102 7f3c2a9b1e4d",
    "**Session:** 550e8400-e29b-41d4-a716-446655440000": "PG102 550e8400-e29b-41d4-a716-446655440000",
    "x-request-id: req_8Hsk29dkslq2": "PG102 req_8Hsk29dkslq2",
    "trace id = 01ARZ3NDEKTSV4RRFFQ69G5FAV": "PG102 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": (
        "PG102 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    ),
    "hdr: v=1; cch=36ee5;": "PG102 36ee5",
    "Work in /tmp/tmpab3kd9_x only.": "PG102 /tmp/tmpab3kd9_x",
    "Work in /var/folders/zz/zyxvpxvq6csf/T/job.": "PG102 /var/folders/zz/zyxvpxvq6csf/T/job",
    # With nothing else that is in every such value:
    "Work in /tmp/tmp.AbCdEfGh only.": "PG102 /tmp/tmp.AbCdEfGh",
    "Work in /var/tmp/tmp.AbCdEfGh only.": "PG102 /var/tmp/tmp.AbCdEfGh",
    r"Work in D:\x\Temp\tmp.AbCdEfGh only.": r"PG102 D:\x\Temp\tmp.AbCdEfGh",
    **{f"Session ID: a{digit}bc{digit}de{digit}f": f"PG102 a{digit}bc{digit}de{digit}f" for digit in "0123456789"},
}


@pytest.mark.parametrize("line", STAMPS)
def test_a_pasted_value(line: str) -> None:
    assert reported(f"{line}\n{RULES}") == [STAMPS[line]]


PROSE = """
Update the ticket on time.
Never reveal a session id.
format: uuid
an example: 2024-05-01T10:00:00Z
For instance, session id: 7f3c2a9b1e4d
as of version 2.0
on 1 January 2020 the policy changed
If today is 2026-11-29, then tomorrow is 2026-11-30.
Today: 3 visits, 2 calls
Now: 12 people
Last updated: 2024-05-01
Knowledge cutoff: June 2024
Date of the contract: 2024-05-01
Generated on 2024-05-01 by the docs team
Call +49 30 123 456 78 between 08:00 and 17:30.
theme: primary=36ee5a; accent=00ff00;
options: depth=1000; width=2000;
The commit 4bf92f3577b34da6a3ce929d0e0e4736 introduced the rule.
claude-3-5-sonnet-20241022
Dates are written YYYY-MM-DD.
https://example.org/2024/05/01/now?session_id=7f3c2a9b1e4d
Save files in /tmp/scratch or /tmp/report-2024.pdf.
"session_id": "7f3c2a9b1e4d"
Session: 45 minutes
Run: 7f3c2a9b1e4d
<example>Session ID: 7f3c2a9b1e4d</example>
"""


@pytest.mark.parametrize("line", PROSE.strip().splitlines())
def test_prose_is_silent(line: str) -> None:
    assert reported(f"{line}\n{RULES}") == []


def test_fenced_code_is_silent() -> None:
    assert reported("```\nSession ID: 7f3c2a9b1e4d\n```\nSession ID: 7f3c2a9b1e4e\n") == ["PG102 7f3c2a9b1e4e"]


def test_an_endless_line_of_digits_is_read_once() -> None:
    assert reported("now 10 " * 50_000) == []


def test_however_many_there_are_each_is_a_hit() -> None:
    assert len(hits(jinja("{{ now() }}{{ uuid4() }}" * 1_001))) == 2_002


def test_fixes_of_many_lines_look_at_the_text_once() -> None:
    bound = "{% set a = 1 %}" * 20_000 + "\n" + "Time: {{ now() }}\n" * 20_000
    assert sum(hit.fix is not None for hit in hits(jinja(bound + RULES))) == 20_000


def test_volatile_lines_move_behind_the_static_text() -> None:
    text = f"Time: {{{{ now() }}}}\nRequest: {{{{ uuid4() }}}}\n{RULES}"
    moved = fixed(text)
    assert moved == f"{RULES}Time: {{{{ now() }}}}\nRequest: {{{{ uuid4() }}}}\n"
    assert len(hits(jinja(moved))) == len(hits(jinja(text)))


def test_a_line_moves_to_the_end_of_its_block() -> None:
    text = "Time: {{ now() }}\r\nBe kind.\r\nQuestion"
    (hit,) = hits(jinja(text, regions=[Region(0, 29, "system"), Region(29, len(text), "user")]))
    assert hit.fix is not None
    assert [(edit.span.start, edit.span.end, edit.text) for edit in hit.fix.edits] == [
        (0, 19, ""),
        (29, 29, "Time: {{ now() }}\r\n"),
    ]


def test_a_line_below_the_title_moves() -> None:
    assert fixed("# Agent\n\nTime: {{ now() }}\nBe kind.\n") == "# Agent\n\nBe kind.\nTime: {{ now() }}\n"


def test_a_last_line_without_a_line_end_gets_one() -> None:
    assert fixed("Time: {{ now() }}\nBe kind.") == "Be kind.\nTime: {{ now() }}"


@pytest.mark.parametrize(
    "text",
    [
        "Be kind.\nTime: {{ now() }}\n",
        "Be kind at {{ now() }} and later.\nAlways.\n",
        "{% if x %}\nTime: {{ now() }}\n{% endif %}\nBe kind.\n",
        "{% for x in y %}\nTime: {{ now() }}\n{% endfor %}\nBe kind.\n",
        "Time: {{- now() }}\nBe kind.\n",
        "Time: {{ now() }} {{ x }}\nBe kind.\n",
        "{% set t = now() %}\nTime: {{ t }}\n{% set t = 'x' %}\nBe kind.\n",
        "Time: {{ now() }}\n{% if x %}Be kind.\n",
        "Time: {{ now() }}{% if x %}\nBe kind.{% endif %}\n",
        "Be kind.\n\nWhat we know:\n{{ memories }}\n\n# Style\nBe brief.\n",
        "Be kind.\n\n# Clock\n\nTime: {{ now() }}\n\n# Style\nBe brief.\n",
        "<env>\nZone: UTC\nTime: {{ now() }}\n</env>\nBe kind.\n",
        "{% macro head() %}Time: {{ now() }}, be kind.{% endmacro %}\n{{ head() }}\nBe brief.\n",
    ],
)
def test_a_line_stays_where_moving_would_do_no_good(text: str) -> None:
    assert fixed(text) == text


def test_what_the_user_asks_is_no_retrieved_content() -> None:
    (hit,) = hits(jinja("{{ question }}\nBe kind."))
    assert hit.message == "`{{ question }}` prints what the user asks, which changes with every request"
