"""The metrics of VLM-RobustBench one by one: edges by hand, referees, invariants, and the document's own arithmetic."""

import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robustlib.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from robustlib.metrics.arrays import Array
from robustlib.metrics.configurations import (
    LEVELS,
    SPATIAL,
    category_types,
    configurations,
    corruption_columns,
    level_columns,
    severity_columns,
    spatial_columns,
)
from robustlib.metrics.corruption_error import (
    corruption_errors,
    mean_corruption_error,
    mean_corruption_error_by_category,
    reference_model,
)
from robustlib.metrics.drops import (
    TIERS,
    accuracy_drop,
    benign_at_low,
    relative_corruption_error,
    severe_failure_rate,
    tier_counts,
    tier_of,
    visual_gain,
    worst_at_low,
    worst_case_drop,
)
from robustlib.metrics.flips import flip_rates
from robustlib.metrics.severity_mismatch import (
    monotonicity_violations,
    scaling_slopes,
    severity_correlations,
    tail_share,
)

NAN = float("nan")
NAMES = [str(found) for found in configurations()]


def drops_of(**points: float) -> Array:
    """Return 133 drops that are 0 except those named, as in fog_low=3 or flip_v=1."""
    drops = np.zeros(len(NAMES))
    for name, value in points.items():
        corruption, _, level = name.rpartition("_")
        drops[NAMES.index(f"{corruption}:{level}" if level in LEVELS else name)] = value
    return drops


# --- The configurations ---


def test_the_taxonomy_is_that_of_the_document() -> None:
    assert len(configurations()) == 42 * 3 + 7 == 133
    assert len(corruption_columns()) == 49
    sizes = {category: len(types) for category, types in category_types().items()}
    assert sizes == {
        "noise": 4,
        "blur": 5,
        "weather": 5,
        "digital": 2,
        "geometric": 5,
        "occlusion": 3,
        "color": 10,
        "resolution": 5,
        "vlm_specific": 3,
        "binary": 7,
    }
    assert Counter(found.level for found in configurations()) == {"low": 42, "mid": 42, "high": 42, "binary": 7}
    assert {found.severity for found in configurations() if found.level == "binary"} == {1}


def test_columns_belong_together() -> None:
    for low, mid, high in severity_columns():
        corruption = configurations()[low].corruption
        assert [NAMES[column] for column in (low, mid, high)] == [f"{corruption}:{level}" for level in LEVELS]
        assert [configurations()[column].severity for column in (low, mid, high)] == [1, 3, 5]
    assert {configurations()[column].corruption for column in spatial_columns()} == set(SPATIAL)
    assert len(spatial_columns()) == 3 * len(SPATIAL)
    assert sorted(column for columns in corruption_columns().values() for column in columns) == list(range(133))
    with pytest.raises(UnknownNameError, match="Unknown level 'hihg'"):
        level_columns("hihg")


# --- Drops ---


@pytest.mark.parametrize(
    ("drop", "tier"),
    [
        (-0.1, "positive"),
        (-1e-13, "benign"),  # floating-point noise
        (0, "benign"),
        (1, "benign"),
        (100 * 0.93 - 100 * 0.92, "benign"),  # 1.0000000000000142
        (1.001, "mild"),
        (3, "mild"),
        (3.001, "moderate"),
        (10, "moderate"),
        (10.001, "catastrophic"),
        (100, "catastrophic"),
    ],
)
def test_tiers_at_their_edges(drop: float, tier: str) -> None:
    assert tier_of(drop) == tier
    assert tier_of(np.array([[drop]])).tolist() == [[tier]]


def test_tiers_of_what_is_no_drop() -> None:
    with pytest.raises(InvalidValueError, match="got NaN"):
        tier_of(NAN)
    with pytest.raises(InvalidTypeError, match="got 'mild'"):
        tier_of("mild")  # type: ignore[arg-type]  # the very mistake


def test_thresholds_are_strict_or_not_as_stated() -> None:
    severe = drops_of(fog_low=9, rain_mid=9.001, flip_v=50)
    assert severe_failure_rate(severe, 90) == pytest.approx(100 * 2 / 133)  # 9 is not more than a tenth of 90
    benign = drops_of(fog_low=1, rain_low=1.001, snow_low=-40, frost_mid=50)
    assert benign_at_low(benign) == pytest.approx(100 * 41 / 42)  # negative drops count, mid does not


def test_extremes_and_where_they_are_sought() -> None:
    drops = drops_of(fog_low=5, fog_high=20, flip_v=30)
    assert worst_case_drop(drops) == 30
    assert worst_at_low(drops) == 5
    assert worst_case_drop(np.full(133, -2.0)) == -2
    with pytest.raises(InvalidValueError, match=r"133 configurations as last axis, got shape \(42,\)"):
        worst_case_drop(np.zeros(42))


