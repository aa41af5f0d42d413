"""The third document's tables and sentences: cell by cell against the printed ones, and on toys of any number."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from robustlib.data.published import PUBLISHED
from robustlib.data.published_laya import laya_invariance, laya_printed
from robustlib.metrics.calibration import BINS, COLDEST, HOTTEST
from robustlib.metrics.ece_floor import SIMULATIONS
from robustlib.report.laya_calibration import ece_tables, floor_tables, temperature_tables
from robustlib.report.laya_evidence import LayaEvidence, evidence_of, load_evidence
from robustlib.report.laya_invariance import invariance_tables, short
from robustlib.report.laya_layout import Cells
from robustlib.report.laya_reading import reading
from robustlib.report.laya_spread import panels, spread
from robustlib.report.laya_tables import (
    extension_tables,
    family_tables,
    image_use_tables,
    main_tables,
    position_tables,
    typo_tables,
    unread_tables,
    variant_tables,
)
from robustlib.report.tables import Column, Table, latex, markdown, round_text
from tests.report.laya_toys import EVALUATED, FAMILIES, HELD_OUT, predictions
from tests.report.laya_toys import evidence as toy_evidence

MAKERS = [
    main_tables,
    family_tables,
    variant_tables,
    position_tables,
    image_use_tables,
    typo_tables,
    unread_tables,
    extension_tables,
    temperature_tables,
    ece_tables,
    floor_tables,
    invariance_tables,
]


@pytest.fixture(scope="module")
def published() -> LayaEvidence:
    return load_evidence(PUBLISHED)


@pytest.fixture(scope="module", params=[1, 3])
def toys(request: pytest.FixtureRequest) -> LayaEvidence:
    return toy_evidence(request.param)


def cells(table: Table) -> pd.DataFrame:
    return table.frame.set_index(["dataset", "model"])


def test_the_documents_main_table_is_rebuilt_cell_by_cell(published: LayaEvidence) -> None:
    (table,) = main_tables(published)
    frame = table.frame.replace({"dataset": {"mean of 7": "macro"}}).set_index("dataset")
    names = {
        "accuracy_ci_low": "accuracy_low",
        "accuracy_ci_high": "accuracy_high",
        "chance_accuracy": "chance_accuracy",
        "majority": "majority_accuracy",
    }
    homes = {"chance_accuracy": "clean", "majority": "text_only"}
    printed = laya_printed()
    printed = printed[printed["table"] == "main"]
    assert len(printed) > 100
    for row in printed.to_dict("records"):
        family, metric = row["family"] or homes[row["metric"]], names.get(row["metric"], row["metric"])
        ours = frame.loc[row["dataset"], f"{family}_{metric}"]
        assert abs(ours - float(row["printed"])) <= 0.0005 + 1e-9, row


def test_the_documents_other_tables_are_rebuilt(published: LayaEvidence) -> None:
    printed = {name: rows.to_dict("records") for name, rows in laya_printed().groupby("table")}
    (ece,) = ece_tables(published)
    for row in printed["ece"]:
        assert round_text(cells(ece)[row["family"]][row["dataset"], "laya-vision"], 3) == row["printed"]
    injection = next(table for table in extension_tables(published) if table.name == "injection")
    compared = 0
    for row in printed["injection"]:
        if row["family"] != "clean":
            name = "_".join(part for part in (row["family"], row["variant"], row["metric"]) if part)
            ours = cells(injection)[name][row["dataset"], "laya-vision"]
            assert ours == pytest.approx(float(row["printed"]), abs=0.0101)
            compared += 1
    assert compared == 49


def test_the_documents_verdicts_follow(published: LayaEvidence) -> None:
    (floors,) = floor_tables(published)
    beyond = floors.frame[floors.frame["beyond"] == "yes"]["series"]
    assert set(beyond) == {"aokvqa", "cauldron_visual7w", "vqav2_yesno"}
    (control,) = image_use_tables(published)
    verdicts = control.frame.set_index("dataset")["verdict"]
    assert verdicts.pop("cauldron_mapqa") == "no sign that it uses the image; not better than the commonest label"
    assert verdicts.str.startswith("uses the image").all()
    assert verdicts["cauldron_vsr"] == "uses the image", "no image and a wrong one cost the same"


def test_the_documents_invariance_table_is_rebuilt(published: LayaEvidence) -> None:
    (table,) = invariance_tables(published)
    rows = {row["asked"]: row for row in table.frame.to_dict("records")}
    for asked, probability, logit, flips in (
        ("asked again", "0", "0", 0),
        ("in batches", "3.0e-02", "2.7e-01", 2),
        ("beside hostile neighbours", "3.5e-02", "2.7e-01", 1),
        ("predict: with prefix cache", "6.6e-06", "5.2e-05", 0),
        ("bfloat16 weights", "7.9e-02", "5.4e-01", 2),
    ):
        row = rows[asked]
        assert (row["max_probability_change"], row["max_logit_change"]) == (probability, logit)
        assert (row["flips"], row["rows"]) == (flips, 350)


def test_what_the_authors_do_not_give_has_no_table(published: LayaEvidence) -> None:
    for make in (typo_tables, unread_tables, temperature_tables):
        assert make(published) == []


def test_the_sentences_about_the_published_numbers(published: LayaEvidence) -> None:
    text = reading(published)
    for sentence in (
        "Unperturbed accuracy: from 0.583 (laya-vision on cauldron_mapqa) to 0.875 (laya-vision on cauldron_vsr).",
        "3 are losses beyond noise and 2 gains",
        "The costliest variant is -0.106 (image, crop_random90: laya-vision on cauldron_vsr).",
        "Unperturbed: 3 of 7 calibration errors are beyond noise",
        "cauldron_mapqa. laya-vision: no sign that it uses the image",
        "Half precision moves a probability by at most 7.9e-02 (laya-vision, bfloat16 weights) and changes 2 of 350",
    ):
        assert sentence in text
    (row,) = laya_invariance().query("condition == 'predict_vs_batch'").to_dict("records")
    other = re.search(r"The other code path moves a probability by at most (\S+) .* changes (\d+) of 350 answers", text)
    assert other is not None
    assert (other[1], int(other[2])) == (f"{row['max_probability_change']:.1e}", row["flips"])


@pytest.mark.parametrize("make", MAKERS)
def test_any_number_of_models_gives_tables(toys: LayaEvidence, make: object) -> None:
    tables: list[Table] = make(toys)  # type: ignore[operator]  # one of MAKERS
    assert len({table.name for table in tables}) == len(tables)
    assert tables or make is unread_tables
    for table in tables:
        for text in (markdown(table), latex(table)):
            assert "nan" not in text.lower().replace("financ", "")
        numbers = table.frame.select_dtypes("number")
        assert numbers.notna().any().all(), "a column of nothing"
        assert np.isfinite(numbers.to_numpy()[numbers.notna().to_numpy()]).all() or "answers_to_clear" in numbers


def bare(predictions: pd.DataFrame) -> pd.DataFrame:
    return predictions.assign(logits=None, probs=None, confidence=np.nan)


def as_open(predictions: pd.DataFrame) -> pd.DataFrame:
    some = predictions[predictions["family"].isin(["clean", "text", "image", "image_shuffle", "text_only", "typos"])]
    nothing = some["order"].map(lambda order: [])
    return bare(some).assign(order=nothing, choice=-1, label=-1, target=-1, kind="open")


@pytest.mark.parametrize(
    "change",
    [
        bare,
        as_open,
        lambda predictions: predictions[predictions["family"] == "clean"],
        lambda predictions: predictions[(predictions["image_id"] == "image00")],
    ],
    ids=["models without probabilities", "open questions", "no family at all", "one image"],
)
def test_what_a_sweep_lacks_is_left_out(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    evidence = evidence_of("toys", change(predictions(2, EVALUATED, FAMILIES)), bare(predictions(2, HELD_OUT)))
    made = {make: make(evidence) for make in MAKERS}
    assert made[main_tables]
    assert "nan" not in reading(evidence)


def test_nothing_is_said_of_a_majority_that_open_questions_do_not_have() -> None:
    evidence = evidence_of("toys", as_open(predictions(2, EVALUATED, FAMILIES)))
    assert "uses the image" in reading(evidence)
    assert "commonest label" not in reading(evidence)


def test_captions_give_the_numbers_that_were_computed_with(toys: LayaEvidence, published: LayaEvidence) -> None:
    assert f"{BINS} bins)" in ece_tables(toys)[0].caption
    (theirs,) = floor_tables(published)
    assert "Monte-Carlo" not in theirs.caption, "the authors print no such error"
    assert not any("error" in name for name in theirs.frame.columns)
    for table in floor_tables(toys):
        assert f"{SIMULATIONS} simulations, $\\pm$ their Monte-Carlo standard errors" in table.caption
        assert "floor_mean_error" in table.frame.columns
    assert f"from {COLDEST:g} to {HOTTEST:g}" in temperature_tables(toys)[0].caption


def test_the_sentences_about_toys(toys: LayaEvidence) -> None:
    text = reading(toys)
    assert "uses the image" in text
    assert "nan" not in text
    half = re.search(r"Half precision moves a probability by at most (\S+) .* changes (\d+) of (\d+) answers", text)
    assert half is not None
    assert float(half[1]) > 0
    assert int(half[2]) == len(toys.changed) > 0
    assert "code path" not in text, "toys have one"


def long(values: dict[tuple[str, str, str], tuple[float, float, float]]) -> pd.DataFrame:
    rows = [(*place, *numbers) for place, numbers in values.items()]
    return pd.DataFrame(rows, columns=["dataset", "model", "metric", "value", "low", "high"])


def test_spread_puts_numbers_where_they_belong() -> None:
    nan = float("nan")
    summary = long(
        {
            ("b", "two", "accuracy_change"): (0.1, -0.1, 0.3),
            ("a", "one", "accuracy_change"): (-0.2, -0.3, -0.1),
            ("a", "one", "accuracy"): (0.5, nan, nan),
            ("a", "three", "other"): (0.9, nan, nan),
        }
    )
    more = long({("a", "four", "accuracy"): (0.4, nan, nan)})
    columns: Cells = {
        ("accuracy",): Column("acc", "Acc.", decimals=2, interval=("acc_low", "acc_high")),
        ("accuracy_change",): Column("change", "Change", decimals=2, interval=("change_low", "change_high")),
        ("flip_rate",): Column("flips", "Flips", decimals=2),
    }
    rows = {"dataset": "Data set", "model": "Model"}
    (table,) = spread("toy", "Toy.", summary, rows, ["metric"], columns)
    assert list(table.frame.columns) == ["dataset", "model", "acc", "change", "change_low", "change_high"]
    assert table.frame[["dataset", "model"]].to_numpy().tolist() == [["b", "two"], ["a", "one"]]
    assert table.bold == {(1, "change")}
    assert table.rules == set(), "no line between single rows"
    assert "| a | one | 0.50 | **-0.20 [-0.30, -0.10]** |" in markdown(table)
    (longer,) = spread("toy", "Toy.", pd.concat([summary, more]), rows, ["metric"], columns)
    assert longer.rules == {1}
    assert spread("toy", "Toy.", summary[3:], rows, ["metric"], columns) == []


def test_a_number_that_stands_twice_is_refused() -> None:
    summary = long({("a", "one", "accuracy"): (0.5, 0.4, 0.6)})
    twice = pd.concat([summary, summary])
    columns: Cells = {("accuracy",): Column("a", "A")}
    with pytest.raises(ValueError, match="non-unique"):
        spread("toy", "Toy.", twice, {"dataset": "D", "model": "M"}, ["metric"], columns)


def test_a_single_model_has_one_panel() -> None:
    frame = pd.DataFrame({"model": ["x", "x"], "dataset": ["a", "b"]})
    ((title, rows),) = panels(frame)
    assert (title, rows["series"].tolist()) == ("", ["a", "b"])
    both = dict(panels(frame.assign(model=["x", "y"])))
    assert {title: rows["series"].tolist() for title, rows in both.items()} == {"a": ["x"], "b": ["y"]}


def test_rounding_errors_are_printed_with_two_digits() -> None:
    assert [short(value) for value in (0.0, 1.2345e-7, 0.0303)] == ["0", "1.2e-07", "3.0e-02"]
