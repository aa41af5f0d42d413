"""Data sets: where questions come from."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

from robustlib.data import easy_vqa, easy_vqa_choice
from robustlib.data.images import LazyImage, to_rgb
from robustlib.data.question import Kind, Question
from robustlib.data.sampling import stratified
from robustlib.errors import UnknownNameError

__all__ = ["Dataset", "Kind", "LazyImage", "Question", "list_datasets", "load_dataset", "to_rgb"]

_LOADERS: dict[str, Callable[[str], tuple[Question, ...]]] = {
    "easy_vqa": easy_vqa.load,
    "easy_vqa_choice": easy_vqa_choice.load,
}


@dataclass(frozen=True)
class Dataset:
    """The questions of one split, whole or sampled, in a fixed order."""

    name: str
    split: str
    questions: tuple[Question, ...]

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
    """Return the names that `load_dataset` knows."""
    return sorted(_LOADERS)


def load_dataset(name: str, split: str, fraction: float = 1.0, seed: int = 42) -> Dataset:
    """Load a data set, or a seeded share of it that is stratified by category.

    Args:
        name: one of `list_datasets()`.
        split: a split of that data set, for example "test".
        fraction: share of the questions to keep, in (0, 1].
        seed: decides which questions a share below 1 holds.

    Raises:
        UnknownNameError: no such data set or split; the message lists near misses.
        InvalidValueError: the fraction is outside (0, 1] or leaves no question.
    """
    if name not in _LOADERS:
        raise UnknownNameError("data set", name, _LOADERS)
    return Dataset(name, split, stratified(_LOADERS[name](split), fraction, seed))