def test_gain_and_relative_error() -> None:
    gain = visual_gain([80, 50, 40], [40, 50, 45])
    assert gain.tolist() == [40, 0, -5]
    drops = np.stack([drops_of(fog_low=10, flip_v=-4)] * 3)
    with pytest.warns(RuntimeWarning) as caught:
        rce = relative_corruption_error(drops, gain, ["sees", "blind", "confused"])
    assert [str(warning.message).split(" gains")[0] for warning in caught] == ["blind", "confused"]
    assert rce[0][NAMES.index("fog:low")] == 25
    assert rce[0][NAMES.index("flip_v")] == -10
    assert np.isnan(rce[1:]).all()


PERCENT = st.integers(0, 1000).map(lambda tenths: tenths / 10)


@given(arrays(np.float64, 133, elements=st.floats(-100, 100)))
def test_tiers_are_a_partition(drops: Array) -> None:
    counts = tier_counts(drops)
    assert counts.sum() == 133
    assert counts.tolist() == [(tier_of(drops) == tier).sum() for tier in TIERS]
    order = [TIERS.index(tier) for tier in tier_of(np.sort(drops)).tolist()]
    assert order == sorted(order)


@given(PERCENT, arrays(np.float64, 133, elements=PERCENT))
def test_summary_numbers_are_bounded(clean: float, accuracy: Array) -> None:
    drops = accuracy_drop(clean, accuracy)
    assert worst_at_low(drops) <= worst_case_drop(drops) <= clean
    assert worst_case_drop(drops) >= drops.mean() - 1e-9
    assert 0 <= benign_at_low(drops) <= 100
    assert 0 <= severe_failure_rate(drops, clean) <= 100
    many = np.stack([drops, drops[::-1]])
    assert worst_case_drop(many).tolist() == [worst_case_drop(drops)] * 2


# --- Corruption error ---


def test_corruption_error_is_a_ratio_of_sums() -> None:
    accuracy = np.full((2, 133), 50.0)
    columns = corruption_columns()["fog"]
    accuracy[0][columns], accuracy[1][columns] = [90, 80, 70], [80, 60, 40]
    errors = corruption_errors(accuracy, ["mine", "ref"], "ref")
    fog = list(corruption_columns()).index("fog")
    assert errors[0, fog] == pytest.approx(100 * (10 + 20 + 30) / (20 + 40 + 60))
    assert mean_corruption_error(errors).tolist() == pytest.approx([(48 * 100 + 50) / 49, 100])


def test_a_reference_without_errors_leaves_the_type_undefined_and_out_of_the_mean() -> None:
    accuracy = np.full((2, 133), 50.0)
    accuracy[1][corruption_columns()["fog"]] = 100
    accuracy[0][corruption_columns()["rain"]] = 75
    errors = corruption_errors(accuracy, ["mine", "ref"], "ref")
    assert np.isnan(errors).sum() == 2
    assert mean_corruption_error(errors).tolist() == pytest.approx([(47 * 100 + 50) / 48, 100])
    weather = mean_corruption_error_by_category(errors)["weather"]
    assert weather.tolist() == pytest.approx([(3 * 100 + 50) / 4, 100])
    assert np.isnan(mean_corruption_error(np.full(49, NAN)))


def test_the_reference_is_the_worst_on_clean_images() -> None:
    assert reference_model([80, 60, 70], ["a", "b", "c"]) == "b"
    assert reference_model([60, 60, 70], ["a", "b", "c"]) == "a"
    with pytest.raises(UnknownNameError, match=r"Unknown reference model 'd'. Known: a, b"):
        corruption_errors(np.zeros((2, 133)), ["a", "b"], "d")
    with pytest.raises(InvalidValueError, match="2 models x 133 configurations"):
        corruption_errors(np.zeros((3, 133)), ["a", "b"], "a")


# --- Flips ---


def test_flips_by_hand() -> None:
    clean, corrupted = [1, 1, 1, 0, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0, 0, 1]
    assert flip_rates(clean, corrupted) == (37.5, 12.5, 3)
    assert flip_rates(np.array(clean, bool), np.array([clean, corrupted], bool)).plus.tolist() == [0, 37.5]


def test_flips_without_helpful_ones_have_no_ratio() -> None:
    plus, minus, quotient = flip_rates([1, 1], [0, 1])
    assert (plus, minus) == (50, 0)
    assert np.isnan(quotient)


