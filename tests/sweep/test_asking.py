import gc
import io
import weakref
from collections.abc import Sequence

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from robustlib.models.base import Answer, Prompt
from robustlib.models.staged import Staged
from robustlib.sweep.asking import Room, ask, is_out_of_memory
from robustlib.sweep.shards import make_shard
from tests.sweep.toys import PixelModel, toy_plan


class Tensor:
    """Something large that a call makes."""


class Small(PixelModel):
    """A model with memory for so many prompts at a time."""

    def __init__(self, most: int) -> None:
        super().__init__("toy/mean")
        self.most = most
        self.made: list[weakref.ref[Tensor]] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        assert not any(one() for one in self.made), "a failed call still holds its memory"
        self.batches.append(len(prompts))
        activations = Tensor()
        self.made.append(weakref.ref(activations))
        if len(prompts) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return [self.answer_one(prompt) for prompt in prompts]


def prompts(count: int) -> list[Prompt]:
    return [Prompt(np.full((8, 8, 3), value, np.uint8), f"Is it bright, take {value}?") for value in range(count)]


def test_what_does_not_fit_in_memory_is_asked_in_halves_with_the_same_answers() -> None:
    model, room = Small(3), Room()
    assert ask(model, prompts(16), room=room) == PixelModel("toy/mean").answer(prompts(16))
    assert model.batches == [16, 8, 4, 2, 2, 2, 2, 2, 2, 2, 2]
    assert room.prompts == 2


def test_what_once_did_not_fit_is_not_tried_again_for_later_batches() -> None:
    model, room = Small(3), Room()
    for _ in range(2):
        assert ask(model, prompts(5), room=room) == PixelModel("toy/mean").answer(prompts(5))
    assert model.batches == [5, 3, 2, 3, 2]


def test_the_memory_of_a_failed_call_is_free_before_the_halves_are_asked() -> None:
    gc.disable()
    try:
        assert {answer.status for answer in ask(Small(1), prompts(4))} == {"ok"}  # else the model tells
    finally:
        gc.enable()


def test_a_shard_made_with_little_memory_is_the_same_and_meets_the_wall_once() -> None:
    model = Small(2)
    plan = toy_plan(mean=model)
    job = plan.jobs[0]
    assert make_shard(plan, job, model) == make_shard(plan, job, PixelModel("toy/mean"))
    assert model.batches == [4, 2, 2, 2, 2, 2, 1]


def test_a_failure_of_another_kind_does_not_shrink_later_batches() -> None:
    class Moody(PixelModel):
        def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
            if any("take 0" in prompt.text for prompt in prompts):
                raise RuntimeError("out of luck")
            return super().answer(prompts)

    model, room = Moody("toy/mean"), Room()
    first, *others = ask(model, prompts(4), room=room)
    assert (first.status, first.reason) == ("error", "RuntimeError: out of luck")
    assert others == PixelModel("toy/mean").answer(prompts(4))[1:]
    ask(model, prompts(8)[4:], room=room)
    assert model.batches == [1, 2, 4]


@pytest.mark.parametrize("error", [ValueError("no such token"), SystemExit(0)])
def test_a_question_that_cannot_be_prepared_is_the_only_one_that_fails(error: BaseException) -> None:
    class Two(Staged):
        name = "toy/mean"

        def prepare(self, prompts: Sequence[Prompt]) -> Sequence[Prompt]:
            if any("take 5" in prompt.text for prompt in prompts):
                raise error
            return prompts

        def run(self, prompts: Sequence[Prompt], ready: Sequence[Prompt]) -> list[Answer]:
            return PixelModel("toy/mean").answer(ready)

        def describe(self) -> dict[str, str | int | float]:
            return {}

    plan, model = toy_plan(), Two()
    shard = pq.read_table(io.BytesIO(make_shard(plan, plan.jobs[0], model))).to_pandas()
    assert list(shard.question_id[shard.status == "error"]) == ["question-5"]
    assert list(shard.response[shard.status == "error"]) == [f"{type(error).__name__}: {error}"]
    assert set(shard.status[shard.status != "error"]) == {"ok"}


def test_a_prompt_that_does_not_fit_alone_is_a_failed_answer() -> None:
    (answer,) = ask(Small(0), prompts(1))
    assert answer.status == "error"
    assert answer.reason.startswith("OutOfMemoryError: CUDA out of memory.")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError(), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), False),
        (ValueError("A question can have 26 lettered options, got 30."), False),
    ],
)
def test_lack_of_memory_is_told_from_other_errors(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_the_allocators_own_error_is_known() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**50, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)
