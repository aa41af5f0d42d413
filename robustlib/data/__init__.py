"""Data sets: where questions come from."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from robustlib.data import aokvqa, cauldron, easy_vqa, easy_vqa_choice, mmbench, mmmu_pro, own_files, scienceqa, vqav2
from robustlib.data.gathering import Candidate, gather
from robustlib.data.hub import REPOSITORIES, fetch
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

_FORMATS: dict[str, Callable[[Path, str], Iterator[Candidate]]] = {
    "ai2d": partial(cauldron.load, "ai2d"),
    "aokvqa": aokvqa.load,
    "csv": own_files.load_csv,
    "jsonl": own_files.load_jsonl,
    "mapqa": partial(cauldron.load, "mapqa"),
    "mmbench": mmbench.load,
    "mmmu_pro": mmmu_pro.load,
    "scienceqa": scienceqa.load,
    "visual7w": partial(cauldron.load, "visual7w"),
    "vqav2": vqav2.load,
    "vqav2_yesno": partial(vqav2.load, yes_no=True),
    "vsr": partial(cauldron.load, "vsr"),
}
"""From a path and a split to its questions, for data sets that lie in files."""


@dataclass(frozen=True)
class Dataset:
    """The questions of one split, whole or sampled, in a fixed order."""

    name: str
    split: str
    questions: Sequence[Question]
    """A tuple, or `robustlib.data.gathering.PackedQuestions` where there are many."""

    def __post_init__(self) -> None:
        if len({hash(question.id) for question in self}) == len(self):  # takes less memory than the ids
            return
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

        Every image is read, each once: one that changed in place must not be answered from what was said of the old.
        From then on the images are held to it; see `LazyImage.expect`.

        Raises:
            RobustlibError: an image file cannot be read.
        """
        total = hashlib.sha256()
        digests: dict[LazyImage, str] = {}
        for question in self:
            record: dict[str, Any] = vars(question) | {"image": None, "more_images": ()}
            for image in question.images:
                digests[image] = digests.get(image) or image.digest()
                image.expect(digests[image])
            record["images"] = [digests[image] for image in question.images]
            total.update(json.dumps(record, sort_keys=True).encode() + b"\n")
        return total.hexdigest()


def list_datasets() -> list[str]:
    """Return the names that `load_dataset` knows; those with ":PATH" want the path of their files in its place."""
    return sorted([*_CARRIED, *(f"{name}:PATH" for name in _FORMATS)])


def load_dataset(
    name: str, split: str, fraction: float = 1.0, seed: int = 42, skip_bad: str | PathLike[str] | None = None
) -> Dataset:
    """Load a data set, or a seeded share of it that is stratified by category.

    Every row of a file is checked, before any model runs: its fields, its id, and that its images are there and can be
    opened. An image whose header is whole and whose pixels are not is found when it is decoded.

    Args:
        name: "easy_vqa" or another of `list_datasets()`, or with the path of the files, such as
            "mmbench:data/MMBench_DEV_EN.tsv", or, of those in `robustlib.data.hub`, with "hub", such as "aokvqa:hub":
            then they are fetched. Questions of your own are "jsonl:PATH" or "csv:PATH"; their fields stand
            in `robustlib.data.own`, and the data set has the file's name without its ending.
        split: a split of that data set, for example "test".
        fraction: share of the questions to keep, in (0, 1].
        seed: decides which questions a share below 1 holds.
        skip_bad: leave out the bad rows of a file, and list them in this file; see `robustlib.data.gathering.gather`.

    Raises:
        UnknownNameError: no such data set or split; the message lists near misses.
        InvalidValueError: the fraction is outside (0, 1] or leaves no question, a file is not of its format, or a row
            is bad; the message names file, row and field.
        RobustlibError: a file cannot be read or fetched.
    """
    known, _, path = name.partition(":")
    questions: Sequence[Question]
    if path and known in _FORMATS:
        place = fetch(known, split) if path == "hub" and known in REPOSITORIES else Path(path)
        questions = gather(_FORMATS[known](place, split), skip_bad)
        if not questions:
            raise InvalidValueError(f"{path} holds no question of the split {split!r} of {known}.")
    elif name in _CARRIED:
        questions = _CARRIED[name](split)
    else:
        raise UnknownNameError("data set", name, list_datasets())
    kept = stratified(questions, fraction, seed)
    return Dataset(kept[0].dataset, split, kept)
