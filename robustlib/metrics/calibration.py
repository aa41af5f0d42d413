"""Calibration: is a model right as often as its confidence says?

All functions share one binning: equal-width bins, each of which owns its upper edge, (i/B, (i+1)/B]. A confidence of
exactly 0 belongs to the first bin and 1 to the last. A bin is judged by the mean confidence of its answers, not by its
centre.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.metrics.arrays import Array, ratio
from robustlib.metrics.bootstrap import ClusterDraws, whole_number

BINS = 15
"""The number of bins in the third document and in most of the literature."""

COLDEST, HOTTEST = 0.05, 20.0
"""Fitted temperatures stay within these bounds: a model that is always right would be given a temperature of 0."""


class Reliability(NamedTuple):
    """The numbers of a reliability diagram, one for each bin."""

    low: Array
    """Lower edge, which belongs to the bin below."""
    high: Array
    """Upper edge, which belongs to the bin."""
    answers: NDArray[np.intp]
    """Answers in the bin."""
    confidence: Array
    """Mean confidence, NaN in an empty bin."""
    accuracy: Array
    """Mean correctness, NaN in an empty bin."""


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> float:
    """Return the expected calibration error: the gap between confidence and accuracy, averaged over answers.

    The sum over bins of (answers in the bin / all answers) x |mean confidence - mean correctness|; an empty bin adds 0
    (Guo et al. 2017, Equation 3). On a finite sample it is above 0 even for a perfect model: see `ece_floor`.

    Args:
        confidence: n probabilities of the given answers, in [0, 1].
        correct: n truth values, or scores in [0, 1].
        bins: how many bins of equal width.

    Returns:
        A number in [0, 1].

    Raises:
        InvalidTypeError, InvalidValueError: see `checked_pair`.
    """
    confidences, scores = checked_pair(confidence, correct)
    gaps = np.bincount(bin_of(confidences, bins), confidences - scores)
    return float(np.abs(gaps).sum() / len(scores))


def resampled_calibration_error(
    draws: ClusterDraws, confidence: ArrayLike, correct: ArrayLike, bins: int = BINS
) -> Array:
    """Return the expected calibration error of every resample.

    A resample repeats rows, which raises the error: an interval from these is biased upwards and may lie above the
    error of the sample itself.

    Args:
        draws: resamples of the n rows.
        confidence: n probabilities.
        correct: n truth values, or scores in [0, 1].
        bins: how many bins of equal width.
    """
    confidences, scores = checked_pair(confidence, correct)
    gaps = np.zeros((len(scores), bins))
    gaps[np.arange(len(scores)), bin_of(confidences, bins)] = confidences - scores
    return ratio(np.abs(draws.sums(gaps)).sum(axis=1), draws.sums(np.ones(len(scores))))


def reliability_diagram(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> Reliability:
    """Return what a reliability diagram shows: count, mean confidence and accuracy of each bin.

    Args:
        confidence: n probabilities of the given answers, in [0, 1].
        correct: n truth values, or scores in [0, 1].
        bins: how many bins of equal width.

    Raises:
        InvalidTypeError, InvalidValueError: see `checked_pair`.
    """
    confidences, scores = checked_pair(confidence, correct)
    place = bin_of(confidences, bins)
    edges = np.arange(bins + 1) / bins
    answers = np.bincount(place, minlength=bins)
    return Reliability(
        low=edges[:-1],
        high=edges[1:],
        answers=answers,
        confidence=ratio(np.bincount(place, confidences, bins), answers),
        accuracy=ratio(np.bincount(place, scores, bins), answers),
    )


def probabilities(logits: ArrayLike, temperature: ArrayLike = 1.0) -> Array:
    """Return the softmax of logits divided by a temperature.

    Args:
        logits: n x k, NaN where a question has fewer than k options.
        temperature: one positive number, or n of them.

    Returns:
        n x k probabilities, NaN where the logits are.
    """
    scaled = np.asarray(logits, np.float64) / np.asarray(temperature, np.float64).reshape(-1, 1)
    powers = np.exp(scaled - np.nanmax(scaled, axis=1, keepdims=True))
    result: Array = powers / np.nansum(powers, axis=1, keepdims=True)
    return result


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> float:
    """Return the temperature under which the logits give the labels the highest likelihood (Guo et al. 2017).

    The mean negative log-likelihood is convex in 1 / temperature, so halving an interval around the zero of its slope
    finds the minimum. Fit on questions that are not evaluated.

    Args:
        logits: n x k, NaN where a question has fewer than k options.
        labels: n indices of the right option.

    Returns:
        A temperature from `COLDEST` to `HOTTEST`; at a bound when the likelihood still rises there.

    Raises:
        InvalidValueError: no rows, or a label that is no option of its row.
    """
    scores, right = np.asarray(logits, np.float64), np.asarray(labels, np.intp)
    if scores.ndim != 2 or right.shape != scores.shape[:1] or not right.size:
        raise InvalidValueError(
            f"A temperature needs logits n x k and n labels, got the shapes {scores.shape} and {right.shape}."
        )
    inside = (right >= 0) & (right < scores.shape[1])
    given = np.take_along_axis(scores, np.where(inside, right, 0)[:, None], axis=1)[:, 0]
    if not (inside & np.isfinite(given)).all():
        row = int(np.flatnonzero(~(inside & np.isfinite(given)))[0])
        raise InvalidValueError(
            f"The label {right[row]} of row {row} is none of its options: its logits are {scores[row]}."
        )
    low, high = 1 / HOTTEST, 1 / COLDEST
    for _ in range(50):
        inverse = (low + high) / 2
        expected = np.nansum(probabilities(scores, 1 / inverse) * scores, axis=1)
        low, high = (low, inverse) if np.mean(expected - given) > 0 else (inverse, high)
    return 2 / (low + high)


def bin_of(confidence: Array, bins: int) -> NDArray[np.intp]:
    """Return the bin of each confidence, by the rule at the top of this module.

    Raises:
        InvalidTypeError, InvalidValueError: bins is no integer, or below 1.
    """
    count = whole_number(bins, "bins", least=1)
    return np.searchsorted(np.arange(1, count) / count, confidence, side="left")


def checked_pair(confidence: ArrayLike, correct: ArrayLike) -> tuple[Array, Array]:
    """Return both as float64 arrays of one length, all in [0, 1].

    Raises:
        InvalidTypeError: not numbers.
        InvalidValueError: empty, of unequal lengths, or a value that is NaN or outside [0, 1].
    """
    pair = checked_shares(confidence, "confidence"), checked_shares(correct, "correct")
    if len(pair[0]) != len(pair[1]):
        raise InvalidValueError(
            f"confidence and correct must have the same length, got {len(pair[0])} and {len(pair[1])}."
        )
    return pair


def checked_shares(values: ArrayLike, name: str) -> Array:
    """Return the values as a float64 array of one dimension, not empty, all in [0, 1].

    Raises:
        InvalidTypeError: not numbers.
        InvalidValueError: another shape, empty, or a value that is NaN or outside [0, 1].
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be numbers in [0, 1]: {error}.") from error
    if array.ndim != 1 or not array.size:
        raise InvalidValueError(f"{name} must be a list of at least one number, got the shape {array.shape}.")
    outside = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if outside.size:
        raise InvalidValueError(f"{name} must lie in [0, 1], got {array[outside[0]]:g} in row {outside[0]}.")
    return array
