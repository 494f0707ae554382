"""Which files hold something to check, and as what."""

import json

import pytest

from promptguard.linting.reading import may_hold_prompt, read_documents
from promptguard.linting.settings import Settings

TOOL = '{"name": "a", "description": "b", "parameters": {"type": "object", "properties": {}}}'
ROLES = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% endfor %}{% if add_generation_prompt %}{% endif %}"
PAGE = '{% extends "base.html" %}{% block content %}<div>{{ user.name }}</div>{% endblock %}'
CHAT = '[{"role": "system", "content": "You are a clerk."}, {"role": "user", "content": "%s"}]'

PROMPTS = [
    ("system.j2", "Be brief.", "prompt"),
    ("a.jinja", "Be brief.", "prompt"),
    ("a.JINJA2", "Be brief.", "prompt"),
    ("agent.md.j2", "Be brief.", "prompt"),
    ("agent.txt.jinja", "Be brief.", "prompt"),
    ("qwen2.5.j2", "Be brief.", "prompt"),
    ("prompts/page.j2", "<div>Be brief.</div>", "prompt"),
    ("a.j2", "<instructions>\nBe brief.\n</instructions>", "prompt"),
    ("a.j2", "---\nmodel: m\n---\nBe brief.", "prompt"),
    ("a.j2", "{% for m in messages %}{{ m.content }}{% endfor %}", "prompt"),
    ("chat_template.jinja", ROLES, "chat-template"),
    ("tools.json.j2", "[{}]", "prompt"),
    ("all.json.j2", "[" + TOOL + "{% if x %}{% endif %}]", "prompt"),
    ("emails/write.j2", "You are a clerk. Write a mail.", "prompt"),
    ("agents/email/draft.j2", "Write a mail.", "prompt"),
    ("prompts/emails/draft.j2", "Write a mail.", "prompt"),
    ("prompts/support.mustache", "Be brief.", "prompt"),
    ("system_prompt.hbs", "Be brief.", "prompt"),
    ("prompts/support.md", "Be brief.", "prompt"),
    ("src/agent/prompts/support/de.md", "Be brief.", "prompt"),
    ("system.md", "Be brief.", "prompt"),
    ("system_prompt.txt", "Be brief.", "prompt"),
    ("SystemPrompt.md", "Be brief.", "prompt"),
    ("security_prompt.md", "Be brief.", "prompt"),
    ("agent-instructions.md", "Be brief.", "prompt"),
    ("persona.txt", "Be brief.", "prompt"),
    ("AGENTS.md", "Be brief.", "prompt"),
    ("sub/CLAUDE.md", "Be brief.", "prompt"),
    ("GEMINI.md", "Be brief.", "prompt"),
    ("skills/pdf/SKILL.md", "---\nname: pdf\n---\nBe brief.", "prompt"),
    ("copilot-instructions.md", "Be brief.", "prompt"),
    ("review.prompt.md", "Be brief.", "prompt"),
    ("notes.md", "You are a helpful clerk.", "prompt"),
    ("notes.md", "# Clerk\n\nYou are the clerk of a library.", "prompt"),
    ("notes.md", "---\nname: x\n---\nYou are a helpful clerk.", "prompt"),
    ("notes.txt", "<!-- promptguard: block=user -->\nSum up.", "prompt"),
    ("notes.txt", "`<!-- promptguard: block=user -->`\nSum up.", "prompt"),
    ("notes.md", "```\na\n```\n<!-- promptguard: block=user -->\nSum up.", "prompt"),
    ("a.prompt", "Be brief.", "prompt"),
    ("a.prompty", "---\nname: a\n---\nsystem:\nBe brief.", "prompt"),
    ("prompts/a.yaml", "system: Be brief, please.", "prompt"),
    ("docs/system_prompt.md", "Be brief.", "prompt"),
    ("prompts.yml", "triage: |\n  You are a clerk.\n  Sort the tickets.\n", "prompt"),
    ("sum.prompt.yml", "messages:\n- role: user\n  content: 'Sum up {{input}}'\n", "prompt"),
    ("agent.yaml", "system_prompt: You are a helpful clerk.", "prompt"),
    ("agent.yaml", "# promptguard: block=system\nprompt: You are a helpful clerk.", "prompt"),
    ("agents.yaml", "clerk:\n  role: A {topic} clerk\n  goal: Sort {topic} things\n  backstory: You know it all\n", "prompt"),
    ("chain.json", '{"_type": "prompt", "input_variables": ["a"], "template": "Sum up {a} now."}', "prompt"),
    ("agent.json", '{"model": "m", "system_prompt": "You are a helpful clerk."}', "prompt"),
    ("chat.json", CHAT % "{{ question }}", "prompt"),
    ("p.json", '{"system": "You are X.\\nTime: {{now}}\\nfollow"}', "prompt"),
    ("p.yaml", "system: |\n  Sort the tickets.\n  It is {{ now() }}.\n", "prompt"),
    ("p.json", '{"prompt": "Sort the tickets of {{ now }} by age."}', "prompt"),
    ("request.json", '{"model": "m", "system": [{"type": "text", "text": "It is {{now}}."}], "messages": []}', "prompt"),
    ("promptfooconfig.yaml", "prompts:\n- file://a.txt\n- id: x\n  raw: Sum up {{ a }} now.\n", "prompt"),
    ("evaluate.json", '{"prompts": [{"raw": "Sum up {{ a }} now.", "label": "x"}]}', "prompt"),
    ("evaluate.yaml", "prompts: You are a clerk of {{ city }}.\nproviders: [m]\n", "prompt"),
    ("tools.json", f"[{TOOL}]", "tools"),
    ("anything.json", f'{{"tools": [{TOOL}]}}', "tools"),
    ("broken.json", f"[{TOOL}", "tools"),
    ("tools.jsonl", f"{TOOL}\n{TOOL}\n", "tools"),
    ("lines.json", f"{TOOL}\n\n{TOOL}\n", "tools"),
    ("broken_lines.json", f"{TOOL}\n{TOOL[:-1]}\n", "tools"),
    ("tools.yaml", "- name: a\n  parameters: {type: object, properties: {}}\n", "tools"),
    ("broken.yaml", "- name: a\n  parameters: {type: object\n", "tools"),
]

