"""Gaussian smoothing: of images in 16-bit arithmetic, of random fields in floats."""

from functools import cache

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.sums import BAND, Sums, Weights, add_pair, fixed_weights, round_sums, start_sums
from robustlib.data.images import Pixels

Floats = npt.NDArray[np.float32]


def smooth_image(image: Pixels, sigma: float) -> Pixels:
    """Blur an image H x W x C; beyond the border its edge is repeated."""
    weights = _byte_weights(sigma)
    return _smooth_bytes(image, pad(image, weights.size - 1, weights.size - 1, False), weights)


@cache
def normal_weights(sigma: float, truncate: float = 4.0) -> npt.NDArray[np.float64]:
    """Return the weights at distance 0, 1, 2, ..., cut off at ``truncate * sigma``; both sides together sum to 1."""
    distance = np.arange(int(truncate * sigma + 0.5) + 1)
    weights: npt.NDArray[np.float64] = np.exp(-0.5 * (distance / sigma) ** 2)
    return weights / (2 * weights.sum() - weights[0])


@cache
def _byte_weights(sigma: float) -> Weights:
    weights = normal_weights(sigma)
    return fixed_weights(weights, np.where(np.arange(weights.size) == 0, 1, 2))


@kernel
def _smooth_bytes(image: Pixels, padded: Pixels, weights: Weights) -> Pixels:
    """Blur bands of rows, first down and then to the right; in between they are bytes again."""
    height, channels = image.shape[0], image.shape[2]
    out = np.empty_like(image)
    lines, flat = out.reshape(height, -1), padded.reshape(-1)
    radius, stride = weights.size - 1, padded.shape[1]
    band = max(1, BAND // stride)
    sums, rows = np.empty(band * stride, np.uint16), np.empty(band * stride, np.uint8)
    for top in range(0, height, band):
        count = min(band, height - top)
        size = count * stride
        _sum_line(sums[:size], flat[top * stride :], stride, weights)
        round_sums(sums, rows[:size])
        _sum_line(sums[: size - 2 * radius * channels], rows, channels, weights)
        for y in range(count):
            round_sums(sums[y * stride :], lines[top + y])
    return out


@kernel
def _sum_line(sums: Sums, line: Pixels, step: int, weights: Weights) -> None:
    """Weight the bytes of a line by their distance, in steps, from those that lie ``weights.size - 1`` steps in."""
    start = (weights.size - 1) * step
    start_sums(sums, line[start:], weights[0], weights.size)
    for k in range(1, weights.size):
        add_pair(sums, line[start - k * step :], line[start + k * step :], weights[k])


def smooth_field(field: Floats, sigma: float) -> Floats:
    """Blur a field H x W; beyond the border its edge is repeated."""
    radius = normal_weights(sigma).size - 1
    return smooth_inside(pad(field[..., None], radius, radius, False), sigma)


def smooth_inside(field: Floats, sigma: float, truncate: float = 4.0) -> Floats:
    """Blur a field and return the part whose neighbourhood it holds: less the radius of the weights on each side."""
    return _smooth_floats(field, normal_weights(sigma, truncate).astype(np.float32))


@kernel
def _smooth_floats(field: Floats, weights: Floats) -> Floats:
    """Blur bands of rows, first down and then to the right."""
    radius, stride, flat = weights.size - 1, field.shape[1], field.reshape(-1)
    out = np.empty((field.shape[0] - 2 * radius, stride - 2 * radius), np.float32)
    band = max(1, BAND // 2 // stride)
    rows, sums = np.empty(band * stride, np.float32), np.empty(band * stride, np.float32)
    for top in range(0, out.shape[0], band):
        count = min(band, out.shape[0] - top)
        _smooth_line(rows[: count * stride], flat[top * stride :], stride, weights)
        _smooth_line(sums[: count * stride - 2 * radius], rows, 1, weights)
        for y in range(count):
            target, line = out[top + y], sums[y * stride :]
            for x in range(target.size):
                target[x] = line[x]
    return out


@kernel
def _smooth_line(sums: Floats, line: Floats, step: int, weights: Floats) -> None:
    """Weight the numbers of a line by their distance, in steps, from those that lie ``weights.size - 1`` steps in."""
    start = (weights.size - 1) * step
    centre = line[start:]
    for x in range(sums.size):
        sums[x] = weights[0] * centre[x]
    for k in range(1, weights.size):
        _add_floats(sums, line[start - k * step :], line[start + k * step :], weights[k])


@kernel
def _add_floats(sums: Floats, first: Floats, second: Floats, weight: np.float32) -> None:
    for x in range(sums.size):
        sums[x] += weight * (first[x] + second[x])
