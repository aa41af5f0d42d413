"""Motion blur: each pixel becomes a weighted mean of those along a line that starts in it.

The weights fall off like one half of a normal density, and the nearest counts most (as in ImageMagick's
`-motion-blur`, which ImageNet-C used).
"""

import math
from functools import cache

import numpy as np

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.sums import BAND, Weights, add_rows, fixed_weights, start_sums, store_sums
from robustlib.data.images import Pixels


def blur_along(image: Pixels, radius: int, sigma: float, angle: float) -> Pixels:
    """Blur an image along a line; beyond the border its edge is repeated.

    Args:
        image: H x W x C.
        radius: half of the line's length in pixels.
        sigma: of the weights, in pixels.
        angle: of the line, in degrees, clockwise from the right.
    """
    return _sum_shifted(image, math.sin(math.radians(angle)), math.cos(math.radians(angle)), _trail(radius, sigma))


@cache
def _trail(radius: int, sigma: float) -> Weights:
    distance = np.arange(2 * radius + 1)
    return fixed_weights(np.exp(-0.5 * (distance / sigma) ** 2), np.ones_like(distance))


@kernel
def _sum_shifted(image: Pixels, down: float, right: float, weights: Weights) -> Pixels:
    """Weight the pixels at steps of 1 in a direction, each step rounded to whole pixels."""
    height, width, channels = image.shape
    steps = np.arange(weights.size)
    rows = np.ceil(steps * down - 0.5).astype(np.int64)
    columns = np.ceil(steps * right - 0.5).astype(np.int64)
    above, left = np.abs(rows).max(), np.abs(columns).max()
    padded = pad(image, above, left, False)
    out = np.empty_like(image)
    lines, flat, stride = out.reshape(height, -1), padded.reshape(-1), padded.shape[1]
    offsets = (above + rows) * stride + (left + columns) * channels
    band = max(1, BAND // stride)
    sums = np.empty(band * stride, np.uint16)
    for top in range(0, height, band):
        count = min(band, height - top)
        part, start = sums[: (count - 1) * stride + width * channels], top * stride
        start_sums(part, flat[start + offsets[0] :], weights[0], weights.size // 2)
        for k in range(1, weights.size - 1, 2):
            add_rows(part, flat[start + offsets[k] :], flat[start + offsets[k + 1] :], weights[k : k + 2])
        for y in range(count):
            store_sums(part[y * stride :], 8, lines[top + y])
    return out
