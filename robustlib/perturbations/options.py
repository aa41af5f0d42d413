"""Families option_set and abstain: other options beside the same question."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from robustlib.data.question import Question
from robustlib.perturbations.images import image_donors, with_donor
from robustlib.perturbations.variant import Variant, vary, with_options
from robustlib.seeding import generator

NONE_OPTION = "none of the above"


def change_option_set(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Add a wrong option borrowed from another question, or drop one of at least two wrong ones."""
    choices = [question for question in questions if question.kind == "choice" and question.options]
    for question in choices:
        random = generator("option_set", seed, question.dataset, question.id)
        borrowed = _borrow(question, choices, random)
        if borrowed is not None:
            yield _add(question, "option_set", "add_distractor", borrowed)
        if question.label >= 0 and len(question.options) >= 3:
            wrong = [index for index in range(len(question.options)) if index != question.label]
            yield _drop(question, "option_set", "drop_wrong", wrong[random.integers(len(wrong))])


def offer_no_answer(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Leave no right answer, or offer "none of the above" beside the right one, also with another image.

    ``drop_gold`` removes the right option of at least three: nothing is right, label and answers are empty, and only
    the confidence means something. ``add_none`` adds "none of the above", with the label as it was; a model that can
    abstain picks it more often in ``add_none_shuffled``, where the image is that of another question.
    """
    donors = image_donors(questions, seed)
    for question in questions:
        if question.kind != "choice" or not question.options:
            continue
        if question.label >= 0 and len(question.options) >= 3:
            yield _drop(replace(question, answers=()), "abstain", "drop_gold", question.label)
        if _alike(NONE_OPTION) in map(_alike, question.options):
            continue
        yield _add(question, "abstain", "add_none", NONE_OPTION)
        if question.images in donors:
            yield _add(with_donor(question, donors), "abstain", "add_none_shuffled", NONE_OPTION)


def _borrow(question: Question, choices: Sequence[Question], random: np.random.Generator) -> str | None:
    """Return an option of a random question on another image that is neither an option nor an answer of this one."""
    taken = {_alike(text) for text in (*question.options, *question.answers)}
    for index in random.permutation(len(choices)):
        donor = choices[index]
        if donor.image_id == question.image_id:
            continue
        admissible = [option for option in donor.options if _alike(option) not in taken]
        if admissible:
            return str(random.choice(admissible))
    return None


def _add(question: Question, family: str, name: str, option: str) -> Variant:
    count = len(question.options)
    shown = replace(question, options=(*question.options, option))
    return vary(question, family, name, shown, order=(*range(count), -1), target=count)


def _drop(question: Question, family: str, name: str, index: int) -> Variant:
    order = tuple(kept for kept in range(len(question.options)) if kept != index)
    return vary(question, family, name, with_options(question, order), order=order)


def _alike(option: str) -> str:
    return option.strip().lower()