@pytest.mark.parametrize(
    ("clean", "corrupted", "message"),
    [
        ([1, 0], [1, 0, 1], "2 clean, 3 corrupted"),
        ([], [], "at least one question"),
        ([1, 0.5], [1, 0], r"True or False \(or 1 or 0\)"),
        ([1, 0], [1, NAN], "corrupted_correct must be True or False"),
        (1, 1, "at least one question"),
    ],
)
def test_flips_check_their_arguments(clean: Any, corrupted: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        flip_rates(clean, corrupted)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_flips_differ_by_the_drop(pairs: list[tuple[bool, bool]]) -> None:
    clean, corrupted = np.array(pairs).T
    plus, minus, _ = flip_rates(clean, corrupted)
    assert plus - minus == pytest.approx(accuracy_drop(100 * clean.mean(), [100 * corrupted.mean()])[0], abs=1e-9)
    assert flip_rates(corrupted, clean)[:2] == (minus, plus)
    assert flip_rates(clean, clean)[:2] == (0, 0)


# --- Severity against difficulty ---


@pytest.mark.parametrize(
    ("low", "mid", "high", "violation", "rho"),
    [
        (1, 2, 3, False, 1),
        (3, 2, 1, True, -1),
        (2, 1, 3, True, 0.5),
        (1, 3, 2, True, 0.5),
        (1, 1, 2, False, np.sqrt(3) / 2),  # a tie is no violation
        (1, 2, 2, False, np.sqrt(3) / 2),
        (1, 2, 1, True, 0),
        (1, 1, 1, False, NAN),
    ],
)
def test_mismatch_of_one_corruption(low: float, mid: float, high: float, violation: bool, rho: float) -> None:
    drops = drops_of(fog_low=low, fog_mid=mid, fog_high=high)
    fog = [configurations()[low].corruption for low, _, _ in severity_columns()].index("fog")
    assert monotonicity_violations(drops)[fog] == violation
    assert severity_correlations(drops)[fog] == pytest.approx(rho, nan_ok=True)
    assert np.isnan(np.delete(severity_correlations(drops), fog)).all()


@given(arrays(np.float64, (2, 133), elements=st.integers(-3, 3)))
def test_correlations_are_those_of_scipy(drops: Array) -> None:
    found = severity_correlations(drops)
    for model, row in enumerate(drops):
        for place, columns in enumerate(severity_columns()[:5]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scipy warns of constant drops
                expected = scipy.stats.spearmanr([1, 2, 3], row[columns]).statistic
            assert found[model, place] == pytest.approx(expected, nan_ok=True)


def test_where_the_catastrophes_are() -> None:
    one = drops_of(upsample_high=30, zoom_blur_low=11, fog_high=20, flip_v=12, shear_high=10)
    other = drops_of(upsample_high=10.5)
    assert tail_share(np.stack([one, other])) == pytest.approx(100 * 3 / 5)
    assert np.isnan(tail_share(np.zeros((2, 133))))


def test_slopes_are_those_of_scipy() -> None:
    drops, sizes = [5.0, 4.0, 2.5, 7.0, 6.0], [4e9, 8e9, 30e9, 1e9, 2e9]
    slopes = scaling_slopes(drops, sizes, ["q", "q", "q", "g", "g"])
    assert slopes["q"] == pytest.approx(scipy.stats.linregress(np.log10(sizes[:3]), drops[:3]).slope)
    assert slopes["g"] == pytest.approx(-1 / np.log10(2))
    with pytest.raises(InvalidValueError, match="must be positive"):
        scaling_slopes([1, 2], [0, 1e9], ["q", "q"])
    with pytest.raises(InvalidValueError, match="got 2, 1 and 2"):
        scaling_slopes([1, 2], [1e9], ["q", "q"])


# --- The document's own arithmetic ---


@pytest.mark.parametrize(("failures", "stated"), [(13, 9.8), (5, 3.8)])  # Section 5.1: severe-failure rates
def test_stated_rates_are_whole_numbers_of_configurations(failures: int, stated: float) -> None:
    drops = np.zeros(133)
    drops[:failures] = 50
    assert round(float(severe_failure_rate(drops, 85)), 1) == stated


def test_stated_totals() -> None:
    models = 9
    drops = np.zeros((models, 133))
    binary, mid = level_columns("binary"), level_columns("mid")
    drops[:, [NAMES.index("flip_v")]] = 10.3  # Table 4, as a mean over models
    assert tier_counts(drops[:, binary]).sum() == 63  # Section 5.5: 9 of 63 binary cases are catastrophic
    assert tier_counts(drops[:, binary])[:, TIERS.index("catastrophic")].sum() == 9
    assert tier_counts(drops[:, mid]).sum() == 378
