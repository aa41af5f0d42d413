"""Conditions: what is done to a question's image before a model sees it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from robustlib.corruptions import corrupt, find_corruption, image_seed, list_corruptions
from robustlib.data import LazyImage, Question
from robustlib.data.images import Pixels


@dataclass(frozen=True)
class Condition:
    """One cell of a sweep; its fields are columns of the predictions table."""

    suite: str
    """Suite of the corruption, "" where there is none."""
    family: str
    """What kind of change it is: a key of the table of families below."""
    variant: str
    """Which change of that family: the corruption's name, or the family's own name."""
    severity: int
    """Strength; 0 for no change."""

    def __str__(self) -> str:
        return "-".join(part for part in (self.suite, self.variant, str(self.severity or "")) if part)


CLEAN = Condition(suite="", family="clean", variant="clean", severity=0)


def suite_conditions(suite: str, severities: Collection[int]) -> list[Condition]:
    """Return every corruption of a suite at those of the severities that it has.

    Raises:
        UnknownNameError: no such suite.
    """
    return [
        Condition(suite, "corruption", corruption.name, severity)
        for corruption in list_corruptions(suite)
        for severity in corruption.severities
        if severity in severities
    ]


def describe_condition(condition: Condition) -> dict[str, Any]:
    """Return the condition as JSON values, with the function and the parameters that a corruption comes to."""
    record = asdict(condition)
    if condition.family == "corruption":
        corruption = find_corruption(_corruption_key(condition))
        record["function"] = corruption.function
        record["parameters"] = dict(corruption.parameters[condition.severity - 1])
    return record


def shown_images(questions: Sequence[Question], condition: Condition, base_seed: int) -> Iterator[Pixels | None]:
    """Yield what a model sees beside each question: uint8 H x W x 3, or None where a question has no image.

    Each distinct image is changed once, and forgotten after its last question.
    """
    keys = [(question.image_id, question.image) for question in questions]
    uses = Counter(keys)
    shown: dict[tuple[str, LazyImage | None], Pixels | None] = {}
    for question, key in zip(questions, keys, strict=True):
        if key not in shown:
            shown[key] = _show(question, condition, base_seed)
        yield shown[key]
        uses[key] -= 1
        if uses[key] == 0:
            del shown[key]


def _show(question: Question, condition: Condition, base_seed: int) -> Pixels | None:
    pixels = question.pixels()
    if pixels is None:
        return None
    return _FAMILIES[condition.family](pixels, condition, image_seed(base_seed, question.image_id))


def _unchanged(pixels: Pixels, condition: Condition, seed: int) -> Pixels:
    return pixels


def _corrupted(pixels: Pixels, condition: Condition, seed: int) -> Pixels:
    return corrupt(pixels, _corruption_key(condition), condition.severity, seed)


def _corruption_key(condition: Condition) -> str:
    return f"{condition.suite}/{condition.variant}"


_FAMILIES: dict[str, Callable[[Pixels, Condition, int], Pixels]] = {
    "clean": _unchanged,
    "corruption": _corrupted,
}
