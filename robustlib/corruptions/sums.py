"""Weighted sums in 16-bit arithmetic, on which all blurs of images are built.

A blur of an image that lies flat in memory is a sum of the same memory at other offsets, times weights. The memory
holds grey levels in 16 bits, weights are in units of 2**-14 and sums in units of 2**-8 of a level: so they all fit in
16 bits, and a vector holds as many as it can. A weight is applied in two parts, its upper 8 and its lower 6 bits,
because a product must fit in 16 bits too. What the lower part loses is half a unit on average; `start_sums` adds it
beforehand.

Loops are this plain, one array written and few read, because then the compiler makes vector code of them.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel

Sums = npt.NDArray[np.uint16]
Levels = npt.NDArray[np.uint16]
Weights = npt.NDArray[np.uint16]

ONE = 2**14
LOW_BITS = np.uint16(6)
LOW_MASK = np.uint16(2**6 - 1)
BAND = 8192  # values that are worked on at once: they and what they need stay in the first-level cache


def fixed_weights(weights: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> Weights:
    """Return weights in units of 2**-14 that sum to 1 exactly, if weight k is used ``counts[k]`` times.

    The rounding error goes to the first, which must be used once. A weight of zero may be added at the end, because all
    but the first are used in twos.
    """
    fixed = np.rint(weights / (weights * counts).sum() * ONE).astype(np.int64)
    fixed[0] += ONE - (fixed * counts).sum()
    result: Weights = np.append(fixed, np.zeros(1 - fixed.size % 2)).astype(np.uint16)
    result.flags.writeable = False
    return result


@kernel
def start_sums(sums: Sums, row: Levels, weight: np.uint16, terms: int) -> None:
    """Set the sums to a weighted row; `terms` is how many times two rows or pairs will be added."""
    upper, lower, lost = weight >> LOW_BITS, weight & LOW_MASK, np.uint16((terms + 1) // 2)
    for x in range(sums.size):
        sums[x] = _weigh(row[x], upper) + (_weigh(row[x], lower) >> LOW_BITS) + lost


@kernel
def add_rows(sums: Sums, first: Levels, second: Levels, weights: Weights) -> None:
    """Add two rows, each with its weight."""
    upper, lower = weights[0] >> LOW_BITS, weights[0] & LOW_MASK
    upper_2, lower_2 = weights[1] >> LOW_BITS, weights[1] & LOW_MASK
    for x in range(sums.size):
        high = np.uint16(_weigh(first[x], upper) + _weigh(second[x], upper_2))
        low = np.uint16(_weigh(first[x], lower) + _weigh(second[x], lower_2))
        sums[x] += high + (low >> LOW_BITS)


@kernel
def add_pairs(sums: Sums, a: Levels, b: Levels, c: Levels, d: Levels, weights: Weights) -> None:
    """Add two pairs of rows, each pair with its weight."""
    upper, lower = weights[0] >> LOW_BITS, weights[0] & LOW_MASK
    upper_2, lower_2 = weights[1] >> LOW_BITS, weights[1] & LOW_MASK
    for x in range(sums.size):
        first, second = np.uint16(a[x] + b[x]), np.uint16(c[x] + d[x])
        high = np.uint16(_weigh(first, upper) + _weigh(second, upper_2))
        low = np.uint16(_weigh(first, lower) + _weigh(second, lower_2))
        sums[x] += high + (low >> LOW_BITS)


@kernel
def _weigh(level: np.uint16, weight: np.uint16) -> np.uint16:
    """Multiply in 16 bits; numba alone would widen to 64."""
    return np.uint16(level * weight)


@kernel
def store_sums(sums: Sums, shift: int, out: npt.NDArray[Any]) -> None:
    """Write the sums divided by 2**shift and rounded: 8 makes levels of them, 0 leaves them as they are."""
    places, half = np.uint16(shift), np.uint16((1 << shift) >> 1)
    for x in range(out.size):
        out[x] = np.uint16(sums[x] + half) >> places
