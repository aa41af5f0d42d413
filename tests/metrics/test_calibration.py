"""Calibration error, temperature and noise floor: by hand, against netcal, and on models whose calibration is known."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.metrics.arrays import Array
from robustlib.metrics.bootstrap import draw_clusters
from robustlib.metrics.calibration import (
    expected_calibration_error,
    fit_temperature,
    probabilities,
    reliability_diagram,
    resampled_calibration_error,
)
from robustlib.metrics.ece_floor import answers_to_clear, debiased_ece, ece_floor, judge_calibration


def calibrated_model(random: np.random.Generator, answers: int) -> tuple[Array, NDArray[np.bool_]]:
    confidence = 0.5 + 0.5 * random.beta(2, 2, size=answers)
    return confidence, random.random(answers) < confidence


def test_error_by_hand() -> None:
    confidence, correct = [0.95, 0.85, 0.85, 0.25], [1, 1, 0, 0]
    # bins of a tenth: |0.95 - 1|, |1.70 - 1| and |0.25 - 0|, over 4 answers
    assert expected_calibration_error(confidence, correct, bins=10) == pytest.approx((0.05 + 0.70 + 0.25) / 4)


@pytest.mark.parametrize(("confidence", "bin_number"), [(0.0, 0), (0.2, 0), (0.2000001, 1), (0.8, 3), (1.0, 4)])
def test_a_bin_owns_its_upper_edge_and_the_first_owns_zero(confidence: float, bin_number: int) -> None:
    assert reliability_diagram([confidence], [1], bins=5).answers.tolist() == np.eye(5, dtype=int)[bin_number].tolist()


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_certainty_falls_in_an_ordinary_bin(confidence: float) -> None:
    assert expected_calibration_error([confidence] * 4, [1, 0, 0, 0]) == pytest.approx(abs(confidence - 0.25))


def test_bins_are_judged_by_their_mean_confidence() -> None:
    assert expected_calibration_error([0.61, 0.61], [0.61, 0.61], bins=2) == pytest.approx(0)


def test_reliability_diagram_by_hand() -> None:
    diagram = reliability_diagram([0.2, 0.4, 0.9], [0, 1, 1], bins=2)
    np.testing.assert_allclose(diagram.low, [0, 0.5])
    np.testing.assert_allclose(diagram.high, [0.5, 1])
    np.testing.assert_allclose(diagram.confidence, [0.3, 0.9])
    np.testing.assert_allclose(diagram.accuracy, [0.5, 1])
    assert np.isnan(reliability_diagram([0.2], [0], bins=2).accuracy[1])


@pytest.fixture(scope="module")
def netcal() -> Any:
    """The metrics of netcal, the referee."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("netcal.metrics")


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_error_agrees_with_netcal(bins: int, netcal: Any) -> None:
    random = np.random.default_rng(bins)
    for answers in (30, 1000):
        confidence, correct = random.random(answers), random.random(answers) < 0.7
        theirs = netcal.ECE(bins).measure(confidence, correct.astype(int))
        assert expected_calibration_error(confidence, correct, bins) == pytest.approx(theirs)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40), st.integers(1, 20))
@settings(deadline=None)
def test_error_lies_between_the_overall_gap_and_the_mean_gap(answers: list[tuple[float, bool]], bins: int) -> None:
    confidence, correct = map(np.array, zip(*answers, strict=True))
    gaps = confidence - correct
    error = expected_calibration_error(confidence, correct, bins)
    assert abs(gaps.mean()) - 1e-9 <= error <= np.abs(gaps).mean() + 1e-9


@pytest.mark.parametrize(
    ("confidence", "correct", "bins", "message"),
    [
        ([], [], 15, "at least one number"),
        ([0.5, 1.2], [1, 0], 15, r"confidence must lie in \[0, 1\], got 1.2 in row 1"),
        ([0.5, math.nan], [1, 0], 15, "got nan in row 1"),
        ([0.5], [1, 0], 15, "same length, got 1 and 2"),
        ([0.5], [2], 15, "correct must lie"),
        ([0.5], [1], 0, "bins must be at least 1, got 0"),
    ],
)
def test_bad_input_is_refused(confidence: list[float], correct: list[float], bins: int, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        expected_calibration_error(confidence, correct, bins)


def test_text_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="confidence must be numbers"):
        expected_calibration_error(["high"], [1])


