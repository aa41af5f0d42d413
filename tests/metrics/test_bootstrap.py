"""The cluster bootstrap: edge cases, agreement of its two paths, and coverage on data whose truth is known."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.metrics.bootstrap import Interval, cluster_bootstrap, draw_clusters, percentile_interval


def test_interval_is_the_percentiles_of_the_resampled_statistic() -> None:
    assert percentile_interval(np.arange(41.0)) == Interval(1.0, 39.0)


def test_estimates_that_are_not_finite_are_left_out() -> None:
    assert percentile_interval([np.nan, *np.arange(41.0), np.inf]) == Interval(1.0, 39.0)
    with pytest.raises(InvalidValueError, match="got none among 2"):
        percentile_interval([np.nan, np.inf])


def test_a_clusters_rows_are_drawn_together() -> None:
    def both_or_neither(rows: np.ndarray[Any, Any]) -> float:
        assert np.count_nonzero(rows == 1) == np.count_nonzero(rows == 2)
        return float(rows.mean())

    cluster_bootstrap([1, 2, 5, 7], ["x", "x", "y", "z"], both_or_neither, resamples=50)


def test_values_and_clusters_may_be_rows_of_several_columns() -> None:
    pairs = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])

    def paired_change(rows: np.ndarray[Any, Any]) -> float:
        return float((rows[:, 0] - rows[:, 1]).mean())

    interval = cluster_bootstrap(pairs, [0, 1, 2, 3], paired_change)
    assert interval.low < 0 < interval.high


@given(value=st.floats(-1e6, 1e6), sizes=st.lists(st.integers(1, 4), min_size=2, max_size=9))
@settings(max_examples=30, deadline=None)
def test_equal_values_give_an_interval_without_width(value: float, sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    interval = cluster_bootstrap(np.full(len(clusters), value), clusters, np.mean, resamples=40)
    assert interval == pytest.approx((value, value), rel=1e-12)


@pytest.mark.parametrize("statistic", [np.mean, np.median, np.max])
def test_two_equal_clusters_still_give_an_interval(statistic: object) -> None:
    interval = cluster_bootstrap([0.0, 1.0], ["a", "b"], statistic, resamples=200)  # type: ignore[arg-type]  # ufunc stubs
    assert interval == Interval(0.0, 1.0)


def test_both_paths_agree() -> None:
    random = np.random.default_rng(3)
    values, clusters = random.normal(size=200), random.integers(40, size=200)
    draws = draw_clusters(clusters, resamples=300, seed=9)
    by_loop = cluster_bootstrap(values, clusters, np.mean, resamples=300, seed=9)
    assert percentile_interval(draws.means(values)) == pytest.approx(by_loop)
    table = np.column_stack([values, values**2])
    np.testing.assert_allclose(draws.means(table)[:, 1], draws.means(values**2))


def test_draws_are_fixed_by_the_seed_and_do_not_depend_on_row_order() -> None:
    values, clusters = np.arange(12.0), np.repeat(["a", "b", "c", "d"], 3)
    order = np.random.default_rng(0).permutation(12)
    first = cluster_bootstrap(values, clusters, np.mean, seed=4)
    assert first == cluster_bootstrap(values, clusters, np.mean, seed=4)
    assert first == pytest.approx(cluster_bootstrap(values[order], clusters[order], np.mean, seed=4))
    assert not np.array_equal(draw_clusters(clusters, seed=4).counts, draw_clusters(clusters, seed=5).counts)


def test_every_resample_draws_as_many_clusters_as_there_are() -> None:
    counts = draw_clusters(np.arange(17), resamples=25).counts
    assert counts.shape == (25, 17)
    np.testing.assert_array_equal(counts.sum(axis=1), 17)


def test_the_global_generator_is_left_alone() -> None:
    before = str(np.random.get_state())  # noqa: NPY002 - the global state is what must not change
    cluster_bootstrap([1, 2], [1, 2], np.mean, resamples=5)
    assert str(np.random.get_state()) == before  # noqa: NPY002 - as above


@pytest.mark.parametrize(
    ("values", "clusters", "resamples", "message"),
    [
        ([1, 2, 3], ["a", "a", "a"], 10, "at least two of them, got 1: .'a'."),
        ([], [], 10, "at least two of them, got 0"),
        ([1, 2, 3], ["a", "b"], 10, "each of the 3 values, got the shape .2,."),
        ([1, 2], ["a", "b"], 0, "at least 1, got 0"),
        ([1, np.nan], ["a", "b"], 10, "finite, got nan in row 1"),
    ],
)
def test_bad_input_is_refused(values: list[float], clusters: list[str], resamples: int, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        cluster_bootstrap(values, clusters, np.mean, resamples=resamples)


def test_a_fractional_number_of_resamples_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"resamples must be an integer, got 2\.5"):
        cluster_bootstrap([1, 2], [1, 2], np.mean, resamples=2.5)  # type: ignore[arg-type]  # the error under test


def test_intervals_cover_the_truth_of_clustered_data() -> None:
    """Nominal 95 %; drawing single rows instead of clusters covers far less."""
    random = np.random.default_rng(20)
    images, questions = 150, 4
    clusters = np.repeat(np.arange(images), questions)
    by_cluster, by_row = [], []
    for repetition in range(600):
        ability = 0.6 + 0.3 * random.choice([-1, 1], size=images)
        correct = random.random(images * questions) < np.repeat(ability, questions)
        by_cluster.append(percentile_interval(draw_clusters(clusters, 400, repetition).means(correct)))
        if repetition < 100:
            rows = np.arange(len(correct))
            by_row.append(percentile_interval(draw_clusters(rows, 400, repetition).means(correct)))
    assert 0.93 <= coverage(by_cluster, 0.6) <= 0.97
    assert coverage(by_row, 0.6) < 0.9


def coverage(intervals: list[Interval], truth: float) -> float:
    return sum(interval.low <= truth <= interval.high for interval in intervals) / len(intervals)
