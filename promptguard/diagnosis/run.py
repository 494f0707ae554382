"""All checks of one server, in the order in which one needs the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptguard.core.errors import EngineError
from promptguard.diagnosis.board import Board, is_loopback
from promptguard.diagnosis.catalog import ORDER
from promptguard.diagnosis.context import Workload, context_fit
from promptguard.diagnosis.facts import Facts, View, build_check, endpoints, look, read_facts
from promptguard.diagnosis.probes import ProbeError, Probes, probe
from promptguard.diagnosis.reach import OtherServerError, Reached, reach
from promptguard.diagnosis.result import Check, Diagnosis, Server
from promptguard.diagnosis.reuse import NOT_TRIED, host_cache, prompt_cache, resident_prefix, slots, window
from promptguard.diagnosis.template import template_checks
from promptguard.diagnosis.traffic import before, behind
from promptguard.prompts.rendering import Renderer

_TRIED = ("prompt-cache", "resident-prefix", "window", "host-cache")
_TELLING = ("context", "template-date", "template", *_TRIED)
"""What a server is judged by: without any of these nothing is known of what it reuses."""


def diagnose(
    url: str,
    workload: Workload,
    renderer: Renderer,
    *,
    api_key: str | None = None,
    timeout: float = 120.0,
    requests: bool = True,
    board: Board | None = None,
) -> Diagnosis:
    """Look at a server, and say what stands in the way of reuse.

    Args:
        url: checked with ``check_url``.
        workload: the task that its context is to hold.
        renderer: renders its chat template, which is not trusted.
        api_key: sent as a bearer token, and nowhere else.
        timeout: seconds for one answer.
        requests: whether prompts may be sent to the model.
        board: the machine to look at too; ``None`` for none.

    Returns:
        What was found; an ``error`` where there is no server to judge. Nothing that the server does is an exception.
    """
    found = _diagnose(url, workload, renderer, api_key=api_key, timeout=timeout, requests=requests)
    if api_key:
        found = _without(found, api_key)
    return replace(found, checks=(*found.checks, *board.checks(url))) if board is not None else found


def wants_board(url: str, board: Board) -> bool:
    """Whether the machine is a Jetson, and the one that the server runs on."""
    return board.is_jetson and is_loopback(url)


def _diagnose(
    url: str, workload: Workload, renderer: Renderer, *, api_key: str | None, timeout: float, requests: bool
) -> Diagnosis:
    try:
        reached = reach(url, api_key=api_key, timeout=timeout)
    except EngineError as error:
        kind = error.kind if isinstance(error, OtherServerError) else ""
        return Diagnosis(url, Server(kind) if kind else None, task=workload.name, error=str(error))
    try:
        return _judge(reached, workload, renderer, requests=requests)
    except EngineError as error:
        server = read_facts(reached.props).server
        return Diagnosis(reached.client.base_url, server, task=workload.name, error=str(error))
    finally:
        reached.client.close()


def _without(found: Diagnosis, secret: str) -> Diagnosis:
    """The same without the API key, which a server may echo anywhere."""

    def clean(text: str) -> str:
        return text.replace(secret, "***")

    server = found.server
    if server is not None:
        server = replace(server, kind=clean(server.kind), build=clean(server.build), model=clean(server.model))
    checks = [
        replace(check, found=clean(check.found), why=clean(check.why), remedy=clean(check.remedy)) for check in found.checks
    ]
    error = clean(found.error) if found.error is not None else None
    return replace(found, server=server, checks=tuple(checks), error=error)


def _judge(reached: Reached, workload: Workload, renderer: Renderer, *, requests: bool) -> Diagnosis:
    client = reached.client
    facts = read_facts(reached.props)
    first = look(client)
    fit = context_fit(client, facts, first, workload)
    checks = [reached.check, *endpoints(first), fit.check, *template_checks(client, facts, renderer)]
    second = look(client)
    traffic = before(first, second)
    ours, failed = None, Check("", "unknown", NOT_TRIED, "--no-requests: nothing was sent to the model")
    if requests and traffic.status == "in-the-way":
        failed = Check("", "unknown", NOT_TRIED, "other requests run, and are not to be disturbed")
    elif requests:
        try:
            ours = probe(client, context=_context(facts, first), slots=facts.server.slots)
        except ProbeError as error:
            failed = Check("", "in-the-way" if error.fault else "unknown", error.what, "", error.remedy)
    if ours is not None and traffic.status == "ok":
        traffic = behind(second, look(client), ours)
    checks += [traffic, *_reuse(facts, ours, failed)]
    if traffic.status == "in-the-way":
        checks = [_doubted(check) for check in checks]
    server = replace(facts.server, context=_context(facts, first), prefill_rate=ours.first.rate if ours is not None else None)
    return Diagnosis(
        client.base_url,
        server,
        tuple(sorted(checks, key=lambda check: ORDER[check.name])),
        workload.name,
        fit.needed,
        len(ours.sent) if ours is not None else 0,
        sum(each.tokens - (each.cached or 0) for each in ours.sent) if ours is not None else 0,
        _nothing_told(client.base_url, checks),
    )


def _nothing_told(url: str, checks: Sequence[Check]) -> str | None:
    """Why a server cannot be judged that answers and tells nothing of use; ``None`` where it can be."""
    status = {check.name: check.status for check in checks}
    if "in-the-way" in status.values() or any(status[name] != "unknown" for name in _TELLING):
        return None
    what = "tells neither its context nor its chat template, and no prompt showed what it reuses"
    return str(EngineError(what, where=url, hint="look at what GET /props answers there"))


def _context(facts: Facts, view: View) -> int:
    return min((each for each in view.contexts if each > 0), default=facts.server.context)


def _reuse(facts: Facts, ours: Probes | None, failed: Check) -> list[Check]:
    reports = None if ours is None else ours.first.cached is not None
    found = [build_check(facts, reports=reports), slots(facts, ours), _projector(facts, ours)]
    if ours is None:
        first, *rest = _TRIED
        found.append(replace(failed, name=first))
        return found + [Check(name, "unknown", NOT_TRIED, failed.why) for name in rest]
    return [*found, prompt_cache(ours), resident_prefix(ours), window(ours), host_cache(facts, ours)]


def _projector(facts: Facts, ours: Probes | None) -> Check:
    name = "projector"
    if not facts.modalities:
        return Check(name, "ok", "no multimodal projector")
    what = f"a multimodal projector ({', '.join(facts.modalities)})"
    why = "with it --cache-reuse and --context-shift are off, a prompt gets no checkpoint behind a picture, and it takes memory"
    remedy = "--no-mmproj (LLAMA_ARG_MMPROJ_AUTO=0), if the agent sends text alone"
    tried = [each for each in (ours.again, ours.appended, ours.asked) if each is not None] if ours is not None else []
    if not tried or any(each.astray or each.cached is None for each in tried):
        return Check(name, "unknown", what, why, remedy)
    if any(each.found for each in tried):
        return Check(name, "ok", f"{what}; text is reused all the same", why, remedy)
    return Check(name, "in-the-way", f"{what}, and text is not reused", why, remedy)


def _doubted(check: Check) -> Check:
    """What a probe showed while others used the server may be their doing."""
    if check.name not in (*_TRIED, "slots") or check.status not in ("in-the-way", "at-risk"):
        return check
    return replace(check, status="unknown", why="another request may have done that", remedy="")
