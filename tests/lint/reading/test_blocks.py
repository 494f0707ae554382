"""Which part of a file is which block."""

import json

import pytest

from promptguard.core.errors import InputError
from promptguard.linting.reading import read_documents
from promptguard.linting.settings import PromptDeclaration, Settings

CHAT = "{% for m in messages %}<|im_start|>user{{ m.role }}{% endfor %}{{ bos_token }}"


def blocks(path: str, text: str, *declared: PromptDeclaration) -> list[tuple[str, str]]:
    """Block and text of each region of all documents."""
    documents = read_documents(path, text, Settings("/w", prompts=declared))
    return [(region.block, document.text[region.start : region.end]) for document in documents for region in document.regions]


@pytest.mark.parametrize(
    ("path", "block"),
    [
        ("system.j2", "system"),
        ("anything.j2", "system"),
        ("user.j2", "user"),
        ("user_prompt.j2", "user"),
        ("rag-user-prompt.md.j2", "user"),
        ("userMessage.j2", "user"),
        ("prompts/summary_user.txt", "user"),
        ("user_v2.j2", "user"),
        ("user_question.j2", "user"),
        ("question.j2", "user"),
        ("prompts/user/ask.md", "user"),
        ("user_system.j2", "system"),
        ("user_profile.j2", "system"),
        ("chat_history.j2", "history"),
        ("tools.j2", "tools"),
        ("tool_schemas.j2", "tools"),
        ("agent-tools.json.j2", "tools"),
    ],
)
def test_the_name_says_the_block(path: str, block: str):
    assert blocks(path, "Be brief.") == [(block, "Be brief.")]


@pytest.mark.parametrize(
    ("path", "text", "parts"),
    [
        ("a.j2", "a{# promptguard: block=user #}b", [("system", "a"), ("user", "{# promptguard: block=user #}b")]),
        ("a.j2", "{# x #}\n{#- promptguard:block=user -#}b", [("user", "{# x #}\n{#- promptguard:block=user -#}b")]),
        ("p/system.md", "`<!-- promptguard: block=usr -->` a", [("system", "`<!-- promptguard: block=usr -->` a")]),
        (
            "p/system.md",
            "```\n<!-- promptguard: block=user -->\n```\n<!-- promptguard: block=tools -->\na",
            [("system", "```\n<!-- promptguard: block=user -->\n```\n"), ("tools", "<!-- promptguard: block=tools -->\na")],
        ),
        ("p/system.md", "<!-- promptguard: block=tools -->a", [("tools", "<!-- promptguard: block=tools -->a")]),
        (
            "a.j2",
            "a{# promptguard: block=user #}{# promptguard: block=history #}",
            [("system", "a"), ("user", "{# promptguard: block=user #}"), ("history", "{# promptguard: block=history #}")],
        ),
        (
            "a.j2",
            "a{% block user_prompt %}b{% endblock %}c",
            [("system", "a"), ("user", "{% block user_prompt %}b{% endblock %}"), ("system", "c")],
        ),
        ("a.j2", "{% if x %}{% block user %}b{% endblock %}{% endif %}", [
            ("system", "{% if x %}"), ("user", "{% block user %}b{% endblock %}"), ("system", "{% endif %}")]),
        ("a.j2", "{% block rules %}b{% endblock %}", [("system", "{% block rules %}b{% endblock %}")]),
        ("a.prompty", "---\nname: a\n---\nuser:\nb\n", [("user", "user:\nb\n")]),
        ("a.prompty", "---\n# promptguard: block=user\n---\nb\n", [("user", "b\n")]),
        ("a.prompt", "a\n{{role 'user'}}\n{{b}}", [("system", "a\n"), ("user", "{{role 'user'}}\n{{b}}")]),
        ("a.j2", "# system:\na\n# user:\nb\n", [("system", "# system:\na\n"), ("user", "# user:\nb\n")]),
        ("a.j2", "Roles:\nsystem:\nuser:\n", [("system", "Roles:\nsystem:\nuser:\n")]),
        (
            "a.j2",
            "<|im_start|>system\na<|im_end|><|im_start|>user\nb<|im_end|><|im_start|>assistant\n",
            [
                ("system", "<|im_start|>system\na<|im_end|>"),
                ("user", "<|im_start|>user\nb<|im_end|>"),
                ("history", "<|im_start|>assistant\n"),
            ],
        ),
        (
            "prompts/a.md",
            "Be brief.\n### User\nb\n### Assistant:\n",
            [("system", "Be brief.\n"), ("user", "### User\nb\n"), ("history", "### Assistant:\n")],
        ),
        ("a.j2", "a{{ '<|im_start|>user' }}", [("system", "a{{ '<|im_start|>user' }}")]),
        ("user.jinja", CHAT, [("system", CHAT)]),
        ("prompts/a.md", "## User\nIs old.\n## Tone\nKind.", [("system", "## User\nIs old.\n## Tone\nKind.")]),
        ("AGENTS.md", "---\na: b\n---\nBe brief.", [("system", "Be brief.")]),
        ("prompts/a.yaml", "system: Be brief.\nuser: Ask me.\n", [("system", "Be brief."), ("user", "Ask me.")]),
        ("prompts/a.yaml", "system: Be brief.\nprompt: Sum {{ a }} up", [("system", "Be brief."), ("user", "Sum {{ a }} up")]),
        ("prompts/a.yaml", "prompts: [{role: user, content: Ask me.}]", [("user", "Ask me.")]),
        ("prompts/a.yaml", "role: x\nprompt: Sum up {{ a }}", [("system", "Sum up {{ a }}")]),
        (
            "prompts/a.yaml",
            "# promptguard: block=user\nprompt: |\n  Be brief.\n  # promptguard: block=history\ntemplate: Be kind to me.\n",
            [("user", "Be brief.\n# promptguard: block=history\n"), ("user", "Be kind to me.")],
        ),
        (
            "prompts/a.yaml",
            "name: a # promptguard: block=history\nprompt: 'Be #  # promptguard: block=user'\n",
            [("history", "Be #  # promptguard: block=user")],
        ),
        (
            "prompts/a.yaml",
            "a: &a Be kind.\nmessages: [{role: user, content: *a}, {role: system, content: *a}]",
            [("system", "Be kind.")],
        ),
        ("prompts/a.yaml", "- &a {role: user, content: Be kind.}\n- {<<: *a, role: system}\n", [("system", "Be kind.")]),
        ("prompts/a.yaml", "{b: " * 90 + "{system: Be kind.}" + "}" * 90, [("system", "Be kind.")]),
        (
            "prompts/a.yaml",
            "examples: [{input: Who are you?, output: A clerk.}]\nchat: [{role: ai, content: Hello.}, {role: user, content: Q}]",
            [("history", "Who are you?"), ("history", "A clerk."), ("history", "Hello."), ("user", "Q")],
        ),
    ],
)  # fmt: skip
def test_parts(path: str, text: str, parts: list[tuple[str, str]]):
    assert blocks(path, text) == parts


