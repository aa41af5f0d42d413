"""Families image, image_shuffle and text_only: the same question with its image worked on, exchanged or taken away."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from robustlib.data.images import LazyImage
from robustlib.data.question import Question
from robustlib.errors import InvalidValueError
from robustlib.perturbations.variant import Variant, vary
from robustlib.seeding import generator

IMAGE_OPERATIONS = (
    "jpeg70",
    "jpeg40",
    "jpeg20",
    "crop_center95",
    "crop_random90",
    "rescale50",
    "bright90",
    "bright110",
)
"""The eight operations; their pixels are the business of the corruption suite "meaning_preserving"."""


def rework_image(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Name each of the eight operations for each question that has an image; the seed is not used."""
    for question in questions:
        if question.image is None:
            continue
        for name in IMAGE_OPERATIONS:
            yield vary(question, "image", name, operation=f"meaning_preserving/{name}")


def shuffle_images(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Show each question the image of another one: see `image_donors`.

    Raises:
        InvalidValueError: all questions with an image share a single one.
    """
    donors = image_donors(questions, seed)
    if len(donors) == 1:
        raise InvalidValueError(
            f"image_shuffle needs at least two different images, got one: {next(iter(donors.values()))[0]!r}."
        )
    for question in questions:
        if question.image is not None:
            yield vary(question, "image_shuffle", "shuffled", with_donor(question, donors))


def remove_image(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Take the image away from each question that has one; the seed is not used."""
    for question in questions:
        if question.image is not None:
            yield vary(question, "text_only", "no_image", replace(question, image=None))


Donors = dict[LazyImage, tuple[str, LazyImage]]


def image_donors(questions: Sequence[Question], seed: int) -> Donors:
    """Give every distinct image another one: a derangement made of one random cycle over all of them.

    Each image is given away once, and questions on one image share its donor, so no question gets its own image back
    through another question on it. With a single image, that image is its own donor.

    Returns:
        For each image, the image_id and the image of its donor. It does not depend on the order of the questions.
    """
    names: dict[LazyImage, str] = {}
    for question in questions:
        if question.image is not None:
            names[question.image] = min(question.image_id, names.get(question.image, question.image_id))
    images = sorted(names, key=names.__getitem__)
    dataset = questions[0].dataset if questions else ""
    cycle = [images[index] for index in generator("image_shuffle", seed, dataset).permutation(len(images))]
    return {image: (names[donor], donor) for image, donor in zip(cycle, cycle[1:] + cycle[:1], strict=True)}


def with_donor(question: Question, donors: Donors) -> Question:
    """Return the question with the donor of its image, whose image_id is kept in ``meta["donor_image_id"]``."""
    if question.image is None:
        raise InvalidValueError(f"Question {question.id} has no image to exchange.")
    name, image = donors[question.image]
    return replace(question, image=image, meta={**question.meta, "donor_image_id": name})
