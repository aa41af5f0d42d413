"""Conditions: what is done to a data set's questions before a model sees them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from robustlib.corruptions import Corruption, find_corruption, image_seed, list_corruptions
from robustlib.data import Question
from robustlib.errors import InvalidValueError
from robustlib.perturbations import Variant, find_family, perturb

Seeding = Literal["image", "sample"]
SEEDINGS: tuple[str, ...] = get_args(Seeding)


@dataclass(frozen=True)
class Condition:
    """One cell of a sweep."""

    suite: str
    """Suite of the corruption, "" where there is none."""
    family: str
    """What kind of change it is: clean, no_image, corruption or a family of perturbations."""
    variant: str
    """The corruption's name; otherwise the family's, and the condition is all variants of the family together."""
    severity: int
    """Strength of the corruption; 0 for none."""
    treatment: str = ""
    """What images go through after that, ``suite/name@severity``: a denoiser, or another corruption. "" for nothing."""

    def __str__(self) -> str:
        parts = (self.suite, self.variant, str(self.severity or ""), self.treatment)
        return "-".join(part for part in parts if part)

    @property
    def operation(self) -> str:
        """The corruption that images go through, ``suite/name``; "" for none."""
        return f"{self.suite}/{self.variant}" if self.suite else ""

    @property
    def asks_once(self) -> bool:
        """Whether each question is asked once, as it stands."""
        return self.family in ("clean", "no_image", "corruption")


CLEAN = Condition(suite="", family="clean", variant="clean", severity=0)
NO_IMAGE = Condition(suite="", family="no_image", variant="no_image", severity=0)


class Item(NamedTuple):
    """One question as a condition puts it."""

    variant: Variant
    """The question, where it comes from, and what its images still have to go through."""
    seed: int
    """Of that operation on its images."""
    treatment: str = ""
    """What the images go through after it, as a condition names it."""


def read_treatment(treatment: str) -> tuple[str, int]:
    """Return the corruption and the severity that ``suite/name@severity`` names.

    Raises:
        UnknownNameError: there is no such corruption.
        InvalidValueError: the severity is missing, or none of the corruption's.
    """
    name, _, severity = treatment.partition("@")
    known = find_corruption(name).severities
    if severity not in map(str, known):
        raise InvalidValueError(f"A treatment is suite/name@severity, here with one of {known}, got {treatment!r}.")
    return name, int(severity)


def suite_conditions(suite: str, severities: Collection[int]) -> list[Condition]:
    """Return every corruption of a suite at those of the severities that it has.

    Raises:
        UnknownNameError: no such suite.
    """
    return corruption_conditions(list_corruptions(suite), severities)


def corruption_conditions(corruptions: Iterable[Corruption], severities: Collection[int]) -> list[Condition]:
    """Return corruptions at those of the severities that they have."""
    return [
        Condition(corruption.suite, "corruption", corruption.name, severity)
        for corruption in corruptions
        for severity in corruption.severities
        if severity in severities
    ]


def treated(conditions: Sequence[Condition], treatments: Collection[str]) -> list[Condition]:
    """Return the conditions with each of the treatments after them.

    Raises:
        UnknownNameError, InvalidValueError: as `read_treatment`.
    """
    for treatment in treatments:
        read_treatment(treatment)
    return [replace(condition, treatment=treatment) for treatment in treatments for condition in conditions]


def family_condition(name: str) -> Condition:
    """Return a family of perturbations as a condition.

    Raises:
        UnknownNameError: no such family.
    """
    return Condition("", find_family(name).name, name, 0)


def items_of(questions: Sequence[Question], condition: Condition, base_seed: int, seeding: Seeding) -> list[Item]:
    """Return what a condition asks about the questions of one data set; for a family that may be nothing.

    Args:
        questions: the source questions.
        condition: what is done to them.
        base_seed: decides with what follows what a random change draws; a perturbation also takes the question's id.
        seeding: "image" adds the image's id, so that questions on one image see the same. "sample" adds the place among
            the questions, by the rule of VLM-RobustBench (Appendix C.1).

    Raises:
        InvalidValueError: the questions cannot be perturbed: see `robustlib.perturbations.perturb`.
    """
    seeds = {
        question.id: image_seed(base_seed, question.image_id) if seeding == "image" else _sample_seed(base_seed, place)
        for place, question in enumerate(questions)
    }
    return [
        Item(variant, seeds[variant.group_id], condition.treatment)
        for variant in _variants(questions, condition, base_seed)
    ]


def describe_condition(condition: Condition, questions: Sequence[Question], base_seed: int) -> dict[str, Any]:
    """Return the condition as JSON values, with the functions and parameters that its operations come to.

    The variants of a family are made for that, so that what stands in their way is told before anything is asked.

    Raises:
        InvalidValueError: as `items_of`.
    """
    some = questions[:1] if condition.asks_once else questions
    operations = {(variant.operation, strength(variant)) for variant in _variants(some, condition, base_seed)}
    described = [_describe_operation(*operation) for operation in sorted(operations) if operation[0]]
    if condition.treatment:
        described.append(_describe_operation(*read_treatment(condition.treatment)))
    return asdict(condition) | {"operations": described}


def strength(variant: Variant) -> int:
    """Return the severity of the variant's operation; one that has no severities has the one."""
    return variant.severity or 1


def _sample_seed(base_seed: int, place: int) -> int:
    return (base_seed * 1000003 + place) % 2**32


def _variants(questions: Sequence[Question], condition: Condition, base_seed: int) -> Sequence[Variant]:
    if condition.asks_once:
        return [_show_whole(question, condition) for question in questions]
    return perturb(questions, condition.family, base_seed)


def _show_whole(question: Question, condition: Condition) -> Variant:
    return Variant(
        question=replace(question, image=None, more_images=()) if condition.family == "no_image" else question,
        group_id=question.id,
        family=condition.family,
        name=condition.variant,
        order=tuple(range(len(question.options))),
        operation=condition.operation,
        severity=condition.severity,
    )


def _describe_operation(name: str, severity: int) -> dict[str, Any]:
    corruption = find_corruption(name)
    parameters = dict(corruption.parameters[severity - 1])
    return {"name": name, "severity": severity, "function": corruption.function, "parameters": parameters}
