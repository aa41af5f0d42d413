"""What a profile comes to before it is run: questions, images, answers, disk and time."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from robustlib.data import Dataset
from robustlib.errors import RobustlibError
from robustlib.models import load_model
from robustlib.models.base import Answer, Model, Prompt
from robustlib.sweep.asking import ask
from robustlib.sweep.conditions import CLEAN, Condition, Item, items_of
from robustlib.sweep.engines import usual_workers
from robustlib.sweep.plan import load_choice, profile_conditions
from robustlib.sweep.profile import DatasetChoice, ModelChoice, Profile
from robustlib.sweep.rows import make_rows
from robustlib.sweep.showing import picture_of, prompts_by_picture
from robustlib.sweep.store import shard_bytes
from robustlib.sweep.threads import in_threads

SAMPLE = 1000
"""About how many questions of a data set stand for the others; of no more questions, all are counted."""
ENOUGH = 1.0
"""Seconds after which a timing is long enough."""


@dataclass(frozen=True)
class Asked:
    """What a profile takes of one data set."""

    questions: int
    images: int
    rows: int
    """Answers of one model under all conditions."""
    counted: bool
    """Whether the rows were all made; else those of families of perturbations are in proportion to a sample."""
    pictures: int
    """Images as conditions show them."""
    seconds: float
    """To make those pictures, in one thread."""
    skipped: int
    """Bad rows that were left out."""


@dataclass(frozen=True)
class Timing:
    """A model on clean questions of one data set."""

    batch: int
    """Questions in the call that was timed."""
    seconds: float
    """For a question, in one thread or on the accelerator."""


@dataclass(frozen=True)
class Forecast:
    """What a profile comes to."""

    conditions: tuple[Condition, ...]
    asked: Mapping[str, Asked]
    """By ``name/split``; of the data sets that are there."""
    timings: Mapping[str, Mapping[str, Timing]]
    """By model, then data set; of those that are there."""
    missing: Mapping[str, str]
    """What is not there or cannot be used, and why."""
    shards: int
    bytes: int
    """On disk, of the data sets that are there. A model that is not counts as if it never said anything."""

    @property
    def seconds(self) -> float:
        """For all that could be timed, in one thread."""
        showing = sum(asked.seconds for asked in self.asked.values())
        return showing + sum(
            timing.seconds * self.asked[dataset].rows
            for timings in self.timings.values()
            for dataset, timing in timings.items()
        )

    @property
    def workers(self) -> int:
        """How many a sweep on this machine has by default, in this process or others."""
        return usual_workers(sum(asked.rows for asked in self.asked.values()) * len(self.timings))


def forecast(profile: Profile) -> Forecast:
    """Count what a profile would ask, and time its models on a few of the questions; nothing is written.

    * Data sets are loaded whole, as a sweep does. The variants of families are made for a sample of whole images.
    * Making a picture is timed once under each condition, after a first time that does not count.
    * A model is asked clean questions of each data set: one, which does not count, then batches of 1, 2, 4 and so on
      until one takes `ENOUGH` seconds or is the profile's. That last one tells the speed.

    What is not there is no error, but listed as missing. Checkpoints of the hub are fetched as by a sweep, unless the
    environment has HF_HUB_OFFLINE=1, which `python -m robustlib plan` always sets.

    Raises:
        UnknownNameError: no such suite or family.
    """
    conditions = profile_conditions(profile)
    missing: dict[str, str] = {}
    asked: dict[str, Asked] = {}
    samples: dict[str, Dataset] = {}
    for choice in profile.datasets:
        try:
            name, asked_of, sample = _ask(choice, conditions, profile)
            asked[name], samples[name] = asked_of, sample
        except RobustlibError as error:
            missing[f"{choice.name}, {choice.split}"] = str(error)
    timings: dict[str, dict[str, Timing]] = {}
    size = 0
    for model in profile.models:
        answers: dict[str, list[Answer]] = {}
        try:
            timings[model.column], answers = _time_model(model, samples, profile)
        except RobustlibError as error:
            missing[model.column] = str(error)
        for name, sample in samples.items():
            weights = _weigh(model.column, sample, answers.get(name), profile)
            size += round(len(conditions) * weights[0] + asked[name].rows * weights[1])
    shards = len(conditions) * len(profile.datasets) * len(profile.models)
    return Forecast(tuple(conditions), asked, timings, missing, shards, size)


def _ask(choice: DatasetChoice, conditions: Sequence[Condition], profile: Profile) -> tuple[str, Asked, Dataset]:
    """Return a data set's name, what is taken of it, and a sample; the rest is let go before a model is loaded."""
    with TemporaryDirectory() as folder:
        dataset = load_choice(choice, profile, folder)
        skipped = sum(file.read_text().count("\n") for file in Path(folder).rglob("*.jsonl"))
    sample = _sample(dataset)
    return f"{dataset.name}/{dataset.split}", _count(dataset, sample, conditions, profile, skipped), sample


