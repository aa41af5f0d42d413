"""The invariance check: the same questions asked alone, in other company, and in half precision.

It stores the logits of every way of asking; `robustlib.metrics.compare_conditions` says how far apart they are.
"""

import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from robustlib.data import Dataset, Question
from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.files import write_atomically
from robustlib.models import load_model
from robustlib.models.base import Answer, Model, Prompt
from robustlib.sweep.asking import check_answers
from robustlib.sweep.conditions import CLEAN, items_of
from robustlib.sweep.plan import load_choice, whole
from robustlib.sweep.profile import Profile
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.store import StoreError
from robustlib.sweep.threads import in_threads

INVARIANCE = "invariance.parquet"
HALF = "bfloat16"

_TEXTS = ("model", "dataset", "split", "question_id", "kind", "condition")
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("logits", pa.list_(pa.float64()))])
_WORDS, _OPTIONS, _LEAST_BATCH = 300, 8, 8

Batch = list[tuple[int, Prompt]]
"""What is asked in one call; the number is the place of the question, -1 for a neighbour whose answer is dropped."""
Logits = list[tuple[float, ...] | None]


def run_invariance(profile: Profile, out: str | Path, questions: int) -> Path:
    """Check the models of a profile on some questions of each of its data sets; see `ask_invariance`.

    Args:
        profile: gives the models, the data sets and the batch size.
        out: the folder of the profile's sweep; the table goes there as `INVARIANCE`.
        questions: how many of each data set, but no more than the profile's `rows` of it; image by image, so that some
            share theirs.

    Returns:
        The path of the table. Equal runs on one machine leave equal bytes.

    Raises:
        InvalidValueError: less than one question; and see `ask_invariance`. No model has been loaded by then.
        UnknownNameError, RobustlibError: a model, data set or image that cannot be read, or a question or call that
            failed.
    """
    if questions < 1:
        raise InvalidValueError(f"At least 1 question of each data set must be asked, got {questions}.")
    samples = [
        _sample(load_choice(whole(choice), profile, out), min(questions, choice.rows or questions))
        for choice in profile.datasets
    ]
    for sample in samples:
        _check(sample, profile.call_size)
    models = {choice.column: load_model(choice.name, **choice.settings) for choice in profile.models}
    half = {
        choice.column: load_model(choice.name, **{**choice.settings, "dtype": HALF})
        for choice in profile.models
        if models[choice.column].describe()["dtype"] == "float32"
    }
    asked = pd.concat([ask_invariance(models, half, sample, profile.call_size) for sample in samples])
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(asked, _SCHEMA, preserve_index=False), buffer, compression="zstd")
    path = Path(out) / INVARIANCE
    write_atomically(path, buffer.getvalue())
    return path


def read_invariance(out: str | Path) -> pd.DataFrame:
    """Read the table that `run_invariance` left in a folder.

    Raises:
        StoreError: the file is missing or damaged.
    """
    path = Path(out) / INVARIANCE
    try:
        table: pd.DataFrame = pq.read_table(path, schema=_SCHEMA).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path} cannot be read ({str(error).splitlines()[0]}); run the check again.") from error
    return table


def ask_invariance(
    models: Mapping[str, Model], half: Mapping[str, Model], dataset: Dataset, batch_size: int
) -> pd.DataFrame:
    """Ask every question alone and under every condition of the check.

    ``alone``: one question a call. ``repeat``: the same again. ``batched`` and ``reversed``: in batches, in order and
    backwards. ``hostile``: in batches behind four neighbours unlike any question (a text of 300 words over a wider
    image, two images, no image, up to eight options). ``multi``: all questions on one image in one call;
    ``multi_hostile``: those and one with up to eight options. ``bf16``: alone, by the copy in half precision.

    Args:
        models: by the name that the column ``model`` shall have.
        half: for some or all of these names the copy in half precision.
        dataset: questions with options, one at least with an image.
        batch_size: prompts in a batch, at least eight.

    Returns:
        The table that `robustlib.metrics.compare_conditions` reads. Every model computes in one thread, so that its
        sums are the same on every run.

    Raises:
        InvalidValueError: questions that the check cannot be made of, or too small a batch.
        RobustlibError: a call failed, or a question's answer has the status "error"; the message names model, condition
            and question. A sweep would ask again one by one; here that would pass for company.
    """
    _check(dataset, batch_size)
    batches = _batches(dataset.questions, batch_size)
    ids = [question.id for question in dataset]
    logits = dict(in_threads(partial(_ask_model, models, half, batches, ids), list(models), None))
    records = [
        (model, dataset.name, dataset.split, question.id, question.kind, condition, row)
        for model in models
        for condition, rows in logits[model].items()
        for question, row in zip(dataset, rows, strict=True)
    ]
    return pd.DataFrame(records, columns=_SCHEMA.names)


