"""Intervals on the numbers of VLM-RobustBench: against the plain bootstrap, and how often they hold the truth."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array
from robustlib.metrics.bootstrap import cluster_bootstrap
from robustlib.metrics.configurations import configurations
from robustlib.metrics.drops import accuracy_drop
from robustlib.metrics.rates import BenchScores, Rates
from robustlib.metrics.vlm_intervals import estimate, tier_probabilities
from robustlib.metrics.vlm_robustbench import category_sensitivity, configuration_table, model_table
from robustlib.metrics.vlm_scores import bench_scores
from robustlib.seeding import generator
from tests.metrics.vlm_table import hand_made_predictions

SCORES = bench_scores(hand_made_predictions()).of_models(["sure", "shaky"])


def drops(rates: Rates) -> Array:
    return accuracy_drop(rates.clean, rates.config)


def mean_drop(rates: Rates) -> dict[str, Array]:
    return {"mean_drop": drops(rates).mean(axis=-1)}


def test_intervals_are_those_of_the_plain_bootstrap() -> None:
    found = estimate(SCORES, mean_drop, resamples=300, seed=5)["mean_drop"]
    for place in range(2):
        lost = SCORES.correct[place, 0].astype(float) - SCORES.correct[place, 2:].mean(axis=0)
        plain = cluster_bootstrap(100 * lost, SCORES.images, np.mean, resamples=300, seed=5)
        assert (found.low[place], found.high[place]) == pytest.approx(plain)
        assert found.value[place] == pytest.approx(100 * lost.mean())


def test_every_number_has_an_interval_or_says_that_it_is_undefined() -> None:
    table = model_table(SCORES, resamples=200)
    assert table["value"].notna().all()
    assert (table["low"] <= table["high"]).all()
    defined = {(row["metric"], row["model"]): row["defined"] for row in table.to_dict("records")}
    assert defined["visual_gain", "sure"] == 1
    # A resample without a helpful flip has no ratio, and one without visual gain no relative error.
    assert 0 < defined["flip_ratio", "sure"] < 1
    assert 0 < defined["mrce", "shaky"] < 1


def test_equal_seeds_give_equal_intervals() -> None:
    first, second, other = (model_table(SCORES, 50, seed) for seed in (3, 3, 4))
    assert first.equals(second)
    assert not first.equals(other)
    assert first["value"].equals(other["value"])


def test_tier_probabilities_by_hand() -> None:
    # "shaky" loses one question of image-2 at every mid, so a resample of 6 images loses as many of its 12 questions as
    # it holds copies of image-2: none (benign), one (8.3 points, moderate), or more (catastrophic).
    place = [str(found) for found in configurations()].index("fog:mid")
    shares = tier_probabilities(drops(SCORES.resampled_rates(SCORES.draw(4000, seed=1))))[1, place]
    never, once = (5 / 6) ** 6, 6 * (1 / 6) * (5 / 6) ** 5
    expected = [0, never, 0, once, 1 - never - once]
    assert shares == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 4000))
    assert shares[[0, 2]].tolist() == [0, 0]
    table = configuration_table(SCORES, resamples=4000, seed=1)
    row = table[(table["model"] == "shaky") & (table["corruption"] == "fog") & (table["level"] == "mid")]
    assert row[["p_positive", "p_benign", "p_mild", "p_moderate", "p_catastrophic"]].to_numpy()[0].tolist() == list(
        shares
    )


def test_one_image_alone_is_refused() -> None:
    same = BenchScores(SCORES.models, np.full(12, "one"), SCORES.categories, SCORES.correct)
    for table in (model_table, configuration_table, category_sensitivity):
        with pytest.raises(InvalidValueError, match="at least two of them, got 1"):
            table(same, 10)


def simulate(number: int, images: int) -> NDArray[np.bool_]:
    """Return right answers, 3 conditions x questions: four questions to an image stand or fall together."""
    random = generator("coverage", number)
    easy = np.repeat(random.random(images), 4)
    return np.stack([easy < 0.7, easy < 0.3, (easy < 0.7) & (np.repeat(random.random(images), 4) < 0.8)])


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    # The true drop is 100 * 0.7 * 0.2 = 14 points. About 94 % of percentile intervals over 80 images should hold it;
    # the share among 400 has a standard error of 1.2 points, and three of them are allowed either way.
    clustered: list[bool] = []
    alone: list[bool] = []
    for number in range(400):
        correct = simulate(number, images=80)[None]
        images = np.repeat([f"i{image}" for image in range(80)], 4)
        for names, held in ((images, clustered), (np.arange(320).astype(str), alone)):
            scores = BenchScores(("m",), names, images, correct)
            number_of = estimate(scores, mean_drop, resamples=200, seed=number)["mean_drop"]
            held.append(bool(number_of.low[0] <= 14 <= number_of.high[0]))
    assert 0.904 <= np.mean(clustered) <= 0.976
    assert np.mean(alone) < 0.8  # question by question, intervals are half as wide as they should be
