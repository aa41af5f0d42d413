"""Temperatures are fitted to other images than they are applied to, and kinds of questions are told apart."""

import numpy as np
import pandas as pd
import pytest

from robustlib.errors import InvalidValueError
from robustlib.metrics.calibration_frames import apply_temperatures, calibration_summary, fit_temperatures
from robustlib.report.laya_evidence import evidence_of, split_kinds
from tests.report.laya_toys import EVALUATED, HELD_OUT, predictions

FEW = ["form_choice", "text"]


@pytest.fixture(scope="module")
def evaluated() -> pd.DataFrame:
    return predictions(2, EVALUATED, FEW)


@pytest.fixture(scope="module")
def held_out() -> pd.DataFrame:
    return predictions(2, HELD_OUT)


def test_each_model_has_its_own_temperatures(evaluated: pd.DataFrame, held_out: pd.DataFrame) -> None:
    evidence = evidence_of("toys", evaluated, held_out)
    fitted = evidence.temperatures.set_index(["model", "kind"])
    for model, rows in held_out.groupby("model"):
        expected = fit_temperatures(rows)
        assert set(expected) == {"choice", "yesno"}
        for kind, temperature in expected.items():
            assert fitted.loc[(str(model), kind), "temperature"] == temperature
            assert fitted.loc[(str(model), kind), "answers"] == 40
    assert (fitted["wrong"] > 0).all()
    tempered = [apply_temperatures(rows, fit_temperatures(held_out[held_out["model"] == model])) for model, rows in
                evaluated.groupby("model")]  # fmt: skip
    expected_table = calibration_summary(split_kinds(pd.concat(tempered)))
    pd.testing.assert_frame_equal(evidence.calibration, expected_table)


def test_without_held_out_answers_the_probabilities_stay(evaluated: pd.DataFrame) -> None:
    evidence = evidence_of("toys", evaluated)
    assert evidence.temperatures.empty
    pd.testing.assert_frame_equal(evidence.calibration, calibration_summary(split_kinds(evaluated)))


def test_what_was_not_held_out_keeps_a_temperature_of_one(evaluated: pd.DataFrame, held_out: pd.DataFrame) -> None:
    yes_no = held_out[(held_out["kind"] == "yesno") & (held_out["model"] == "toy/0")]
    fitted = evidence_of("toys", evaluated, yes_no).temperatures
    known = (fitted["model"] == "toy/0") & (fitted["kind"] == "yesno")
    assert (fitted.loc[known, "temperature"] != 1).all()
    assert fitted.loc[~known, ["answers", "wrong", "temperature"]].to_numpy().tolist() == [[0, 0, 1]] * 3


def test_an_image_of_the_sweep_is_not_held_out(evaluated: pd.DataFrame, held_out: pd.DataFrame) -> None:
    known = pd.concat([held_out, predictions(1, EVALUATED[:2])])
    with pytest.raises(InvalidValueError, match="2 held-out answers are about images of the sweep, such as 'image00'"):
        evidence_of("toys", evaluated, known)


def test_kinds_of_one_data_set_are_told_apart_by_their_source(evaluated: pd.DataFrame) -> None:
    split = split_kinds(evaluated)
    assert set(split["dataset"]) == {"toys (choice)", "toys (yesno)"}
    turned = split[split["family"] == "form_choice"]
    assert set(turned.loc[turned["variant"] == "choice_to_noul", "dataset"]) == {"toys (choice)"}
    assert set(turned.loc[turned["variant"] == "noul_to_choice", "dataset"]) == {"toys (yesno)"}
    one_kind = evaluated[evaluated["group_id"].isin([question.id for question in EVALUATED[::2]])]
    assert set(split_kinds(one_kind)["dataset"]) == {"toys"}


def test_unread_answers_are_counted(evaluated: pd.DataFrame) -> None:
    lost = (evaluated["variant"] == "option_period") & (evaluated["model"] == "toy/1")
    spoilt = evaluated.assign(
        status=np.where(lost, "no_answer", "ok"),
        score=evaluated["score"].where(~lost, 0),
        choice=evaluated["choice"].where(~lost, -1),
    )
    unread = evidence_of("toys", spoilt).unread
    found = unread[unread["share"] > 0].to_dict("records")
    assert [(row["model"], row["dataset"], row["variant"], row["share"], row["rows"]) for row in found] == [
        ("toy/1", "toys (choice)", "option_period", 1.0, 20)
    ]
