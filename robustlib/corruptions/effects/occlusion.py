"""Parts of the image hidden behind grey: one patch, or a grid of them."""

import math

import numpy as np

from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

GREY = 128
GRID_CELLS = 8  # along the shorter side


@effect
def center_occlusion(image: Pixels, rng: Stream, *, share: float) -> Pixels:
    """Hide `share` of the area in the middle, by a patch of the image's proportions."""
    height, width = _patch_size(image, share, aspect=1)
    return _hide(image, (image.shape[0] - height) // 2, (image.shape[1] - width) // 2, height, width)


@effect
def random_occlusion(image: Pixels, rng: Stream, *, share: float) -> Pixels:
    """Hide `share` of the area somewhere, by a patch up to 1.5 times as wide or as high as in proportion."""
    height, width = _patch_size(image, share, aspect=rng.uniform(2 / 3, 3 / 2))
    top, left = rng.below(image.shape[0] - height + 1), rng.below(image.shape[1] - width + 1)
    return _hide(image, top, left, height, width)


@effect
def grid_mask(image: Pixels, rng: Stream, *, share: float) -> Pixels:
    """Hide `share` of the area by squares in a regular grid that begins anywhere (after Chen et al. 2020)."""
    period = max(min(image.shape[:2]) / GRID_CELLS, 2)
    hidden = [(np.arange(size) / period + rng.uniform(0, 1)) % 1 < math.sqrt(share) for size in image.shape[:2]]
    out = image.copy()
    out[np.ix_(*hidden)] = GREY
    return out


def _patch_size(image: Pixels, share: float, aspect: float) -> tuple[int, int]:
    """Return height and width of a patch of `share` of the area, `aspect` times as wide as in proportion."""
    side = math.sqrt(share)
    return round(image.shape[0] * side / math.sqrt(aspect)), round(image.shape[1] * side * math.sqrt(aspect))


def _hide(image: Pixels, top: int, left: int, height: int, width: int) -> Pixels:
    out = image.copy()
    out[top : top + height, left : left + width] = GREY
    return out
