"""What is done against damage before a model sees an image: filters, to be asked about as treatments in a sweep.

All of them compute in whole numbers, so that their bytes are the same everywhere.
"""

from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Weights = npt.NDArray[np.int64]

ONE = 2**16  # the weight of a pixel for itself
FARTHEST = 3 * 255  # the largest difference between two colours


@effect
def median(image: Pixels, rng: Stream, *, side: int) -> Pixels:
    """Give each value the median of a square of `side` (odd) pixels around it; the borders are repeated."""
    return np.asarray(cv2.medianBlur(image, side), np.uint8)


@effect
def nl_means(image: Pixels, rng: Stream, *, strength: float, patch: int, window: int) -> Pixels:
    """Average pixels whose patches look alike: non-local means (Buades, Coll and Morel 2005), by OpenCV.

    Args:
        image: H x W x 3.
        rng: nothing is drawn.
        strength: how unlike patches may be, in grey levels; OpenCV's `h`.
        patch: side of a patch, odd.
        window: side of the square around a pixel in which patches are looked for, odd.
    """
    return np.asarray(cv2.fastNlMeansDenoising(image, None, strength, patch, window), np.uint8)


@effect
def bilateral(image: Pixels, rng: Stream, *, radius: int, space: float, color: float) -> Pixels:
    """Average a disc of pixels, those near and of like colour above all: the bilateral filter.

    OpenCV's `bilateralFilter`, but in whole numbers, as that rounds differently on different processors. It smooths
    the blocks and ripples that JPEG leaves in even areas and keeps edges.

    Args:
        image: H x W x 3; its borders are mirrored.
        rng: nothing is drawn.
        radius: of the disc, in pixels.
        space: standard deviation of the weight by distance, in pixels.
        color: standard deviation of the weight by difference of colour, the sum over channels, in grey levels.
    """
    places, weights = _weights(radius, space, color)
    return _average(pad(image, radius, radius, True), radius, places, weights)


@lru_cache(maxsize=16)
def _weights(radius: int, space: float, color: float) -> tuple[Weights, Weights]:
    """Return the n places of the disc (n x 2, from the centre), and n x 766 weights by difference of colour."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    inside = np.hypot(y, x) <= radius
    distances = (y**2 + x**2)[inside] / space**2
    differences = (np.arange(FARTHEST + 1) / color) ** 2
    weights = np.rint(ONE * np.exp(-(distances[:, None] + differences) / 2)).astype(np.int64)
    return np.stack([y[inside], x[inside]], axis=1), weights


@kernel
def _average(padded: npt.NDArray[np.uint16], radius: int, places: Weights, weights: Weights) -> Pixels:
    height, width = padded.shape[0] - 2 * radius, padded.shape[1] // 3 - 2 * radius
    out = np.empty((height, width, 3), np.uint8)
    sums = np.empty((width, 4), np.int64)
    for y in range(height):
        sums[:] = 0
        middle = padded[y + radius, 3 * radius :]
        for place in range(len(places)):
            row = padded[y + radius + places[place, 0], 3 * (radius + places[place, 1]) :]
            table = weights[place]
            for x in range(width):
                red, green, blue = np.int64(row[3 * x]), np.int64(row[3 * x + 1]), np.int64(row[3 * x + 2])
                weight = table[
                    abs(red - middle[3 * x]) + abs(green - middle[3 * x + 1]) + abs(blue - middle[3 * x + 2])
                ]
                sums[x, 0] += weight * red
                sums[x, 1] += weight * green
                sums[x, 2] += weight * blue
                sums[x, 3] += weight
        for x in range(width):
            for channel in range(3):
                out[y, x, channel] = (sums[x, channel] + sums[x, 3] // 2) // sums[x, 3]
    return out
