"""Motion blur: each pixel becomes a weighted mean of those along a line that starts in it.

The weights fall off like one half of a normal density, and the nearest counts most (as in ImageMagick's
`-motion-blur`, which ImageNet-C used).
"""

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.sums import BAND, Weights, add_row, fixed_weights, round_sums, start_sums
from robustlib.data.images import Pixels

Offsets = npt.NDArray[np.int64]


def blur_along(image: Pixels, radius: int, sigma: float, angle: float) -> Pixels:
    """Blur an image along a line; beyond the border its edge is repeated.

    Args:
        image: H x W x C.
        radius: half of the line's length in pixels.
        sigma: of the weights, in pixels.
        angle: of the line, in degrees, clockwise from the right.
    """
    weights = _trail(radius, sigma)
    steps = np.arange(weights.size)
    down = np.ceil(steps * math.sin(math.radians(angle)) - 0.5).astype(np.int64)
    right = np.ceil(steps * math.cos(math.radians(angle)) - 0.5).astype(np.int64)
    rows, columns = int(np.abs(down).max()), int(np.abs(right).max())
    padded = pad(image, rows, columns, False)
    offsets = (rows + down) * padded.shape[1] + (columns + right) * image.shape[2]
    return _sum_shifted(image, padded, offsets, weights)


@cache
def _trail(radius: int, sigma: float) -> Weights:
    distance = np.arange(2 * radius + 1)
    return fixed_weights(np.exp(-0.5 * (distance / sigma) ** 2), np.ones_like(distance))


@kernel
def _sum_shifted(image: Pixels, padded: Pixels, offsets: Offsets, weights: Weights) -> Pixels:
    height, width, channels = image.shape
    out = np.empty_like(image)
    lines = out.reshape(height, -1)
    stride, length, flat = padded.shape[1], width * channels, padded.reshape(-1)
    band = max(1, BAND // stride)
    sums = np.empty(band * stride, np.uint16)
    for top in range(0, height, band):
        count = min(band, height - top)
        part, start = sums[: (count - 1) * stride + length], top * stride
        start_sums(part, flat[start + offsets[0] :], weights[0], weights.size)
        for k in range(1, weights.size):
            add_row(part, flat[start + offsets[k] :], weights[k])
        for y in range(count):
            round_sums(part[y * stride :], lines[top + y])
    return out
