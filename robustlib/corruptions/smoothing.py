"""Gaussian smoothing of images, and of noise that is held in bytes."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.sums import BAND, Levels, Sums, Weights, add_pairs, fixed_weights, start_sums, store_sums
from robustlib.data.images import Pixels


def smooth_image(image: Pixels, sigma: float) -> Pixels:
    """Blur an image H x W x C; beyond the border its edge is repeated."""
    weights = normal_weights(sigma)
    out = np.empty_like(image)
    _smooth(pad(image, weights.size - 1, weights.size - 1, False), weights, image.shape[2], 8, out)
    return out


def smooth_finely(image: Pixels, sigma: float) -> Sums:
    """Blur like `smooth_image`, but keep fractions: the result is in units of 2**-8 of a level."""
    weights = normal_weights(sigma)
    out = np.empty(image.shape, np.uint16)
    _smooth(pad(image, weights.size - 1, weights.size - 1, False), weights, image.shape[2], 0, out)
    return out


def smooth_inside(image: Pixels, sigma: float, truncate: float) -> Sums:
    """Blur like `smooth_finely`, but only where the image itself has all that is needed.

    Returns:
        An array smaller by ``normal_weights(sigma, truncate).size - 1`` on each side.
    """
    weights = normal_weights(sigma, truncate)
    height, width, channels = image.shape
    border = 2 * (weights.size - 1)
    out = np.empty((height - border, width - border, channels), np.uint16)
    _smooth(image.reshape(height, -1).astype(np.uint16), weights, channels, 0, out)
    return out


@lru_cache(maxsize=64)  # elastic_transform's sigma follows the image's side
def normal_weights(sigma: float, truncate: float = 4.0) -> Weights:
    """Return the weights at distance 0, 1, 2, ..., cut off at ``truncate * sigma``; both sides together sum to 1."""
    distance = np.arange(int(truncate * sigma + 0.5) + 1)
    return fixed_weights(np.exp(-0.5 * (distance / sigma) ** 2), np.where(distance == 0, 1, 2))


@kernel
def _smooth(padded: Levels, weights: Weights, channels: int, shift: int, out: npt.NDArray[Any]) -> None:
    """Blur bands of rows, first down and then to the right; in between they are whole levels again."""
    height, radius, stride = out.shape[0], weights.size - 1, padded.shape[1]
    lines, flat = out.reshape(height, -1), padded.reshape(-1)
    band = max(1, BAND // stride)
    sums, rows = np.empty(band * stride, np.uint16), np.empty(band * stride, np.uint16)
    for top in range(0, height, band):
        count = min(band, height - top)
        size = count * stride
        _sum_line(sums[:size], flat[top * stride :], stride, weights)
        store_sums(sums, 8, rows[:size])
        _sum_line(sums[: size - 2 * radius * channels], rows, channels, weights)
        for y in range(count):
            store_sums(sums[y * stride :], shift, lines[top + y])


@kernel
def _sum_line(sums: Sums, line: Levels, step: int, weights: Weights) -> None:
    """Weight the levels of a line by their distance, in steps, from those that lie ``weights.size - 1`` steps in."""
    radius = weights.size - 1
    start_sums(sums, line[radius * step :], weights[0], radius // 2)
    for k in range(1, radius, 2):
        left, right = line[(radius - k) * step :], line[(radius + k) * step :]
        left_2, right_2 = line[(radius - k - 1) * step :], line[(radius + k + 1) * step :]
        add_pairs(sums, left, right, left_2, right_2, weights[k : k + 2])
