"""Perturbations: questions in, rewritten questions out, the right answer carried along.

What comes out depends on the questions and the seed alone, never on a model's answer. A new family is one function and
one row in the table below.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from robustlib.data.question import Question
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.perturbations.form import change_form, negate
from robustlib.perturbations.images import remove_image, rework_image, shuffle_images
from robustlib.perturbations.injection import inject_image, inject_text
from robustlib.perturbations.option_order import reorder_options
from robustlib.perturbations.options import change_option_set, offer_no_answer
from robustlib.perturbations.text import reword
from robustlib.perturbations.typos import mistype
from robustlib.perturbations.variant import Variant

__all__ = ["Family", "Variant", "find_family", "list_families", "perturb"]


@dataclass(frozen=True)
class Family:
    """A family of perturbations."""

    name: str
    """The column ``family`` of the predictions."""
    role: str
    """"main": it keeps the meaning, or is a control, and stands in the main table. "extension": it changes the options,
    the form or the meaning, or attacks, and has a table of its own. "noise": it comes in severities."""
    changes: str
    """What it changes, in a few words."""
    source: str
    """The document that describes it."""
    build: Callable[[Sequence[Question], int], Iterator[Variant]]
    """From questions and a seed to variants."""


_THIRD, _FIRST = "third document, Families", "first document, Section 9"
_AUDITS = "third document, Extensions"
_FAMILIES = {
    family.name: family
    for family in (
        Family("option_order", "main", "the order of the options", _THIRD, reorder_options),
        Family("text", "main", "the wording of question and options", _THIRD, reword),
        Family("image", "main", "the image, slightly", _THIRD, rework_image),
        Family("image_shuffle", "main", "the image, to another question's", _THIRD, shuffle_images),
        Family("text_only", "main", "the image, to none", _THIRD, remove_image),
        Family("option_set", "extension", "a wrong option more or less", _AUDITS, change_option_set),
        Family("abstain", "extension", "the right option to none, or to one more", _AUDITS, offer_no_answer),
        Family("form_choice", "extension", "yes/no to choice and back", _AUDITS, change_form),
        Family("negation", "extension", "the question to its opposite", _AUDITS, negate),
        Family("inject_text", "extension", "an attack in the question", _AUDITS, inject_text),
        Family("inject_image", "extension", "an attack in the image", _AUDITS, inject_image),
        Family("typos", "noise", "letters of the question", _FIRST, mistype),
    )
}


def list_families() -> list[Family]:
    """Return all families of perturbations."""
    return list(_FAMILIES.values())


def find_family(name: str) -> Family:
    """Return a family of perturbations by name.

    Raises:
        UnknownNameError: no such family; the message lists near misses.
    """
    if name not in _FAMILIES:
        raise UnknownNameError("family of perturbations", name, _FAMILIES)
    return _FAMILIES[name]


def perturb(questions: Sequence[Question], family: str, seed: int = 0) -> tuple[Variant, ...]:
    """Rewrite the questions of one data set by the rules of one family.

    Args:
        questions: source questions of one data set.
        family: a name of `list_families`.
        seed: what is random about a question's variants depends on the seed and the question's id alone, and the
            exchange of images on the seed and the set of images.

    Returns:
        The variants, question by question. A rule that does not apply yields none, so there may be none at all.

    Raises:
        UnknownNameError: no such family.
        InvalidValueError: two questions with one id, several data sets, or (image_shuffle) a single image.
    """
    build = find_family(family).build
    repeated = [name for name, count in Counter(question.id for question in questions).items() if count > 1]
    if repeated:
        raise InvalidValueError(f"Ids of questions must be unique, but {len(repeated)} occur twice: {repeated[0]!r}.")
    datasets = sorted({question.dataset for question in questions})
    if len(datasets) > 1:
        raise InvalidValueError(f"Perturb one data set at a time, got {', '.join(map(repr, datasets))}.")
    return tuple(build(questions, seed))