def _sample(dataset: Dataset, count: int) -> Dataset:
    on_image = defaultdict(list)
    for question in dataset:
        on_image[question.image_id].append(question)
    by_image = [question for group in on_image.values() for question in group]
    return Dataset(dataset.name, dataset.split, tuple(by_image[:count]))


def _check(dataset: Dataset, batch_size: int) -> None:
    if batch_size < _LEAST_BATCH:
        raise InvalidValueError(f"batch_size must be at least {_LEAST_BATCH} for the check, got {batch_size}.")
    name = f"{dataset.name}/{dataset.split}"
    if not len(dataset):
        raise InvalidValueError(f"The invariance check needs questions, but {name} has none.")
    for question in dataset:
        if not question.options:
            raise InvalidValueError(
                f"The invariance check needs options, but question {question.id} of {name} is open."
            )
    if all(question.image is None for question in dataset):
        raise InvalidValueError(f"The invariance check needs an image, but no question asked of {name} has one.")


def _ask_model(
    models: Mapping[str, Model],
    half: Mapping[str, Model],
    batches: Mapping[str, Sequence[Batch]],
    ids: Sequence[str],
    name: str,
) -> tuple[str, dict[str, Logits]]:
    """Return the model's name and its logits under each condition."""
    logits = {
        condition: _ask_batches(models[name], calls, ids, f"Model {name}, condition {condition}")
        for condition, calls in batches.items()
    }
    if name in half:
        logits["bf16"] = _ask_batches(half[name], batches["alone"], ids, f"Model {name}, condition bf16")
    return name, logits


def _ask_batches(model: Model, calls: Sequence[Batch], ids: Sequence[str], where: str) -> Logits:
    logits: dict[int, tuple[float, ...] | None] = {}
    for batch in calls:
        for place, answer in _ask_batch(model, batch, ids, where):
            if answer.status == "error":
                raise RobustlibError(f"{where}, question {ids[place]}: {answer.reason}")
            logits[place] = answer.logits
    return [logits[place] for place in sorted(logits)]


def _ask_batch(model: Model, batch: Batch, ids: Sequence[str], where: str) -> list[tuple[int, Answer]]:
    """Return the place and answer of each question, all asked in one call; those of neighbours are dropped."""
    prompts = [prompt for _, prompt in batch]
    try:
        answers = check_answers(model, prompts, model.answer(prompts))
    except Exception as error:
        first = next(ids[place] for place, _ in batch if place >= 0)
        raise RobustlibError(
            f"{where}: the call of {len(batch)} prompts with question {first} failed: {type(error).__name__}: {error}"
        ) from error
    return [(place, answer) for (place, _), answer in zip(batch, answers, strict=True) if place >= 0]


def _batches(questions: Sequence[Question], size: int) -> dict[str, list[Batch]]:
    shown = dict(prompts_by_picture(items_of(questions, CLEAN, 0, "image")))
    prompts = [shown[place] for place in range(len(questions))]
    asked: Batch = list(enumerate(prompts))
    hostile: Batch = [(-1, prompt) for prompt in _hostile_prompts(prompts)]
    alone = list(_chunks(asked, 1))
    ordered = sorted(asked, key=lambda numbered: questions[numbered[0]].image_id)
    on_image = [list(group) for _, group in groupby(ordered, key=lambda numbered: questions[numbered[0]].image_id)]
    return {
        "alone": alone,
        "repeat": alone,
        "batched": list(_chunks(asked, size)),
        "reversed": list(_chunks(asked[::-1], size)),
        "hostile": [hostile + chunk for chunk in _chunks(asked, size - len(hostile))],
        "multi": on_image,
        "multi_hostile": [[*batch, hostile[-1]] for batch in on_image],
    }


def _chunks(batch: Batch, size: int) -> Iterator[Batch]:
    for start in range(0, len(batch), size):
        yield batch[start : start + size]


def _hostile_prompts(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Return a long text over a wider image, two images, no image, and many options."""
    image, first = next((prompt.image, prompt) for prompt in prompts if prompt.image is not None)
    words = (first.text.split() or ["what"]) * _WORDS
    options = tuple(dict.fromkeys(option for prompt in prompts for option in prompt.options))
    return [
        Prompt(np.repeat(image, 2, axis=1), " ".join(words[:_WORDS]), first.options),
        Prompt(image, first.text, first.options, more_images=(image[::-1],)),
        Prompt(None, first.text, first.options),
        Prompt(image, first.text, options[:_OPTIONS]),
    ]
