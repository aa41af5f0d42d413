"""Data sets: where questions come from."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from robustlib.data import easy_vqa, easy_vqa_choice, mmbench, mmmu_pro
from robustlib.data.images import LazyImage, to_rgb
from robustlib.data.question import Kind, Question
from robustlib.data.sampling import stratified
from robustlib.errors import InvalidValueError, UnknownNameError

__all__ = ["Dataset", "Kind", "LazyImage", "Question", "list_datasets", "load_dataset", "to_rgb"]

_CARRIED: dict[str, Callable[[str], tuple[Question, ...]]] = {
    "easy_vqa": easy_vqa.load,
    "easy_vqa_choice": easy_vqa_choice.load,
}
"""From a split to its questions, for data sets that come with a package."""

_FORMATS: dict[str, Callable[[Path, str], tuple[Question, ...]]] = {
    "mmbench": mmbench.load,
    "mmmu_pro": mmmu_pro.load,
}
"""From a path and a split to its questions, for data sets that lie in files."""


@dataclass(frozen=True)
class Dataset:
    """The questions of one split, whole or sampled, in a fixed order."""

    name: str
    split: str
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        for name, count in Counter(question.id for question in self).items():
            if count > 1:
                raise InvalidValueError(
                    f"Every question of {self.name} needs an id of its own, but {name!r} has {count}."
                )

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def fingerprint(self) -> str:
        """Return the SHA-256, in hexadecimal, of everything that could change an answer or its score.

        Raises:
            RobustlibError: an image file cannot be read.
        """
        total = hashlib.sha256()
        digests = {image: image.digest() for question in self for image in question.images}
        for question in self:
            record = asdict(replace(question, image=None, more_images=()))
            record["images"] = [digests[image] for image in question.images]
            total.update(json.dumps(record, sort_keys=True).encode() + b"\n")
        return total.hexdigest()


def list_datasets() -> list[str]:
    """Return the names that `load_dataset` knows; those with ":PATH" want the path of their files in its place."""
    return sorted([*_CARRIED, *(f"{name}:PATH" for name in _FORMATS)])


def load_dataset(name: str, split: str, fraction: float = 1.0, seed: int = 42) -> Dataset:
    """Load a data set, or a seeded share of it that is stratified by category.

    Args:
        name: "easy_vqa" or another of `list_datasets()`, or with the path of the files, such as
            "mmbench:data/MMBench_DEV_EN.tsv".
        split: a split of that data set, for example "test".
        fraction: share of the questions to keep, in (0, 1].
        seed: decides which questions a share below 1 holds.

    Raises:
        UnknownNameError: no such data set or split; the message lists near misses.
        InvalidValueError: the fraction is outside (0, 1] or leaves no question, or a file is not of its format.
        RobustlibError: a file cannot be read.
    """
    known, _, path = name.partition(":")
    if path and known in _FORMATS:
        questions = _FORMATS[known](Path(path), split)
    elif name in _CARRIED:
        questions = _CARRIED[name](split)
    else:
        raise UnknownNameError("data set", name, list_datasets())
    return Dataset(known, split, stratified(questions, fraction, seed))
