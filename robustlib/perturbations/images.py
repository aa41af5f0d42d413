"""Families image, image_shuffle and text_only: the same question, its images worked on, exchanged or taken away."""

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
    """Name each of the eight operations, to be done to all its images, for each question that has any.

    The seed is not used.
    """
    for question in questions:
        if question.image is None:
            continue
        for name in IMAGE_OPERATIONS:
            yield vary(question, "image", name, operation=f"meaning_preserving/{name}")


def shuffle_images(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Show each question the images of another one: see `image_donors`.

    Raises:
        InvalidValueError: no two questions have different images, as many each.
    """
    donors = image_donors(questions, seed)
    for question in questions:
        if question.images and not donors:
            raise InvalidValueError(
                f"image_shuffle needs at least two different images, got one: {question.image_id!r}."
            )
        if question.images in donors:
            yield vary(question, "image_shuffle", "shuffled", with_donor(question, donors))


def remove_image(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Take all images away from each question that has any; the seed is not used."""
    for question in questions:
        if question.image is not None:
            yield vary(question, "text_only", "no_image", replace(question, image=None, more_images=()))


Images = tuple[LazyImage, ...]
"""All images of a question; they go from one question to another together."""
Donors = dict[Images, tuple[str, Images]]


def image_donors(questions: Sequence[Question], seed: int) -> Donors:
    """Give the images of every question those of another: a derangement made of one random cycle over all of them.

    Those of questions with equally many images make a cycle. Each is given away once, and questions on one image share
    its donor, so no question gets its own image back through another question on it.

    Returns:
        For the images of each question, the image_id and the images of their donor. It does not depend on the order of
        the questions. Images without others to take their place are left out.
    """
    names: dict[Images, str] = {}
    for question in questions:
        if question.images:
            names[question.images] = min(question.image_id, names.get(question.images, question.image_id))
    dataset = questions[0].dataset if questions else ""
    donors: Donors = {}
    for count in sorted(set(map(len, names))):
        same = sorted((images for images in names if len(images) == count), key=names.__getitem__)
        cycle = [same[index] for index in generator("image_shuffle", seed, dataset, count).permutation(len(same))]
        if len(cycle) > 1:
            pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
            donors |= {images: (names[donor], donor) for images, donor in pairs}
    return donors


def with_donor(question: Question, donors: Donors) -> Question:
    """Return the question with its images' donor, whose image_id is kept in ``meta["donor_image_id"]``."""
    name, (image, *more) = donors[question.images]
    return replace(question, image=image, more_images=tuple(more), meta={**question.meta, "donor_image_id": name})