def _sample(dataset: Dataset) -> Dataset:
    """Return all questions on some images, at even distances: about `SAMPLE`, or all of no more."""
    counts = Counter(question.image_id for question in dataset)
    step = -(-len(dataset) // SAMPLE)
    kept = set(islice(counts, 0, None, step))
    return replace(dataset, questions=tuple(question for question in dataset if question.image_id in kept))


def _count(dataset: Dataset, sample: Dataset, conditions: Sequence[Condition], profile: Profile, skipped: int) -> Asked:
    images = len({question.image_id for question in dataset})
    rows = pictures = seconds = 0.0
    for place, condition in enumerate(conditions):
        some = sample.questions[: len(conditions) + 1] if condition.asks_once else sample.questions
        items = items_of(some, condition, profile.base_seed, profile.seeding)
        if not items:
            continue
        made = {picture_of(item) for item in items if item.variant.question.image}
        shown = len(made) * images / len({question.image_id for question in some})
        rows += len(items) / len(some) * len(dataset)
        pictures += shown
        seconds += shown * _time_picture(items, place)
    return Asked(len(dataset), images, round(rows), len(sample) == len(dataset), round(pictures), seconds, skipped)


def _time_picture(items: Sequence[Item], place: int) -> float:
    """Return the seconds that a picture takes; the place varies which, so that files are really read."""
    _show(items[0])
    start = time.perf_counter()
    _show(items[(place + 1) % len(items)])
    return time.perf_counter() - start


def _show(item: Item) -> None:
    list(prompts_by_picture([item]))


def _time_model(
    choice: ModelChoice, samples: Mapping[str, Dataset], profile: Profile
) -> tuple[dict[str, Timing], dict[str, list[Answer]]]:
    """Time a model on each data set, as a sweep runs it, in one thread; return also its answers."""
    model = load_model(choice.name, **choice.settings)
    found = dict(in_threads(partial(_time_on, model, profile), list(samples.items()), 1))
    return {name: timing for name, (timing, _) in found.items()}, {name: given for name, (_, given) in found.items()}


def _time_on(model: Model, profile: Profile, named: tuple[str, Dataset]) -> tuple[str, tuple[Timing, list[Answer]]]:
    name, sample = named
    return name, _time(model, _prompts(_items(sample, profile)))


def _items(sample: Dataset, profile: Profile) -> list[Item]:
    return items_of(sample.questions[: profile.call_size], CLEAN, profile.base_seed, profile.seeding)


def _prompts(items: Sequence[Item]) -> list[Prompt]:
    return [prompt for _, prompt in sorted(prompts_by_picture(items), key=lambda shown: shown[0])]


def _time(model: Model, prompts: Sequence[Prompt]) -> tuple[Timing, list[Answer]]:
    ask(model, prompts[:1])
    batch, seconds = 0, 0.0
    answers: list[Answer] = []
    while batch < len(prompts) and seconds < ENOUGH:
        batch = min(2 * batch or 1, len(prompts))
        start = time.perf_counter()
        answers = ask(model, prompts[:batch])
        seconds = time.perf_counter() - start
        for answer in answers:
            if answer.status == "error":
                raise RobustlibError(f"{model.name} failed at a question: {answer.reason}")
    return Timing(batch, seconds / batch), answers


def _weigh(model: str, sample: Dataset, answers: list[Answer] | None, profile: Profile) -> tuple[int, float]:
    """Return the bytes of a shard without rows, and those that a row adds, if answers are like these or not known."""
    items = _items(sample, profile)
    given = answers or [Answer("", "no_answer") for _ in items]
    empty, full = (
        len(shard_bytes(make_rows(model, sample, items[:count], given[:count], profile.scoring), {}))
        for count in (0, len(given))
    )
    return empty, (full - empty) / len(given)
