"""What chat templates are found to lose, on templates of our own with one pattern each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptguard.core.errors import TemplateLimitError
from promptguard.core.resources import resource
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import PARALLEL_CALLS, conversations
from promptguard.prompts.counting import counter
from promptguard.prompts.preservation import check_template, measure_losses
from promptguard.prompts.preservation.result import Defect, Preservation, Switch
from promptguard.prompts.rendering import Limits, Renderer
from promptguard.prompts.request import chat_template_source

FIXTURES = resource("fixtures/chat_templates")
ENCODE = counter(None).encode
MESSAGES = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}<|im_end|>\n{% endfor %}"
ASK = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

CLEAN = [
    "append_only",
    "end_of_last_reply",
    "refuses_system",
    "uses_break",
    "uses_generation",
    "uses_list_methods",
    "uses_loop_last",
    "uses_macros",
    "uses_namespace",
]
THINK = "{{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n' -}}"
TOOLS = "{{- '# Tools\\n' -}}"
DEFECTIVE = {
    # kind, at tool calls, at user messages, what printed it, explanation
    "arguments_tojson": (
        ("arguments", "all", "none", "{{- call.function.arguments | tojson -}}"),
        "arguments that are handed over as the string that the model wrote are serialized again",
    ),
    "date_header": (
        ("clock", "none", "none", "{{- 'Today is ' + strftime_now('%d %B %Y') + '.\\n' -}}"),
        "a date or time that the chat template prints is another one every day",
    ),
    "drops_reasoning": (
        ("history", "none", "all", THINK),
        "the reasoning of earlier turns is dropped when a new user message arrives",
    ),
    "empty_think_block": (
        ("generation-prompt", "all", "all", "{{- '<think>\\n\\n</think>\\n\\n' -}}"),
        "the chat template prints <think> for the latest turn only, and leaves it out of the history",
    ),
    "end_of_last_message": (
        (
            "history",
            "all",
            "all",
            "{{- '<|endoftext|>\\n' if loop.last and message.role != 'assistant' else '<|im_end|>\\n' -}}",
        ),
        "the chat template ends the last message with other text than it prints behind the same message in the history",
    ),
    "keeps_reasoning_if_asked": (
        ("history", "none", "all", THINK),
        "the reasoning of earlier turns is dropped when a new user message arrives",
    ),
    "pinnable_date": (
        ("clock", "none", "none", "{{- '<|im_start|>system\\nToday is ' + today + '.<|im_end|>\\n' -}}"),
        "a date or time that the chat template prints is another one every day",
    ),
    "tools_behind_history": (
        ("tools", "all", "all", "{{- '<|im_start|>system\\n# Tools\\n' -}}"),
        "the chat template prints the tools at another place than before",
    ),
    "tools_in_last_user": (
        ("tools", "none", "all", TOOLS),
        "the chat template prints the tools only with the latest user message, so they move with every new one",
    ),
    "trims_content": (
        ("content", "none", "some", "{{- (message.content or '') | trim -}}"),
        "blanks at the ends of a reply are removed",
    ),
}


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def check(renderer: Renderer, text: str, **settings: str) -> Preservation:
    return check_template(ChatTemplate(renderer, chat_template_source(text, "c.jinja"), **settings), ENCODE)


def fixture(renderer: Renderer, name: str) -> Preservation:
    return check(renderer, (FIXTURES / f"{name}.jinja").read_text(encoding="utf-8"))


def only(found: Preservation) -> Defect:
    assert len(found.defects) == 1
    return found.defects[0]


def test_each_fixture_is_judged_here() -> None:
    assert sorted(path.stem for path in Path(FIXTURES).glob("*.jinja")) == sorted([*CLEAN, *DEFECTIVE])


@pytest.mark.parametrize("name", CLEAN)
def test_a_template_that_keeps_the_prefix(renderer: Renderer, name: str) -> None:
    found = fixture(renderer, name)
    assert found.defects == ()
    assert found.error is None
    assert all(turn.tokens_lost == 0 for told in found.conversations for turn in told.turns)


@pytest.mark.parametrize("name", DEFECTIVE)
def test_a_template_that_does_not(renderer: Renderer, name: str) -> None:
    defect = only(fixture(renderer, name))
    expected, explanation = DEFECTIVE[name]
    assert defect.place is not None
    assert (defect.kind, defect.at_tools, defect.at_users, defect.place.text) == expected
    assert defect.explanation == explanation


@pytest.mark.parametrize("text", ["{mark}{head}", "{mark}<|m|>{head}"])
def test_the_branch_that_decided_is_pointed_at(renderer: Renderer, text: str) -> None:
    printed = text.format(head="{{ m.role }}:{{ m.content or '' }};", mark="{% if loop.last %}LAST{% endif %}")
    defect = only(check(renderer, "{% for m in messages %}" + printed + "{% endfor %}assistant:"))
    assert defect.place is not None
    assert defect.place.text == "{% if loop.last %}"


def test_one_defect_is_told_once_with_all_places_where_it_shows(renderer: Renderer) -> None:
    defect = only(fixture(renderer, "drops_reasoning"))
    seen = {(each.conversation.name, each.turn) for each in defect.breaks}
    assert seen == {
        ("plain chat", 0),
        ("plain chat", 1),
        ("tool loop, then a new user message", 4),
        ("parallel calls", 1),
        ("reply with blanks at its ends", 0),
        ("reply with blanks at its ends", 1),
        ("non-ASCII and HTML characters", 1),
    }
    assert {each.conversation.mode for each in defect.breaks} == {"reasoning"}
    worst = defect.worst
    assert worst.conversation.name == "tool loop, then a new user message"
    assert worst.before == "…|>assistant\\n<think>\\nThe user needs a tra…"
    assert worst.after == "…|>assistant\\nI am looking for a direct tr…"
    assert (worst.tokens_lost, worst.tokens) == (343, 799)


def test_the_whole_story_is_told_turn_by_turn(renderer: Renderer) -> None:
    found = fixture(renderer, "drops_reasoning")
    told = next(each for each in found.conversations if each.conversation.name == "tool loop, then a new user message")
    assert told.error is None
    assert [turn.following for turn in told.turns] == ["tool"] * 4 + ["user"]
    assert [turn.tokens_lost for turn in told.turns] == [0, 0, 0, 0, 343]
    assert [turn.defect for turn in told.turns] == [None] * 4 + [0]
    assert [turn.after.startswith(turn.prompt + turn.reply) for turn in told.turns] == [True] * 4 + [False]


def test_a_switch_is_tried_and_told(renderer: Renderer) -> None:
    assert only(fixture(renderer, "keeps_reasoning_if_asked")).switches == (Switch("keep_reasoning", True),)
    assert only(fixture(renderer, "drops_reasoning")).switches == ()
    assert str(only(fixture(renderer, "pinnable_date")).switches[0]) == '{"date_string": "01 Jan 2026"}'
    assert only(fixture(renderer, "date_header")).switches == ()


def test_a_switch_that_leaves_out_what_was_said_mends_nothing(renderer: Renderer) -> None:
    text = (FIXTURES / "drops_reasoning.jinja").read_text(encoding="utf-8")
    silent = text.replace("if message.reasoning_content and", "if message.reasoning_content and not silent and")
    assert silent != text
    assert only(check(renderer, silent)).switches == ()


@pytest.mark.parametrize(
    ("form", "changes"),
    [("%H:%M:%S", "request"), ("%M", "minute"), ("%H:%M", "minute"), ("%H", "hour"), ("%I %p", "hour"), ("%d %B", "day")],
)
def test_how_often_a_clock_changes(renderer: Renderer, form: str, changes: str) -> None:
    assert only(check(renderer, f"{{{{ strftime_now('{form}') }}}}\n{MESSAGES}{ASK}")).changes == changes


def test_a_clock_that_only_some_conversations_see(renderer: Renderer) -> None:
    defect = only(check(renderer, "{% if messages[0].role != 'system' %}{{ date_string }}{% endif %}\n" + MESSAGES + ASK))
    assert defect.kind == "clock"
    assert all(not each.conversation.system for each in defect.breaks)


def test_refusals_are_told_apart(renderer: Renderer) -> None:
    found = fixture(renderer, "refuses_system")
    assert [(each.what, each.refused, each.raw) for each in found.unrendered] == [("a system message", True, True)]
    refused = [each for each in found.conversations if each.error is not None]
    assert all(each.conversation.system and each.turns == () for each in refused)


@pytest.mark.parametrize(
    ("text", "what", "refused"),
    [
        (
            "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}",
            "several tool calls in one reply",
            True,
        ),
        ("{% for c in m.tool_calls %}{{ c.no.name }}{% endfor %}", "tool calls", False),
        (
            "{% for c in m.tool_calls %}{{ c.function.arguments | items | list }}{% endfor %}",
            "arguments of tool calls that are a string",
            False,
        ),
        ("{{ m.content + '' }}", "a reply whose content is null", False),
        ("{% if enable_thinking is false %}{{ raise_exception('think') }}{% endif %}", "thinking that is switched off", True),
    ],
)
def test_what_is_not_rendered(renderer: Renderer, text: str, what: str, refused: bool) -> None:
    found = check(renderer, f"{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n{text}<|im_end|>\n{{% endfor %}}{ASK}")
    assert (what, refused) in [(each.what, each.refused) for each in found.unrendered]
    assert found.error is None


def test_a_template_that_renders_nothing(renderer: Renderer) -> None:
    found = check(renderer, "\n{{ messages | no_such_filter }}")
    assert str(found.error) == "c.jinja:2:15: not a valid template: No filter named 'no_such_filter'"
    assert found.error is not None
    assert found.error.place is not None
    assert found.error.place.text == "no_such_filter }}"
    assert found.conversations == ()


def test_a_template_that_refuses_everything(renderer: Renderer) -> None:
    found = check(renderer, "{{ raise_exception('no') }}")
    assert found.error is not None
    assert found.error.what == "the template refuses the request: no"


def test_time_is_bounded_for_all_conversations_together() -> None:
    with Renderer(Limits(seconds=1)) as renderer:
        slow = "{% for a in range(300) %}{% for b in range(300) %}{% endfor %}{% endfor %}" + MESSAGES + ASK
        found = check_template(ChatTemplate(renderer, chat_template_source(slow, "c.jinja")), ENCODE, seconds=0.2)
    assert isinstance(found.error, TemplateLimitError)


def test_no_reply_is_without_reasoning_where_the_prompt_has_begun_it(renderer: Renderer) -> None:
    thinks = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}"
        "\n</think>\n{% endif %}{{ m.content or '' }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
    )
    assert check(renderer, thinks).defects == ()
    forgets = thinks.replace("{% if m.reasoning_content %}", "{% if m.reasoning_content and false %}")
    assert only(check(renderer, forgets)).kind == "generation-prompt"


EMPTY = "{% if add_generation_prompt %}<|im_start|>assistant\n{% if CONDITION %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
SAME_HEAD = "use a chat template that prints the same head in front of a reply in the history as where it asks for one"


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("enable_thinking is false", f"{SAME_HEAD}, or leave reasoning on"),
        ("enable_thinking is true", f"{SAME_HEAD}, and keeps the reasoning behind it, or switch reasoning off"),
        ("true", f"{SAME_HEAD}, and keeps the reasoning behind it"),
    ],
)
def test_a_remedy_names_a_setting_only_where_it_keeps_the_prefix(renderer: Renderer, condition: str, remedy: str) -> None:
    assert only(check(renderer, MESSAGES + EMPTY.replace("CONDITION", condition))).remedy == remedy


def test_a_reply_that_the_template_cannot_end_with_is_told_from_what_follows(renderer: Renderer) -> None:
    text = MESSAGES + "{% if not add_generation_prompt %}{{ raise_exception('ask') }}{% endif %}" + ASK
    assert check(renderer, text, eos_token="<|im_end|>").defects == ()


def test_tokens_are_compared_and_not_texts(renderer: Renderer) -> None:
    """The full stop that ends a reply and the word that follows it later are one token."""
    turn = "\n{{ m.role }}: {{ m.content or '' }}{{ 'com' if m.role == 'assistant' and not loop.last }}"
    text = f"{{% for m in messages %}}{turn}{{% endfor %}}{{% if add_generation_prompt %}}\nassistant: {{% endif %}}"
    defect = check(renderer, text).defects[0]
    assert {each.tokens_lost for each in defect.breaks} == {1}
    assert defect.explanation == "the text of the reply is the same but splits into other tokens"


def test_losses_are_those_of_the_whole_check(renderer: Renderer) -> None:
    text = (FIXTURES / "drops_reasoning.jinja").read_text(encoding="utf-8")
    losses = measure_losses(ChatTemplate(renderer, chat_template_source(text, "c.jinja")), ENCODE)
    breaks = only(check(renderer, text)).breaks
    assert losses.tokens == {(str(each.conversation), each.turn): each.tokens_lost for each in breaks}
    assert (losses.errors, losses.tells_time) == (0, False)


def test_some_conversations_can_be_asked_for(renderer: Renderer) -> None:
    template = ChatTemplate(renderer, chat_template_source(MESSAGES + ASK, "c.jinja"))
    assert len(check_template(template, ENCODE, told=conversations()[:1]).conversations) == 1


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        ("{% for i in range(10 ** 9) %}{% endfor %}", "counts to more than 100,000"),
        ("{% for i in range(9999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "takes too long to render"),
        ("{% for i in range(1100) %}{{ 'x' * 1000 }}{% endfor %}", "prints more than 1,048,576 characters"),
    ],
)
def test_a_limit_that_some_conversations_exceed_is_theirs(renderer: Renderer, harm: str, message: str) -> None:
    text = f"{MESSAGES}{{% for m in messages if m.tool_calls and m.tool_calls[1] %}}\n{harm}{{% endfor %}}{ASK}"
    found = check_template(ChatTemplate(renderer, chat_template_source(text, "chat.jinja")), ENCODE)
    (shape,) = found.unrendered
    assert (shape.what, shape.fails, str(shape.error)) == (
        "several tool calls in one reply",
        True,
        f"chat.jinja:{text.count(chr(10))}: the template {message}",
    )
    assert {each.conversation.name for each in found.conversations if each.error is None} == {
        each.name for each in conversations() if each.name != PARALLEL_CALLS
    }