OTHERS = [
    ("nginx.conf.j2", "server { listen 80; }"),
    ("index.html.j2", "{{ user }}"),
    ("mail.xml.jinja", "{{ user }}"),
    ("run.sh.j2", "echo {{ now() }}"),
    ("query.sql.j2", "SELECT {{ now() }}"),
    ("values.yaml.j2", "prompt: {{ now() }}"),
    ("ci.yml.j2", "a: {{ now() }}"),
    ("app.service.j2", "[Unit]"),
    ("setup.toml.j2", "a = {{ now() }}"),
    ("settings.py.j2", "A = {{ now() }}"),
    (".env.j2", "A={{ now() }}"),
    ("main.tf.j2", "a = {{ now() }}"),
    ("app.js.j2", "a = {{ now() }}"),
    ("data.json.j2", '{"a": "{{ now() }}"}'),
    ("Dockerfile.j2", "FROM {{ image }}"),
    ("sshd_config.j2", "Port {{ port }}"),
    ("roles/web/templates/motd.j2", "{{ now() }}"),
    ("roles/web/templates/app.manifest.j2", "{{ now() }}"),
    ("readme_versions.md.j2", "{{ now() }}"),
    ("page.j2", "<!DOCTYPE html>\n<html>{{ now() }}</html>"),
    ("page.jinja2", PAGE),
    ("unit.j2", "[Unit]\nDescription={{ now() }}\n"),
    ("model.j2", "SELECT a FROM b WHERE c = {{ now() }}"),
    ("start.j2", "#!/bin/sh\necho {{ now() }}"),
    ("hosts_list.j2", "# {{ ansible_managed }}\n{{ now() }}"),
    ("vars.j2", "export A={{ a }}\nexport B={{ b }}\n"),
    ("deploy.j2", "apiVersion: v1\nkind: Pod\n"),
    ("emails/welcome.j2", "Hi {{ user.name }},"),
    ("templates/email/welcome.j2", "Hi {{ user.name }},"),
    ("welcome.j2", "Subject: Welcome\n\nHi {{ user.name }},"),
    ("prompts/page.html.hbs", "{{now}}"),
    ("views/page.hbs", "You are {{now}}"),
    ("README.md", "You are a helpful clerk. {{ now() }}"),
    ("prompts/README.md", "Be brief. {{ now() }}"),
    ("CHANGELOG.md", "- prompts"),
    ("docs/prompts/intro.md", "You are a helpful clerk."),
    ("docs/prompt-caching.md", "{{ now() }}"),
    ("docs/prompts.md", "Be brief. {{ now() }}"),
    ("prompt-engineering-guide.md", "Be brief."),
    ("shell_prompt.md", "PS1={user}"),
    ("notes.md", "Some notes on {{ now() }}."),
    ("notes.md", "You are welcome to contribute."),
    ("design-system.md", "Colours: {{ now() }}"),
    ("requirements.txt", "jinja2==3.1"),
    ("robots.txt", "User-agent: *"),
    ("a.py", "PROMPT = 'You are a clerk.'"),
    ("a.html", "{{ now() }}"),
    ("package.json", '{"name": "a", "scripts": {"prompt": "x"}}'),
    ("data.json", '{"a": [1, 2], "template": "x y z"}'),
    ("data.json", "not JSON"),
    ("chat.json", CHAT % "Where is it?"),
    ("samples.json", '[{"prompt": "Sum up {{ a }} now.", "completion": "b"}]'),
    ("request.json", '{"model": "m", "system": "You are a clerk.", "messages": ' + CHAT % "Hi there" + "}"),
    ("request.json", '{"model": "m", "system": [{"type": "text", "text": "You are a clerk."}], "messages": ' + CHAT % "Hi" + "}"),
    ("notify.yaml", "template: |\n  Dear {{ name }},\n  your parcel came at {{ now }}.\n"),
    ("mail.json", '{"template": "<html><p>Dear {{ name }}, thank you.</p></html>"}'),
    ("sample.json", '{"prompt": "Sum up {{ a }} now.", "completion": "b"}'),
    ("train.json", f'{{"messages": {CHAT % "Hi"}, "tools": [{TOOL}]}}\n' * 2),
    ("logs.jsonl", '{"messages": ' + CHAT % "{{ question }}" + "}\n"),
    ("openapi.json", '{"openapi": "3.1.0", "paths": {}, "system_prompt": "You are a helpful clerk."}'),
    (".github/workflows/ci.yml", "on: push\njobs:\n  a:\n    steps:\n    - with: {prompt: You are a helpful clerk.}\n"),
    ("docker-compose.yaml", "services:\n  a:\n    environment:\n      SYSTEM_PROMPT: You are a helpful clerk.\n"),
    ("pod.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  template: You are a helpful clerk.\n"),
    ("api.yaml", "openapi: 3.1.0\npaths: {}\nsystem_prompt: You are a helpful clerk.\n"),
    ("config.yaml", "prompt: Do you want to go on?\nsystem: linux on arm\n"),
    ("config.yaml", "system_prompt: prompts/system.md\n"),
    (
        "delete.yaml",
        "confirmation_prompt: |\n  You are about to delete {name} and all that is below it. This cannot be undone.\n",
    ),
    ("config_map.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  system_prompt: You are {{ x }}, a clerk.\n"),
    ("wizard.yaml", "prompts: [{name: x, message: 'Your name, please?', default: '{{ user }} of {{ city }}'}]\n"),
    ("wizard.yaml", "prompts: [What is your name?, Where do you live?]\n"),
    ("server.json", '{"prompts": [{"name": "sum", "description": "Sum up {{ a }} now.", "arguments": []}]}'),
    ("evaluate.yaml", "prompts: ['file://my prompts/{{ a }}.txt', {raw: 'file://my prompts/{{ a }}.txt'}]\n"),
    ("evaluate.json", json.dumps({"prompts": [CHAT % "{{ a }}", {"raw": "- role: user\n  content: '{{ a }}'\n"}]})),
    ("run.json", '{"results": {"prompts": [{"raw": "Sum up {{ a }} now."}]}, "config": {"prompts": ["Sum up {{ a }} now."]}}'),
    (
        "data.yaml",
        "rows:\n- {id: [a, HumanMessage], kwargs: {text: Where is it?}}\n- {_type: human, text: 'Where is {{ it }}?'}\n",
    ),
    ("prompt_toolkit-3.0/top_level.txt", "prompt_toolkit"),
    ("helm.yaml", "{{- if .Values.a }}\nsystem_prompt: You are a helpful clerk.\n{{- end }}\n"),
    ("manual.md", "Write it so:\n\n```\n{# promptguard: block=user #}\n```\nor `<!-- promptguard: block=usr -->`.\n"),
    ("a.j2", "Be brief.\0"),
    ("prompts/noise.md", "\0\0\0"),
]


