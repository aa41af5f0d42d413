"""Percentile intervals by the cluster bootstrap: whole images are drawn with replacement, never single questions.

Questions on one image are right or wrong together; drawing them one by one would understate every interval. The
percentile method is used because it stays defined when all values are equal, where bias-corrected methods divide by 0.
"""

from collections.abc import Callable
from functools import lru_cache
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.metrics.arrays import Array, ratio
from robustlib.seeding import generator

_BOUNDS = (0.025, 0.975)


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    """The 2.5th percentile."""
    high: float
    """The 97.5th percentile."""


class ClusterDraws(NamedTuple):
    """Resamples of whole clusters, to be shared by all statistics of the same rows.

    Statistics computed from the same draws are paired: their difference has the interval of a paired difference.
    """

    member: NDArray[np.intp]
    """n: the cluster that each row belongs to, as an index into the sorted distinct clusters."""
    counts: Array
    """resamples x clusters: how often each cluster was drawn. A product with sums per cluster resamples the sum."""

    def sums(self, values: ArrayLike) -> Array:
        """Return, for every resample, the sum of the values over its rows.

        Args:
            values: n numbers, or n x m for m columns at once.

        Returns:
            resamples, or resamples x m.
        """
        columns = np.asarray(values, dtype=np.float64).T
        clusters = self.counts.shape[1]
        totals = [np.bincount(self.member, column, minlength=clusters) for column in np.atleast_2d(columns)]
        result: Array = self.counts @ np.array(totals).T
        return result if columns.ndim == 2 else result[:, 0]

    def means(self, values: ArrayLike, weights: ArrayLike = 1.0) -> Array:
        """Return, for every resample, the weighted mean of the values over its rows: the shapes of `sums`.

        Resamples differ in their number of rows, so this is a ratio of two sums. It is NaN where all weights of a
        resample are 0.

        Args:
            values: n numbers, or n x m.
            weights: what each row counts for: n numbers, or one for all.
        """
        columns = np.asarray(values, dtype=np.float64)
        weight = np.broadcast_to(np.asarray(weights, dtype=np.float64), len(columns))
        total = self.sums(weight)
        if columns.ndim == 1:
            return ratio(self.sums(columns * weight), total)
        return ratio(self.sums(columns * weight[:, None]), total[:, None])


def draw_clusters(clusters: ArrayLike, resamples: int = 1000, seed: int = 0) -> ClusterDraws:
    """Draw as many clusters as there are, with replacement, again and again.

    Args:
        clusters: n names, the cluster (image) of each row; the draws do not depend on the order of the rows.
        resamples: how many resamples, at least 1.
        seed: equal seeds give equal draws for as many clusters.

    Raises:
        InvalidTypeError: resamples or seed is no integer.
        InvalidValueError: resamples is below 1, or there are fewer than two clusters, which say nothing of how clusters
            vary.
    """
    names, member = np.unique(np.asarray(clusters), return_inverse=True)
    if len(names) < 2:
        raise InvalidValueError(
            f"An interval over clusters needs at least two of them, got {len(names)}: {names.tolist()}."
        )
    drawn = _draw_counts(len(names), whole_number(resamples, "resamples", least=1), whole_number(seed, "seed"))
    return ClusterDraws(member, drawn)


@lru_cache(maxsize=1)
def _draw_counts(clusters: int, resamples: int, seed: int) -> Array:
    """Return read-only resamples x clusters counts; the last ones are kept, as many tables are of the same images."""
    random = generator("cluster_bootstrap", seed, clusters)
    counts = np.empty((resamples, clusters))
    for row in counts:
        row[:] = np.bincount(random.integers(clusters, size=clusters), minlength=clusters)
    counts.flags.writeable = False
    return counts


def percentile_interval(estimates: ArrayLike) -> Interval:
    """Return the interval between the 2.5th and 97.5th percentile, linearly interpolated.

    Args:
        estimates: one number for each resample. Those that are not finite, as a ratio may be when a resample misses
            every row it divides by, are left out.

    Raises:
        InvalidValueError: none of them is finite.
    """
    values = np.asarray(estimates, dtype=np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        raise InvalidValueError(f"An interval needs at least one finite estimate, got none among {values.size}.")
    low, high = np.quantile(finite, _BOUNDS)
    return Interval(float(low), float(high))


def cluster_bootstrap(
    values: ArrayLike,
    clusters: ArrayLike,
    statistic: Callable[[NDArray[Any]], float],
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Return the 95 % percentile interval of a statistic when whole clusters are drawn with replacement.

    The statistic may be anything that takes rows, such as ``numpy.mean``. For means of many columns, or for statistics
    that must share their draws, `draw_clusters` does the same without a loop over resamples.

    Args:
        values: n rows: numbers, or n x m where the statistic wants several columns.
        clusters: n names, the cluster (image) of each row.
        statistic: from the rows of one resample, in the order of `values` and repeated as often as their cluster was
            drawn, to a number.
        resamples: how many resamples, at least 1.
        seed: equal seeds give equal intervals.

    Returns:
        An interval that has no width where every resample gives the same number.

    Raises:
        InvalidTypeError: resamples or seed is no integer.
        InvalidValueError: not one cluster for each row, a value that is not finite, fewer than two clusters, resamples
            below 1, or a statistic that is finite in no resample.
    """
    rows, names = np.asarray(values), np.asarray(clusters)
    if names.ndim != 1 or len(names) != len(np.atleast_1d(rows)):
        raise InvalidValueError(
            f"clusters must name the cluster of each of the {len(np.atleast_1d(rows))} values, "
            f"got the shape {names.shape}."
        )
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        place = int(np.argwhere(~np.isfinite(rows))[0][0])
        raise InvalidValueError(f"values must be finite, got {rows[place]} in row {place}.")
    draws = draw_clusters(names, resamples, seed)
    repeats = (counts[draws.member] for counts in draws.counts.astype(np.intp))
    return percentile_interval([statistic(np.repeat(rows, times, axis=0)) for times in repeats])


def whole_number(value: int, name: str, least: int | None = None) -> int:
    """Return the value as a Python integer; NumPy integers are fine.

    Raises:
        InvalidTypeError: no integer.
        InvalidValueError: below the least one allowed.
    """
    try:
        number = index(value)
    except TypeError as error:
        raise InvalidTypeError(f"{name} must be an integer, got {value!r}.") from error
    if least is not None and number < least:
        raise InvalidValueError(f"{name} must be at least {least}, got {number}.")
    return number
