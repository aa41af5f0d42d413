"""From a profile to a plan: one job per data set, condition and model, its key covering all that could change it."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from robustlib.corruptions import find_corruption
from robustlib.data import Dataset, Question, load_dataset
from robustlib.data.gathering import pack
from robustlib.data.sampling import image_places, stratified
from robustlib.errors import InvalidValueError
from robustlib.models import load_model
from robustlib.models.base import Model
from robustlib.sweep.conditions import (
    CLEAN,
    NO_IMAGE,
    Condition,
    corruption_conditions,
    describe_condition,
    family_condition,
    suite_conditions,
    treated,
)
from robustlib.sweep.probe import probe_batch_size
from robustlib.sweep.profile import AUTO, DatasetChoice, ModelChoice, Profile
from robustlib.sweep.store import PLAN, SCHEMA_VERSION, StoreError, canonical_json, read_record

BAD_ROWS = "bad_rows"
"""Folder of the lists of rows that were left out, within that of the sweep."""
_PACKAGE = Path(__file__).parents[1]
_ROOMS = ("data", "perturbations", "corruptions", "models", "scoring", "sweep")
_LIBRARIES = (
    "robustlib",
    "numba",
    "numpy",
    "opencv-python-headless",
    "pillow",
    "pyarrow",
    "scipy",
    "tokenizers",
    "torch",
    "transformers",
)


@dataclass(frozen=True)
class Job:
    """One shard to make: the answers of one model on one data set under one condition."""

    dataset: str
    """A key of the plan's data sets."""
    condition: Condition
    model: str
    """A key of the plan's models."""
    identity: Mapping[str, Any]
    """Everything that could change the shard, as JSON values."""

    @cached_property
    def key(self) -> str:
        """SHA-256 of the identity, in hexadecimal."""
        return hashlib.sha256(canonical_json(self.identity)).hexdigest()

    @property
    def path(self) -> Path:
        """Where the shard goes, relative to the sweep's output folder."""
        folder = Path("shards", _file_name(self.model), _file_name(self.dataset))
        return folder / f"{_file_name(str(self.condition))}-{self.key[:12]}.parquet"


@dataclass(frozen=True)
class Plan:
    """A profile with its questions loaded, and the jobs that it comes to."""

    profile: Profile
    datasets: Mapping[str, Dataset]
    """By ``name/split``."""
    models: Mapping[str, Model | ModelChoice]
    """By what the column `model` calls them; choices are loaded when their turn comes."""
    jobs: tuple[Job, ...]
    """In the order of data sets, then of conditions, then of models."""

    @property
    def batch_sizes(self) -> dict[str, int]:
        """How many questions each model is asked in one call."""
        return {job.model: job.identity["batch_size"] for job in self.jobs}


def make_plan(profile: Profile, out: str | Path = ".") -> Plan:
    """Load what a profile names and plan its jobs.

    Args:
        profile: the profile.
        out: folder of the sweep, for the lists of bad rows if the profile skips them (see `load_choice`), and for batch
            sizes that were probed before.

    Raises:
        UnknownNameError: a data set, split, model, suite or family that does not exist.
        RobustlibError: an image or a model cannot be read.
    """
    conditions = profile_conditions(profile)
    datasets = [load_choice(choice, profile, out) for choice in profile.datasets]
    models = {choice.column: choice for choice in profile.models}
    return plan_jobs(profile, datasets, models, conditions, found_batch_sizes(out))


def load_choice(choice: DatasetChoice, profile: Profile, out: str | Path) -> Dataset:
    """Load the questions that a profile takes of a data set.

    Args:
        choice: one of the profile's, or another choice of the same data.
        profile: gives the seed, and says whether bad rows of a file are left out.
        out: where those are listed, in the folder `BAD_ROWS`: see `robustlib.load_dataset`.

    Raises:
        UnknownNameError, InvalidValueError, RobustlibError: see `robustlib.load_dataset`.
    """
    seed = profile.sampling_seed
    listed = list_of_bad_rows(choice, out) if profile.skip_bad else None
    dataset = load_dataset(choice.name, choice.split, choice.fraction or 1.0, seed, listed)
    if choice.images is not None:
        places = image_places([question.image_id for question in dataset], choice.images, seed)
        return replace(dataset, questions=pack(dataset.questions[place] for place in places))
    if choice.rows is None or choice.rows >= len(dataset):
        return dataset
    return replace(dataset, questions=stratified(dataset.questions, choice.rows / len(dataset), seed))


def list_of_bad_rows(choice: DatasetChoice, out: str | Path) -> Path:
    """Return the file within a sweep's folder that lists the bad rows of a data set, if they are skipped."""
    known, _, path = choice.name.partition(":")
    return Path(out, BAD_ROWS, f"{_file_name(f'{known}/{Path(path).stem}/{choice.split}')}.jsonl")


def whole(choice: DatasetChoice) -> DatasetChoice:
    """Return the choice of all questions of the same data."""
    return DatasetChoice(choice.name, choice.split)


