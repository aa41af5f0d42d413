"""Every number of VLM-RobustBench on a table small enough to work them out by hand: see `tests.metrics.vlm_table`."""

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustlib.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from robustlib.metrics.configurations import configurations
from robustlib.metrics.rates import BenchScores
from robustlib.metrics.vlm_robustbench import (
    category_sensitivity,
    configuration_table,
    level_table,
    mean_configuration_table,
    model_table,
    models_with_gain,
    overall_table,
    scaling_table,
    tier_certainty,
)
from robustlib.metrics.vlm_scores import bench_scores, status_shares_by_condition
from robustlib.metrics.vlm_summary import robustness_summary
from tests.metrics.vlm_table import MODELS, QUESTIONS, hand_made_predictions

NAN = float("nan")
ONE = Fraction(100, 12)  # one question, in points
HAND = hand_made_predictions()
SCORES = bench_scores(HAND)
SEEING = SCORES.of_models(["sure", "shaky"])
FEW = 20  # resamples, where the intervals are not looked at

pytestmark = pytest.mark.filterwarnings("ignore:blind gains nothing:RuntimeWarning")

# The drops of "sure" that are not 0: fog low 1 question, fog high 3, upsample low -1, mid 6, high 9, flip_v 1.
SURE_LOST = 1 + 3 - 1 + 6 + 9 + 1
# "shaky" loses 1 question at 42 mid, 2 at 42 high, and gains 2 at 7 binary configurations.
SHAKY_LOST = 42 * 1 + 42 * 2 - 7 * 2
# Reference errors: shaky has 6 wrong at low, 7 at mid, 8 at high: 21 of 36; binary 4 of 12.
MODEL_NUMBERS: dict[str, tuple[float | Fraction, ...]] = {
    "clean_accuracy": (75, 50, Fraction(700, 12)),
    "no_image_accuracy": (25, Fraction(100, 3), Fraction(700, 12)),
    "visual_gain": (50, Fraction(50, 3), 0),
    "mean_drop": (SURE_LOST * ONE / 133, SHAKY_LOST * ONE / 133, 0),
    "worst_case_drop": (75, Fraction(50, 3), 0),
    "severe_failure_rate": (
        Fraction(500, 133),
        Fraction(8400, 133),
        0,
    ),  # above 7.5: all 5 drops; above 5: every mid and high
    "worst_at_low": (ONE, 0, 0),
    "benign_at_low": (Fraction(4100, 42), 100, 100),
    "mrce": (2 * SURE_LOST * ONE / 133, 6 * SHAKY_LOST * ONE / 133, NAN),  # 100 / 50 and 100 / (50/3)
    "mrce_at_low": (0, 0, NAN),
    "mrce_at_mid": (2 * 6 * ONE / 42, 50, NAN),
    "mrce_at_high": (2 * 12 * ONE / 42, 100, NAN),
    "mrce_at_binary": (2 * ONE / 7, -100, NAN),
    "mce": (
        100 * (40 * Fraction(9, 21) + Fraction(9 + 4, 21) + Fraction(9 + 14, 21) + 6 * Fraction(3, 4) + 1) / 49,
        100,
        100 * (42 * Fraction(15, 21) + 7 * Fraction(5, 4)) / 49,
    ),
    "ce_fog": (Fraction(1300, 21), 100, Fraction(1500, 21)),
    "ce_upsample": (Fraction(2300, 21), 100, Fraction(1500, 21)),
    "ce_flip_v": (100, 100, 125),
    "ce_invert": (75, 100, 125),
    "undefined_errors": (0, 0, 0),
    "mce_noise": (Fraction(900, 21), 100, Fraction(1500, 21)),
    "mce_weather": (100 * (4 * Fraction(9, 21) + Fraction(13, 21)) / 5, 100, Fraction(1500, 21)),
    "mce_resolution": (100 * (4 * Fraction(9, 21) + Fraction(23, 21)) / 5, 100, Fraction(1500, 21)),
    "mce_binary": (100 * (6 * Fraction(3, 4) + 1) / 7, 100, 125),
    "positive_share": (Fraction(100, 133), Fraction(700, 133), 0),
    "benign_share": (Fraction(12700, 133), Fraction(4200, 133), 100),
    "mild_share": (0, 0, 0),
    "moderate_share": (Fraction(200, 133), Fraction(4200, 133), 0),
    "catastrophic_share": (Fraction(300, 133), Fraction(4200, 133), 0),
    "positive_count": (1, 7, 0),
    "flip_plus": ((1 + 3 + 6 + 9 + 2) * ONE / 133, 126 * ONE / 133, 0),
    "flip_minus": (2 * ONE / 133, 14 * ONE / 133, 0),
    "flip_ratio": (Fraction(21, 2), 9, NAN),
    "violation_rate": (Fraction(100, 42), 0, 0),  # fog costs more at low than at mid
    "severity_correlation": (Fraction(3, 4), 1, NAN),  # fog: ranks 2, 1, 3, rho 1/2; upsample 1; the rest undefined
    "undefined_correlations": (40, 0, 42),
}


