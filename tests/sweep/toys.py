"""Small but real parts for sweeps: a data set in memory, models that answer from the pixels, a plan over both."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from robustlib.data import Dataset, LazyImage, Question
from robustlib.data.images import Pixels
from robustlib.models.base import Answer, Model, Prompt
from robustlib.sweep import (
    CLEAN,
    Condition,
    DatasetChoice,
    ModelChoice,
    Plan,
    Profile,
    plan_jobs,
)

CONDITIONS = [
    CLEAN,
    *(
        Condition("imagenet_c", "corruption", variant, severity)
        for variant in ("gaussian_noise", "brightness")
        for severity in (1, 3, 5)
    ),
]
PROFILE = Profile(
    name="toy",
    datasets=(DatasetChoice("toy", "test"),),
    models=(ModelChoice("toy/mean"), ModelChoice("toy/corner")),
    suites=("imagenet_c",),
    severities=(1, 3, 5),
    batch_size=4,
)


def toy_dataset(pixel_seed: int = 0, questions: int = 11) -> Dataset:
    """Return questions about five images of 8 x 8 pixels, their ids unlike the order of their images."""
    random = np.random.default_rng(pixel_seed)
    images = [LazyImage(random.integers(0, 256, (8, 8, 3), np.uint8)) for _ in range(5)]
    return Dataset(
        "toy",
        "test",
        tuple(
            Question(
                id=f"question-{number}",
                image=images[number % 5],
                image_id=f"image-{number % 5}",
                text=f"Is it bright, take {number}?",
                kind="yesno",
                answers=("yes",) * 10,
            )
            for number in range(questions)
        ),
    )


def pixels_of(question: Question) -> Pixels:
    """Return the pixels of a question that has an image."""
    pixels = question.pixels()
    assert pixels is not None
    return pixels


class PixelModel:
    """A model that says yes to a bright image; its confidence tells every pixel value apart."""

    def __init__(self, name: str, seconds: float = 0) -> None:
        self.name = name
        self.seconds = seconds
        self.batches: list[int] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        time.sleep(self.seconds)
        self.batches.append(len(prompts))
        return [self.answer_one(prompt) for prompt in prompts]

    def answer_one(self, prompt: Prompt) -> Answer:
        assert prompt.image is not None
        pixels = prompt.image[:4, :4] if self.name == "toy/corner" else prompt.image
        share = float(pixels.mean()) / 255
        return Answer(text="Yes." if share > 0.5 else "no", confidence=share)

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": f"{self.name} 1"}


def toy_plan(
    profile: Profile = PROFILE,
    dataset: Dataset | None = None,
    mean: Model | None = None,
    corner: Model | None = None,
    conditions: Sequence[Condition] = CONDITIONS,
) -> Plan:
    """Return a plan over the toy parts, or over others in their place.

    The hash of the code is left out of the keys, so that processes agree also while somebody edits the code.
    """
    models = {"toy/mean": mean or PixelModel("toy/mean"), "toy/corner": corner or PixelModel("toy/corner")}
    plan = plan_jobs(profile, [dataset or toy_dataset()], models, conditions)
    return replace(plan, jobs=tuple(replace(job, identity={**job.identity, "code": "toy"}) for job in plan.jobs))


def contents(out: Path) -> dict[str, bytes]:
    """Return every file of a sweep but its lock, which tells who held it."""
    files = (path for path in out.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}
