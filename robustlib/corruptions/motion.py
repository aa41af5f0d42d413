"""Motion blur: each pixel becomes a weighted mean of those along a line that starts in it.

The weights fall off like one half of a normal density, the newest position counts most (as in ImageMagick's
`-motion-blur`, which ImageNet-C used).
"""

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.smoothing import Floats, scale_row

Offsets = npt.NDArray[np.int64]


@cache
def trail_weights(radius: int, sigma: float) -> Floats:
    """Return the weights of the 2 * radius + 1 positions along the line."""
    weights = np.exp(-0.5 * (np.arange(2 * radius + 1) / sigma) ** 2)
    result: Floats = (weights / weights.sum()).astype(np.float32)
    result.flags.writeable = False
    return result


def trail_offsets(length: int, angle: float) -> Offsets:
    """Return the whole pixels (down, right) nearest to steps of 1 along a line; `angle` in degrees, clockwise."""
    steps = np.arange(length)
    down, right = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    return np.stack([np.ceil(steps * down - 0.5), np.ceil(steps * right - 0.5)], axis=1).astype(np.int64)


def blur_along(image: npt.NDArray[Any], radius: int, sigma: float, angle: float, rounding: float) -> npt.NDArray[Any]:
    """Blur an image H x W x C along a line.

    Args:
        image: integers or floats; the result has the same type.
        radius: half of the line's length in pixels.
        sigma: of the weights, in pixels.
        angle: of the line, in degrees.
        rounding: added to the result: 0.5 for integers, else 0.
    """
    weights = trail_weights(radius, sigma)
    offsets = trail_offsets(weights.size, angle)
    margin = int(np.abs(offsets).max())
    out = np.empty_like(image)
    padded = pad(image, margin, margin, False)
    _sum_shifted(padded, margin, offsets, weights, np.float32(rounding), out)
    return out


@kernel
def _sum_shifted(
    padded: npt.NDArray[Any],
    margin: int,
    offsets: Offsets,
    weights: Floats,
    rounding: np.float32,
    out: npt.NDArray[Any],
) -> None:
    channels = out.shape[2]
    rows = out.reshape(out.shape[0], -1)
    sums = np.zeros(rows.shape[1], np.float32)
    for y in range(rows.shape[0]):
        scale_row(sums, padded[y + margin, margin * channels :], weights[0])
        for k in range(1, weights.size):
            source = padded[y + margin + offsets[k, 0], (margin + offsets[k, 1]) * channels :]
            add_row(sums, source, weights[k])
        for x in range(sums.size):
            rows[y, x] = sums[x] + rounding


@kernel
def add_row(sums: Floats, row: npt.NDArray[Any], weight: np.float32) -> None:
    """Add a weighted row to the sums."""
    for x in range(sums.size):
        sums[x] += weight * np.float32(row[x])
