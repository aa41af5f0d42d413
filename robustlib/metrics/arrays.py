"""What every metric on arrays needs: input that is checked, division that never yields infinity, warnings that name."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidTypeError, InvalidValueError

Array = NDArray[np.float64]

LEVELS = 6
"""The clean images (level 0) and severities 1 to 5."""

ROUNDING_NOISE = 1e-12
"""Differences up to this size come from floating-point sums; one question in a million is far larger."""


def levels_array(values: ArrayLike, name: str) -> Array:
    """Return values as a float64 array of models x corruptions x 6 levels, all in [0, 1].

    Raises:
        InvalidTypeError: not numbers, or rows of unequal length.
        InvalidValueError: another shape, or a value that is NaN or outside [0, 1]; the message says where.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be a numeric array, models x corruptions x 6 levels: {error}.") from error
    if array.ndim != 3 or array.shape[2] != LEVELS or not array.size:
        raise InvalidValueError(
            f"{name} must have the shape models x corruptions x 6 levels (clean and severities 1 to 5), "
            f"got {' x '.join(map(str, array.shape)) or 'a single number'}."
        )
    outside = ~((array >= 0) & (array <= 1))
    if outside.any():
        place = tuple(int(index[0]) for index in np.nonzero(outside))
        raise InvalidValueError(
            f"{name} must lie in [0, 1] (a share, not a percentage), got {array[place]:g} for model {place[0]}, "
            f"corruption {place[1]}, level {place[2]}."
        )
    return array


def model_names(models: Sequence[str] | None, count: int) -> Sequence[str]:
    """Return the names that messages use; "model 0" and so on where none are given.

    Raises:
        InvalidValueError: another number of names than models.
    """
    if models is None:
        return [f"model {number}" for number in range(count)]
    if len(models) != count:
        raise InvalidValueError(f"models must name all {count} models, got {len(models)} names: {list(models)}.")
    return models


def warn_undefined(names: Sequence[str], undefined: NDArray[np.bool_], reason: str) -> None:
    """Warn, once for each affected model, that a number is undefined and why."""
    for name, affected in zip(names, undefined, strict=True):
        if affected:
            warnings.warn(f"{name} {reason} is undefined (NaN).", RuntimeWarning, stacklevel=3)


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Array:
    """Divide, with NaN where the denominator is 0 up to rounding noise."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient = np.full(above.shape, np.nan)
    np.divide(above, below, out=quotient, where=np.abs(below) > ROUNDING_NOISE)
    return quotient


def mean_of_defined(values: ArrayLike) -> Array:
    """Return the mean over the last axis of what is not NaN; NaN where all of it is."""
    array = np.asarray(values, np.float64)
    return ratio(np.nansum(array, axis=-1), (~np.isnan(array)).sum(axis=-1))