def dumped(name: str, **members: object) -> dict[str, object]:
    """What LangChain writes of an object."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "chat", name], "kwargs": members}


PIECE = dumped("PromptTemplate", template="Sum up {a_b}", input_variables=["a_b"], template_format="f-string")


@pytest.mark.parametrize(
    ("message", "block"),
    [
        (dumped("HumanMessagePromptTemplate", prompt=PIECE), "user"),
        (dumped("HumanMessagePromptTemplate", prompt=[PIECE]), "user"),
        (dumped("AIMessagePromptTemplate", prompt=PIECE), "history"),
        (dumped("SystemMessagePromptTemplate", prompt=PIECE), "system"),
        (dumped("ChatMessagePromptTemplate", prompt=PIECE, role="developer"), "system"),
        (dumped("ChatMessagePromptTemplate", prompt=PIECE, role="pirate"), "user"),
        (dumped("HumanMessage", content="Sum up {a_b}"), "user"),
        (dumped("ToolMessage", content="Sum up {a_b}"), "history"),
        ({"_type": "human", "prompt": {"_type": "prompt", "template": "Sum up {a_b}"}}, "user"),
        ({"_type": "ai", "template": "Sum up {a_b}"}, "history"),
        ({"_type": "system", "template": "Sum up {a_b}"}, "system"),
        ({"_type": "prompt", "template": "Sum up {a_b}"}, "system"),
    ],
)
@pytest.mark.parametrize("path", ["prompts/a.json", "prompts/a.yaml"])
def test_messages_of_langchain(path: str, message: object, block: str):
    assert blocks(path, json.dumps({"messages": [message]})) == [(block, "Sum up {a_b}")]


def test_messages_of_langchain_are_one_prompt():
    chat = dumped(
        "ChatPromptTemplate",
        messages=[dumped(f"{name}MessagePromptTemplate", prompt=PIECE) for name in ("System", "Human")],
    )
    documents = read_documents("hub.json", json.dumps(chat), Settings("/w"))
    assert [(document.prompt, document.regions[0].block) for document in documents] == [
        ("hub.json", "system"),
        ("hub.json", "user"),
    ]


def test_a_declared_file_of_another_program():
    text = "apiVersion: v1\nkind: ConfigMap\ndata:\n  system_prompt: Be brief, you.\n"
    assert blocks("/w/a.yaml", text, PromptDeclaration("a.yaml")) == [("system", "Be brief, you.")]


@pytest.mark.parametrize(
    ("text", "block"),
    [("Sum up {{ a }}", "user"), ("You are {{ a }}, a clerk.", "system"), ("You are {{ a }}.\nSum up.", "system")],
)
def test_promptfoo_sends_a_short_text_as_a_message(text: str, block: str):
    assert blocks("a.json", json.dumps({"prompts": [text, {"raw": text, "label": "x"}]})) == [(block, text)] * 2


def test_the_configuration_comes_first():
    user = PromptDeclaration("a.j2", block="user")
    assert blocks("/w/a.j2", "{# promptguard: block=tools #}b", user) == [("tools", "{# promptguard: block=tools #}b")]
    assert blocks("/w/a.j2", "b", user) == [("user", "b")]
    assert blocks("/w/a.j2", " {# promptguard: block=tools #}b", user)[0] == ("user", " ")


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        ("a.j2", "a\n{# promptguard: block=usr #}", "a.j2:2:23"),
        ("prompts/a.yaml", "x: 1\nprompt: |\n  a\n  {# promptguard: block=usr #}\n", "prompts/a.yaml:4:25"),
        ("a.prompty", "---\n# promptguard: block=usr\n---\n", "a.prompty:2:22"),
    ],
)
def test_a_block_that_there_is_not(path: str, text: str, place: str):
    with pytest.raises(InputError) as caught:
        blocks(path, text)
    assert (caught.value.where, caught.value.what) == (place, 'there is no block "usr"')
