"""Does what looks worse cost more, and where is the worst? (VLM-RobustBench, Section 5.4, Appendices A.3, B.1, B.2)."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array, ratio
from robustlib.metrics.configurations import severity_columns, spatial_columns
from robustlib.metrics.drops import TIERS, tier_index


def monotonicity_violations(drops: ArrayLike) -> NDArray[np.bool_]:
    """Return whether a stronger level costs less than a weaker one, for each of the 42 corruptions with levels.

    Args:
        drops: ... x 133, in points.

    Returns:
        ... x 42: True where low > mid or mid > high. Ties are no violation.
    """
    levels = np.asarray(drops, np.float64)[..., severity_columns()]
    return np.asarray((np.diff(levels, axis=-1) < 0).any(axis=-1))


def severity_correlations(drops: ArrayLike) -> Array:
    """Return Spearman's rho between the levels (1, 2, 3) and their drops, with average ranks on ties.

    Args:
        drops: ... x 133, in points.

    Returns:
        ... x 42, in [-1, 1]; NaN where the three drops are equal. Means leave those out and say how many they were.
    """
    levels = np.asarray(drops, np.float64)[..., severity_columns()]
    others = levels[..., None, :]
    centred_ranks = np.sign(levels[..., None] - others).sum(axis=-1) / 2
    spread = np.sqrt(2 * (centred_ranks**2).sum(axis=-1))
    return ratio(centred_ranks[..., 2] - centred_ranks[..., 0], spread)


def tail_share(drops: ArrayLike) -> Array:
    """Return which share of the catastrophic cases is spatial or resampling, in percent, over all models together.

    Args:
        drops: ... x V x 133, in points.

    Returns:
        ...; NaN where nothing is catastrophic.
    """
    catastrophic = tier_index(drops) == TIERS.index("catastrophic")
    return 100 * ratio(catastrophic[..., spatial_columns()].sum(axis=(-2, -1)), catastrophic.sum(axis=(-2, -1)))


def scaling_slopes(mean_drop: ArrayLike, parameters: Sequence[float], families: Sequence[str]) -> dict[str, Array]:
    """Return, for each family, the least-squares slope of the mean drop on log10(parameters).

    Args:
        mean_drop: ... x V, in points.
        parameters: V numbers of parameters.
        families: V names of families.

    Returns:
        Points for ten times the parameters; negative where larger models lose less. NaN, with a warning that names the
        family, where its models are all of one size.

    Raises:
        InvalidValueError: not V of each, or a number of parameters that is not positive.
    """
    drops, sizes = np.asarray(mean_drop, np.float64), np.asarray(parameters, np.float64)
    if not drops.shape[-1] == len(sizes) == len(families):
        raise InvalidValueError(
            f"Every model needs a mean drop, a number of parameters and a family, "
            f"got {drops.shape[-1]}, {len(sizes)} and {len(families)}."
        )
    if not (sizes > 0).all():
        raise InvalidValueError(f"Numbers of parameters must be positive, got {list(parameters)}.")
    return {family: _slope(drops, sizes, np.array(families) == family, family) for family in dict.fromkeys(families)}


def _slope(drops: Array, sizes: Array, members: NDArray[np.bool_], family: str) -> Array:
    x = np.log10(sizes[members])
    centred = x - x.mean()
    spread = centred @ centred
    if np.ptp(x) == 0:
        warnings.warn(
            f"The models of {family} are of one size, so its scaling slope is undefined (NaN).",
            RuntimeWarning,
            stacklevel=3,
        )
    return ratio(drops[..., members] @ centred, spread)
