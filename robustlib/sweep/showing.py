"""From items to what a model sees: each picture is made once, and forgotten after its last question."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from robustlib.corruptions import corrupt
from robustlib.data.images import Pixels
from robustlib.errors import RobustlibError
from robustlib.models.base import Prompt
from robustlib.seeding import derive_seed
from robustlib.sweep.conditions import Item, read_treatment, strength


def prompts_by_picture(items: Sequence[Item]) -> Iterator[tuple[int, Prompt]]:
    """Yield the place of each item with its prompt; those about one picture come together.

    So one picture is in memory at a time, however many there are, and a model can read it once for all its questions.

    Raises:
        RobustlibError: an image cannot be read; the message names the question.
    """
    places_of: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        places_of[picture_of(item)].append(place)
    for places in places_of.values():
        images = _show(items[places[0]])
        for place in places:
            question = items[place].variant.question
            yield place, Prompt(images[0] if images else None, question.text, question.options, tuple(images[1:]))


def picture_of(item: Item) -> Hashable:
    """Return what tells the images of an item from others once they are shown."""
    variant = item.variant
    operation = (variant.operation, strength(variant)) if variant.operation else ()
    return variant.question.images, operation, item.treatment, item.seed if operation or item.treatment else 0


def _show(item: Item) -> list[Pixels]:
    variant = item.variant
    try:
        images = [image.pixels() for image in variant.question.images]
    except RobustlibError as error:
        raise RobustlibError(f"Question {variant.question.id}: {error}") from error
    if variant.operation:
        images = [corrupt(image, variant.operation, strength(variant), item.seed) for image in images]
    if item.treatment:
        seed = derive_seed("treatment", item.seed)  # a corruption that follows itself must not draw the same again
        images = [corrupt(image, *read_treatment(item.treatment), seed) for image in images]
    return images
