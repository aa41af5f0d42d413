"""Answers that a corruption turns wrong or right (VLM-RobustBench, Appendices A.12 and A.13)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array, ratio
from robustlib.metrics.drops import without_noise


class FlipRates(NamedTuple):
    """Flips in percent of all questions: their difference is the accuracy drop in points."""

    plus: Any
    """Flip+, the harmful flips: right on the clean image, wrong on the corrupted one. Also the answer-flip rate."""
    minus: Any
    """Flip-, the helpful flips: wrong on the clean image, right on the corrupted one."""
    ratio: Any
    """Flip+ / Flip-; NaN without helpful flips, never infinite."""


def flip_rates(clean_correct: ArrayLike, corrupted_correct: ArrayLike) -> FlipRates:
    """Return how many answers a corruption turns wrong and right.

    Args:
        clean_correct: ... x questions, whether the answer on the clean image was right: booleans, 0 or 1.
        corrupted_correct: the same questions in the same order under the corruption; leading axes broadcast.

    Returns:
        Numbers for one pair of lists, arrays for arrays.

    Raises:
        InvalidValueError: no questions, not the same number of them, or a value that is neither right nor wrong.
    """
    clean, corrupted = _verdicts(clean_correct, "clean_correct"), _verdicts(corrupted_correct, "corrupted_correct")
    if clean.shape[-1] != corrupted.shape[-1]:
        raise InvalidValueError(
            f"Flips compare the same questions, got {clean.shape[-1]} clean, {corrupted.shape[-1]} corrupted answers."
        )
    kept = 100 * (clean & corrupted).mean(axis=-1)
    return flips_from_rates(100 * clean.mean(axis=-1), 100 * corrupted.mean(axis=-1), kept)


def flips_from_rates(acc_clean: ArrayLike, acc_config: ArrayLike, kept: ArrayLike) -> FlipRates:
    """Return the flip rates from accuracies and from the share of questions right on both sides, all in percent."""
    both = np.asarray(kept, np.float64)
    plus = without_noise(np.asarray(acc_clean, np.float64) - both)
    minus = without_noise(np.asarray(acc_config, np.float64) - both)
    quotient: Array = ratio(plus, minus)
    if plus.ndim == 0:
        return FlipRates(float(plus), float(minus), float(quotient))
    return FlipRates(plus, minus, quotient)


def _verdicts(values: ArrayLike, name: str) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidValueError(f"{name} must hold one verdict for each of at least one question, got {values!r}.")
    if not np.isin(array, (0, 1)).all():
        raise InvalidValueError(f"{name} must be True or False (or 1 or 0) for each question, got {values!r}.")
    return array.astype(bool)
