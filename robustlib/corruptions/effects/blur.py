"""Blur: the light of a point is spread over its neighbourhood."""

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.motion import blur_along
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import smooth_image
from robustlib.corruptions.stream import Stream
from robustlib.corruptions.sums import Levels
from robustlib.data.images import Pixels

Slopes = npt.NDArray[np.int16]


@effect
def gaussian_blur(image: Pixels, rng: Stream, *, sigma: float) -> Pixels:
    """Convolve with a normal density of standard deviation `sigma` pixels."""
    return smooth_image(image, sigma)


@effect
def motion_blur(image: Pixels, rng: Stream, *, radius: int, sigma: float) -> Pixels:
    """Blur along a line of random direction, within 45 degrees of the horizontal."""
    return blur_along(image, radius, sigma, rng.uniform(-45, 45))


@effect
def defocus_blur(image: Pixels, rng: Stream, *, radius: int, softness: float) -> Pixels:
    """Average over a disc of `radius` pixels whose rim is softened by a normal density of `softness` pixels.

    To average the softened image over the hard disc comes to the same.
    """
    return _average_disc(_soften(pad(image, radius + 1, radius + 1, True), _rim_weight(softness)), _chords(radius))


def _rim_weight(softness: float) -> int:
    """Return what a pixel gives to each neighbour, in units of 1/256; farther ones get less than 1/1000."""
    neighbour = math.exp(-0.5 / softness**2)
    return round(256 * neighbour / (1 + 2 * neighbour))


@cache
def _chords(radius: int) -> npt.NDArray[np.int64]:
    """Return how far the disc reaches up and down at each column -radius .. radius."""
    columns = np.arange(-radius, radius + 1)
    reach: npt.NDArray[np.int64] = np.floor(np.sqrt(radius**2 - columns**2)).astype(np.int64)
    return reach


@kernel
def _soften(padded: Levels, weight: int) -> Slopes:
    """Blur by (weight, 256 - 2 weight, weight) both ways; the result is in quarters of a level, one pixel smaller."""
    out, row = np.empty((padded.shape[0] - 2, padded.shape[1] - 6), np.int16), np.empty(padded.shape[1], np.int32)
    side, centre = np.uint16(weight), np.uint16(256 - 2 * weight)
    for y in range(out.shape[0]):
        above, middle, below, target = padded[y], padded[y + 1], padded[y + 2], out[y]
        for x in range(row.size):
            row[x] = np.uint16(side * np.uint16(above[x] + below[x]) + centre * middle[x])
        for x in range(target.size):
            target[x] = np.int32(side * (row[x] + row[x + 6]) + centre * row[x + 3] + 8192) >> 14
    return out


@kernel
def _average_disc(rows: Slopes, chords: npt.NDArray[np.int64]) -> Pixels:
    """Slide the disc down: pixels enter at its lower rim and leave at its upper one."""
    radius = chords.size // 2
    height, width = rows.shape[0] - 2 * radius, rows.shape[1] // 3 - 2 * radius
    out = np.empty((height, width, 3), np.uint8)
    target = out.reshape(height, -1)
    sums, change = _sum_first_disc(rows, chords, width * 3), np.empty(width * 3, np.int16)
    scale = np.float32(1 / (4 * np.sum(2 * chords + 1)))
    for y in range(height):
        for x in range(sums.size):
            target[y, x] = sums[x] * scale + np.float32(0.5)
        if y < height - 1:
            _move_disc_down(sums, change, rows[y:], chords)
    return out


@kernel
def _sum_first_disc(rows: Slopes, chords: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int32]:
    radius, sums = chords.size // 2, np.zeros(width, np.int32)
    for column in range(chords.size):
        for y in range(radius - chords[column], radius + chords[column] + 1):
            for x in range(width):
                sums[x] += rows[y, column * 3 + x]
    return sums


@kernel
def _move_disc_down(
    sums: npt.NDArray[np.int32],
    change: Slopes,
    rows: Slopes,
    chords: npt.NDArray[np.int64],
) -> None:
    """Move the sums one row down: what they change by still fits in 16 bits, which is faster to add up."""
    radius = chords.size // 2
    change[:] = 0
    for column in range(chords.size):
        entering = rows[radius + 1 + chords[column], column * 3 :]
        leaving = rows[radius - chords[column], column * 3 :]
        for x in range(change.size):
            change[x] += np.int16(entering[x] - leaving[x])
    for x in range(sums.size):
        sums[x] += change[x]
