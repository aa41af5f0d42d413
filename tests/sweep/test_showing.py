"""What a condition puts before a model: which images, with which seeds, in which order."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from robustlib.corruptions import corrupt
from robustlib.data.images import Pixels
from robustlib.sweep import NO_IMAGE, Condition, family_condition
from robustlib.sweep.conditions import items_of
from robustlib.sweep.showing import prompts_by_picture
from tests.sweep.options_toys import options_dataset


def test_no_image_shows_no_image_and_changes_nothing_else() -> None:
    questions = options_dataset().questions
    items = items_of(questions, NO_IMAGE, 0, "image")
    prompts = dict(prompts_by_picture(items))
    assert [prompts[place].images for place in range(len(questions))] == [()] * len(questions)
    assert [(prompts[p].text, prompts[p].options) for p in sorted(prompts)] == [(q.text, q.options) for q in questions]
    assert [item.variant.question.id for item in items] == [question.id for question in questions]


def test_prompts_about_one_picture_come_together_and_it_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, int]] = []

    def counted(pixels: Pixels, name: str, severity: int, seed: int) -> Pixels:
        made.append((name, seed))
        return corrupt(pixels, name, severity, seed)

    monkeypatch.setattr("robustlib.sweep.showing.corrupt", counted)
    items = items_of(options_dataset().questions, family_condition("image"), 0, "image")
    asked = list(prompts_by_picture(items))
    assert sorted(place for place, _ in asked) == list(range(len(items)))
    assert len(made) == len(set(made)) == 4 * 8
    pictures = [id(prompt.image) for _, prompt in asked]
    assert sum(before != after for before, after in pairwise(pictures)) == len(made) - 1


def test_all_images_of_a_sample_are_corrupted_by_its_own_seed() -> None:
    first, *others = options_dataset().questions
    more = tuple(question.images[0] for question in others[:2])
    questions = [replace(first, more_images=more), replace(first, id="sibling")]
    noise = Condition("imagenet_c", "corruption", "gaussian_noise", 3)
    prompts = dict(prompts_by_picture(items_of(questions, noise, 1234, "sample")))
    for place, question in enumerate(questions):
        seed = (1234 * 1000003 + place) % 2**32
        for shown, image in zip(prompts[place].images, question.images, strict=True):
            np.testing.assert_array_equal(shown, corrupt(image.pixels(), "imagenet_c/gaussian_noise", 3, seed))
    assert (prompts[0].images[0] != prompts[1].images[0]).any()
    one, other = (prompt for _, prompt in prompts_by_picture(items_of(questions, noise, 1234, "image")))
    np.testing.assert_array_equal(one.images[0], other.images[0])


def test_perturbed_questions_keep_the_place_of_their_sample() -> None:
    questions = options_dataset().questions
    items = items_of(questions, family_condition("text"), 5, "sample")
    places = {question.id: place for place, question in enumerate(questions)}
    assert len(items) > len(questions)
    assert all(item.seed == 5 * 1000003 + places[item.variant.group_id] for item in items)
