"""How the scene is framed: mirrored, or cropped. A crop is smaller than its image."""

import math

import numpy as np

from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels


@effect
def flip_horizontal(image: Pixels, rng: Stream) -> Pixels:
    """Exchange left and right."""
    return _mirror(image)


@effect
def flip_vertical(image: Pixels, rng: Stream) -> Pixels:
    """Exchange top and bottom."""
    return image[::-1].copy()


@effect
def crop_center(image: Pixels, rng: Stream, *, area: float) -> Pixels:
    """Keep a share of the area in the middle, in the image's proportions."""
    height, width = _crop_size(image, area)
    top, left = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
    return image[top : top + height, left : left + width].copy()


@effect
def crop_random(image: Pixels, rng: Stream, *, area: float) -> Pixels:
    """Keep a share of the area somewhere, in the image's proportions."""
    height, width = _crop_size(image, area)
    left, top = rng.below(image.shape[1] - width + 1), rng.below(image.shape[0] - height + 1)
    return image[top : top + height, left : left + width].copy()


def _crop_size(image: Pixels, area: float) -> tuple[int, int]:
    height, width = (max(1, round(side * math.sqrt(area))) for side in image.shape[:2])
    return height, width


@kernel
def _mirror(image: Pixels) -> Pixels:
    out = np.empty_like(image)
    last = image.shape[1] - 1
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for channel in range(3):
                out[y, x, channel] = image[y, last - x, channel]
    return out
