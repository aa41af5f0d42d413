"""Drift by hand, its invariants, and the table of pairs."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import pearsonr

from robustlib.errors import InvalidValueError
from robustlib.metrics.drift import ANOTHER_IMAGE, drift_summary, explanation_drift, map_drift

MAPS = arrays(np.float64, (2, 3, 4), elements=st.floats(0, 1e6))


def delta(row: int, column: int) -> NDArray[Any]:
    found = np.zeros((1, 4, 6))
    found[0, row, column] = 0.25
    return found


@given(MAPS)
def test_a_map_does_not_drift_from_itself_nor_from_a_multiple(maps: NDArray[Any]) -> None:
    for other in (maps, maps * 4):
        found = map_drift(maps, other)
        np.testing.assert_allclose(found.correlation, 1, atol=1e-9)
        np.testing.assert_allclose(found.shift, 0, atol=1e-9)


@given(MAPS, MAPS)
def test_drift_is_the_same_both_ways_and_in_its_range(first: NDArray[Any], second: NDArray[Any]) -> None:
    there, back = map_drift(first, second), map_drift(second, first)
    np.testing.assert_allclose(there.correlation, back.correlation, atol=1e-12)
    np.testing.assert_allclose(there.shift, back.shift, atol=1e-12)
    assert (np.abs(there.correlation) <= 1).all()
    assert ((there.shift >= 0) & (there.shift < 1)).all()


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (2, 0), (-1, 2)])
def test_a_point_that_moves_shifts_by_as_much(rows: int, columns: int) -> None:
    found = map_drift(delta(1, 1), delta(1 + rows, 1 + columns))
    assert found.shift[0] == pytest.approx(np.hypot(rows / 4, columns / 6) / np.sqrt(2))
    assert found.correlation[0] == pytest.approx(-1 / 23)  # of two different points among 24 cells
    assert not found.constant[0]


def test_the_correlation_is_scipys() -> None:
    draw = np.random.default_rng(0)
    first, second = draw.random((2, 20, 5, 7))
    expected = [pearsonr(one.ravel(), other.ravel()).statistic for one, other in zip(first, second, strict=True)]
    np.testing.assert_allclose(map_drift(first, second).correlation, expected)


def test_constant_maps_point_to_the_middle_and_are_counted() -> None:
    nothing, everything = np.zeros((1, 4, 6)), np.full((1, 4, 6), 0.3)
    both, one = map_drift(nothing, everything), map_drift(delta(0, 0), everything)
    assert (both.correlation[0], both.shift[0], both.constant[0]) == (1, pytest.approx(0), True)
    assert (one.correlation[0], one.constant[0]) == (0, True)
    assert one.shift[0] == pytest.approx(np.hypot(1 / 2 - 1 / 8, 1 / 2 - 1 / 12) / np.sqrt(2))


@pytest.mark.parametrize(
    ("first", "second"),
    [(np.ones((1, 2, 2)), np.ones((1, 2, 3))), (np.ones((2, 2)), np.ones((2, 2))), (-delta(0, 0), delta(0, 0))],
)
def test_what_is_no_pair_of_maps_is_an_error(first: NDArray[Any], second: NDArray[Any]) -> None:
    with pytest.raises(InvalidValueError, match="Maps must be"):
        map_drift(first, second)


def explanations() -> pd.DataFrame:
    """Two models, four questions about two images, clean and under one corruption at two severities."""
    rows = [
        {
            "model": model,
            "dataset": "toy",
            "split": "test",
            "question_id": f"q{question}",
            "image_id": f"i{question // 2}",
            "suite": "s" if severity else "",
            "variant": "snow" if severity else "clean",
            "severity": severity,
            "answer": "no" if severity == 5 and question else "yes",
            "rows": 4,
            "columns": 6,
            "map": delta(question // 2, severity).ravel().tolist(),
            "captions": [f"caption {number * (severity == 5)}" for number in range(2)] if model == "b" else [],
        }
        for model in ("a", "b")
        for severity in (0, 1, 5)
        for question in range(4)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=1)


def test_every_corrupted_map_meets_its_own_clean_one() -> None:
    pairs = explanation_drift(explanations())
    real = pairs[pairs["variant"] == "snow"]
    assert len(real) == 16
    np.testing.assert_allclose(real["shift"], real["severity"] / 6 / np.sqrt(2))
    assert (real["changed"] == ((real["severity"] == 5) & (real["question_id"] != "q0"))).all()
    kept = real.groupby(["model", "severity"])["captions_kept"].mean()
    assert kept.fillna(-1).to_dict() == {("a", 1): -1, ("a", 5): -1, ("b", 1): 1, ("b", 5): 1}
    assert (pairs[pairs["variant"] == ANOTHER_IMAGE]["shift"] > 0).all()


def test_the_summary_counts_and_has_intervals_over_images() -> None:
    found = drift_summary(explanation_drift(explanations()), ["model", "variant", "severity"])
    row = found[(found["model"] == "a") & (found["severity"] == 5)].iloc[0]
    assert (row["pairs"], row["images"], row["changed"], row["constant"]) == (4, 2, 0.75, 0)
    assert row["shift"] == row["shift_low"] == row["shift_high"] == pytest.approx(5 / 6 / np.sqrt(2))
    assert np.isnan(row["captions_kept_low"])
    chance = found[found["variant"] == ANOTHER_IMAGE]
    assert (chance["pairs"] > 0).all()
    assert chance["changed"].isna().all()  # of two questions, no answer changes into the other


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_no_two_other_images_are_paired_twice(count: int) -> None:
    """Correlations are symmetric: a pair from both sides would count as two."""
    spots = np.eye(count)[:, None]  # each clean map has its evidence in a place of its own
    rows = [
        {"model": "a", "dataset": "toy", "split": "test", "question_id": f"q{place}", "image_id": f"i{place}"}
        | {"suite": "", "variant": "clean", "severity": 0, "answer": "", "rows": 1, "columns": count}
        | {"map": spots[place].ravel(), "captions": []}
        for place in range(count)
    ]
    pairs = explanation_drift(pd.DataFrame(rows))
    partners = {place: (place + max(1, (count - 1) // 2)) % count for place in range(count)}
    assert pairs["shift"].tolist() == pytest.approx([abs(a - b) / count / np.sqrt(2) for a, b in partners.items()])
    assert len({frozenset(pair) for pair in partners.items()}) == (count if count > 2 else 1)


def test_images_of_two_data_sets_are_others_even_by_the_same_name() -> None:
    table = explanations()
    both = pd.concat([table, table.assign(dataset="other")])
    found = drift_summary(explanation_drift(both), ["model", "variant"])
    snow = found[found["variant"] == "snow"]
    assert snow[["pairs", "images"]].to_numpy().tolist() == [[16, 4]] * 2


def test_one_image_gives_means_without_intervals() -> None:
    table = explanations()
    found = drift_summary(explanation_drift(table[table["image_id"] == "i0"]), ["model"])
    assert found["shift"].notna().all()
    assert found[["shift_low", "shift_high"]].isna().all(axis=None)


def test_a_map_without_its_clean_one_or_with_another_grid_is_an_error() -> None:
    table = explanations()
    lacking = table[(table["question_id"] != "q3") | (table["severity"] > 0)]
    with pytest.raises(InvalidValueError, match="q3 has no explanation of its clean image"):
        explanation_drift(lacking)
    table.loc[table["severity"] == 5, ["rows", "columns"]] = (6, 4)
    with pytest.raises(InvalidValueError, match="under snow and clean have other rows"):
        explanation_drift(table)