def by_keys(table: pd.DataFrame, *keys: str) -> dict[tuple[Any, ...], dict[Any, Any]]:
    return {tuple(row[key] for key in keys): row for row in table.to_dict("records")}


def value_of(table: pd.DataFrame, **where: str) -> float:
    chosen = table
    for column, name in where.items():
        chosen = chosen[chosen[column] == name]
    (value,) = chosen["value"]
    return float(value)


@pytest.fixture(scope="module")
def models() -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_table(SCORES, FEW)


@pytest.mark.parametrize("metric", MODEL_NUMBERS)
def test_numbers_of_models(models: pd.DataFrame, metric: str) -> None:
    found = [value_of(models, metric=metric, model=model) for model in ("sure", "shaky", "blind")]
    assert found == pytest.approx([float(value) for value in MODEL_NUMBERS[metric]], nan_ok=True, abs=1e-9)


def test_every_number_of_a_model_is_worked_by_hand_or_of_a_kind_with_one(models: pd.DataFrame) -> None:
    by_category = {f"mce_{found.category}" for found in configurations()}
    by_type = {f"ce_{found.corruption}" for found in configurations()}
    assert set(models["metric"]) == set(MODEL_NUMBERS) | by_category | by_type
    for found in configurations():
        if found.category not in ("binary", "weather", "resolution"):
            assert value_of(models, metric=f"ce_{found.corruption}", model="sure") == pytest.approx(900 / 21)
    untouched = {"mce_blur", "mce_digital", "mce_geometric", "mce_occlusion", "mce_color", "mce_vlm_specific"}
    for metric in untouched:
        assert value_of(models, metric=metric, model="sure") == pytest.approx(900 / 21)


def test_another_reference_can_be_named() -> None:
    table = model_table(SEEING, FEW, reference="sure")
    assert value_of(table, metric="mce_noise", model="shaky") == pytest.approx(2100 / 9)
    with pytest.raises(UnknownNameError, match=r"Unknown reference model 'sura'.*'sure'"):
        model_table(SEEING, FEW, reference="sura")


def test_numbers_of_levels() -> None:
    table = level_table(SCORES, FEW)
    counts = {  # sure, shaky, blind at each level, out of 3 x 42 and 3 x 7
        "low": [1, 40 + 42 + 42, 0, 1, 0],
        "mid": [0, 41 + 0 + 42, 0, 42, 1],
        "high": [0, 40 + 0 + 42, 0, 0, 2 + 42],
        "binary": [7, 6 + 0 + 7, 0, 1, 0],
    }
    for level, expected in counts.items():
        tiers = ("positive", "benign", "mild", "moderate", "catastrophic")
        assert [value_of(table, level=level, metric=f"{tier}_count") for tier in tiers] == expected
        assert sum(expected) == (21 if level == "binary" else 126)
        assert np.isnan(value_of(table, level=level, metric="mean_rce"))  # as long as "blind" is among them
    assert value_of(table, level="high", metric="mean_drop") == pytest.approx(float((12 + 84) * ONE / 126))
    assert value_of(table, level="binary", metric="flip_plus") == pytest.approx(float(2 * ONE / 21))
    assert value_of(table, level="binary", metric="flip_minus") == pytest.approx(float(15 * ONE / 21))
    assert value_of(table, level="binary", metric="flip_ratio") == pytest.approx(2 / 15)
    seeing = level_table(SEEING, FEW)
    assert value_of(seeing, level="mid", metric="mean_rce") == pytest.approx(float((2 * 6 * ONE / 42 + 50) / 2))
    assert value_of(seeing, level="binary", metric="mean_rce") == pytest.approx(float((2 * ONE / 7 - 100) / 2))


