"""A profile: what a sweep asks of which models. Nothing else knows these choices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Literal

from robustlib.errors import InvalidValueError
from robustlib.scoring import FORMS, Form
from robustlib.sweep.conditions import SEEDINGS, Seeding

AUTO = "auto"
"""The batch size that is to be found out."""
USUAL = 64
"""The batch size where a profile gives none."""


@dataclass(frozen=True)
class DatasetChoice:
    """The questions of one split, all of them unless `fraction`, `rows` or `images` says how many."""

    name: str
    """A name of `robustlib.data.list_datasets()`."""
    split: str
    """A split of that data set."""
    fraction: float | None = None
    """Share of the questions, stratified by category, in (0, 1]."""
    rows: int | None = None
    """Number of questions instead, stratified likewise; all of them if there are no more."""
    images: int | None = None
    """Number of images instead, each with all its questions; all of them if there are no more."""


@dataclass(frozen=True)
class ModelChoice:
    """A model, and how it is run."""

    name: str
    """A name for `robustlib.load_model`."""
    label: str = ""
    """What the column `model` calls it; "" for its name."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its adapter, such as mode, dtype or revision; texts, numbers or booleans."""

    @property
    def column(self) -> str:
        """What the column `model` calls it."""
        return self.label or self.name


@dataclass(frozen=True)
class Profile:
    """What a sweep asks of which models; every field is checked when the profile is made.

    The clean images are always asked about.
    """

    name: str
    """Its file's name without the ending, or the path by which it was loaded."""
    datasets: tuple[DatasetChoice, ...]
    """At least one, each split once."""
    models: tuple[ModelChoice, ...]
    """At least one, each with a name or label of its own."""
    sampling_seed: int = 42
    """Decides which questions are taken where not all are."""
    suites: tuple[str, ...] = ()
    """Corruption suites, each taken whole."""
    corruptions: tuple[str, ...] = ()
    """Single corruptions besides, ``suite/name``."""
    severities: tuple[int, ...] = (1, 2, 3, 4, 5)
    """Severities from 1 to 5, at least one; a corruption is asked at those of them that it has."""
    treatments: tuple[str, ...] = ()
    """Operations ``suite/name@severity``: clean and corrupted images are shown as they are, and after each of these."""
    families: tuple[str, ...] = ()
    """Families of perturbations, each with all its variants: names of `robustlib.perturbations.list_families()`."""
    no_image: bool = False
    """Whether the questions are also asked without their images."""
    base_seed: int = 0
    """Decides what random corruptions and perturbations draw."""
    seeding: Seeding = "image"
    """What a corruption's draw depends on besides: the image's id, or the question's place among those taken, as in
    VLM-RobustBench (see `robustlib.sweep.conditions.items_of`)."""
    batch_size: int | Literal["auto"] = USUAL
    """Questions a model answers in one call; "auto" finds a number for each model: see `probe.probe_batch_size`."""
    scoring: Form = "official"
    """Form of VQA accuracy of questions without options: official or simple."""
    skip_bad: bool = False
    """Whether bad rows of a data file are left out, and listed beside the predictions; else they are an error."""

    def __post_init__(self) -> None:
        _check(f"Profile {self.name}", self, _RULES)
        for dataset in self.datasets:
            _check(f"Profile {self.name}, data set {dataset.name!r}", dataset, _DATASET_RULES)
            given = [value for value in (dataset.fraction, dataset.rows, dataset.images) if value is not None]
            if len(given) > 1:
                raise InvalidValueError(
                    f"Profile {self.name}, data set {dataset.name!r}: one of fraction, rows and images, "
                    f"got {' and '.join(map(repr, given))}."
                )
        for model in self.models:
            _check(f"Profile {self.name}, model {model.name!r}", model, _MODEL_RULES)

    @property
    def call_size(self) -> int:
        """Questions in one call outside of the sweep: the batch size, for "auto" the usual one."""
        return self.batch_size if isinstance(self.batch_size, int) else USUAL


Rules = Mapping[str, tuple[str, Callable[[Any], bool]]]


def _check(owner: str, record: DatasetChoice | ModelChoice | Profile, rules: Rules) -> None:
    for name in (found.name for found in fields(record)):
        rule, holds = rules[name]
        value = getattr(record, name)
        if not holds(value):
            raise InvalidValueError(f"{owner}: {name} must be {rule}, got {value!r}.")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_whole(value: object, least: int = 0, most: int = 2**64 - 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _is_set_of(is_item: Callable[[Any], bool], value: object, least: int = 0) -> bool:
    return isinstance(value, tuple) and all(map(is_item, value)) and len(set(value)) == len(value) >= least


def _are_choices(kind: type, identify: Callable[[Any], object], value: object) -> bool:
    if not isinstance(value, tuple) or not all(isinstance(choice, kind) for choice in value):
        return False
    return len({repr(identify(choice)) for choice in value}) == len(value) > 0


def _are_settings(value: Mapping[str, object]) -> bool:
    return all(isinstance(setting, str | int | float) for setting in value.values())


_NAME = ("a name", _is_text)
_FLAG = ("true or false", lambda value: isinstance(value, bool))
_COUNT = ("a whole number from 1", lambda value: value is None or _is_whole(value, least=1))
_SEED = ("a whole number from 0 to 2**64 - 1", _is_whole)
_RULES: Rules = {
    "name": _NAME,
    "datasets": (
        "one or more data sets, each split once",
        partial(_are_choices, DatasetChoice, lambda choice: (choice.name, choice.split)),
    ),
    "models": (
        "one or more models with different names or labels",
        partial(_are_choices, ModelChoice, lambda choice: choice.column),
    ),
    "sampling_seed": _SEED,
    "suites": ("a list of different names", partial(_is_set_of, _is_text)),
    "corruptions": ("a list of different names", partial(_is_set_of, _is_text)),
    "severities": (
        "a list of one or more different whole numbers from 1 to 5",
        partial(_is_set_of, partial(_is_whole, least=1, most=5), least=1),
    ),
    "treatments": ("a list of different names", partial(_is_set_of, _is_text)),
    "families": ("a list of different names", partial(_is_set_of, _is_text)),
    "no_image": _FLAG,
    "base_seed": _SEED,
    "seeding": (f"one of {', '.join(SEEDINGS)}", lambda value: value in SEEDINGS),
    "batch_size": ('a whole number from 1, or "auto"', lambda value: value == AUTO or _is_whole(value, least=1)),
    "scoring": (f"one of {', '.join(FORMS)}", lambda value: value in FORMS),
    "skip_bad": _FLAG,
}
_DATASET_RULES: Rules = {
    "name": _NAME,
    "split": _NAME,
    "fraction": ("a number above 0 and up to 1", lambda value: value is None or _is_share(value)),
    "rows": _COUNT,
    "images": _COUNT,
}
_MODEL_RULES: Rules = {
    "name": _NAME,
    "label": ("a name", lambda value: isinstance(value, str)),
    "settings": ("texts, numbers or booleans", _are_settings),
}
