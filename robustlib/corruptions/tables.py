"""Distributions as tables of integers: a sample is one look-up of random bits, and equal on every platform.

A table of 2**16 entries holds the inverse cumulative distribution at the middle of each of 2**16 equal shares of
probability. For the normal distribution that is right to 4 sigma: a share of 6.1e-5 lies beyond, where 6.3e-5 is exact.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, pdtr

from robustlib.corruptions.kernel import kernel

QUANTILES = (np.arange(2**16) + 0.5) / 2**16


@cache
def normal_table(sigma: float) -> npt.NDArray[np.int16]:
    """Return the quantiles of a normal distribution, rounded; at 4.3 sigma they must still fit in int16."""
    table: npt.NDArray[np.int16] = np.rint(sigma * ndtri(QUANTILES)).astype(np.int16)
    table.flags.writeable = False
    return table


@cache
def photon_table(photons: int) -> npt.NDArray[np.uint32]:
    """Return alias tables (Walker 1977) of the light that is counted, one row for each of 256 true intensities.

    The count is a Poisson variable of mean ``photons * intensity / 255``. A row has 2**k columns of equal probability.
    Column j holds two outcomes as 8-bit intensities and, in 16 bits, the share of the first: ``share, first, second``
    from the top bit down.

    Args:
        photons: how many make full intensity, at most 255; higher counts are clipped to it.
    """
    counts = np.arange(photons + 1)
    levels = np.rint(255 * counts / photons).astype(np.uint32)
    columns = 1 << photons.bit_length()
    table = np.empty((256, columns), np.uint32)
    for intensity in range(256):
        below = pdtr(counts, photons * intensity / 255)
        below[-1] = 1
        share, alias = _alias(np.diff(below, prepend=0), columns)
        table[intensity] = share << 16 | levels[np.minimum(np.arange(columns), photons)] << 8 | levels[alias]
    table.flags.writeable = False
    return table


def _alias(probabilities: npt.NDArray[np.float64], columns: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.intp]]:
    """Return, for each column, the 16-bit share of its own outcome and the outcome that takes the rest (Vose 1991)."""
    weight = np.zeros(columns)
    weight[: len(probabilities)] = probabilities * columns
    alias = np.zeros(columns, np.intp)
    poor = [column for column in range(columns) if weight[column] < 1]
    rich = [column for column in range(columns) if weight[column] >= 1]
    while poor and rich:
        taker, giver = poor.pop(), rich[-1]
        alias[taker] = giver
        weight[giver] -= 1 - weight[taker]
        if weight[giver] < 1:
            poor.append(rich.pop())
    full = [*poor, *rich]
    alias[full], weight[full] = np.minimum(full, len(probabilities) - 1), 0
    return np.rint(weight * 65535).astype(np.uint32), alias


@kernel
def look_up(places: npt.NDArray[Any], table: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
    """Write the entries of a table at some places; no compiler makes vector code of it, so it is a loop of its own."""
    for i in range(values.size):
        values[i] = table[places[i]]
