"""Toys for sweeps over questions with options: a data set, and models that rank the options or write about them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robustlib.data import Dataset, LazyImage, Question
from robustlib.data.images import Pixels
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import Condition, Plan, plan_jobs
from tests.sweep.toys import PROFILE, pixels_of

SHAPES = ("circle", "triangle", "rectangle", "star")


def options_dataset(name: str = "shapes", questions: int = 9, options: bool = True) -> Dataset:
    """Return choices, and a yes/no question after every two of them, about four images that neighbours do not share."""
    random = np.random.default_rng(3)
    images = [LazyImage(random.integers(0, 256, (12, 16, 3), np.uint8)) for _ in range(4)]
    asked = []
    for number in range(questions):
        yes_no = number % 3 == 2
        text = f"Is there a {SHAPES[number % 4]}?" if yes_no else f"What shape is in the image, take {number}?"
        own: tuple[str, ...] = ("no", "yes") if yes_no else SHAPES[: 3 + number % 2]
        asked.append(
            Question(
                id=f"q{number}",
                image=images[number % 4],
                image_id=f"image-{number % 4}",
                text=text,
                kind=("yesno" if yes_no else "choice") if options else "open",
                options=own if options else (),
                label=number % len(own) if options else -1,
                answers=(own[number % len(own)],),
                dataset=name,
            )
        )
    return Dataset(name, "test", tuple(asked))


def logits_of(image: Pixels | None, text: str, options: Sequence[str]) -> list[float]:
    """Score options by all that a model sees, so that a mix-up of any part shows."""
    light = 0.0 if image is None else float(image.mean()) / 64
    return [np.sin(light + len(text) + 3.0 * sum(map(ord, option))) for option in options]


class Ranker:
    """A model that ranks options; an open question it answers by a shape."""

    def __init__(self, name: str = "toy/ranker") -> None:
        self.name = name

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        return [self.answer_one(prompt) for prompt in prompts]

    def answer_one(self, prompt: Prompt) -> Answer:
        options = prompt.options or SHAPES
        logits = logits_of(prompt.image, prompt.text, options)
        best = int(np.argmax(logits))
        if not prompt.options:
            return Answer(options[best])
        confidence = float(np.exp(logits[best]) / np.exp(logits).sum())
        return Answer(options[best], "ok", best, tuple(logits), confidence, option_mass=0.5)

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": self.name}


class Writer(Ranker):
    """A model that knows the right letter of every clean image, and says nothing readable about any other."""

    def __init__(self, dataset: Dataset) -> None:
        super().__init__("toy/writer")
        self.dataset = dataset

    def answer_one(self, prompt: Prompt) -> Answer:
        for question in self.dataset:
            if question.text == prompt.text and np.array_equal(pixels_of(question), np.asarray(prompt.image)):
                return Answer(f"I think the answer is ({'ABCD'[question.label]}).")
        return Answer("I am not sure.")


def options_plan(
    conditions: Sequence[Condition], *models: Ranker, dataset: Dataset | None = None, **changes: Any
) -> Plan:
    profile = replace(PROFILE, **changes)
    named = {model.name: model for model in models or [Ranker()]}
    plan = plan_jobs(profile, [dataset or options_dataset()], named, conditions)
    return replace(plan, jobs=tuple(replace(job, identity={**job.identity, "code": "toy"}) for job in plan.jobs))
