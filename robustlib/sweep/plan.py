"""From a profile to a plan: one job per model and condition, each with a key that covers all that could change it."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from robustlib.data import Dataset, load_dataset
from robustlib.errors import InvalidValueError
from robustlib.models import load_model
from robustlib.models.base import Model
from robustlib.sweep.conditions import CLEAN, Condition, describe_condition, suite_conditions
from robustlib.sweep.profile import Profile
from robustlib.sweep.store import SCHEMA_VERSION, canonical_json

_PACKAGE = Path(__file__).parents[1]
_ROOMS = ("data", "perturbations", "corruptions", "models", "scoring", "sweep")
_LIBRARIES = ("robustlib", "numba", "numpy", "pillow", "pyarrow", "scipy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class Job:
    """One shard to make: the answers of one model under one condition."""

    model: str
    condition: Condition
    identity: Mapping[str, Any]
    """Everything that could change the shard, as JSON values."""

    @cached_property
    def key(self) -> str:
        """SHA-256 of the identity, in hexadecimal."""
        return hashlib.sha256(canonical_json(self.identity)).hexdigest()

    @property
    def path(self) -> Path:
        """Where the shard goes, relative to the sweep's output folder."""
        dataset = self.identity["dataset"]
        folder = Path("shards", _file_name(self.model), _file_name(f"{dataset['name']}-{dataset['split']}"))
        return folder / f"{_file_name(str(self.condition))}-{self.key[:12]}.parquet"


@dataclass(frozen=True)
class Plan:
    """A profile with its questions and models loaded, and the jobs that it comes to."""

    profile: Profile
    dataset: Dataset
    models: Mapping[str, Model]
    jobs: tuple[Job, ...]
    """In the order of conditions, and under each condition in the order of models."""


def make_plan(profile: Profile) -> Plan:
    """Load what a profile names and plan its jobs.

    Raises:
        UnknownNameError: a data set, split, model or suite that does not exist.
        RobustlibError: an image or a model cannot be read.
    """
    conditions = [CLEAN] + [c for suite in profile.suites for c in suite_conditions(suite, profile.severities)]
    dataset = load_dataset(profile.dataset, profile.split, profile.fraction, profile.sampling_seed)
    return plan_jobs(profile, dataset, {name: load_model(name) for name in profile.models}, conditions)


def plan_jobs(profile: Profile, dataset: Dataset, models: Mapping[str, Model], conditions: Sequence[Condition]) -> Plan:
    """Plan every model under every condition; this is the way in for models and questions of your own.

    Args:
        profile: gives the base seed, the batch size and the form of the score.
        dataset: the questions.
        models: by the name that the column `model` shall have; at least one.
        conditions: at least one, all different.

    Raises:
        InvalidValueError: there is nothing to ask, something would be asked twice, or a question has no answers.
        RobustlibError: an image cannot be read.
    """
    _check(dataset, models, conditions)
    shared = {
        "schema": SCHEMA_VERSION,
        "dataset": {"name": dataset.name, "split": dataset.split, "fingerprint": dataset.fingerprint()},
        "base_seed": profile.base_seed,
        "batch_size": profile.batch_size,
        "scoring": profile.scoring,
        "code": code_hash(),
        "versions": versions(),
    }
    described = {name: {"name": name, **model.describe()} for name, model in models.items()}
    jobs = tuple(
        Job(name, condition, shared | {"model": described[name], "condition": describe_condition(condition)})
        for condition in conditions
        for name in models
    )
    return Plan(profile, dataset, models, jobs)


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


def _check(dataset: Dataset, models: Mapping[str, Model], conditions: Sequence[Condition]) -> None:
    if not (len(dataset) and models and conditions):
        raise InvalidValueError(
            f"A plan needs questions, models and conditions, got {len(dataset)}, {len(models)} and {len(conditions)}."
        )
    for repeated in (condition for condition, count in Counter(conditions).items() if count > 1):
        raise InvalidValueError(f"The condition {repeated} is planned more than once.")
    for question in dataset:
        if not question.answers:
            raise InvalidValueError(f"Question {question.id} has no reference answers, so no answer could be scored.")


def _file_name(name: str) -> str:
    """Return a name as part of a path; the key beside it keeps apart what this may bring together."""
    return re.sub(r"[^\w.-]+", "--", name).strip(".-")[-100:]
