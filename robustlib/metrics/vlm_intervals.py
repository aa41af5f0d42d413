"""Intervals for any number that is a function of rates, by resampling whole images with clean and corrupted paired."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from robustlib.metrics.arrays import Array
from robustlib.metrics.bootstrap import percentile_interval
from robustlib.metrics.drops import TIERS, tier_index
from robustlib.metrics.rates import BenchScores, Rates

Statistic = Callable[[Rates], Mapping[str, Array]]
"""From rates with any leading axes to named arrays with the same leading axes."""


class Estimate(NamedTuple):
    """Numbers and their 95 % percentile intervals, as arrays of one shape."""

    value: Array
    low: Array
    high: Array
    defined: Array
    """The share of resamples, in [0, 1], in which the number is defined; the interval is over those."""


def estimate(scores: BenchScores, statistic: Statistic, resamples: int = 1000, seed: int = 0) -> dict[str, Estimate]:
    """Return a statistic's numbers with their intervals.

    Numbers that come from one call share their resamples, as do calls with the same scores and seed. A number that is
    undefined has no interval (NaN).

    Raises:
        InvalidValueError: fewer than two images, or resamples below 1.
    """
    return summarise_all(statistic(scores.rates()), resample(scores, statistic, resamples, seed))


def resample(scores: BenchScores, statistic: Statistic, resamples: int, seed: int) -> Mapping[str, Array]:
    """Return a statistic's numbers in each resample, their leading axis: see `estimate`."""
    return statistic(scores.resampled_rates(scores.draw(resamples, seed)))


def tier_probabilities(drops: Array) -> Array:
    """Return how likely each drop is in each tier: the share of resamples in which it is.

    Args:
        drops: resamples x ..., in points.

    Returns:
        ... x 5, in the order of `robustlib.metrics.drops.TIERS`, in [0, 1]; they sum to 1.
    """
    tiers = tier_index(drops)
    return np.stack([(tiers == place).mean(axis=0) for place in range(len(TIERS))], axis=-1)


def summarise_all(values: Mapping[str, Array], resampled: Mapping[str, Array]) -> dict[str, Estimate]:
    """Return numbers with the intervals of their resamples, under their names: see `summarise`."""
    return {name: summarise(np.asarray(value, np.float64), resampled[name]) for name, value in values.items()}


def summarise(value: Array, resampled: Array) -> Estimate:
    """Return numbers with the intervals of their resamples, which have one leading axis more."""
    columns = resampled.reshape(len(resampled), -1)
    bounds = np.full((columns.shape[1], 2), np.nan)
    for place, number in enumerate(value.reshape(-1)):
        if np.isfinite(number) and np.isfinite(columns[:, place]).any():
            bounds[place] = percentile_interval(columns[:, place])
    low, high = bounds.T.reshape(2, *value.shape)
    return Estimate(value, low, high, np.isfinite(resampled).mean(axis=0))
