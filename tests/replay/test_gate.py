from __future__ import annotations

from dataclasses import replace

import pytest

from promptguard.core.errors import EngineError
from promptguard.replaying.gate import Gate, judge
from promptguard.replaying.result import Result, Subject, Turn

SUBJECT = Subject("e", "m", "b", 1, 1, 0, None, "t", "0", "task", "s", "t", "r")


def turn(number: int, prompt: int, ideal: int, reusable: int, cached: int, granularity: int = 0) -> Turn:
    return Turn(number, "", prompt, cached, prompt - cached, ideal, reusable, 0.1, granularity)


def result(*turns: Turn) -> Result:
    return Result(subject=SUBJECT, turns=turns, warm_up_tokens=0, checks=())


def verdicts(measured: Result, gate: Gate | None = None) -> dict[str, bool]:
    return {check.name: check.passed for check in judge(measured, gate or Gate())}


CLEAN = (turn(1, 100, 90, 90, 90), turn(2, 120, 110, 110, 110), turn(3, 140, 130, 130, 130))


def test_a_clean_run_passes_and_reaches_its_ceiling() -> None:
    clean = result(*CLEAN)
    assert verdicts(clean) == {"hit-rate": True, "prompt-loss": True, "engine-loss": True}
    assert clean.hit_rate == clean.ceiling == 330 / 360
    assert clean.cold_hit_rate == 240 / 360
    assert clean.repetition_rate == (360 - (90 + 10 + 10 + 10)) / 360


def test_one_lost_token_fails_whatever_the_hit_rate() -> None:
    measured = result(*CLEAN[:2], turn(3, 140, 130, 129, 129))
    assert measured.hit_rate > 0.9
    assert verdicts(measured) == {"hit-rate": True, "prompt-loss": False, "engine-loss": True}


def test_what_the_engine_loses_is_the_engines() -> None:
    measured = result(*CLEAN[:2], turn(3, 140, 130, 130, 0))
    assert verdicts(measured) == {"hit-rate": False, "prompt-loss": True, "engine-loss": False}
    assert (measured.prompt_loss, measured.engine_loss) == (0, 130)


def test_tolerances_are_per_turn_and_inclusive() -> None:
    measured = result(*CLEAN[:2], turn(3, 140, 130, 128, 127))
    assert verdicts(measured, Gate(prompt_loss=2, engine_loss=1)) == {"hit-rate": True, "prompt-loss": True, "engine-loss": True}
    assert verdicts(measured, Gate(prompt_loss=1, engine_loss=0)) == {
        "hit-rate": True,
        "prompt-loss": False,
        "engine-loss": False,
    }


def test_granularity_is_not_a_loss() -> None:
    assert turn(1, 100, 90, 90, 80, granularity=16).engine_loss == 0
    assert turn(1, 100, 90, 90, 70, granularity=16).engine_loss == 4


def test_tokens_of_another_run_do_not_count() -> None:
    measured = turn(2, 120, 110, 20, 115)
    assert (measured.hit, measured.foreign, measured.prompt_loss) == (20, 95, 90)


def test_the_one_token_that_is_always_computed_is_no_loss() -> None:
    assert turn(2, 110, 110, 109, 109).prompt_loss == 0


def test_a_task_that_no_prompt_could_pass_is_said() -> None:
    measured = result(turn(1, 100, 10, 10, 10), turn(2, 300, 100, 100, 100))
    check = judge(measured, Gate())[0]
    assert not check.passed
    assert "no prompt could pass this task: even an append-only run reaches only 27.5%, and 80.0% are asked for" in check.message


def test_the_least_hit_rate_is_inclusive() -> None:
    measured = result(turn(1, 100, 80, 80, 80), turn(2, 100, 80, 80, 80))
    assert verdicts(measured)["hit-rate"]


@pytest.mark.parametrize("turns", [(), CLEAN[:1]])
def test_fewer_than_two_turns_prove_nothing(turns: tuple[Turn, ...]) -> None:
    with pytest.raises(EngineError, match="turn was measured"):
        judge(result(*turns), Gate())


def engine_message(*turns: Turn) -> str:
    return judge(result(*turns), Gate())[2].message


def test_an_engine_loss_says_what_it_looks_like() -> None:
    off = [turn(number, 100, 90, 90, 0) for number in (1, 2)]
    assert engine_message(*off).endswith("it reused nothing at all, so its prefix cache is off (llama-server: --cache-prompt)")
    window = [*CLEAN[:2], turn(3, 140, 130, 60, 0)]
    assert "it cannot go back, as models with a sliding window" in engine_message(*window)
    evicted = [*CLEAN[:2], turn(3, 140, 130, 130, 0)]
    assert engine_message(*evicted).endswith("another request took its slot, or its cache is too small")


def test_the_ceiling_of_a_shortened_history_is_that_of_the_whole_one() -> None:

    shortened = replace(result(turn(1, 100, 90, 90, 90), turn(2, 50, 110, 40, 40)), append_only=((100, 90), (120, 110)))
    assert shortened.ceiling == 200 / 220
