"""How far answers are from those to the same questions asked alone: by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from robustlib.errors import InvalidValueError
from robustlib.metrics.invariance import compare_conditions, invariance_summary

ALONE = {"a": [2.0, 0.0], "b": [0.1, 0.0, 0.0], "c": [0.0]}


def asked(condition: str, logits: dict[str, list[float] | None]) -> pd.DataFrame:
    rows = [("toy", "toys", "test", question, "choice", condition, row) for question, row in logits.items()]
    names = ["model", "dataset", "split", "question_id", "kind", "condition", "logits"]
    return pd.DataFrame(rows, columns=names)


def compared(logits: dict[str, list[float] | None], **temperatures: float) -> pd.DataFrame:
    table = pd.concat([asked("alone", dict(ALONE)), asked("batched", logits)])
    return compare_conditions(table, {"toy": temperatures} if temperatures else None)


def test_the_same_logits_change_nothing() -> None:
    (row,) = invariance_summary(compared(dict(ALONE))).to_dict("records")
    assert (row["rows"], row["exact"], row["flips"]) == (3, 3, 0)
    assert row["max_probability_change"] == row["max_logit_change"] == 0


def test_changes_flips_and_margins() -> None:
    table = compared({"a": [2.0, 0.5], "b": [0.0, 0.0, 0.1], "c": [3.0]}).set_index("question_id")
    first, second = math.exp(2) / (math.exp(2) + 1), math.exp(1.5) / (math.exp(1.5) + 1)
    assert table.loc["a", "logit_change"] == 0.5
    assert table.loc["a", "probability_change"] == pytest.approx(first - second)
    assert table.loc["a", "reference_margin"] == pytest.approx(2 * first - 1)
    assert table.loc["a", "margin"] == pytest.approx(2 * second - 1)
    assert dict(table.loc["b", ["reference_choice", "choice", "flipped"]]) == {
        "reference_choice": 0,
        "choice": 2,
        "flipped": True,
    }
    assert table.loc["b", "margin"] == pytest.approx((math.exp(0.1) - 1) / (math.exp(0.1) + 2))
    assert dict(table.loc["c", ["margin", "probability_change", "logit_change"]]) == {
        "margin": 1,
        "probability_change": 0,
        "logit_change": 3,
    }
    (row,) = invariance_summary(table.reset_index()).to_dict("records")
    assert (row["flips"], row["exact"], row["max_logit_change"]) == (1, 0, 3)
    assert row["mean_logit_change"] == pytest.approx((0.5 + 0.1 + 3) / 3)


def test_probabilities_are_those_of_the_temperature() -> None:
    hot = compared({"a": [4.0, 0.0], "b": [0.1, 0.0, 0.0], "c": [0.0]}, choice=2.0).set_index("question_id")
    expected = math.exp(2) / (math.exp(2) + 1) - math.exp(1) / (math.exp(1) + 1)
    assert hot.loc["a", "probability_change"] == pytest.approx(expected)
    assert hot.loc["a", "logit_change"] == 2


def test_a_question_without_logits_is_left_out() -> None:
    table = compared({"a": None, "b": [0.1, 0.0, 0.0]})
    assert table["question_id"].tolist() == ["b"]


def test_nothing_gives_empty_typed_tables() -> None:
    empty = compare_conditions(asked("alone", {}))
    assert empty.empty
    assert empty["flipped"].dtype == bool
    assert invariance_summary(empty)["max_logit_change"].dtype == np.float64


def test_a_question_asked_twice_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="toy was asked question 'b' of toys/test twice in condition 'batched'"):
        compare_conditions(pd.concat([asked("alone", dict(ALONE)), *[asked("batched", {"b": [0.0, 0.1, 0.0]})] * 2]))


@pytest.mark.parametrize("logits", [[2.0], [2.0, 0.0, 0.0]])
def test_another_number_of_options_is_refused(logits: list[float]) -> None:
    """Also where the widest question has as many options both times."""
    message = f"toy gave {len(logits)} logits to question 'a' of toys/test in condition 'batched', and 2 alone"
    with pytest.raises(InvalidValueError, match=message):
        compared({"b": [0.1, 0.0, 0.0], "a": logits})
    with pytest.raises(InvalidValueError, match=message):
        compared({"a": logits})
