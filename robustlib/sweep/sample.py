"""A look at models outside of any sweep: what they answer to some questions of a data set, and how fast."""

import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from robustlib.data import Dataset, load_dataset
from robustlib.data.sampling import stratified
from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.models import load_model
from robustlib.models.base import Answer, Model, Prompt
from robustlib.sweep.asking import ask
from robustlib.sweep.conditions import CLEAN, Condition, items_of
from robustlib.sweep.plan import check_scorable, list_of_bad_rows
from robustlib.sweep.profile import DatasetChoice
from robustlib.sweep.rows import make_rows
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.store import read_manifest

BATCH = 16
"""Questions that a model answers in one call."""


def answer_sample(
    model: Model, dataset: Dataset, count: int, condition: Condition = CLEAN, seed: int = 0
) -> pd.DataFrame:
    """Ask a model some questions of a data set, and score its answers as a sweep does.

    Args:
        model: the model.
        dataset: where the questions come from.
        count: how many; all if there are no more, else drawn by the seed, from each category its share.
        condition: what is done to them first.
        seed: decides also what a random corruption draws.

    Returns:
        Their rows of the predictions table (`store.SCHEMA`), with the column `text`, the question.

    Raises:
        InvalidValueError: the count is below 1, a question has no right answer, or the condition asks nothing about
            these questions.
        RobustlibError: an image cannot be read.
    """
    sample = _draw(dataset, count, seed)
    check_scorable(sample)
    items = items_of(sample.questions, condition, seed, "image")
    if not items:
        raise InvalidValueError(
            f"Condition {condition} asks nothing about these {len(sample)} questions of {dataset.name}/{dataset.split}."
        )
    places, prompts = zip(*prompts_by_picture(items), strict=True)
    answers = dict(zip(places, _ask(model, prompts), strict=True))
    rows: pd.DataFrame = make_rows(
        model.name, sample, items, [answers[place] for place in range(len(items))], "official"
    ).to_pandas()
    return rows.assign(text=[item.variant.question.text for item in items])


def measure_speeds(out: str | Path, count: int = 64) -> pd.DataFrame:
    """Load the models of a finished sweep again and time each on clean questions of its first data set.

    Args:
        out: the sweep's output folder. A relative path of a data file is kept there as it was, so call this from the
            folder where the sweep ran; one whose profile was given by an absolute path can be timed from anywhere.
        count: how many questions, drawn as in `answer_sample`; the first batch is asked once more before, untimed.

    Returns:
        One row per model: ``model``, ``questions`` and ``questions_per_second`` on this machine, now.

    Raises:
        RobustlibError: the sweep is not whole, or a model cannot be loaded or fails at a question.
    """
    profile = read_manifest(out)["profile"]
    first = DatasetChoice(**profile["datasets"][0])
    listed = list_of_bad_rows(first, out) if profile["skip_bad"] else None
    sample = _draw(load_dataset(first.name, first.split, skip_bad=listed), count, profile["sampling_seed"])
    items = items_of(sample.questions, CLEAN, profile["base_seed"], profile["seeding"])
    prompts = [prompt for _, prompt in prompts_by_picture(items)]
    rows = []
    for choice in profile["models"]:
        speed = len(prompts) / _time(load_model(choice["name"], **choice["settings"]), prompts)
        rows.append((choice["label"] or choice["name"], len(prompts), speed))
    return pd.DataFrame(rows, columns=["model", "questions", "questions_per_second"])


def _draw(dataset: Dataset, count: int, seed: int) -> Dataset:
    if count < 1:
        raise InvalidValueError(f"At least 1 question must be asked, got {count}.")
    if count >= len(dataset):
        return dataset
    return Dataset(dataset.name, dataset.split, stratified(dataset.questions, count / len(dataset), seed))


def _ask(model: Model, prompts: Sequence[Prompt]) -> list[Answer]:
    batches = [prompts[start : start + BATCH] for start in range(0, len(prompts), BATCH)]
    return [answer for batch in batches for answer in ask(model, batch)]


def _time(model: Model, prompts: Sequence[Prompt]) -> float:
    """Return the seconds that a model takes for all prompts."""
    _ask(model, prompts[:BATCH])
    start = time.perf_counter()
    answers = _ask(model, prompts)
    seconds = time.perf_counter() - start
    failed = [answer.reason for answer in answers if answer.status == "error"]
    if failed:
        raise RobustlibError(f"{model.name} failed at {len(failed)} of {len(prompts)} questions: {failed[0]}")
    return seconds
