"""Sensor noise: every value of every channel is disturbed on its own.

The kernels work in blocks that stay in the first-level cache: random bits, then one table look-up a value (which no
compiler vectorises), then arithmetic (which it does).
"""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.bits import fill
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.corruptions.tables import look_up, normal_table, photon_table
from robustlib.data.images import Pixels

BLOCK = 4096
ONE = 2**13  # 1.0 in the fixed point of speckle's factors: 4.3 * 0.6 sigma still fits in int16


@effect
def gaussian_noise(image: Pixels, rng: Stream, *, sigma: float) -> Pixels:
    """Add normal noise of standard deviation `sigma` on [0, 1] (low light)."""
    return _disturb(image, normal_table(sigma * 255), rng.key(), False)


@effect
def speckle_noise(image: Pixels, rng: Stream, *, sigma: float) -> Pixels:
    """Multiply by 1 plus normal noise of standard deviation `sigma`."""
    return _disturb(image, normal_table(sigma * ONE), rng.key(), True)


@effect
def shot_noise(image: Pixels, rng: Stream, *, photons: int) -> Pixels:
    """Count light as Poisson variables, `photons` of them at full intensity (Hendrycks and Dietterich 2019)."""
    return _count_photons(image, photon_table(photons).reshape(-1), photons.bit_length(), rng.key())


@effect
def poisson_noise(image: Pixels, rng: Stream, *, mean: float) -> Pixels:
    """Add Poisson variables of a mean that does not depend on the image, on [0, 1], and clip.

    One count is a whole unit of intensity already, so a value stays as it is with probability exp(-mean), else it
    becomes 255.
    """
    return _set_values(image, 0, _share(1 - np.exp(-mean)), rng.key())


@effect
def impulse_noise(image: Pixels, rng: Stream, *, amount: float) -> Pixels:
    """Set a share of the values to 0 or 255, half each (salt and pepper)."""
    return _set_values(image, _share(amount / 2), _share(amount / 2), rng.key())


def _share(probability: float) -> int:
    return round(probability * 2**16)


@kernel
def _disturb(image: Pixels, table: npt.NDArray[np.int16], key: np.uint64, is_factor: bool) -> Pixels:
    """Draw noise for each value from a table, and add it; or multiply by 1 plus the noise, in units of 1 / ONE."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    words, noise = np.empty(BLOCK // 4, np.uint64), np.empty(BLOCK, np.int16)
    for start in range(0, source.size, BLOCK):
        fill(words, key, start // 4)
        look_up(words.view(np.uint16), table, noise)
        values, results = source[start : start + BLOCK], target[start : start + BLOCK]
        if is_factor:
            _multiply(values, noise, results)
        else:
            _add(values, noise, results)
    return out


@kernel
def _add(values: Pixels, noise: npt.NDArray[np.int16], results: Pixels) -> None:
    for i in range(values.size):
        results[i] = min(max(np.int16(values[i] + noise[i]), np.int16(0)), np.int16(255))


@kernel
def _multiply(values: Pixels, noise: npt.NDArray[np.int16], results: Pixels) -> None:
    for i in range(values.size):
        product = np.int32(values[i] * (noise[i] + ONE) + ONE // 2) >> 13
        results[i] = min(max(product, 0), 255)


@kernel
def _count_photons(image: Pixels, table: npt.NDArray[np.uint32], column_bits: int, key: np.uint64) -> Pixels:
    """Take the upper bits of a random number for the column of the table, the lower 16 for the choice within it."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    words = np.empty(BLOCK // 2, np.uint64)
    bits, cells = words.view(np.uint32), np.empty(BLOCK, np.uint32)
    for start in range(0, source.size, BLOCK):
        fill(words, key, start // 2)
        values, results = source[start : start + BLOCK], target[start : start + BLOCK]
        for i in range(values.size):
            cells[i] = table[np.uint32(values[i]) << column_bits | bits[i] >> (32 - column_bits)]
        for i in range(values.size):
            share, first, second = cells[i] >> 16, np.uint8(cells[i] >> 8), np.uint8(cells[i])
            results[i] = first if np.uint16(bits[i]) < np.uint16(share) else second
    return out


@kernel
def _set_values(image: Pixels, black: int, white: int, key: np.uint64) -> Pixels:
    """Set values to 0 or 255 with probabilities in units of 2**-16."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    words = np.empty(BLOCK // 4, np.uint64)
    bits = words.view(np.uint16)
    for start in range(0, source.size, BLOCK):
        fill(words, key, start // 4)
        values, results = source[start : start + BLOCK], target[start : start + BLOCK]
        for i in range(values.size):
            value = 255 if bits[i] < black + white else values[i]
            results[i] = 0 if bits[i] < black else value
    return out