def test_numbers_over_all_models() -> None:
    table = overall_table(SCORES, FEW)
    assert value_of(table, metric="visual_gain") == pytest.approx(float((50 + Fraction(50, 3)) / 3))
    assert value_of(table, metric="catastrophic_count") == 3 + 42
    # catastrophic: sure's fog high, upsample mid and high; shaky's 42 high ones, 9 of them spatial
    assert value_of(table, metric="tail_share") == pytest.approx(float(Fraction(100 * (2 + 9), 3 + 42)))
    assert value_of(table, metric="violation_rate") == pytest.approx(float(Fraction(100, 126)))
    assert value_of(table, metric="severity_correlation") == pytest.approx((0.5 + 1 + 42) / 44)
    assert value_of(table, metric="undefined_correlations") == 40 + 42


def test_what_a_configuration_does_to_a_model() -> None:
    table = configuration_table(SCORES, FEW)
    assert len(table) == 3 * 133
    rows = by_keys(table, "model", "corruption", "severity")
    flip = rows["sure", "flip_v", 1]
    assert [flip[name] for name in ("accuracy", "drop", "rce", "flip_plus", "flip_minus")] == pytest.approx(
        [float(8 * ONE), float(ONE), float(2 * ONE), float(2 * ONE), float(ONE)]
    )
    assert (flip["level"], flip["category"], flip["tier"]) == ("binary", "binary", "moderate")
    assert rows["sure", "upsample", 1]["tier"] == "positive"
    assert rows["sure", "upsample", 5]["drop"] == 75
    untouched = rows["sure", "rotate", 5]
    assert (untouched["drop_low"], untouched["drop_high"], untouched["p_benign"]) == (0, 0, 1)
    tiers = ["p_positive", "p_benign", "p_mild", "p_moderate", "p_catastrophic"]
    assert [sum(row[tier] for tier in tiers) for row in rows.values()] == pytest.approx([1] * len(rows))


def test_how_many_verdicts_are_sure() -> None:
    table = by_keys(tier_certainty(configuration_table(SCORES, FEW)), "model", "tier")
    counted = {key: (row["configurations"], row["sure"]) for key, row in table.items()}
    assert counted["blind", "benign"] == (133, 133)
    assert counted["sure", "benign"] == (127, 127)
    assert counted["sure", "mild"] == (0, 0)
    assert counted["sure", "catastrophic"] == (3, 2)  # upsample mid and high; fog high costs 3 questions on 2 images
    assert counted["shaky", "positive"] == (7, 0)  # two questions on one image, which many resamples miss
    assert len(counted) == 3 * 5


def test_means_are_over_models_that_look() -> None:
    assert models_with_gain(SCORES) == ("shaky", "sure")
    assert models_with_gain(SCORES.of_models(["blind"])) == ("blind",)


def test_means_over_models_and_what_helps() -> None:
    table = mean_configuration_table(SCORES, FEW)
    helpful = {row["corruption"]: row["drop"] for row in table.to_dict("records") if row["tier"] == "positive"}
    binary = ["flip_h", "flip_v", "grayscale", "invert", "channel_swap", "equalize", "autocontrast"]
    expected = dict.fromkeys(binary, -2 * ONE / 3) | {"flip_v": (1 - 2) * ONE / 3, "upsample": -ONE / 3}
    assert helpful == pytest.approx({name: float(drop) for name, drop in expected.items()})


def test_categories_by_mean_drop() -> None:
    table = category_sensitivity(SCORES, FEW)
    # animals: sure loses 1 + 3 + 6 + 6 + 2, shaky 42 + 84; colours: sure 3 - 1 - 1, shaky -14; shapes nothing
    expected = {"animals": Fraction(100 * 144, 6 * 3 * 133), "shapes": 0, "colours": Fraction(100 * -13, 4 * 3 * 133)}
    assert table["category"].tolist() == list(expected)
    assert table["value"].tolist() == pytest.approx([float(value) for value in expected.values()])
    assert table["questions"].tolist() == [6, 2, 4]


