"""The metrics of the visual robustness benchmark for VQA (Sections 4 and 5).

They take arrays of models x corruptions x 6 levels: the clean images (level 0) and severities 1 to 5. Level 0 counts in
every average unless a docstring says otherwise: only so do the published accuracies reproduce the published tables.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import LEVELS, ROUNDING_NOISE, Array, levels_array, model_names, ratio, warn_undefined

SUBMETRICS = ("first_drop", "range_of_error", "error_rate", "average_error", "average_difference")


class RelativeDrops(NamedTuple):
    """Relative accuracy drops, as shares of the clean accuracy (Equations 6, 7 and 8)."""

    per_cell: Array
    """V x C: (A[v,0] - A[v,c]) / A[v,0]."""
    per_model: Array
    """V: (A[v,0] - A[v]) / A[v,0]."""
    per_corruption: Array
    """C: sum over v of (A[v,0] - A[v,c]), divided by the sum over v of A[v,0]."""


class RobustnessErrors(NamedTuple):
    """Visual robustness errors (VRE), in [0, 1]; lower is more robust (Equations 18 and 19)."""

    per_model: Array
    """V: the weighted sum of the scaled sub-metrics, averaged over corruptions."""
    per_corruption: Array
    """C: the weighted sum of the scaled sub-metrics, averaged over models; higher is a stronger corruption."""


def severity_aggregated_accuracy(accuracy: ArrayLike) -> Array:
    """Return A[v,c], the mean accuracy over the six levels (Equation 3).

    Args:
        accuracy: V x C x 6, in [0, 1].

    Returns:
        V x C, in [0, 1].

    Raises:
        InvalidTypeError, InvalidValueError: not a numeric array of that shape and range.
    """
    averages: Array = levels_array(accuracy, "accuracy").mean(axis=2)
    return averages


def relative_drops(accuracy: ArrayLike, models: Sequence[str] | None = None) -> RelativeDrops:
    """Return the relative accuracy drop of every cell, model and corruption (Equations 6, 7 and 8).

    Args:
        accuracy: V x C x 6, in [0, 1]; level 0 is the same for all corruptions of a model.
        models: V names for warnings and errors; "model 0" and so on without them.

    Returns:
        Shares, not percent. A model whose clean accuracy is 0 gets NaN and a warning that names it.

    Raises:
        InvalidTypeError, InvalidValueError: not such an array, or the clean accuracy of a model varies.
    """
    values = levels_array(accuracy, "accuracy")
    names = model_names(models, len(values))
    clean, spread = values[:, 0, 0], np.ptp(values[:, :, 0], axis=1)
    if spread.max() > ROUNDING_NOISE:
        raise InvalidValueError(
            f"The clean accuracy (level 0) of {names[int(spread.argmax())]} must be the same for every corruption, "
            f"but it varies by {spread.max():g}."
        )
    lost = clean[:, None] - values.mean(axis=2)
    warn_undefined(names, clean <= ROUNDING_NOISE, "has a clean accuracy of 0, so its relative drop")
    return RelativeDrops(
        per_cell=ratio(lost, clean[:, None]),
        per_model=ratio(lost.mean(axis=1), clean),
        per_corruption=ratio(lost.sum(axis=0), clean.sum()),
    )


def severity_submetrics(errors: ArrayLike, models: Sequence[str] | None = None) -> dict[str, Array]:
    """Return the five severity-aggregated sub-metrics of every model and corruption (Equations 10 to 14).

    Args:
        errors: V x C x 6, one minus accuracy, in [0, 1].
        models: V names for warnings; "model 0" and so on without them.

    Returns:
        A dictionary of V x C arrays:
        ``first_drop``, (E1 - E0) / E0;
        ``range_of_error``, (max E - min E) / min E over levels 0 to 5;
        ``error_rate``, the least-squares slope of E over levels 0 to 5, per level;
        ``average_error``, the mean of E over levels 0 to 5;
        ``average_difference``, the mean of E[l] - E0 over levels 1 to 5.
        A ratio by an error of 0 is NaN, with a warning that names the model; it is never infinite.

    Raises:
        InvalidTypeError, InvalidValueError: not a numeric array of that shape and range.
    """
    values = levels_array(errors, "errors")
    names = model_names(models, len(values))
    clean, smallest = values[:, :, 0], values.min(axis=2)
    perfect, once_perfect = clean <= ROUNDING_NOISE, smallest <= ROUNDING_NOISE
    warn_undefined(names, np.any(perfect, axis=1), "has a clean error of 0, so its first drop and range of error")
    warn_undefined(names, np.any(once_perfect & ~perfect, axis=1), "has an error of 0, so its range of error there")
    centred_levels = np.arange(LEVELS) - (LEVELS - 1) / 2
    return {
        "first_drop": ratio(values[:, :, 1] - clean, clean),
        "range_of_error": ratio(values.max(axis=2) - smallest, smallest),
        "error_rate": (values * centred_levels).sum(axis=2) / (centred_levels**2).sum(),
        "average_error": values.mean(axis=2),
        "average_difference": (values[:, :, 1:] - clean[:, :, None]).mean(axis=2),
    }


def min_max_scale(matrix: ArrayLike) -> Array:
    """Scale a whole matrix to [0, 1] by its smallest and largest value (Equation 15).

    A constant matrix scales to 0. NaN stays NaN and takes no part in the smallest and largest value.
    """
    values = np.asarray(matrix, dtype=np.float64)
    defined = values[~np.isnan(values)]
    if not defined.size:
        return values.copy()
    low, span = defined.min(), np.ptp(defined)
    if span <= ROUNDING_NOISE:
        return np.where(np.isnan(values), np.nan, 0.0)
    scaled: Array = (values - low) / span
    return scaled


def preference_weights(preferences: Sequence[float] | None = None) -> Array:
    """Return the weights of the five sub-metrics: the softmax of their preference scores (Equation 20).

    Args:
        preferences: five finite scores in the order of `SUBMETRICS`; equal weights of 0.2 without them.

    Returns:
        Five weights that sum to 1.

    Raises:
        InvalidValueError: not five finite numbers.
    """
    scores = np.zeros(len(SUBMETRICS)) if preferences is None else np.asarray(preferences, dtype=np.float64)
    if scores.shape != (len(SUBMETRICS),) or not np.isfinite(scores).all():
        raise InvalidValueError(
            f"preferences must be {len(SUBMETRICS)} finite scores, one each for {', '.join(SUBMETRICS)}, "
            f"got {preferences!r}."
        )
    powers = np.exp(scores - scores.max())
    weights: Array = powers / powers.sum()
    return weights


def visual_robustness_error(
    errors: ArrayLike, preferences: Sequence[float] | None = None, models: Sequence[str] | None = None
) -> RobustnessErrors:
    """Return the visual robustness error of every model and of every corruption (Equations 15 to 21).

    Each sub-metric is scaled over the whole V x C matrix, averaged, weighted and summed.

    Args:
        errors: V x C x 6, one minus accuracy, in [0, 1].
        preferences: see `preference_weights`.
        models: V names for warnings; "model 0" and so on without them.

    Returns:
        Values in [0, 1]. Where a sub-metric is undefined (see `severity_submetrics`), so is every error built on it.

    Raises:
        InvalidTypeError, InvalidValueError: not a numeric array of that shape and range, or not five finite scores.
    """
    weights = preference_weights(preferences)
    scaled = np.stack([min_max_scale(matrix) for matrix in severity_submetrics(errors, models).values()])
    total = (weights[:, None, None] * scaled).sum(axis=0)
    return RobustnessErrors(per_model=total.mean(axis=1), per_corruption=total.mean(axis=0))
