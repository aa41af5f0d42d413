"""Gaussian smoothing of images and of random fields.

Everything works on rows of ``width * channels`` numbers: neighbours of one channel lie ``channels`` apart, and every
inner loop runs over contiguous memory. The border is made beforehand by `pad`.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.data.images import Pixels

Floats = npt.NDArray[np.float32]


@cache
def gaussian_weights(sigma: float, truncate: float = 4.0) -> Floats:
    """Return the weights at distance 0, 1, 2, ..., cut off at ``truncate * sigma``; both sides together sum to 1.

    A last weight of zero makes the number of distances beyond 0 even, because the kernel takes them in twos.
    """
    distance = np.arange(int(truncate * sigma + 0.5) + 1)
    weights = np.exp(-0.5 * (distance / sigma) ** 2)
    weights /= 2 * weights.sum() - weights[0]
    result: Floats = np.append(weights, np.zeros(1 - weights.size % 2)).astype(np.float32)
    result.flags.writeable = False
    return result


def smooth_image(image: Pixels, sigma: float) -> Pixels:
    """Blur an image H x W x 3; beyond the border its edge is repeated."""
    weights = gaussian_weights(sigma)
    out = np.empty_like(image)
    padded = pad(image, weights.size - 1, weights.size - 1, False)
    smooth_rows(padded, weights, 3, np.float32(0.5), out.reshape(image.shape[0], -1))
    return out


def smooth_field(field: Floats, sigma: float) -> Floats:
    """Blur a field H x W; beyond the border its edge is repeated."""
    weights = gaussian_weights(sigma)
    out = np.empty_like(field)
    padded = pad(field[..., None], weights.size - 1, weights.size - 1, False)
    smooth_rows(padded, weights, 1, np.float32(0), out)
    return out


@kernel
def smooth_rows(
    padded: npt.NDArray[Any], weights: Floats, channels: int, rounding: np.float32, out: npt.NDArray[Any]
) -> None:
    """Blur the part of rows that is not border, and add `rounding`: 0.5 where integers come out, else 0."""
    radius, length = weights.size - 1, out.shape[1]
    column_sums, sums = np.empty(padded.shape[1], np.float32), np.empty(length, np.float32)
    for y in range(out.shape[0]):
        scale_row(column_sums, padded[y + radius], weights[0])
        for k in range(1, radius, 2):
            above, below = padded[y + radius - k], padded[y + radius + k]
            above_2, below_2 = padded[y + radius - k - 1], padded[y + radius + k + 1]
            add_rows(column_sums, above, below, above_2, below_2, weights[k : k + 2])
        middle = radius * channels
        scale_row(sums, column_sums[middle : middle + length], weights[0])
        for k in range(1, radius, 2):
            left, right = column_sums[middle - k * channels :], column_sums[middle + k * channels :]
            left_2, right_2 = column_sums[middle - (k + 1) * channels :], column_sums[middle + (k + 1) * channels :]
            add_rows(sums, left, right, left_2, right_2, weights[k : k + 2])
        for x in range(length):
            out[y, x] = sums[x] + rounding


@kernel
def scale_row(sums: Floats, row: npt.NDArray[Any], weight: np.float32) -> None:
    """Set the sums to a weighted row."""
    for x in range(sums.size):
        sums[x] = weight * np.float32(row[x])


@kernel
def add_rows(
    sums: Floats, a: npt.NDArray[Any], b: npt.NDArray[Any], c: npt.NDArray[Any], d: npt.NDArray[Any], weights: Floats
) -> None:
    """Add two weighted pairs of rows."""
    first, second = weights[0], weights[1]
    for x in range(sums.size):
        near = np.float32(a[x]) + np.float32(b[x])
        far = np.float32(c[x]) + np.float32(d[x])
        sums[x] += first * near + second * far