def test_slope_within_families() -> None:
    sizes, families = {"sure": 1e10, "shaky": 1e9, "blind": 1e9}, {"sure": "f", "shaky": "f", "blind": "g"}
    with pytest.warns(RuntimeWarning, match="g are of one size, so its scaling slope is undefined"):
        table = scaling_table(SCORES, sizes, families, FEW)
    expected = float((SURE_LOST - SHAKY_LOST) * ONE / 133)  # per factor of ten, and the sizes differ by ten
    assert value_of(table, family="f") == pytest.approx(expected)
    assert np.isnan(value_of(table, family="g"))
    with pytest.raises(InvalidValueError, match=r"\['sure'\] lack one"):
        scaling_table(SCORES, {"shaky": 1e9, "blind": 1e9}, families, FEW)


@pytest.mark.parametrize("table", [model_table, level_table, configuration_table, mean_configuration_table])
@pytest.mark.filterwarnings("default")
def test_a_model_that_ignores_the_image_is_named(table: Callable[[BenchScores, int], pd.DataFrame]) -> None:
    with pytest.warns(RuntimeWarning, match="blind gains nothing from its images, so its relative corruption error"):
        table(SCORES, FEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table(SEEING, FEW)


def test_an_unreadable_configuration_costs_the_clean_accuracy() -> None:
    unread = HAND.copy()
    fog = (unread["variant"] == "fog") & (unread["severity"] == 3)
    unread.loc[fog, "status"], unread.loc[fog, "score"] = "no_answer", 0.0
    rows = by_keys(configuration_table(bench_scores(unread), FEW), "model", "corruption", "severity")
    for model, clean in (("sure", 75), ("shaky", 50), ("blind", 700 / 12)):
        assert rows[model, "fog", 3]["drop"] == pytest.approx(clean)
        assert rows[model, "fog", 3]["tier"] == "catastrophic"
    shares = by_keys(status_shares_by_condition(unread), "model", "condition")
    assert len(shares) == 3 * 135
    for (_, condition), row in shares.items():
        expected = [0, 100, 0, 0] if condition == "fog:mid" else [100, 0, 0, 0]
        assert [row[status] for status in ("ok", "no_answer", "truncated", "error")] == expected
        assert row["rows"] == 12


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    shuffled = bench_scores(HAND.sample(frac=1, random_state=seed))
    assert shuffled.models == MODELS
    assert (shuffled.correct == SCORES.correct).all()
    pd.testing.assert_frame_equal(model_table(shuffled, FEW), model_table(SCORES, FEW))
    pd.testing.assert_frame_equal(category_sensitivity(shuffled, FEW), category_sensitivity(SCORES, FEW))


def test_other_rows_are_left_out() -> None:
    others = HAND[HAND["variant"] == "fog"].assign(severity=2)
    suites = HAND[HAND["family"] == "corruption"].assign(suite="imagenet_c")
    assert (bench_scores(pd.concat([HAND, others, suites])).correct == SCORES.correct).all()


def drop_rows(**where: object) -> pd.DataFrame:
    chosen = pd.Series(True, index=HAND.index)
    for column, value in where.items():
        chosen &= HAND[column] == value
    assert chosen.any()
    return HAND[~chosen]


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (drop_rows(model="sure", variant="fog", severity=3), "Model sure lacks 1 of 135 conditions: fog:mid."),
        (drop_rows(variant="flip_v"), "Model blind lacks 1 of 135 conditions: flip_v."),
        (drop_rows(family="no_image"), "lacks 1 of 135 conditions: no_image."),
        (drop_rows(family="clean"), "lacks 1 of 135 conditions: clean."),
        (
            drop_rows(model="shaky", variant="rain", severity=5, question_id="q03"),
            "shaky must answer question 'q03' once",
        ),
        (pd.concat([HAND, HAND.tail(1)]), "must answer question 'q11' once under autocontrast, but did 2 times"),
        (HAND.assign(score=0.3), "right (1) or wrong (0), got the score 0.3 of model sure for question 'q00'"),
        (HAND.assign(dataset=["a", *["b"] * (len(HAND) - 1)]), "one data set and split, got ['a/test', 'b/test']"),
        (HAND.assign(image_id=[str(row) for row in range(len(HAND))]), "Question 'q00' must have one image"),
        (HAND.drop(columns="image_id"), "lack the columns ['image_id']"),
        (HAND.head(0), "got no row at all"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(predictions: pd.DataFrame, message: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        bench_scores(predictions)
    assert message in str(caught.value)


def test_unknown_models_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model 'sur'.*Did you mean 'sure'"):
        SCORES.of_models(["sur"])


# --- The main table's row from accuracies alone ---


def accuracies_of(scores: BenchScores, model: str) -> tuple[float, float, dict[tuple[str, int], float]]:
    rates = scores.of_models([model]).rates()
    keys = [(found.corruption, found.severity) for found in configurations()]
    return float(rates.clean[0]), float(rates.no_image[0]), dict(zip(keys, rates.config[0].tolist(), strict=True))


@pytest.mark.parametrize("model", ["sure", "shaky"])
def test_summary_agrees_with_the_table(models: pd.DataFrame, model: str) -> None:
    row = robustness_summary(*accuracies_of(SCORES, model))
    metrics = [
        "clean_accuracy",
        "worst_case_drop",
        "severe_failure_rate",
        "worst_at_low",
        "benign_at_low",
        "visual_gain",
    ]
    assert list(row) == [*metrics, "mrce"]
    assert row == pytest.approx({metric: value_of(models, metric=metric, model=model) for metric in row})


def test_summary_takes_mappings_series_and_frames() -> None:
    clean, no_image, mapping = accuracies_of(SCORES, "sure")
    series = pd.Series(mapping)
    frame = series.rename_axis(["corruption", "severity"]).rename("accuracy").reset_index()
    by_mapping = robustness_summary(clean, no_image, mapping)
    assert robustness_summary(clean, no_image, series) == by_mapping
    assert robustness_summary(clean, no_image, frame.sample(frac=1, random_state=0)) == by_mapping


def test_summary_without_visual_gain() -> None:
    with pytest.warns(RuntimeWarning, match="a model of mine gains nothing from its images"):
        row = robustness_summary(*accuracies_of(SCORES, "blind"), model="a model of mine")
    assert (row["visual_gain"], row["worst_case_drop"], row["benign_at_low"]) == (0, 0, 100)
    assert np.isnan(row["mrce"])


def test_summary_checks_its_arguments() -> None:
    clean, no_image, mapping = accuracies_of(SCORES, "sure")
    without = {key: value for key, value in mapping.items() if key not in {("fog", 3), ("flip_v", 1)}}
    with pytest.raises(InvalidValueError, match="lacks 2 of 133 configurations: fog:mid, flip_v"):
        robustness_summary(clean, no_image, without)
    with pytest.raises(InvalidValueError, match=r"1 that are no configurations: \[\('fog', 2\)\]"):
        robustness_summary(clean, no_image, mapping | {("fog", 2): 50.0})
    with pytest.raises(InvalidValueError, match=r"acc_config\[\('fog', 3\)\] must be .* from 0 to 100, got 101"):
        robustness_summary(clean, no_image, mapping | {("fog", 3): 101.0})
    with pytest.raises(InvalidValueError, match=r"acc_clean must be .* got nan"):
        robustness_summary(NAN, no_image, mapping)
    with pytest.raises(InvalidTypeError, match="acc_no_image must be an accuracy in percent, got 'none'"):
        robustness_summary(clean, "none", mapping)  # type: ignore[arg-type]  # the very mistake
    with pytest.raises(InvalidTypeError, match="must map"):
        robustness_summary(clean, no_image, [1.0] * 133)  # type: ignore[arg-type]  # the very mistake
    again = [*mapping, ("fog", 3), ("flip_v", 1)]
    twice = pd.Series([mapping[key] for key in again], index=pd.MultiIndex.from_tuples(again))
    with pytest.raises(InvalidValueError, match=r"each configuration once, but \('fog', 3\) stands several times"):
        robustness_summary(clean, no_image, twice)
    frame = pd.Series(mapping).rename_axis(["corruption", "level"]).rename("accuracy").reset_index()
    with pytest.raises(InvalidValueError, match=r"lacks the columns \['severity'\]; it has \['corruption', 'level'"):
        robustness_summary(clean, no_image, frame)


def test_questions_are_those_of_the_table() -> None:
    assert SCORES.correct.shape == (3, 135, len(QUESTIONS))
    assert SCORES.images.tolist() == [f"image-{number // 2}" for number in range(12)]