def kinds(path: str, text: str) -> set[str]:
    return {document.kind for document in read_documents(path, text, Settings("/"))}


@pytest.mark.parametrize(("path", "text", "kind"), PROMPTS)
def test_something_to_check(path: str, text: str, kind: str):
    assert kinds(path, text) == {kind}
    assert may_hold_prompt(path, text.encode())


def test_a_prompt_beside_tools():
    text = '{"model": "m", "system": [{"type": "text", "text": "It is {{now}}."}], "tools": [' + TOOL + "]}"
    found = read_documents("request.json", text, Settings("/"))
    assert [(document.kind, document.pointer, document.regions[0].block) for document in found] == [
        ("tools", "/tools", "tools"),
        ("prompt", "/system/0/text", "system"),
    ]


@pytest.mark.parametrize(
    ("path", "text", "tools"),
    [
        ("a.json", '{"messages": ' + CHAT % "Hi" + ', "tools": [' + TOOL + '], "n": 1}', f"[{TOOL}]"),
        ("a.json", '{"functions": [' + TOOL + '], "prompt": "Hi"}', f"[{TOOL}]"),
        ("prompts/a.json", '{"instructions": "You are a clerk.", "tools": [' + TOOL + "]}", f"[{TOOL}]"),
        ("a.yaml", "instructions: You are {{ x }}, a clerk.\ntools:\n- " + TOOL + "\nmodel: m\n", f"- {TOOL}\n"),
        ("a.yaml", "prompt: Hi\ntools:\n- " + TOOL + "\n", f"- {TOOL}\n"),
        ("a.json", '{"messages": ' + CHAT % "Hi" + ', "tools": [' + TOOL + '], "choices": []}', None),
        ("a.json", '{"messages": ' + CHAT % "Hi" + ', "tools": [{"name": "a"}]}', None),
        ("a.json", '{"version": "1", "tools": [' + TOOL + "]}", None),
        ("a.json", '{"id": "x", "prompt": "Find the area", "functions": [' + TOOL + "]}", None),
        ("a.json", '{"id": "x", "prompt": "Find {{ what }}", "functions": [' + TOOL + "]}", f"[{TOOL}]"),
        ("a.json", '{"id": "x", "prompt": "You are a clerk.", "tools": [' + TOOL + "]}", f"[{TOOL}]"),
        ("a.json", '{"task_id": 1, "question": "How much?", "input": "2", "tools": [' + TOOL + "]}", None),
        ("a.json", '[{"messages": ' + CHAT % "Hi" + ', "tools": [' + TOOL + "]}]", None),
        ("a.jsonl", '{"messages": ' + CHAT % "Hi" + ', "tools": [' + TOOL + "]}", None),
    ],
)
def test_tools_of_a_request_or_an_agent(path: str, text: str, tools: str | None):
    found = [document for document in read_documents(path, text, Settings("/")) if document.kind == "tools"]
    assert [document.text[region.start : region.end] for document in found for region in document.regions] == [
        *([tools] if tools else [])
    ]


