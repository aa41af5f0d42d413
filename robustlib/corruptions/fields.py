"""Random fields: white noise, smooth noise, and interpolation between their values."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.bits import fill
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.smoothing import Floats, normal_weights, smooth_inside
from robustlib.corruptions.tables import normal_table

NORMAL_UNIT = 2**12  # 4.3 sigma still fits in the int16 of a table


def normal_field(height: int, width: int, key: np.uint64) -> Floats:
    """Return independent standard normal numbers H x W."""
    return _look_up(height, width, normal_table(NORMAL_UNIT), np.float32(1 / NORMAL_UNIT), key)


def smooth_noise(height: int, width: int, sigma: float, truncate: float, key: np.uint64) -> Floats:
    """Return uniform noise of [-1, 1] convolved with a normal density of standard deviation `sigma` pixels.

    Where sigma is large, the noise is made on a grid of sigma / 4 pixels, with the same variance of the mean over an
    area, and interpolated.
    """
    spacing = max(1, int(sigma / 4))
    border = 2 * (normal_weights(sigma / spacing, truncate).size - 1)
    if spacing == 1:
        return smooth_inside(_uniform_field(height + border, width + border, key), sigma, truncate)
    rows, columns = (height - 1) // spacing + 2, (width - 1) // spacing + 2
    field = smooth_inside(_uniform_field(rows + border, columns + border, key), sigma / spacing, truncate)
    return enlarge(field, 1 / spacing, 1 / spacing, height, width, 1 / spacing)


@kernel
def _look_up(height: int, width: int, table: npt.NDArray[np.int16], unit: np.float32, key: np.uint64) -> Floats:
    field = np.empty(height * width, np.float32)
    words = np.empty(1024, np.uint64)
    bits = words.view(np.uint16)
    for start in range(0, field.size, bits.size):
        fill(words, key, start // 4)
        part = field[start : start + bits.size]
        for i in range(part.size):
            part[i] = table[bits[i]] * unit
    return field.reshape(height, width)


@kernel
def _uniform_field(height: int, width: int, key: np.uint64) -> Floats:
    field = np.empty(height * width, np.float32)
    words = np.empty(1024, np.uint64)
    bits = words.view(np.uint16)
    for start in range(0, field.size, bits.size):
        fill(words, key, start // 4)
        part = field[start : start + bits.size]
        for i in range(part.size):
            part[i] = (np.float32(bits[i]) - np.float32(32767.5)) * np.float32(2**-15)
    return field.reshape(height, width)


@kernel
def enlarge(field: Floats, down: float, right: float, height: int, width: int, scale: float) -> Floats:
    """Read a field at places (y * down, x * right), bilinearly, and multiply it by `scale`."""
    rows, columns = field.shape
    out, line = np.empty((height, width), np.float32), np.empty(columns, np.float32)
    lefts, shares = np.empty(width, np.int64), np.empty(width, np.float32)
    for x in range(width):
        lefts[x] = min(int(x * right), columns - 2)
        shares[x] = x * right - lefts[x]
    for y in range(height):
        top = min(int(y * down), rows - 2)
        upper, lower = np.float32(scale * (1 - (y * down - top))), np.float32(scale * (y * down - top))
        for x in range(columns):
            line[x] = upper * field[top, x] + lower * field[top + 1, x]
        for x in range(width):
            left = lefts[x]
            out[y, x] = line[left] + shares[x] * (line[left + 1] - line[left])
    return out
