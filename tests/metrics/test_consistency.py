"""Consistency over severities."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustlib.errors import InvalidValueError
from robustlib.metrics.consistency import consistency_summary, severity_consistency


@pytest.mark.parametrize(
    ("answers", "consistency", "fluctuates"),
    [
        ([0, 1, 0, 1, 0], 0, True),  # the document's example
        ([1, 1, 1, 1, 1], 1, False),
        ([0, 0, 1, 1, 1], 3 / 4, False),
        ([0, 0, 1, 0, 0], 2 / 4, True),
        ([0, 1, 2, 3, 4], 0, False),
        (["yes", "yes", "no", "", "yes"], 1 / 4, True),
    ],
)
def test_consistency_by_hand(answers: list[int] | list[str], consistency: float, fluctuates: bool) -> None:
    steady = severity_consistency([answers])
    assert steady.consistency.tolist() == [consistency]
    assert steady.fluctuates.tolist() == [fluctuates]


@given(st.lists(st.integers(0, 2), min_size=2, max_size=6))
def test_names_and_direction_do_not_matter(answers: list[int]) -> None:
    forward, back = severity_consistency([answers]), severity_consistency([answers[::-1]])
    renamed = severity_consistency([[f"answer {9 - code}" for code in answers]])
    for other in (back, renamed):
        assert other.consistency == forward.consistency
        assert other.fluctuates == forward.fluctuates


@pytest.mark.parametrize("answers", [[], [0, 1], [[0], [1]]])
def test_fewer_than_two_levels_are_refused(answers: list[int]) -> None:
    with pytest.raises(InvalidValueError, match="at least two levels"):
        severity_consistency(answers)


def predictions(answers: dict[str, list[str]], severities: tuple[int, ...] = (1, 2, 3, 4, 5)) -> pd.DataFrame:
    rows = [
        {
            "model": "toy",
            "dataset": "toys",
            "split": "test",
            "suite": "imagenet_c" if severity else "",
            "family": "corruption" if severity else "clean",
            "variant": "fog" if severity else "clean",
            "severity": severity,
            "group_id": question,
            "image_id": f"image of {question}",
            "answer": answer,
        }
        for question, given in answers.items()
        for severity, answer in zip((0, *severities), given, strict=True)
    ]
    return pd.DataFrame(rows)


def test_summary_counts_the_clean_answer_as_the_first_level() -> None:
    table = consistency_summary(predictions({"a": ["x", "y", "y", "y", "y", "y"], "b": ["x", "y", "x", "x", "x", "x"]}))
    (row,) = table.to_dict("records")
    assert (row["suite"], row["variant"], row["questions"], row["levels"]) == ("imagenet_c", "fog", 2, 6)
    assert row["consistency"] == pytest.approx((4 / 5 + 3 / 5) / 2)
    assert (row["fluctuating"], row["fluctuating_low"], row["fluctuating_high"]) == (0.5, 0, 1)


def test_a_single_image_gives_no_interval() -> None:
    (row,) = consistency_summary(predictions({"a": list("xyyyyy")})).to_dict("records")
    assert row["consistency"] == pytest.approx(4 / 5)
    assert np.isnan([row["consistency_low"], row["fluctuating_high"]]).all()


def test_any_set_of_severities_will_do() -> None:
    table = consistency_summary(predictions({"a": ["x", "x", "y"], "b": ["x", "x", "x"]}, severities=(1, 5)))
    assert table["levels"].tolist() == [3]
    assert table["consistency"].tolist() == [0.75]


def test_a_single_severity_is_no_series() -> None:
    table = consistency_summary(predictions({"a": ["x", "x"], "b": ["x", "x"]}, severities=(1,)))
    assert table.empty
    assert table.dtypes["consistency"] == np.float64


def test_a_missing_or_double_answer_is_refused() -> None:
    whole = predictions({"a": list("xxxxxx"), "b": list("xxxxxx")})
    with pytest.raises(InvalidValueError, match="Question b has no answer at severity 3 of imagenet_c/corruption/fog"):
        consistency_summary(whole.drop(index=9))
    with pytest.raises(InvalidValueError, match="Question a has no answer at severity 0"):
        consistency_summary(whole.drop(index=0))
    with pytest.raises(InvalidValueError, match="two answers at one severity"):
        consistency_summary(pd.concat([whole, whole[-1:]]))
