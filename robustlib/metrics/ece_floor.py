"""The noise floor of the expected calibration error (ECE): what a perfectly calibrated model would show on this sample.

ECE averages absolute gaps, so chance alone keeps it above 0. The floor keeps the confidences, draws correctness anew
as if each were true, and takes the ECE of every draw (third document, "ECE noise floor"). It is a null distribution for
the sample at hand, not an interval for the model's error.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.bootstrap import whole_number
from robustlib.metrics.calibration import BINS, bin_of, checked_shares, expected_calibration_error
from robustlib.seeding import generator

SIMULATIONS = 200
"""The draws of each floor where nothing else is asked for."""

_TAIL = 0.95


class EceFloor(NamedTuple):
    """The ECE that a perfectly calibrated model of the same confidences would show."""

    mean: float
    """Mean over the simulations."""
    p95: float
    """95th percentile over the simulations, linearly interpolated."""
    mean_error: float
    """Monte-Carlo standard error of the mean."""
    p95_error: float
    """Monte-Carlo standard error of the 95th percentile, from the order statistics one binomial deviation away."""


class CalibrationVerdict(NamedTuple):
    """A measured ECE beside its two floors."""

    ece: float
    """As measured."""
    floor: EceFloor
    """Every answer right or wrong on its own."""
    clustered_floor: EceFloor
    """All answers on one image right or wrong by one shared draw: the other extreme. The truth lies between them."""
    ratio: float
    """ECE divided by the mean of the independent floor; NaN where that is 0, as when all confidences are 0 or 1."""
    beyond_noise: bool
    """Whether the ECE is above the 95th percentile of both floors."""
    debiased: float
    """The ECE without its noise: see `debiased_ece`."""
    answers_to_clear: float
    """How many answers would put this ECE above both floors: see `answers_to_clear`."""


def ece_floor(
    confidence: ArrayLike,
    clusters: ArrayLike | None = None,
    bins: int = BINS,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> EceFloor:
    """Simulate the ECE of a perfectly calibrated model with these confidences.

    An answer of confidence q is right when a uniform draw u is below q.

    Args:
        confidence: n probabilities of the given answers, in [0, 1].
        clusters: n names of images whose answers share their draw; without them every answer has a draw of its own.
        bins: bins of the ECE.
        simulations: how many draws, at least 2.
        seed: equal seeds give equal floors. Where every cluster has one row, both floors are the same.

    Raises:
        InvalidTypeError, InvalidValueError: confidences not in [0, 1], not one cluster for each, or fewer than two
            simulations.
    """
    confidences = checked_shares(confidence, "confidence")
    member = np.arange(len(confidences)) if clusters is None else _by_first_appearance(clusters, len(confidences))
    place, random = bin_of(confidences, bins), generator("ece_floor", whole_number(seed, "seed"))
    errors = np.empty(whole_number(simulations, "simulations", least=2))
    for simulation in range(len(errors)):
        right = random.random(member.max() + 1)[member] < confidences
        errors[simulation] = np.abs(np.bincount(place, confidences - right)).sum() / len(confidences)
    deviation = math.sqrt(_TAIL * (1 - _TAIL) / simulations)
    below, p95, above = np.quantile(errors, [_TAIL - deviation, _TAIL, min(1.0, _TAIL + deviation)])
    return EceFloor(
        mean=float(errors.mean()),
        p95=float(p95),
        mean_error=float(errors.std(ddof=1) / math.sqrt(simulations)),
        p95_error=float(above - below) / 2,
    )


def judge_calibration(
    confidence: ArrayLike,
    correct: ArrayLike,
    clusters: ArrayLike,
    bins: int = BINS,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> CalibrationVerdict:
    """Measure the ECE and say whether sampling noise could explain it.

    Args:
        confidence: n probabilities of the given answers, in [0, 1].
        correct: n truth values, or scores in [0, 1].
        clusters: n names, the image of each answer.
        bins: bins of the ECE.
        simulations: draws of each floor.
        seed: seed of both floors.

    Raises:
        InvalidTypeError, InvalidValueError: see `expected_calibration_error` and `ece_floor`.
    """
    ece = expected_calibration_error(confidence, correct, bins)
    floor = ece_floor(confidence, None, bins, simulations, seed)
    clustered = ece_floor(confidence, clusters, bins, simulations, seed)
    higher = max(floor.p95, clustered.p95)
    return CalibrationVerdict(
        ece=ece,
        floor=floor,
        clustered_floor=clustered,
        ratio=ece / floor.mean if floor.mean else math.nan,
        beyond_noise=ece > higher,
        debiased=debiased_ece(ece, floor.mean),
        answers_to_clear=answers_to_clear(ece, higher, np.size(confidence)),
    )


def debiased_ece(ece: float, floor_mean: float) -> float:
    """Return sqrt(ECE^2 - floor^2), and 0 for an ECE below the mean of its floor.

    Noise and miscalibration add up in each bin like independent deviations, so they are told apart in squares; to
    subtract the floor itself would take too much from a model that is truly miscalibrated. An approximation: over
    simulated samples of 300 answers its mean stays within 0.02 of the truth, for calibrated and miscalibrated models.
    """
    return math.sqrt(max(0.0, ece**2 - floor_mean**2))


def answers_to_clear(ece: float, p95: float, answers: int) -> float:
    """Return how many answers it takes before this ECE stands above the 95th percentile of its floor.

    A floor falls with the square root of the number of answers of the same kind (and of images, if it is clustered).

    Args:
        ece: the error to be told from noise.
        p95: the 95th percentile of the floor at hand.
        answers: the number of answers behind that floor.

    Returns:
        A whole number, as a float: infinite where the ECE is 0.
    """
    return math.ceil(answers * (p95 / ece) ** 2) if ece else math.inf


def _by_first_appearance(clusters: ArrayLike, rows: int) -> NDArray[np.intp]:
    names = np.asarray(clusters)
    if names.shape != (rows,):
        raise InvalidValueError(f"clusters must name the cluster of each of the {rows} confidences, got {names.shape}.")
    _, first, member = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[member]
