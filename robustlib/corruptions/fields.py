"""Random fields: white noise, smooth noise, and interpolation between their values."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.bits import fill
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.smoothing import normal_weights, smooth_inside
from robustlib.corruptions.tables import look_up, normal_table
from robustlib.data.images import Pixels

Floats = npt.NDArray[np.float32]

NORMAL_BYTE = 30  # standard deviation of normal noise in bytes: 4.2 of them fit on either side of 128
NORMAL_UNIT = 2**12  # standard deviation of normal noise in int16: 4.3 of them fit on either side of 0
UNIFORM_CENTRE = 127.5 * 2**8  # of smoothed uniform bytes


def normal_field(height: int, width: int, key: np.uint64) -> Floats:
    """Return independent standard normal numbers H x W."""
    return _draw(height, width, normal_table(NORMAL_UNIT), key) * np.float32(1 / NORMAL_UNIT)


def normal_bytes(height: int, width: int, key: np.uint64) -> Pixels:
    """Return independent normal bytes H x W x 1 of mean 128 and standard deviation `NORMAL_BYTE`."""
    return _draw(height, width, _normal_byte_table(), key)[..., None]


def smooth_noise(height: int, width: int, sigma: float, truncate: float, key: np.uint64) -> Floats:
    """Return uniform noise of -1 .. 1 convolved with a normal density of standard deviation `sigma` pixels.

    Where sigma is large, the noise is made on a grid of sigma / 4 pixels, with the same variance of the mean over an
    area, and interpolated.
    """
    spacing = max(1, int(sigma / 4))
    rows, columns = -(-(height - 1) // spacing) + 1, -(-(width - 1) // spacing) + 1
    border = 2 * (normal_weights(sigma / spacing, truncate).size - 1)
    noise = _random_bytes(rows + border, columns + border, key)
    sums = smooth_inside(noise, sigma / spacing, truncate)[..., 0]
    field = (sums - np.float32(UNIFORM_CENTRE)) * np.float32(2**-15 / spacing)
    return field if spacing == 1 else enlarge(field, 1 / spacing, 1 / spacing, height, width)


def _random_bytes(height: int, width: int, key: np.uint64) -> Pixels:
    words = np.empty(height * width // 8 + 1, np.uint64)
    fill(words, key, 0)
    return words.view(np.uint8)[: height * width].reshape(height, width, 1)


@cache
def _normal_byte_table() -> Pixels:
    table = np.clip(normal_table(NORMAL_BYTE) + 128, 0, 255).astype(np.uint8)
    table.flags.writeable = False
    return table


@kernel
def _draw(height: int, width: int, table: npt.NDArray[Any], key: np.uint64) -> npt.NDArray[Any]:
    field = np.empty(height * width, table.dtype)
    words = np.empty(1024, np.uint64)
    bits = words.view(np.uint16)
    for start in range(0, field.size, bits.size):
        fill(words, key, start // 4)
        look_up(bits, table, field[start : start + bits.size])
    return field.reshape(height, width)


@kernel
def enlarge(field: Floats, down: float, right: float, height: int, width: int) -> Floats:
    """Read a field at places (y * down, x * right), bilinearly."""
    rows, columns = field.shape
    out, line = np.empty((height, width), np.float32), np.empty(columns, np.float32)
    lefts, shares = np.empty(width, np.uint32), np.empty(width, np.float32)
    for x in range(width):
        lefts[x] = min(int(x * right), columns - 2)
        shares[x] = x * right - lefts[x]
    for y in range(height):
        top = min(int(y * down), rows - 2)
        share, upper, lower, target = np.float32(y * down - top), field[top], field[top + 1], out[y]
        for x in range(columns):
            line[x] = upper[x] + share * (lower[x] - upper[x])
        for x in range(width):
            left = np.uintp(lefts[x])
            target[x] = line[left] + shares[x] * (line[left + np.uintp(1)] - line[left])
    return out
