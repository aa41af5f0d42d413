import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import linregress

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.metrics import (
    SUBMETRICS,
    min_max_scale,
    preference_weights,
    relative_drops,
    severity_aggregated_accuracy,
    severity_submetrics,
    visual_robustness_error,
)
from robustlib.metrics.arrays import Array

# Errors well above 0, so that every ratio is defined.
cubes = array_shapes(min_dims=2, max_dims=2, max_side=4).flatmap(
    lambda shape: arrays(np.float64, (*shape, 6), elements=st.floats(0.05, 1))
)
# Eighths, so that values which look different are different, and sums are exact.
distinct_cubes = array_shapes(min_dims=2, max_dims=2, max_side=4).flatmap(
    lambda shape: arrays(np.float64, (*shape, 6), elements=st.integers(1, 8).map(lambda eighths: eighths / 8))
)
scores = st.lists(st.floats(-20, 20), min_size=5, max_size=5)


def test_submetrics_of_one_cell_by_hand() -> None:
    errors = [0.2, 0.3, 0.3, 0.4, 0.5, 0.6]
    expected = {
        "first_drop": Fraction(1, 2),  # (3/10 - 2/10) / (2/10)
        "range_of_error": Fraction(2),  # (6/10 - 2/10) / (2/10)
        "error_rate": Fraction(27, 350),  # sum of (l - 5/2) E[l] is 27/20, sum of (l - 5/2)**2 is 35/2
        "average_error": Fraction(23, 60),  # 23/10 over six levels
        "average_difference": Fraction(11, 50),  # (1 + 1 + 2 + 3 + 4) / 10 over five levels
    }
    found = severity_submetrics([[errors]])
    assert tuple(found) == SUBMETRICS == tuple(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(np.full((1, 1), float(value)), rel=1e-12)


def test_robustness_error_by_hand() -> None:
    spike, slope = [0.1, 0.2, 0.1, 0.1, 0.1, 0.1], [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    # The spike has the larger first drop (1 against 1/5); both have a range of 1, which scales to 0; the slope has
    # the larger error rate, average error and average difference.
    equal = visual_robustness_error([[spike], [slope]])
    assert equal.per_model == pytest.approx([float(Fraction(1, 5)), float(Fraction(3, 5))])
    assert equal.per_corruption == pytest.approx([float(Fraction(2, 5))])
    # Preference ln 6 against four zeros: weights 6/10 and 1/10.
    favoured = visual_robustness_error([[spike], [slope]], preferences=[np.log(6), 0, 0, 0, 0])
    assert favoured.per_model == pytest.approx([float(Fraction(6, 10)), float(Fraction(3, 10))])


def test_relative_drops_by_hand() -> None:
    falls, stays = [0.8, 0.4, 0.4, 0.4, 0.4, 0.4], [0.5] * 6
    accuracy = [[falls], [stays]]
    # A[v,c] is 7/15 and 1/2, clean 4/5 and 1/2.
    assert severity_aggregated_accuracy(accuracy) == pytest.approx(np.array([[7 / 15], [1 / 2]]))
    drops = relative_drops(accuracy)
    assert drops.per_cell == pytest.approx(np.array([[float(Fraction(5, 12))], [0]]))
    assert drops.per_model == pytest.approx([float(Fraction(5, 12)), 0])
    assert drops.per_corruption == pytest.approx([float(Fraction(1, 3) / Fraction(13, 10))])


@given(cubes)
def test_error_rate_is_the_slope_that_scipy_fits(errors: Array) -> None:
    expected = [[linregress(range(6), cell).slope for cell in model] for model in errors]
    assert severity_submetrics(errors)["error_rate"] == pytest.approx(np.array(expected), abs=1e-12)


@given(cubes)
def test_average_difference_follows_from_average_error(errors: Array) -> None:
    found = severity_submetrics(errors)
    assert found["average_difference"] == pytest.approx(6 / 5 * (found["average_error"] - errors[:, :, 0]), abs=1e-12)


@given(cubes, scores)
def test_robustness_error_lies_in_the_unit_interval(errors: Array, preferences: list[float]) -> None:
    for values in visual_robustness_error(errors, preferences):
        assert np.all((values >= 0) & (values <= 1 + 1e-12))


@given(cubes, scores)
def test_robustness_errors_of_models_and_corruptions_have_one_mean(errors: Array, preferences: list[float]) -> None:
    found = visual_robustness_error(errors, preferences)
    assert found.per_model.mean() == pytest.approx(found.per_corruption.mean())


@given(distinct_cubes, st.randoms(use_true_random=False))
def test_reordering_models_and_corruptions_reorders_results(errors: Array, random: Any) -> None:
    models, corruptions = (random.sample(range(size), size) for size in errors.shape[:2])
    reordered = errors[models][:, corruptions]
    found, plain = visual_robustness_error(reordered), visual_robustness_error(errors)
    assert found.per_model == pytest.approx(plain.per_model[models])
    assert found.per_corruption == pytest.approx(plain.per_corruption[corruptions])
    for name, matrix in severity_submetrics(errors).items():
        assert severity_submetrics(reordered)[name] == pytest.approx(matrix[models][:, corruptions])


@given(
    arrays(np.float64, (3, 4), elements=st.floats(-10, 10)),
    st.floats(0.1, 10),
    st.floats(-10, 10),
)
def test_scaling_forgets_unit_and_origin(matrix: Array, factor: float, offset: float) -> None:
    assume(np.ptp(matrix) > 1e-3)
    assert min_max_scale(factor * matrix + offset) == pytest.approx(min_max_scale(matrix), abs=1e-9)


@given(scores, st.floats(-5, 5))
def test_weights_are_a_softmax(preferences: list[float], shift: float) -> None:
    weights = preference_weights(preferences)
    assert weights.sum() == pytest.approx(1)
    assert np.array_equal(np.sort(weights), weights[np.argsort(preferences, kind="stable")])
    assert preference_weights([score + shift for score in preferences]) == pytest.approx(weights)


def test_weights_are_equal_without_preferences() -> None:
    assert preference_weights() == pytest.approx([0.2] * 5)
    assert preference_weights([7] * 5) == pytest.approx([0.2] * 5)
    assert preference_weights([1000, 0, 0, 0, 0]) == pytest.approx([1, 0, 0, 0, 0])


@pytest.mark.parametrize("preferences", [[0] * 4, [0] * 6, [], 3, [0, 0, 0, 0, np.nan], [np.inf, 0, 0, 0, 0]])
def test_preferences_must_be_five_finite_scores(preferences: Any) -> None:
    with pytest.raises(InvalidValueError, match="5 finite scores"):
        preference_weights(preferences)


def test_scaling_spans_the_whole_matrix() -> None:
    assert min_max_scale([[1, 2], [3, 5]]) == pytest.approx(np.array([[0, 0.25], [0.5, 1]]))


@pytest.mark.parametrize("value", [0.0, 0.3, -7.0])
def test_a_constant_matrix_scales_to_zero(value: float) -> None:
    assert np.array_equal(min_max_scale(np.full((2, 3), value)), np.zeros((2, 3)))


def test_rounding_noise_does_not_scale_to_one() -> None:
    flat = np.tile(np.linspace(0.01, 1, 100)[:, None, None], (1, 1, 6))
    rates = severity_submetrics(flat)["error_rate"]
    assert np.ptp(rates) > 0  # sums of binary fractions leave a slope of about 1e-17 in a flat line
    assert np.array_equal(min_max_scale(rates), np.zeros((100, 1)))


def test_undefined_cells_stay_undefined_and_do_not_set_the_scale() -> None:
    scaled = min_max_scale(np.array([[np.nan, 1], [2, 3]]))
    assert np.isnan(scaled[0, 0])
    assert scaled[0, 1] == 0
    assert scaled[1] == pytest.approx([0.5, 1])
    assert np.isnan(min_max_scale([[np.nan]])).all()


def test_one_model_scales_over_its_corruptions() -> None:
    mild, strong = [0.2] * 6, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert visual_robustness_error([[mild, strong]]).per_corruption == pytest.approx([0, 1])
    assert visual_robustness_error([[mild, strong]]).per_model == pytest.approx([0.5])


def test_a_model_that_nothing_harms_has_no_robustness_error() -> None:
    unharmed = np.full((2, 3, 6), 0.25)
    assert np.array_equal(visual_robustness_error(unharmed).per_model, [0, 0])


def test_a_perfect_clean_score_is_undefined_and_named() -> None:
    errors = np.array([[[0.0, 0.1, 0.2, 0.3, 0.4, 0.5]], [[0.1, 0.2, 0.2, 0.3, 0.4, 0.5]]])
    with pytest.warns(RuntimeWarning, match=r"faultless has a clean error of 0.*undefined \(NaN\)"):
        found = severity_submetrics(errors, models=["faultless", "other"])
    for name in ("first_drop", "range_of_error"):
        assert np.isnan(found[name][0, 0])
        assert np.isfinite(found[name][1, 0])
    for name in ("error_rate", "average_error", "average_difference"):
        assert np.isfinite(found[name]).all()
    with pytest.warns(RuntimeWarning, match="model 0"):
        robustness = visual_robustness_error(errors)
    assert np.isnan(robustness.per_model[0])
    assert np.isfinite(robustness.per_model[1])
    assert np.isnan(robustness.per_corruption[0])


def test_an_error_of_zero_under_a_corruption_leaves_the_first_drop_defined() -> None:
    with pytest.warns(RuntimeWarning, match="lucky has an error of 0"):
        found = severity_submetrics([[[0.2, 0.0, 0.2, 0.2, 0.2, 0.2]]], models=["lucky"])
    assert np.isnan(found["range_of_error"]).all()
    assert found["first_drop"] == pytest.approx(np.array([[-1]]))


@pytest.mark.parametrize("clean", [0.0, 5e-324, 1e-300, 1e-17])
def test_no_result_is_ever_infinite(clean: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = severity_submetrics([[[clean, 1, 1, 1, 1, 1]]])
    assert not any(np.isinf(matrix).any() for matrix in found.values())


def test_a_clean_accuracy_of_zero_has_no_relative_drop() -> None:
    with pytest.warns(RuntimeWarning, match="hopeless has a clean accuracy of 0"):
        drops = relative_drops(np.zeros((1, 2, 6)), models=["hopeless"])
    assert all(np.isnan(values).all() for values in drops)


def test_the_clean_accuracy_of_a_model_is_one_number() -> None:
    accuracy = np.full((1, 2, 6), 0.5)
    accuracy[0, 1, 0] = 0.6
    with pytest.raises(InvalidValueError, match=r"clean accuracy .* of model 0 .* varies by 0.1"):
        relative_drops(accuracy)


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        (np.zeros((2, 3, 5)), "2 x 3 x 5"),
        (np.zeros((2, 6)), "2 x 6"),
        (np.zeros((0, 3, 6)), "0 x 3 x 6"),
        (0.5, "a single number"),
        (np.full((1, 1, 6), 71.26), r"not a percentage\), got 71.26 for model 0, corruption 0, level 0"),
        (np.full((1, 1, 6), -0.1), "got -0.1"),
        ([[[0.1, 0.1, np.nan, 0.1, 0.1, 0.1]]], "got nan for model 0, corruption 0, level 2"),
        ([[[0.1, 0.1, 0.1, np.inf, 0.1, 0.1]]], "got inf"),
    ],
)
def test_bad_errors_are_refused(errors: Any, message: str) -> None:
    for metric in (severity_submetrics, visual_robustness_error, severity_aggregated_accuracy, relative_drops):
        with pytest.raises(InvalidValueError, match=message):
            metric(errors)


@pytest.mark.parametrize("errors", [[[["a"] * 6]], [[[0.1] * 6], [[0.1] * 5]], None])
def test_what_is_no_array_of_numbers_is_refused(errors: Any) -> None:
    with pytest.raises((InvalidTypeError, InvalidValueError)):
        severity_submetrics(errors)


def test_every_model_has_a_name() -> None:
    with pytest.raises(InvalidValueError, match=r"all 2 models, got 1 names: \['a'\]"):
        severity_submetrics(np.full((2, 1, 6), 0.5), models=["a"])


def test_the_input_is_left_alone() -> None:
    errors = np.linspace(0.1, 0.9, 12).reshape(1, 2, 6)
    before = errors.copy()
    errors.flags.writeable = False
    visual_robustness_error(errors)
    assert np.array_equal(errors, before)