def test_resampled_error_repeats_the_rows_of_a_cluster() -> None:
    random = np.random.default_rng(5)
    confidence, correct = calibrated_model(random, 60)
    clusters = random.integers(12, size=60)
    draws = draw_clusters(clusters, resamples=8)
    repeats = draws.counts.astype(int)[:, draws.member]
    by_loop = [expected_calibration_error(np.repeat(confidence, n), np.repeat(correct, n)) for n in repeats]
    np.testing.assert_allclose(resampled_calibration_error(draws, confidence, correct), by_loop)


@pytest.mark.parametrize("true_temperature", [0.5, 1.0, 3.0])
def test_temperature_is_found_again(true_temperature: float) -> None:
    random = np.random.default_rng(1)
    logits = random.normal(scale=3, size=(20_000, 4))
    logits[:8000, 3] = np.nan
    chances = np.nan_to_num(probabilities(logits, true_temperature)).cumsum(axis=1)
    labels = (random.random((20_000, 1)) > chances).sum(axis=1).clip(max=3)
    labels[:8000] = labels[:8000].clip(max=2)
    assert fit_temperature(logits, labels) == pytest.approx(true_temperature, rel=0.05)


def test_temperature_has_bounds() -> None:
    always_right, never_right = fit_temperature([[9.0, 0.0]], [0]), fit_temperature([[9.0, 0.0]], [1])
    assert always_right == pytest.approx(0.05)
    assert never_right == pytest.approx(20)


@pytest.mark.parametrize("label", [-1, 2, 3])
def test_a_label_without_an_option_is_refused(label: int) -> None:
    with pytest.raises(InvalidValueError, match=f"label {label} of row 0"):
        fit_temperature([[0.1, 0.2, math.nan]], [label])


def test_probabilities_keep_missing_options_missing() -> None:
    tempered = probabilities(np.array([[0, 2 * math.log(3), math.nan], [1000, 1000, 1000]]), [2, 1])
    np.testing.assert_allclose(tempered, np.array([[1 / 4, 3 / 4, math.nan], [1 / 3, 1 / 3, 1 / 3]]))


def test_floor_by_hand() -> None:
    """One answer of confidence 1/2 is 1/2 off whatever happens, and certainty is never off."""
    assert ece_floor([0.5])[:2] == (0.5, 0.5)
    assert ece_floor([0.0, 1.0, 1.0])[:2] == (0.0, 0.0)


def test_floor_of_one_bin_is_the_mean_absolute_deviation_of_a_binomial() -> None:
    answers = 400
    floor = ece_floor(np.full(answers, 0.5), bins=1, simulations=4000)
    expected = math.sqrt(2 / math.pi * 0.25 / answers)
    assert floor.mean == pytest.approx(expected, abs=4 * floor.mean_error)
    assert floor.p95 == pytest.approx(1.96 * math.sqrt(0.25 / answers), abs=1 / answers)  # one answer more or less


def test_floor_is_the_mean_of_netcals_error_on_calibrated_answers(netcal: Any) -> None:
    random = np.random.default_rng(8)
    confidence, _ = calibrated_model(random, 200)
    theirs = [netcal.ECE(15).measure(confidence, (random.random(200) < confidence).astype(int)) for _ in range(150)]
    floor = ece_floor(confidence, simulations=1000)
    assert floor.mean == pytest.approx(np.mean(theirs), abs=4 * np.std(theirs) / math.sqrt(150))


