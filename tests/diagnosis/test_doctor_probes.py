"""What canned answers mean, for what cannot be started here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from diagnoses import check
from fake_server import SLOT, FakeLlamaServer
from fake_slot import FakeSlot

from promptguard.core.resources import resource
from promptguard.diagnosis.result import Diagnosis
from promptguard.diagnosis.run import _TRIED

Examine = Callable[..., Diagnosis]


def test_a_healthy_server_has_nothing_in_the_way(fake: FakeLlamaServer, examine: Examine) -> None:
    found = examine(fake.url)
    assert (found.verdict, found.in_the_way, found.error) == ("clear", (), None)
    assert (found.server.build, found.server.context, found.server.slots) == ("b9999-abc", 32768, 1)
    assert (found.requests, found.server.prefill_rate, found.needed) == (8, 500.0, len("hello") + 256)


def test_sends_what_an_agent_would_send(fake: FakeLlamaServer, examine: Examine) -> None:
    examine(fake.url)
    for body in fake.bodies("/v1/chat/completions"):
        assert {key: body[key] for key in body.keys() - {"messages"}} == {"max_tokens": 1, "temperature": 0.0, "verbose": True}


def test_no_probe_is_like_an_earlier_one(fake: FakeLlamaServer, examine: Examine) -> None:
    examine(fake.url)
    examine(fake.url)
    bodies = fake.bodies("/v1/chat/completions")
    assert len(bodies) == 16
    assert bodies[0] != bodies[8]


def test_requests_can_be_forbidden(fake: FakeLlamaServer, examine: Examine) -> None:
    found = examine(fake.url, requests=False)
    assert fake.bodies("/v1/chat/completions") == []
    assert {check(found, name).status for name in _TRIED} == {"unknown"}
    assert check(found, "build").status == "ok"
    assert found.verdict == "clear"


def test_a_cache_that_is_off_by_default(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/v1/chat/completions"] = FakeSlot(cache=False)
    cache = check(examine(fake.url), "prompt-cache")
    assert cache.status == "in-the-way"
    assert cache.remedy.startswith("--cache-prompt in the place of --no-cache-prompt")


def test_a_cache_that_cannot_be_asked_for(fake: FakeLlamaServer, examine: Examine) -> None:
    slot = FakeSlot(cache=False)
    fake.answers["/v1/chat/completions"] = lambda body: slot({key: body[key] for key in body if key != "cache_prompt"})
    cache = check(examine(fake.url), "prompt-cache")
    assert (cache.status, cache.remedy) == (
        "in-the-way",
        "--cache-prompt, --ctx-checkpoints 32, and one server behind the proxy",
    )


def two_slots(fake: FakeLlamaServer, *numbers: int) -> FakeSlot:
    """A server whose slots answer in this order, over and over."""
    slot = FakeSlot(numbers=numbers)
    fake.answers["/props"] = {**fake.answers["/props"], "total_slots": 2}
    fake.answers["/slots"] = lambda _: [
        {**SLOT, "id": number, "n_ctx": 32768, "id_task": slot.tasks.get(number, -1)} for number in (0, 1)
    ]
    fake.answers["/v1/chat/completions"] = slot
    return slot


def test_a_prompt_that_is_sent_to_another_slot(fake: FakeLlamaServer, examine: Examine) -> None:
    two_slots(fake, 0, 1)
    fake.answers["/props"]["modalities"] = {"vision": True}
    found = examine(fake.url)
    assert check(found, "projector").status == "unknown"
    assert check(found, "slots").found.startswith(
        "2 slots; the same prompt was sent to slot 1, although slot 0 held more of it: 0 of "
    )
    assert (check(found, "slots").status, check(found, "prompt-cache").status) == ("in-the-way", "unknown")


@pytest.mark.parametrize(
    ("numbers", "astray"),
    [
        ((0, 0, 1), "a prompt that went on"),
        ((0, 0, 0, 1), "a prompt with a change in its middle"),
        ((0, 0, 0, 0, 1), "a new conversation with the same system prompt"),
    ],
)
def test_every_probe_of_one_agent_is_followed(
    fake: FakeLlamaServer, examine: Examine, numbers: tuple[int, ...], astray: str
) -> None:
    two_slots(fake, *numbers)
    found = examine(fake.url)
    assert [check.name for check in found.in_the_way] == ["slots"]
    assert check(found, "slots").found.startswith(f"2 slots; {astray} was sent to slot 1, although slot 0 held more of it: ")


def test_a_conversation_that_is_sent_to_another_slot_behind_a_second_one_is_at_risk(
    fake: FakeLlamaServer, examine: Examine
) -> None:
    two_slots(fake, 0, 0, 0, 0, 0, 1, 1, 1)
    found = examine(fake.url)
    assert (found.verdict, [check.name for check in found.at_risk]) == ("clear", ["slots"])
    assert check(found, "slots").remedy.endswith("id_slot in each request, one from 0 to 1 for each conversation")


def test_the_slot_of_an_answer_that_does_not_name_it_is_looked_up(fake: FakeLlamaServer, examine: Examine) -> None:
    slot = two_slots(fake, 0, 0, 1)
    fake.answers["/v1/chat/completions"] = lambda body: {"timings": slot(body)["timings"]}
    assert check(examine(fake.url), "slots").found.startswith(
        "2 slots; a prompt that went on was sent to slot 1, although slot 0 "
    )
    fake.answers["/slots"] = (501, {"error": {"message": "off"}})
    assert check(examine(fake.url), "prompt-cache").remedy == "see the checks template and traffic"


def test_risks_are_in_doubt_where_others_use_the_server(fake: FakeLlamaServer, examine: Examine) -> None:
    sent = fake.answers["/v1/chat/completions"]
    assert check(examine(fake.url), "host-cache").status == "at-risk"
    fake.answers["/slots"] = lambda _: [{**SLOT, "n_ctx": 32768, "n_prompt_tokens": 7 * (sent.count == 16)}]
    found = check(examine(fake.url), "host-cache")
    assert (found.status, found.why) == ("unknown", "another request may have done that")


def test_a_recurrent_model_without_checkpoints(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/v1/chat/completions"] = FakeSlot(backwards=1 << 20)
    slot = FakeSlot()

    def recurrent(body: dict[str, Any]) -> dict[str, Any]:
        answer = slot(body)
        if len(body["messages"]) == 2:  # whatever does not only go on
            answer["timings"].update(cache_n=0, prompt_n=1)
        return answer

    fake.answers["/v1/chat/completions"] = recurrent
    found = examine(fake.url)
    cache = check(found, "prompt-cache")
    assert (cache.status, cache.remedy) == ("in-the-way", "--ctx-checkpoints 32 (LLAMA_ARG_CTX_CHECKPOINTS)")
    assert check(found, "host-cache").remedy == "see the check prompt-cache"


def test_a_recurrent_model_with_checkpoints_cannot_be_helped(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/v1/chat/completions"] = FakeSlot(backwards=3)
    found = examine(fake.url)
    assert check(found, "prompt-cache").status == "ok"
    assert check(found, "window").why.startswith("the state of a recurrent or hybrid model cannot be taken back")
    assert (check(found, "window").status, check(found, "resident-prefix").status) == ("ok", "in-the-way")


def test_an_old_build_does_not_say_what_it_cached(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/v1/chat/completions"] = FakeSlot(reports=False)
    found = examine(fake.url)
    assert check(found, "build").found == "b9999-abc does not report cached tokens (timings.cache_n)"
    assert (check(found, "build").status, check(found, "prompt-cache").status) == ("in-the-way", "unknown")


@pytest.mark.parametrize(
    ("build", "status"),
    [("b6450-abc", "in-the-way"), ("b6451-abc", "ok"), ("b0-unknown", "unknown"), ("6123 (abc)", "in-the-way")],
)
def test_the_number_of_a_build_counts_where_nothing_is_sent(
    fake: FakeLlamaServer, examine: Examine, build: str, status: str
) -> None:
    fake.answers["/props"] = {**fake.answers["/props"], "build_info": build}
    assert check(examine(fake.url, requests=False), "build").status == status


def test_what_an_old_build_reports_counts_more_than_its_number(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/props"] = {**fake.answers["/props"], "build_info": "b5000-abc"}
    assert check(examine(fake.url), "build").status == "ok"


@pytest.mark.parametrize(("asked", "status"), [(True, "ok"), (False, "in-the-way")])
def test_a_projector_is_in_the_way_where_text_is_not_reused_at_all(
    fake: FakeLlamaServer, examine: Examine, asked: bool, status: str
) -> None:
    slot = FakeSlot(cache=False)
    fake.answers["/props"] = {**fake.answers["/props"], "modalities": {"vision": True, "audio": False}}
    fake.answers["/v1/chat/completions"] = lambda body: slot({**body, "cache_prompt": asked and "cache_prompt" in body})
    read = check(examine(fake.url), "projector")
    assert (read.status, read.remedy.partition(" ")[0]) == (status, "--no-mmproj")


def test_an_embeddings_server_is_in_the_way(fake: FakeLlamaServer, examine: Examine) -> None:
    message = "This server does not support completions. Start it without `--embeddings`"
    fake.answers["/v1/chat/completions"] = (501, {"error": {"message": message}})
    cache = check(examine(fake.url), "prompt-cache")
    assert (cache.status, cache.found) == ("in-the-way", "it answers no prompts (embeddings only)")
    assert cache.remedy == "leave out --embeddings"


def test_a_template_that_refuses_a_system_message_is_probed_without_one(fake: FakeLlamaServer, examine: Examine) -> None:
    render = fake.answers["/apply-template"]
    refused = (500, {"error": {"message": "System role not supported"}})
    fake.answers["/apply-template"] = lambda body: refused if body["messages"][0]["role"] == "system" else render(body)
    found = examine(fake.url)
    assert check(found, "prompt-cache").status == "ok"
    assert all(body["messages"][0]["role"] == "user" for body in fake.bodies("/v1/chat/completions"))


def test_a_context_that_is_too_small_to_try(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/slots"] = [{**SLOT, "n_ctx": 256}]
    found = examine(fake.url)
    assert check(found, "context").found == "256 tokens a slot; the task hello takes 261 (5 of prompt, 256 for its reply)"
    assert check(found, "context").remedy == "--ctx-size 1024 (LLAMA_ARG_CTX_SIZE)"
    assert check(found, "prompt-cache").found == "a context of 256 tokens is too small to try it"


def test_slots_that_divide_the_context_are_named(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/props"] = {**fake.answers["/props"], "total_slots": 4}
    fake.answers["/slots"] = [{**SLOT, "id": number, "n_ctx": 256} for number in range(4)]
    context = check(examine(fake.url), "context")
    assert context.why.endswith("4 slots may share 1,024")
    assert context.remedy == "--parallel 1 --ctx-size 1024 (LLAMA_ARG_CTX_SIZE), or --ctx-size 4096 for 4 slots, or --kv-unified"


def test_a_task_that_cannot_be_rendered_says_why(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/apply-template"] = (500, {"error": {"message": "no tools here"}})
    found = examine(fake.url)
    context = check(found, "context")
    assert context.status == "unknown"
    assert context.why == (
        "the task hello could not be counted: the server cannot render this conversation with its chat template "
        "(/apply-template: no tools here)"
    )


# -- other traffic


def test_a_busy_server_is_not_disturbed(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/slots"] = [{**SLOT, "n_ctx": 32768, "is_processing": True}]
    found = examine(fake.url)
    assert (check(found, "traffic").status, check(found, "traffic").found) == ("in-the-way", "1 of 1 slots at work")
    assert fake.bodies("/v1/chat/completions") == []
    assert check(found, "prompt-cache").why == "other requests run, and are not to be disturbed"


def test_a_request_between_two_looks_is_seen(fake: FakeLlamaServer, examine: Examine) -> None:
    tasks = iter(range(100))
    fake.answers["/slots"] = lambda _: [{**SLOT, "n_ctx": 32768, "id_task": next(tasks)}]
    found = examine(fake.url)
    assert check(found, "traffic").found == "requests of others ran while it was looked at"
    assert fake.bodies("/v1/chat/completions") == []


def metrics(computed: int, cached: int) -> bytes:
    lines = {
        "prompt_tokens_total": computed,
        "prompt_tokens_cached_total": cached,
        "requests_processing": 0,
        "requests_deferred": 0,
    }
    return "".join(f"# TYPE x\nllamacpp:{name} {value}\n" for name, value in lines.items()).encode()


def test_counters_that_move_by_more_than_our_own_tokens_show_others(fake: FakeLlamaServer, examine: Examine) -> None:
    sent = fake.answers["/v1/chat/completions"] = FakeSlot(cache=False)
    fake.answers["/metrics"] = lambda _: metrics(10, 5 + 10**6 * bool(sent.count))
    found = examine(fake.url)
    assert check(found, "traffic").status == "in-the-way"
    assert check(found, "traffic").found.startswith("1,000,000 prompt tokens went through the server, ")
    assert (check(found, "prompt-cache").status, check(found, "prompt-cache").why) == (
        "unknown",
        "another request may have done that",
    )


def test_a_slot_that_holds_something_else_than_our_last_prompt_shows_others(fake: FakeLlamaServer, examine: Examine) -> None:
    sent = fake.answers["/v1/chat/completions"]
    fake.answers["/slots"] = lambda _: [{**SLOT, "n_ctx": 32768, "n_prompt_tokens": 7 * bool(sent.count)}]
    assert check(examine(fake.url), "traffic").found == "requests of others ran between ours"


def test_metrics_that_are_on_are_said(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/metrics"] = metrics(10, 5)
    assert check(examine(fake.url, requests=False), "metrics-endpoint").found == "counts 0 requests at work"


def test_a_request_that_waits_is_traffic(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/slots"] = (501, {"error": {"message": "off"}})
    fake.answers["/metrics"] = metrics(10, 5).replace(b"deferred 0", b"deferred 2")
    assert check(examine(fake.url), "traffic").found == "2 requests at work"


# -- the chat template


def test_a_template_that_drops_the_history_is_in_the_way(fake: FakeLlamaServer, examine: Examine) -> None:
    template = "{{ messages | length }} messages, the last of which: {{ messages[-1].content }}"
    fake.answers["/props"] = {**fake.answers["/props"], "chat_template": template}
    found = check(examine(fake.url, requests=False), "template")
    assert found.status == "in-the-way"
    assert found.found.startswith("PG502 ")


@pytest.mark.parametrize(
    ("name", "status", "found"),
    [
        ("drops_reasoning", "ok", "PG502 the reasoning of earlier turns is dropped when a new user message arrives"),
        ("tools_in_last_user", "in-the-way", "PG503 the chat template prints the tools only with the latest user message"),
        ("empty_think_block", "in-the-way", "PG504 the chat template prints <think> for the latest turn only"),
        ("arguments_tojson", "ok", "prints the history as it was"),
    ],
)
def test_what_a_template_does_is_weighed(fake: FakeLlamaServer, examine: Examine, name: str, status: str, found: str) -> None:
    template = resource(f"fixtures/chat_templates/{name}.jinja").read_text(encoding="utf-8")
    fake.answers["/props"] = {**fake.answers["/props"], "chat_template": template}
    said = check(examine(fake.url, requests=False), "template")
    assert said.status == status
    assert said.found.startswith(found)


def test_a_switch_of_the_template_is_named(fake: FakeLlamaServer, examine: Examine) -> None:
    template = resource("fixtures/chat_templates/keeps_reasoning_if_asked.jinja").read_text(encoding="utf-8")
    fake.answers["/props"] = {**fake.answers["/props"], "chat_template": template}
    remedy = check(examine(fake.url, requests=False), "template").remedy
    assert remedy.startswith("--chat-template-kwargs '{\"keep_reasoning\": true}'")


CLOCKS = [
    ("%H:%M:%S", "with every request"),
    ("%H:%M", "every minute"),
    ("%d %b %Y, %H", "every hour"),
    ("%d %b %Y", "at midnight"),
]


def printing(form: str, template: str) -> str:
    return "{{ strftime_now('" + form + "') }}\n" + template


@pytest.mark.parametrize(("form", "when"), CLOCKS)
def test_a_clock_in_the_template_is_in_the_way(fake: FakeLlamaServer, examine: Examine, form: str, when: str) -> None:
    template = printing(form, fake.answers["/props"]["chat_template"])
    today = datetime.now(timezone.utc).strftime("%d %b %Y")
    fake.answers["/props"] = {**fake.answers["/props"], "chat_template": template}
    fake.answers["/apply-template"] = lambda body: {"prompt": f"{today}\n{body['messages'][0]['content']}"}
    date = check(examine(fake.url, requests=False), "template-date")
    assert (date.status, date.found) == ("in-the-way", f"PG501: prints a date or time that changes {when}")


@pytest.mark.parametrize(("form", "status"), [(form, "ok" if form == "%d %b %Y" else "in-the-way") for form, _ in CLOCKS])
def test_only_a_date_can_be_a_fixed_one(fake: FakeLlamaServer, examine: Examine, form: str, status: str) -> None:
    template = printing(form, fake.answers["/props"]["chat_template"])
    fake.answers["/props"] = {**fake.answers["/props"], "chat_template": template}  # what the server renders has no date of today
    assert check(examine(fake.url, requests=False), "template-date").status == status


def test_a_template_that_does_not_end_cannot_be_judged(fake: FakeLlamaServer, examine: Examine) -> None:
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
    fake.answers["/props"] = {**fake.answers["/props"], "chat_template": endless}
    found = examine(fake.url, requests=False)
    assert check(found, "template").status == check(found, "template-date").status == "unknown"
    assert check(found, "template").found.startswith("cannot be judged: ")


def test_no_template_cannot_be_judged(fake: FakeLlamaServer, examine: Examine) -> None:
    fake.answers["/props"] = {**fake.answers["/props"], "chat_template": ""}
    assert check(examine(fake.url, requests=False), "template").remedy == "--chat-template-file FILE"
