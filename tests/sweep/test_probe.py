import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from robustlib.data import LazyImage
from robustlib.errors import RobustlibError
from robustlib.models.base import Answer, Prompt
from robustlib.models.staged import Staged
from robustlib.sweep import CLEAN, ModelChoice, Plan, Profile, make_plan, plan_jobs, run_sweep
from robustlib.sweep.probe import probe_batch_size
from tests.sweep.toys import PROFILE, PixelModel, contents, toy_dataset

AUTO = replace(PROFILE, batch_size="auto")


class Clock:
    """Time that passes only while a model answers."""

    def __init__(self) -> None:
        self.now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    return clock


class Timed(PixelModel):
    """A model that takes a time for each call and one for each prompt, and has memory for so many prompts."""

    def __init__(self, clock: Clock, call: float, prompt: float = 1, memory: int = 1000) -> None:
        super().__init__("toy/mean")
        self.clock, self.call, self.prompt, self.memory = clock, call, prompt, memory
        self.seen: list[Prompt] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        if len(prompts) > self.memory:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        self.clock.now += self.call + self.prompt * len(prompts)
        self.seen = list(prompts)
        return super().answer(prompts)


@pytest.mark.parametrize(
    ("call", "memory", "expected"),
    [
        (0, 1000, 1),
        (1, 1000, 8),  # 2 n (1 + n) / n (1 + 2 n), the gain from n to 2 n, is 1.11 at 4 and 1.06 at 8
        (10**6, 1000, 512),
        (10**6, 100, 64),
        (10**6, 1, 1),
        (10**6, 0, 1),
    ],
    ids=["no gain", "gain up to 8", "the most that is tried", "memory for 100", "memory for 1", "memory for none"],
)
def test_the_batch_grows_while_it_gains_and_fits(clock: Clock, call: float, memory: int, expected: int) -> None:
    assert probe_batch_size(Timed(clock, call, memory=memory), [toy_dataset(questions=600)]) == expected


def test_no_more_is_tried_than_there_are_questions(clock: Clock) -> None:
    assert probe_batch_size(Timed(clock, 10**6), [toy_dataset(questions=11), toy_dataset(1, questions=6)]) == 16


def test_it_is_asked_about_the_largest_images_of_all_data_sets(clock: Clock) -> None:
    small = toy_dataset(questions=6)
    wide = LazyImage(np.zeros((9, 20, 3), np.uint8))
    large = replace(small, questions=tuple(replace(q, image=wide) for q in small.questions[:2]))
    model = Timed(clock, 10**6)
    assert probe_batch_size(model, [small, large]) == 8
    sizes = [prompt.image.shape[:2] for prompt in model.seen if prompt.image is not None]
    assert sizes == [(9, 20)] * 2 + [(8, 8)] * 6


def test_what_is_prepared_on_the_cpu_does_not_count(clock: Clock) -> None:
    class Two(Staged):
        """A model whose network takes its time for a call, and whose preparation takes more for each prompt."""

        name = "toy/mean"

        def prepare(self, prompts: Sequence[Prompt]) -> Sequence[Prompt]:
            clock.now += 1000 * len(prompts)
            return prompts

        def run(self, prompts: Sequence[Prompt], ready: Sequence[Prompt]) -> list[Answer]:
            clock.now += 1
            return PixelModel("toy/mean").answer(ready)

        def describe(self) -> dict[str, str | int | float]:
            return {}

    assert probe_batch_size(Two(), [toy_dataset(questions=40)]) == 32


def test_a_model_that_fails_for_another_reason_is_an_error() -> None:
    class Broken(PixelModel):
        def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
            raise ValueError("no such token")

    with pytest.raises(RobustlibError, match=r"at a call of 1 questions \(ValueError: no such token\).* a number"):
        probe_batch_size(Broken("toy/mean"), [toy_dataset()])


def plan_of(profile: Profile, model: PixelModel, known: dict[str, int] | None = None) -> Plan:
    return plan_jobs(profile, [toy_dataset()], {"toy/mean": model}, [CLEAN], known)


def test_the_number_is_part_of_the_plan_and_the_shards_are_those_of_that_number(clock: Clock, tmp_path: Path) -> None:
    model = Timed(clock, 1)
    plan = plan_of(AUTO, model)
    assert plan.batch_sizes == {"toy/mean": 8}
    assert plan.jobs == plan_of(replace(PROFILE, batch_size=8), model).jobs
    model.batches.clear()
    run_sweep(plan, tmp_path)
    assert model.batches == [8, 3]
    assert json.loads((tmp_path / "plan.json").read_text())["batch_sizes"] == {"toy/mean": 8}


def test_a_known_number_is_taken_as_it_is(clock: Clock) -> None:
    model = Timed(clock, 1)
    assert plan_of(AUTO, model, {"toy/mean": 2}).batch_sizes == {"toy/mean": 2}
    assert plan_of(PROFILE, model, {"toy/mean": 2}).batch_sizes == {"toy/mean": PROFILE.batch_size}
    assert model.batches == []


def test_a_sweep_goes_on_with_the_number_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = replace(
        AUTO,
        datasets=(replace(PROFILE.datasets[0], name="easy_vqa", rows=9),),
        models=(ModelChoice("prior:easy_vqa"),),
        suites=(),
    )
    run_sweep(replace(profile, batch_size=3), tmp_path)  # a number that was given, and so not found out
    run_sweep(profile, tmp_path)
    before = contents(tmp_path)
    (number,) = json.loads((tmp_path / "plan.json").read_text())["batch_sizes"].values()
    assert number in (1, 2, 4, 8)
    monkeypatch.setattr("robustlib.sweep.plan.probe_batch_size", lambda *_: 2 * number)
    assert list(make_plan(profile).batch_sizes.values()) == [2 * number]
    run_sweep(profile, tmp_path)
    assert contents(tmp_path) == before