def test_monte_carlo_errors_are_the_spread_over_seeds() -> None:
    confidence = np.random.default_rng(0).uniform(0.5, 1, 300)
    floors = np.array([ece_floor(confidence, seed=seed) for seed in range(150)])
    spread, stated = floors.std(axis=0), floors.mean(axis=0)
    assert stated[2] == pytest.approx(spread[0], rel=0.2)
    assert stated[3] == pytest.approx(spread[1], rel=0.3)


def test_one_answer_an_image_makes_both_floors_equal() -> None:
    confidence = np.random.default_rng(0).random(50)
    assert ece_floor(confidence, clusters=np.arange(50)[::-1], seed=3) == ece_floor(confidence, seed=3)


def test_shared_draws_raise_the_floor() -> None:
    confidence = np.full(300, 0.8)
    assert ece_floor(confidence, clusters=np.arange(300) // 10).mean > 2 * ece_floor(confidence).mean


def test_floor_covers_a_calibrated_model_at_the_nominal_rate() -> None:
    random = np.random.default_rng(11)
    covered = 0
    for repetition in range(200):
        confidence, correct = calibrated_model(random, 300)
        covered += expected_calibration_error(confidence, correct) <= ece_floor(confidence, seed=repetition).p95
    assert 0.90 <= covered / 200 <= 0.985  # 95 %, give or take three binomial deviations


def test_clustered_floor_covers_a_calibrated_model_whose_answers_share_their_luck() -> None:
    random = np.random.default_rng(12)
    images = np.arange(300) // 3
    covered = covered_by_independent = 0
    for repetition in range(200):
        confidence, _ = calibrated_model(random, 300)
        error = expected_calibration_error(confidence, random.random(100)[images] < confidence)
        covered += error <= ece_floor(confidence, images, seed=repetition).p95
        covered_by_independent += error <= ece_floor(confidence, seed=repetition).p95
    assert 0.90 <= covered / 200 <= 0.985
    assert covered_by_independent < covered


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.1])
def test_debiased_error_is_near_the_truth(shift: float) -> None:
    random = np.random.default_rng(13)
    measured, debiased = [], []
    for _ in range(200):
        confidence, _ = calibrated_model(random, 300)
        measured.append(expected_calibration_error(confidence, random.random(300) < confidence - shift))
        debiased.append(debiased_ece(measured[-1], ece_floor(confidence, simulations=50).mean))
    assert float(np.mean(debiased)) == pytest.approx(shift, abs=0.02)
    if shift == 0:
        assert sum(debiased) < sum(measured) / 2


def test_that_many_more_answers_put_the_error_above_the_floor() -> None:
    confidence = np.random.default_rng(2).uniform(0.5, 1, 200)
    floor = ece_floor(confidence, simulations=1000)
    needed = answers_to_clear(0.02, floor.p95, 200)
    larger = np.tile(confidence, math.ceil(needed / 200))
    assert ece_floor(larger, simulations=1000).p95 == pytest.approx(0.02, rel=0.1)
    assert answers_to_clear(0.0, floor.p95, 200) == math.inf


def test_beyond_noise_only_above_both_floors() -> None:
    random = np.random.default_rng(4)
    confidence, correct = calibrated_model(random, 400)
    verdict = judge_calibration(confidence, correct, np.arange(400) // 4)
    assert not verdict.beyond_noise
    assert verdict.ratio == pytest.approx(verdict.ece / verdict.floor.mean)
    assert verdict.answers_to_clear > 400
    overconfident = judge_calibration(np.full(400, 0.99), correct, np.arange(400) // 4)
    assert overconfident.beyond_noise
    assert overconfident.answers_to_clear < 400
    all_on_one_image = judge_calibration(np.full(400, 0.75), np.arange(400) < 200, np.zeros(400))
    assert all_on_one_image.ece > all_on_one_image.floor.p95
    assert not all_on_one_image.beyond_noise


def test_floor_refuses_bad_input() -> None:
    with pytest.raises(InvalidValueError, match="each of the 2 confidences"):
        ece_floor([0.5, 0.6], clusters=["a"])
    with pytest.raises(InvalidValueError, match="simulations must be at least 2, got 1"):
        ece_floor([0.5], simulations=1)
