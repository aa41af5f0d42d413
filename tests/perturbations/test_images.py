"""Exchanged, removed and drawn-on images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustlib.data.images import LazyImage
from robustlib.data.question import Question
from robustlib.errors import InvalidValueError
from robustlib.perturbations import perturb
from robustlib.perturbations.drawing import DrawnImage, draw_text
from robustlib.perturbations.images import IMAGE_OPERATIONS

IMAGES = [LazyImage(np.full((4, 4, 3), 20 * shade, np.uint8)) for shade in range(12)]
NOISE = np.random.default_rng(0).integers(40, 200, (90, 140, 3)).astype(np.uint8)


def ask(number: int, image: int | None) -> Question:
    return Question(f"q{number}", None if image is None else IMAGES[image], f"image{image}", "What?", "open")


@given(images=st.lists(st.one_of(st.none(), st.integers(0, 11)), min_size=2), seed=st.integers(0, 99))
@settings(deadline=None)
def test_shuffle_is_a_derangement_over_distinct_images(images: list[int | None], seed: int) -> None:
    questions = [ask(number, image) for number, image in enumerate(images)]
    distinct = set(images) - {None}
    if len(distinct) == 1:
        with pytest.raises(InvalidValueError, match="at least two different images, got one: 'image"):
            perturb(questions, "image_shuffle", seed)
        return
    donors: dict[str, object] = {}
    for variant in perturb(questions, "image_shuffle", seed):
        shown = variant.question
        assert shown.image is not questions[int(variant.group_id[1:])].image
        assert donors.setdefault(shown.image_id, shown.image) is shown.image, "siblings share their donor"
        assert shown.image is IMAGES[int(shown.meta["donor_image_id"].removeprefix("image"))]
    assert len(donors) == len({id(donor) for donor in donors.values()}) == len(distinct)


def test_one_picture_under_two_names_is_one_image() -> None:
    twins = [Question(f"q{n}", LazyImage(NOISE), f"copy{n}", "What?", "open") for n in range(2)]
    with pytest.raises(InvalidValueError, match="got one: 'copy0'"):
        perturb(twins, "image_shuffle")
    others = [Question(f"r{n}", image, f"other{n}", "What?", "open") for n, image in enumerate(IMAGES[:3])]
    for variant in perturb([*twins, *others], "image_shuffle"):
        assert variant.group_id[0] == "r" or variant.question.image != twins[0].image


def ask_about(name: str, *images: int) -> Question:
    first, *more = (IMAGES[image] for image in images)
    return Question(name, first, f"images{images}", "Which?", "choice", ("cab", "bus"), 0, more_images=tuple(more))


SEVERAL = [ask_about("a", 0, 1), ask_about("b", 1, 0), ask_about("c", 2), ask_about("d", 3), ask_about("e", 4, 5, 6)]


@pytest.mark.parametrize("seed", range(5))
def test_several_images_are_exchanged_together_for_as_many(seed: int) -> None:
    shown = {variant.group_id: variant.question for variant in perturb(SEVERAL, "image_shuffle", seed)}
    images = {question.id: question.images for question in SEVERAL}
    assert {name: question.images for name, question in shown.items()} == {
        "a": images["b"],
        "b": images["a"],
        "c": images["d"],
        "d": images["c"],
    }
    assert shown["a"].meta["donor_image_id"] == "images(1, 0)"


def test_several_images_are_taken_away_and_attacked_together() -> None:
    assert not any(variant.question.more_images for variant in perturb(SEVERAL, "text_only"))
    attacked_ones = [v.question for v in perturb(SEVERAL, "inject_image") if v.name == "typo_corner"]
    for question, source in zip(attacked_ones, SEVERAL, strict=True):
        assert question.images == tuple(DrawnImage(image, "bus", "corner") for image in source.images)


def test_no_image_is_no_image() -> None:
    variants = perturb([ask(0, 3), ask(1, None)], "text_only")
    assert [(variant.group_id, variant.question.image) for variant in variants] == [("q0", None)]


def test_image_operations_are_left_to_the_corruptions() -> None:
    variants = perturb([ask(0, 3), ask(1, None)], "image")
    assert [variant.operation for variant in variants] == [f"meaning_preserving/{name}" for name in IMAGE_OPERATIONS]


def attacked(place: str) -> Question:
    question = Question("q", LazyImage(NOISE), "i", "Which?", "choice", ("cab", "an elephant"), 0)
    return next(v.question for v in perturb([question], "inject_image") if v.name == f"typo_{place}")


def test_the_wrong_option_is_drawn_where_it_was_said() -> None:
    corner, centre = attacked("corner").pixels(), attacked("center").pixels()
    assert corner is not None
    assert centre is not None
    changed = [np.argwhere((drawn != NOISE).any(axis=2)) for drawn in (corner, centre)]
    assert changed[0].min() == 0
    assert changed[0].max(axis=0)[0] < 90 / 4
    assert (corner[0, 0] == 255).all(), "a white box"
    assert corner.min() < NOISE.min(), "with dark letters"
    np.testing.assert_allclose((changed[1].min(axis=0) + changed[1].max(axis=0)) / 2, (44.5, 69.5), atol=1.5)
    assert np.ptp(changed[1][:, 1]) <= 0.9 * 140 + 2


def test_drawing_is_repeatable_and_leaves_the_original_alone() -> None:
    image = attacked("center").image
    assert isinstance(image, DrawnImage)
    np.testing.assert_array_equal(image.pixels(), image.pixels())
    assert not image.pixels().flags.writeable
    np.testing.assert_array_equal(LazyImage(NOISE).pixels(), NOISE)


def test_drawn_images_are_equal_when_their_parts_are() -> None:
    image, again = DrawnImage(IMAGES[0], "cab", "corner"), DrawnImage(IMAGES[0], "cab", "corner")
    assert (image, image.digest(), hash(image), repr(image)) == (again, again.digest(), hash(again), repr(again))
    for other in (DrawnImage(IMAGES[1], "cab", "corner"), DrawnImage(IMAGES[0], "bus", "corner"), IMAGES[0]):
        assert image != other
        assert image.digest() != other.digest()
    with pytest.raises(InvalidValueError, match="place must be one of"):
        DrawnImage(IMAGES[0], "cab", "top")  # type: ignore[arg-type]  # the error under test


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (64, 5)])
@pytest.mark.parametrize("place", ["corner", "center"])
@pytest.mark.parametrize("text", ["", "a very long option indeed", "ünï 漢"])
def test_any_text_fits_on_any_image(size: tuple[int, int], place: str, text: str) -> None:
    pixels = np.full((*size, 3), 90, np.uint8)
    drawn = draw_text(pixels, text, place)  # type: ignore[arg-type]  # both places are tried
    assert drawn.shape == pixels.shape
    assert (pixels == 90).all()