def profile_conditions(profile: Profile) -> list[Condition]:
    """Return all conditions of a profile: clean, no image, corruptions, treated images, perturbations.

    Raises:
        UnknownNameError: no such suite, corruption or family.
        InvalidValueError: a treatment without severity, or a single corruption that has none of the severities.
    """
    corruptions = [found for suite in profile.suites for found in suite_conditions(suite, profile.severities)]
    for name in profile.corruptions:
        corruption = find_corruption(name)
        if not set(corruption.severities) & set(profile.severities):
            raise InvalidValueError(f"{name} has the severities {corruption.severities}, got {profile.severities}.")
        corruptions += corruption_conditions([corruption], profile.severities)
    changed = [*corruptions, *treated([CLEAN, *corruptions], profile.treatments)]
    return [CLEAN, *[NO_IMAGE] * profile.no_image, *changed, *map(family_condition, profile.families)]


def plan_jobs(
    profile: Profile,
    datasets: Sequence[Dataset],
    models: Mapping[str, Model | ModelChoice],
    conditions: Sequence[Condition],
    batch_sizes: Mapping[str, int] | None = None,
) -> Plan:
    """Plan every model under every condition; this is the way in for models and questions of your own.

    A chosen model is loaded to learn what the record says of it, and let go, as not all need fit in memory. Where the
    profile's batch size is "auto", it is probed before that.

    Args:
        profile: gives the seeds, the batch size and the form of the score.
        datasets: the questions; at least one data set, each split once.
        models: models, or choices of some, by the name that the column `model` shall have; at least one.
        conditions: at least one, all different.
        batch_sizes: by model, those that need not be probed.

    Raises:
        InvalidValueError: there is nothing to ask, something would be asked twice, or a question has no right answer.
        RobustlibError: an image cannot be read, or a model cannot be loaded.
    """
    _check(datasets, models, conditions)
    shared = {
        "schema": SCHEMA_VERSION,
        "base_seed": profile.base_seed,
        "seeding": profile.seeding,
        "scoring": profile.scoring,
        "code": code_hash(),
        "versions": versions(),
    }
    known = batch_sizes or {}
    asked_of = {name: _ask_of(name, load(models[name]), profile, datasets, known.get(name)) for name in models}
    jobs = []
    for dataset in datasets:
        of_dataset = shared | {"dataset": _describe_dataset(dataset)}
        for condition in conditions:
            asked = of_dataset | {"condition": describe_condition(condition, dataset.questions, profile.base_seed)}
            jobs += [Job(_key(dataset), condition, name, asked | asked_of[name]) for name in models]
    return Plan(profile, {_key(dataset): dataset for dataset in datasets}, models, tuple(jobs))


def load(model: Model | ModelChoice) -> Model:
    """Return a model as it is, or load the one that a profile chooses."""
    return load_model(model.name, **model.settings) if isinstance(model, ModelChoice) else model


def found_batch_sizes(out: str | Path) -> dict[str, int]:
    """Return the batch sizes that were found for a sweep that has begun in a folder, so that it goes on with them."""
    try:
        record = read_record(Path(out), PLAN)
    except StoreError:
        return {}
    return dict(record["batch_sizes"]) if record.get("profile", {}).get("batch_size") == AUTO else {}


@cache
def code_hash() -> str:
    """Return the SHA-256 of the source of every room that has a part in a shard's content."""
    total = hashlib.sha256()
    files = [_PACKAGE / "seeding.py", *(file for room in _ROOMS for file in (_PACKAGE / room).rglob("*.py"))]
    for file in sorted(files):
        total.update(canonical_json([file.relative_to(_PACKAGE).as_posix(), file.read_text(encoding="utf-8")]))
    return total.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that have a part in a shard's content."""
    return {"python": python_version(), **{name: version(name) for name in _LIBRARIES}}


def _key(dataset: Dataset) -> str:
    return f"{dataset.name}/{dataset.split}"


def _ask_of(
    name: str, model: Model, profile: Profile, datasets: Sequence[Dataset], known: int | None
) -> dict[str, Any]:
    size = profile.batch_size
    if size == AUTO:
        size = known or probe_batch_size(model, datasets)
    return {"batch_size": size, "model": {"name": name, **model.describe()}}


def _describe_dataset(dataset: Dataset) -> dict[str, str | int]:
    return {
        "name": dataset.name,
        "split": dataset.split,
        "questions": len(dataset),
        "fingerprint": dataset.fingerprint(),
    }


def _check(datasets: Sequence[Dataset], models: Mapping[str, Any], conditions: Sequence[Condition]) -> None:
    if not (datasets and models and conditions):
        raise InvalidValueError(
            f"A plan needs data sets, models and conditions, got {len(datasets)}, {len(models)} and {len(conditions)}."
        )
    _check_different("condition", map(str, conditions))
    _check_different("data set", map(_key, datasets))
    for dataset in datasets:
        if not len(dataset):
            raise InvalidValueError(f"The data set {_key(dataset)} has no questions to ask.")
        check_scorable(dataset)


def check_scorable(questions: Iterable[Question]) -> None:
    """See that every question has a right answer.

    Raises:
        InvalidValueError: one has none; the message names it.
    """
    for question in questions:
        if not (question.label >= 0 if question.options else question.answers):
            lack = "which of its options is right" if question.options else "reference answers"
            raise InvalidValueError(f"Question {question.id} lacks {lack}, so no answer could be scored.")


def _check_different(kind: str, names: Iterable[str]) -> None:
    for repeated in (name for name, count in Counter(names).items() if count > 1):
        raise InvalidValueError(f"The {kind} {repeated} is planned more than once.")


def _file_name(name: str) -> str:
    """Return a name as part of a path; the key beside it keeps apart what this may bring together."""
    return re.sub(r"[^\w.-]+", "--", name).strip(".-")[-100:]
