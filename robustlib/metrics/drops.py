"""How far accuracy falls: the drop-based metrics of VLM-RobustBench (Sections 3.1, 4.3, 5.5 and 5.6).

Accuracies are in percent, drops in percentage points. The last axis of an array of drops is the 133 configurations, in
the order of `robustlib.metrics.configurations`; all axes before it (models, resamples) are kept.
"""

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.metrics.arrays import Array, model_names, warn_undefined
from robustlib.metrics.configurations import configurations, level_columns

TIERS = ("positive", "benign", "mild", "moderate", "catastrophic")
"""From best to worst (Section 5.5)."""
_UPPER_BOUNDS = (1.0, 3.0, 10.0)
"""The largest drop, in points, that is benign, mild, moderate."""
_SEVERE = 0.1
"""The share of the clean accuracy beyond which a drop is a severe failure."""
_BENIGN = 1.0


def without_noise(points: ArrayLike) -> Array:
    """Round to the 12th decimal, so that 93 % less 92 % is 1 point, not 1.0000000000000142, and stays benign."""
    return np.asarray(np.round(np.asarray(points, np.float64), 12))


def accuracy_drop(acc_clean: ArrayLike, acc_config: ArrayLike) -> Array:
    """Return the accuracy lost under each configuration, in points; negative where accuracy rose.

    Args:
        acc_clean: ..., in percent.
        acc_config: ... x configurations, in percent.
    """
    return without_noise(np.asarray(acc_clean, np.float64)[..., None] - np.asarray(acc_config, np.float64))


def visual_gain(acc_clean: ArrayLike, acc_no_image: ArrayLike) -> Array:
    """Return what the image is worth: clean accuracy less accuracy without the image, in points (Section 3.1)."""
    return without_noise(np.asarray(acc_clean, np.float64) - np.asarray(acc_no_image, np.float64))


@overload
def tier_of(drop: float) -> str: ...
@overload
def tier_of(drop: Sequence[float] | NDArray[np.floating]) -> NDArray[np.str_]: ...
def tier_of(drop: float | Sequence[float] | NDArray[np.floating]) -> str | NDArray[np.str_]:
    """Return the tier of a drop: every drop is in exactly one (Section 5.5).

    Below 0 it is "positive", up to 1 "benign", up to 3 "mild", up to 10 "moderate", beyond that "catastrophic"; the
    upper bound belongs to the tier.

    Args:
        drop: in percentage points: one number, or an array.

    Raises:
        InvalidTypeError: no number.
        InvalidValueError: NaN.
    """
    names = np.array(TIERS)[tier_index(drop)]
    return names if names.ndim else str(names)


def tier_index(drop: ArrayLike) -> NDArray[np.intp]:
    """Return the place of each drop's tier in `TIERS`: see `tier_of`."""
    try:
        points = without_noise(drop)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"A drop must be a number of percentage points, got {drop!r}.") from error
    if np.isnan(points).any():
        raise InvalidValueError("A drop must be a number of percentage points, got NaN.")
    return np.where(points < 0, 0, 1 + np.searchsorted(_UPPER_BOUNDS, points, side="left"))


def tier_counts(drops: ArrayLike) -> NDArray[np.intp]:
    """Return how many drops are in each tier: ... x 5, in the order of `TIERS`."""
    return np.asarray((tier_index(drops)[..., None] == np.arange(len(TIERS))).sum(axis=-2))


def worst_case_drop(drops: ArrayLike) -> Array:
    """Return the largest drop over all 133 configurations, in points (Section 4.3)."""
    return np.asarray(_all_configurations(drops).max(axis=-1))


def severe_failure_rate(drops: ArrayLike, acc_clean: ArrayLike) -> Array:
    """Return the share of the 133 configurations that cost more than a tenth of the clean accuracy, in percent."""
    points = _all_configurations(drops)
    limit = without_noise(_SEVERE * np.asarray(acc_clean, np.float64))
    return np.asarray(100 * (points > limit[..., None]).mean(axis=-1))


def worst_at_low(drops: ArrayLike) -> Array:
    """Return the largest drop over the 42 low configurations, in points (Section 4.3)."""
    return np.asarray(_all_configurations(drops)[..., level_columns("low")].max(axis=-1))


def benign_at_low(drops: ArrayLike) -> Array:
    """Return the share of the 42 low configurations that cost one point at most, in percent (Section 4.3)."""
    return np.asarray(100 * (_all_configurations(drops)[..., level_columns("low")] <= _BENIGN).mean(axis=-1))


def relative_corruption_error(drops: ArrayLike, gain: ArrayLike, models: Sequence[str] | None = None) -> Array:
    """Return the drops in percent of the visual gain (RCE, Section 3.1).

    Args:
        drops: ... x configurations, in points.
        gain: ..., the visual gain in points.
        models: names for warnings, one for each gain; "model 0" and so on without them.

    Returns:
        ... x configurations. Where the gain is 0 or below, NaN, with a warning that names the model.
    """
    gains = np.asarray(gain, np.float64)
    names = model_names(models, gains.size)
    warn_undefined(names, gains.reshape(-1) <= 0, "gains nothing from its images, so its relative corruption error")
    return relative_to_gain(drops, gains)


def relative_to_gain(drops: ArrayLike, gain: ArrayLike) -> Array:
    """Return the relative corruption error without a warning where it is NaN, as resamples need it."""
    points, gains = np.broadcast_arrays(np.asarray(drops, np.float64), np.asarray(gain, np.float64)[..., None])
    return np.asarray(np.divide(100 * points, gains, out=np.full(points.shape, np.nan), where=gains > 0))


def _all_configurations(drops: ArrayLike) -> Array:
    """Return the drops as a float64 array whose last axis is checked.

    Raises:
        InvalidValueError: another number of configurations.
    """
    points = np.asarray(drops, np.float64)
    expected = len(configurations())
    if points.ndim == 0 or points.shape[-1] != expected:
        raise InvalidValueError(
            f"drops must have the {expected} configurations as last axis, got shape {points.shape}."
        )
    return points