AGENT = f"system_prompt: You are a helpful clerk.\ntools:\n- {TOOL}\n"
INNER = AGENT.replace("\n", "\n    ")


@pytest.mark.parametrize(
    ("path", "text", "agents"),
    [
        ("a.yaml", f"{AGENT}---\nsecond: document\n", [("a.yaml", "/tools")]),
        ("a.yaml", f"{AGENT}---\n{AGENT}...\n", [("a.yaml#0", "/tools"), ("a.yaml#1", "/tools")]),
        ("a.yaml", f"-   {INNER}\n-   {INNER}\n", [("a.yaml#0/0", "/0/tools"), ("a.yaml#0/1", "/1/tools")]),
        ("a.yaml", f"agents:\n  x/y:\n    {INNER}\n", [("a.yaml", "/agents/x~1y/tools")]),
        ("a.json", '{"all": [{"system_prompt": "It is {{ now }}.", "tools": [' + TOOL + "]}]}", [("a.json", "/all/0/tools")]),
        ("a.yaml", f"response: x\nagents:\n  x:\n    {INNER}\n", []),
        ("a.yaml", f"agents:\n  x:\n    completion: x\n    {INNER}\n", []),
        ("a.json", '{"data": [{"messages": ' + CHAT % "Hi" + ', "tools": [' + TOOL + "]}]}", []),
        ("a.yaml", ('{"messages": ' + CHAT % "Hi" + ', "tools": [' + TOOL + "]}\n---\n") * 2, []),
    ],
)
def test_tools_of_agents_in_a_file(path: str, text: str, agents: list[tuple[str, str]]):
    documents = read_documents(path, text, Settings("/"))
    tools = [document for document in documents if document.kind == "tools"]
    assert [(document.prompt, document.pointer) for document in tools] == agents
    for document in tools:
        (region,) = document.regions
        assert text[region.start : region.end] in (f"- {TOOL}\n", f"[{TOOL}]")
        assert [other.kind for other in documents if other.prompt == document.prompt] == ["tools", "prompt"]


@pytest.mark.parametrize(("path", "text"), OTHERS)
def test_nothing_to_check(path: str, text: str):
    assert kinds(path, text) == set()


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("a.py", b"PROMPT = 'You are a clerk.'"),
        ("package-lock.json", b'{"functions": "parameters"}'),
        ("a.json", b'{"a": [1, 2, 3]}'),
        ("ci.yml", b"jobs:\n  a:\n    steps:\n    - prompt: x\n"),
        ("pod.yaml", b"apiVersion: v1\nspec:\n  template: x\n"),
        ("openapi.json", b'{"openapi": "3.1.0", "parameters": []}'),
        ("notes.md", b"Notes"),
        ("index.html.j2", b"{{ a }}"),
        ("a.j2", b"\0"),
        ("Makefile", b"all:"),
    ],
)
def test_what_need_not_be_read(path: str, head: bytes):
    assert not may_hold_prompt(path, head)
