"""Weighted sums of shifted bytes in 16-bit arithmetic, on which all blurs of images are built.

A blur of an image that lies flat in memory is a sum of the same memory at other offsets, times weights. Weights are in
units of 2**-15 and sums in units of 2**-8 of a grey level, so they fit in 16 bits and a vector holds as many as it can.
A weight is applied in two parts, its upper 8 and its lower 7 bits, because a product must fit in 16 bits too. What the
lower part loses is half a unit on average; `start_sums` adds it beforehand.

The loops are kept this plain, one array written and few read, because then the compiler makes vector code of them.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel
from robustlib.data.images import Pixels

Sums = npt.NDArray[np.uint16]
Weights = npt.NDArray[np.uint16]

ONE = 2**15
BAND = 12_000  # values that are worked on at once: they and what they need stay in the first-level cache


def fixed_weights(weights: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> Weights:
    """Return weights in units of 2**-15 that sum to 1 exactly, if weight k is used ``counts[k]`` times.

    The rounding error goes to the first, which must be used once.
    """
    fixed = np.rint(weights / (weights * counts).sum() * ONE).astype(np.int64)
    fixed[0] += ONE - (fixed * counts).sum()
    result: Weights = fixed.astype(np.uint16)
    result.flags.writeable = False
    return result


@kernel
def start_sums(sums: Sums, row: Pixels, weight: np.uint16, terms: int) -> None:
    """Set the sums to a weighted row; `terms` is how many rows or pairs there will be in all."""
    upper, lower = np.uint16(weight >> 7), np.uint16(weight & 127)
    lost = np.uint16(terms // 2)
    for x in range(sums.size):
        value = np.uint16(row[x])
        sums[x] = np.uint16(value * upper) + np.uint16(np.uint16(value * lower) >> np.uint16(7)) + lost


@kernel
def add_row(sums: Sums, row: Pixels, weight: np.uint16) -> None:
    """Add a weighted row."""
    upper, lower = np.uint16(weight >> 7), np.uint16(weight & 127)
    for x in range(sums.size):
        value = np.uint16(row[x])
        sums[x] += np.uint16(value * upper) + np.uint16(np.uint16(value * lower) >> np.uint16(7))


@kernel
def add_pair(sums: Sums, first: Pixels, second: Pixels, weight: np.uint16) -> None:
    """Add two rows of one weight."""
    upper, lower = np.uint16(weight >> 7), np.uint16(weight & 127)
    for x in range(sums.size):
        value = np.uint16(np.uint16(first[x]) + np.uint16(second[x]))
        sums[x] += np.uint16(value * upper) + np.uint16(np.uint16(value * lower) >> np.uint16(7))


@kernel
def round_sums(sums: Sums, out: Pixels) -> None:
    """Write the nearest bytes."""
    for x in range(out.size):
        out[x] = np.uint16(sums[x] + np.uint16(128)) >> np.uint16(8)
