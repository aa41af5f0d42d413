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
from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically
from robustlib.models import load_model
from robustlib.models.base import Model, Prompt
from robustlib.sweep.asking import ask
from robustlib.sweep.engines import run_local
from robustlib.sweep.plan import load_choice, whole
from robustlib.sweep.profile import Profile
from robustlib.sweep.store import StoreError

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
        questions: how many of each data set, but no more than the sweep asks; image by image, so that some share
            theirs.

    Returns:
        The path of the table. Equal runs on one machine leave equal bytes.

    Raises:
        UnknownNameError, RobustlibError: a model, data set or image that cannot be read.
        InvalidValueError: see `ask_invariance`.
    """
    models = {choice.column: load_model(choice.name, **choice.settings) for choice in profile.models}
    half = {
        choice.column: load_model(choice.name, **{**choice.settings, "dtype": HALF})
        for choice in profile.models
        if models[choice.column].describe()["dtype"] == "float32"
    }
    samples = [
        _sample(load_choice(whole(choice), profile, out), min(questions, choice.rows or questions))
        for choice in profile.datasets
    ]
    asked = pd.concat([ask_invariance(models, half, sample, profile.batch_size) for sample in samples])
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
    """
    if not all(question.options for question in dataset) or all(question.image is None for question in dataset):
        raise InvalidValueError(
            f"The invariance check needs questions with options, some with an image; {dataset.name} has others."
        )
    if batch_size < _LEAST_BATCH:
        raise InvalidValueError(f"batch_size must be at least {_LEAST_BATCH} for the check, got {batch_size}.")
    batches = _batches(dataset.questions, batch_size)
    logits = dict(run_local(partial(_ask_model, models, half, batches), list(models), None))
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


def _ask_model(
    models: Mapping[str, Model], half: Mapping[str, Model], batches: Mapping[str, Sequence[Batch]], name: str
) -> tuple[str, dict[str, Logits]]:
    """Return the model's name and its logits under each condition."""
    logits = {condition: _ask_batches(models[name], calls) for condition, calls in batches.items()}
    if name in half:
        logits["bf16"] = _ask_batches(half[name], batches["alone"])
    return name, logits


def _ask_batches(model: Model, calls: Sequence[Batch]) -> Logits:
    logits: dict[int, tuple[float, ...] | None] = {}
    for batch in calls:
        answers = ask(model, [prompt for _, prompt in batch])
        logits |= {place: answer.logits for (place, _), answer in zip(batch, answers, strict=True)}
    return [logits[place] for place in sorted(logits) if place >= 0]


def _batches(questions: Sequence[Question], size: int) -> dict[str, list[Batch]]:
    prompts = [Prompt(question.pixels(), question.text, question.options) for question in questions]
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
