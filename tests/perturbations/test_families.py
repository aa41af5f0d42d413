"""What every family must keep to, tried on questions of all kinds; a new family is tested without writing a test."""

from collections import Counter
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robustlib.data.images import LazyImage
from robustlib.data.question import Kind, Question
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.perturbations import Variant, list_families, perturb

FAMILIES = [family.name for family in list_families()]
IMAGES = [LazyImage(np.full((20, 30, 3), 40 * shade, np.uint8)) for shade in range(5)]
MOVES_OPTIONS = ["option_order", "option_set", "abstain"]
NEEDS_THE_OTHERS = ["image_shuffle", "option_set", "abstain"]
TEXTS = ["What is this?", "the cat sleeps.", "A.", "", "  is it Red ?", "NASA built it", "ß!", "what", "é ü", "No"]
OPTIONS = ["cat", "Cat", "a dog", "NASA", "12%", "", "none of the above", "A", "b.", "no", "yes", "Ünder"]


@st.composite
def question_lists(draw: st.DrawFn, least_images: int = 2) -> list[Question]:
    """Questions of one data set, of every kind, on a few shared images or on none."""
    questions = [draw(questions_on(image)) for image in range(least_images)]
    questions += draw(st.lists(st.one_of(*map(questions_on, [None, 0, 1, 2, 3, 4])), max_size=5))
    return [replace(question, id=f"q{number}") for number, question in enumerate(questions)]


@st.composite
def questions_on(draw: st.DrawFn, image: int | None) -> Question:
    kind = draw(st.sampled_from(get_args(Kind)))
    yes_no = st.sampled_from([(), ("no", "yes"), ("No, never.", "Yes, always."), ("left", "right")])
    choices = st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=6, unique=True).map(tuple)
    options: tuple[str, ...] = () if kind == "open" else draw(choices if kind == "choice" else yes_no)
    return Question(
        id="",
        image=None if image is None else IMAGES[image],
        image_id=f"image{image}",
        text=draw(st.sampled_from(TEXTS)),
        kind=kind,
        options=options,
        label=draw(st.integers(-1, len(options) - 1)),
        answers=draw(st.sampled_from([("yes",), ("no", "no"), ("cat",), ()])),
        dataset="made up",
    )


def signature(variants: tuple[Variant, ...]) -> list[tuple[object, ...]]:
    return sorted((v.question.id, v.question.text, v.question.options, v.order, v.target) for v in variants)


@pytest.mark.parametrize("family", FAMILIES)
@given(questions=question_lists(), seed=st.integers(0, 3))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_variants_are_tied_to_their_source(family: str, questions: list[Question], seed: int) -> None:
    sources = {question.id: question for question in questions}
    variants = perturb(questions, family, seed)
    assert max(Counter(variant.question.id for variant in variants).values(), default=1) == 1
    for variant in variants:
        source, shown = sources[variant.group_id], variant.question
        assert shown.id.startswith(f"{source.id}|{family}/{variant.name}")
        assert (shown.image_id, shown.dataset, shown.category) == (source.image_id, source.dataset, source.category)
        assert len(variant.order) == len(shown.options)
        assert all(-1 <= place < len(source.options) for place in variant.order)
        assert shown != replace(source, id=shown.id) or variant.operation or variant.severity


@pytest.mark.parametrize("family", FAMILIES)
@given(questions=question_lists(), seed=st.integers(0, 3))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_same_seed_same_variants_in_any_order_of_questions(family: str, questions: list[Question], seed: int) -> None:
    variants = perturb(questions, family, seed)
    assert variants == perturb(questions, family, seed)
    if family not in NEEDS_THE_OTHERS:
        alone = tuple(variant for question in questions for variant in perturb([question], family, seed))
        assert variants == alone
    if family == "image_shuffle":
        reverse = perturb(questions[::-1], family, seed)
        assert {v.group_id: v.question.image for v in variants} == {v.group_id: v.question.image for v in reverse}


@pytest.mark.parametrize("family", MOVES_OPTIONS)
@given(questions=question_lists(), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_label_and_options_move_together(family: str, questions: list[Question], seed: int) -> None:
    sources = {question.id: question for question in questions}
    for variant in perturb(questions, family, seed):
        source, shown = sources[variant.group_id], variant.question
        for option, place in zip(shown.options, variant.order, strict=True):
            assert place == -1 or option == source.options[place]
        if shown.label >= 0:
            assert variant.order[shown.label] == source.label
        else:
            assert variant.name == "drop_gold" or source.label == -1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "questions",
    [
        [],
        [Question("bare", None, "none", "", "open")],
        [Question("silent", None, "none", " ", "choice", options=("",), label=0)],
    ],
    ids=["no question", "open, no text, no image", "one blank option"],
)
def test_a_family_that_does_not_apply_is_empty(family: str, questions: list[Question]) -> None:
    variants = perturb(questions, family)
    assert isinstance(variants, tuple)
    assert family in ("text", "abstain", "form_choice") or variants == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_another_seed_changes_what_is_random(family: str) -> None:
    options = tuple("abcdefgh")
    questions = [
        Question(f"q{n}", IMAGES[n], f"image{n}", "a rather long question", "choice", options[n:], 0) for n in range(5)
    ]
    runs = {str([(v.question, v.order, v.target) for v in perturb(questions, family, seed)]) for seed in range(4)}
    is_random = family in ("option_order", "image_shuffle", "option_set", "abstain", "typos") or "inject" in family
    assert (len(runs) > 1) == is_random


def test_unknown_family_names_the_menu() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'option_order'"):
        perturb([], "option_orders")


def test_questions_that_cannot_be_told_apart_are_refused() -> None:
    question = Question("a", None, "i", "Who?", "open")
    with pytest.raises(InvalidValueError, match="must be unique, but 1 occur twice: 'a'"):
        perturb([question, question], "text")
    with pytest.raises(InvalidValueError, match="one data set at a time, got '', 'other'"):
        perturb([question, replace(question, id="b", dataset="other")], "text")
