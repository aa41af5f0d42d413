"""Seeded subsets that keep the shares of the categories."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from robustlib.data.gathering import pack
from robustlib.data.question import Question
from robustlib.errors import InvalidValueError
from robustlib.seeding import generator


def stratified(questions: Sequence[Question], fraction: float, seed: int) -> Sequence[Question]:
    """Draw round(fraction x n) questions, from each category its share, in their old order.

    Args:
        questions: n questions.
        fraction: share to keep, in (0, 1].
        seed: the same seed draws the same questions on every machine.

    Raises:
        InvalidValueError: the fraction is outside (0, 1], or so small that no question is left.
    """
    if not 0 < fraction <= 1:
        raise InvalidValueError(f"fraction must lie in (0, 1], got {fraction!r}.")
    if fraction == 1 and questions:
        return questions
    total = round(fraction * len(questions))
    if total == 0:
        raise InvalidValueError(f"fraction {fraction!r} of {len(questions)} questions leaves none; use a larger one.")
    members = defaultdict(list)
    for index, question in enumerate(questions):
        members[question.category].append(index)
    kept = []
    for category, seats in largest_remainder({name: len(own) for name, own in members.items()}, total).items():
        order = generator("stratified", seed, category).permutation(len(members[category]))
        kept += [members[category][place] for place in order[:seats]]
    return pack(questions[index] for index in sorted(kept))


def image_places(images: Sequence[Hashable], count: int, seed: int) -> list[int]:
    """Return the places of all questions on `count` images, in ascending order; of all if there are no more images.

    Args:
        images: for each question, what tells its image from others.
        count: how many images to draw.
        seed: equal seeds draw equal images, if their order is the same.
    """
    different = list(dict.fromkeys(images))
    order = generator("images", seed).permutation(len(different))
    kept = {different[place] for place in order[:count]}
    return [place for place, image in enumerate(images) if image in kept]


def largest_remainder(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Share `total` seats in proportion to the sizes (Hamilton's method; the earlier name wins a tie)."""
    whole = sum(sizes.values())
    seats = {name: total * size // whole for name, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda name: -(total * sizes[name] % whole))
    for name in by_remainder[: total - sum(seats.values())]:
        seats[name] += 1
    return seats
