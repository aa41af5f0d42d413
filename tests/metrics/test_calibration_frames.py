"""Temperatures and floors from the predictions table."""

import numpy as np
import pandas as pd
import pytest

from robustlib.data.question import Question
from robustlib.errors import InvalidValueError
from robustlib.metrics.calibration import HOTTEST
from robustlib.metrics.calibration_frames import apply_temperatures, calibration_summary, fit_temperatures
from robustlib.metrics.ece_floor import judge_calibration
from robustlib.perturbations import Variant
from robustlib.seeding import generator
from tests.metrics.answering import predict

QUESTIONS = [
    Question(
        id=f"q{number:04d}",
        image=None,
        image_id=f"image{number // 2}",
        text="which of these?",
        kind="yesno" if number % 2 else "choice",
        options=("no", "yes") if number % 2 else ("cab", "bus", "tram"),
        label=int(generator("label", number).integers(2)),
        dataset="toys",
    )
    for number in range(600)
]


def overconfident(variant: Variant) -> list[float]:
    """Weigh evidence that is worth a temperature of 1 too heavily: threefold on choices, twofold on yes/no."""
    shown = variant.question
    right = np.eye(len(shown.options))[shown.label]
    evidence = generator(shown.id).normal(size=len(right)) + right
    return list(evidence * (2 if shown.kind == "yesno" else 3))


@pytest.fixture(scope="module")
def predictions() -> pd.DataFrame:
    return predict(QUESTIONS, ["text"], overconfident)


def test_temperature_of_each_kind_is_found(predictions: pd.DataFrame) -> None:
    temperatures = fit_temperatures(predictions)
    assert temperatures == pytest.approx({"choice": 3, "yesno": 2}, rel=0.25)


def test_no_temperature_is_fitted_where_every_answer_is_right(predictions: pd.DataFrame) -> None:
    right = predictions[(predictions["kind"] == "yesno") | (predictions["choice"] == predictions["label"])]
    assert fit_temperatures(right)["choice"] == 1
    assert fit_temperatures(right)["yesno"] == fit_temperatures(predictions)["yesno"]


def test_temperatures_stay_within_their_bounds(predictions: pd.DataFrame) -> None:
    """Where every answer to a yes/no question is wrong, hotter always fits better."""
    wrong = predictions[(predictions["kind"] == "yesno") & (predictions["choice"] != predictions["label"])]
    assert fit_temperatures(wrong) == pytest.approx({"yesno": HOTTEST})


def test_temperatures_change_confidence_but_no_answer(predictions: pd.DataFrame) -> None:
    tempered = apply_temperatures(predictions, {"choice": 3.0, "yesno": 2.0})
    unchanged = ["choice", "answer", "score", "logits"]
    pd.testing.assert_frame_equal(tempered[unchanged], predictions[unchanged])
    for row in tempered.iloc[:6].to_dict("records"):
        powers = np.exp(np.array(row["logits"]) / (2 if row["kind"] == "yesno" else 3))
        np.testing.assert_allclose(row["probs"], powers / powers.sum())
        assert row["confidence"] == pytest.approx(row["probs"][row["choice"]])
    before, after = calibration_summary(predictions), calibration_summary(tempered)
    assert (after["ece"] < before["ece"]).all()
    assert before["beyond_noise"].all()
    assert not after["beyond_noise"].any()


def test_rows_without_logits_stay_as_they_are(predictions: pd.DataFrame) -> None:
    first, *others = predictions[:4].to_dict("records")
    some = pd.DataFrame([first | {"logits": None}, *others])
    tempered = apply_temperatures(some, {"choice": 3.0, "yesno": 2.0})
    assert tempered["confidence"].iloc[0] == some["confidence"].iloc[0]
    assert tempered["confidence"].iloc[1] != some["confidence"].iloc[1]


def test_summary_is_the_verdict_on_each_family(predictions: pd.DataFrame) -> None:
    table = calibration_summary(predictions, simulations=50, seed=2).set_index("family")
    clean = predictions[predictions["family"] == "clean"]
    verdict = judge_calibration(clean["confidence"], clean["score"], clean["image_id"], simulations=50, seed=2)
    row = table.loc["clean"]
    assert row["ece"] == pytest.approx(verdict.ece)
    assert row["clustered_floor_p95"] == pytest.approx(verdict.clustered_floor.p95)
    assert (row["rows"], row["clusters"]) == (600, 300)


def test_models_without_confidence_have_no_row(predictions: pd.DataFrame) -> None:
    silent = calibration_summary(predictions.assign(confidence=np.nan))
    assert silent.empty
    assert silent.dtypes.equals(calibration_summary(predictions[:0]).dtypes)
    assert silent["beyond_noise"].dtype.kind == "b"


def test_bad_input_is_refused(predictions: pd.DataFrame) -> None:
    with pytest.raises(InvalidValueError, match="No temperature for choice"):
        apply_temperatures(predictions, {"yesno": 2.0})
    with pytest.raises(InvalidValueError, match="belong to one model, got other, toy"):
        fit_temperatures(pd.concat([predictions, predictions.assign(model="other")]))
    with pytest.raises(InvalidValueError, match="the predictions hold none"):
        fit_temperatures(predictions.assign(logits=None))
