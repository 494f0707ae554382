import pytest

from promptguard.prompts.names import chains, drawn_by, kind_of_expression, kind_of_name, words

NAMES = {
    "clock": "now now() today current_date currentTime date date_string datetime utcnow strftime_now timestamp generated_at"
    " local_time time.time datetime.now weekday clock user.now",
    "id": "uuid uuid4() request_id sessionId session.id nonce trace_id conversation_id tool_call_id session_token id"
    " secrets.token_hex user.session_id random_seed",
    "user": "user user.name user_name userName user_id user.email customer.first_name username current_user email"
    " first_name client_name tenant tenant_id customer",
    "counter": "counter turn turn_number message_count tokens_left attempt remaining session.turn step tokens_used",
    "memory": "memory memories relevant_memories memories_block context retrieved_docs search_results chat_history"
    " last_user_message user_input rag_context question conversation_summary summary_of_conversation retrieved_note",
    "environment": "cwd os.getcwd hostname git_status git.branch branch working_directory env.HOME tmpdir host_name"
    " file_tree pid",
    "text": "update runtime identity_rules hidden valid provider name model model_id agent.id tool_id timezone time_zone"
    " now_serving time.zone date_format release_date response_time timeout user_rules user_agent"
    " user_guidelines max_turns max_tokens memory_limit"
    " context_window system_message error_message account_rules discount loop.index birth_date persona email_rules rules grid"
    " founding_date constants.NOW_RULE random_note host_name_rules date_of_birth rules_of_conversation"
    " invalid_input turn_rules left_align outdated knowledge static_docs bos_token environmental nowhere",
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names.split()])
def test_a_name_says_what_its_value_is(kind: str, name: str) -> None:
    assert kind_of_name(name) == kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("now().strftime('%Y-%m-%d')", "clock"),
        ("user.name | upper", "user"),
        ("memories[:3] | join('\\n')", "memory"),
        ("'now'", "text"),
        ("rules | replace('date', 'time')", "text"),
        ("uuid4() | string", "id"),
        ("title if title else cwd", "environment"),
        ("datetime.now().isoformat()", "clock"),
        ("strftime_now('%d %b %Y')", "clock"),
        ("search(last_user_message)", "memory"),
        ("items | random", "text"),
        ("", "text"),
    ],
)
def test_an_expression_is_judged_by_the_names_in_it(expression: str, kind: str) -> None:
    assert kind_of_expression(expression) == kind


def test_the_names_in_an_expression() -> None:
    assert chains("f(a.b, 'c')[d] | join(x) if not e else g.items()") == ["f", "a.b", "d", "x", "e", "g.items"]


@pytest.mark.parametrize(
    ("expression", "name"),
    [("[1, 2]|random", "random"), ("a | shuffle | join", "shuffle"), ("'|random'", None), ("a | randomize", None)],
)
def test_a_filter_that_draws_lots(expression: str, name: str | None) -> None:
    assert drawn_by(expression) == name


def test_names_split_into_words() -> None:
    assert words("HTTPRequestId2_and-more") == ["http", "request", "id2", "and", "more"]


def test_an_endless_name_is_cut() -> None:
    assert kind_of_name("a" * 100_000 + ".now") == "text"
    assert kind_of_expression("(" * 100_000) == "text"
