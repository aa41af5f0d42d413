"""The tables of VLM-RobustBench, on predictions whose numbers can be worked out by hand (`tests.metrics.vlm_table`)."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.metrics.drops import accuracy_drop
from robustlib.report.tables import markdown
from robustlib.report.vlm_evidence import evidence_of, load_evidence
from robustlib.report.vlm_models import describe_models
from robustlib.report.vlm_spec import best_model, only, top
from robustlib.report.vlm_specs import SPECS
from robustlib.report.vlm_tables import make_table, render_tables
from robustlib.report.vlm_taxonomy import parameter_table, taxonomy_table
from tests.metrics.vlm_table import hand_made_predictions
from tests.report.vlm_run import FEW, RECORDS, hand_made_evidence, quiet_evidence, rows_by, values, write_sweep

BY_NAME = {spec.name: spec for spec in SPECS}
ONE = 100 / 12  # one question, in points
DATA = "hand_made/test"


def frame_of(name: str) -> pd.DataFrame:
    table = make_table(BY_NAME[name], hand_made_evidence())
    assert table is not None
    return table.frame


def rows_of(name: str, *columns: str) -> list[tuple[Any, ...]]:
    return list(frame_of(name)[list(columns)].itertuples(index=False, name=None))


def test_every_table_that_needs_answers_is_there() -> None:
    numbers = [int(number) for name in BY_NAME if name.startswith("table") for number in re.findall(r"\d+", name)]
    assert sorted(numbers) == list(range(2, 29))
    assert len(BY_NAME) == len(SPECS)


def test_every_table_is_written_with_what_stands_behind_it(tmp_path: Path) -> None:
    text = render_tables(hand_made_evidence(), BY_NAME, tmp_path)
    assert "none, as" not in text
    captions = [line for line in text.splitlines() if line and not line.startswith("|")]
    assert len(captions) == len(SPECS)
    assert all(f"{DATA}: n = 12 questions on 6 images." in caption for caption in captions)
    assert captions[1].startswith("After Table 3 of VLM-RobustBench. Main summary")
    assert sorted(path.stem for path in tmp_path.glob("*.csv")) == sorted(BY_NAME)


def test_the_main_summary_by_hand() -> None:
    rows = rows_by(frame_of("table3"), "model")
    assert list(rows) == ["sure", "shaky", "blind"]
    expected = {
        "sure": [75, 50, 75, 500 / 133, ONE, 4100 / 42],
        "shaky": [50, 2 * ONE, 2 * ONE, 8400 / 133, 0, 100],
        "blind": [7 * ONE, 0, 0, 0, 0, 100],
    }
    metrics = ["clean_accuracy", "visual_gain", "worst_case_drop", "severe_failure_rate", "worst_at_low"]
    for model, row in rows.items():
        assert values(row, *metrics, "benign_at_low") == pytest.approx(expected[model])
        assert np.isnan(row["mrce"]) == (model == "blind")
        assert values(row, "unread_clean", "unread_corrupted") == [0, 0]
        assert row["clean_accuracy_low"] <= row["clean_accuracy"] <= row["clean_accuracy_high"]


def test_means_leave_out_the_model_that_does_not_look() -> None:
    drops: dict[str, float] = dict(rows_of("table4", "configuration", f"{DATA} drop"))
    assert drops["flip_v"] == pytest.approx((ONE - 2 * ONE) / 2)
    assert drops["invert"] == pytest.approx(-ONE)
    assert len(drops) == 7
    levels = rows_by(frame_of("table18"), "level")
    tiers = ["positive_count", "benign_count", "mild_count", "moderate_count", "catastrophic_count"]
    assert values(levels["low"], *tiers) == [1, 40 + 42, 0, 1, 0]
    assert values(levels["binary"], *tiers) == [7, 6, 0, 1, 0]
    table = make_table(BY_NAME["table4"], hand_made_evidence())
    assert table is not None
    assert "are of shaky and sure; left out: blind (no visual gain)." in table.caption


def test_the_worst_cases_by_hand() -> None:
    worst = {model: (name, drop) for model, name, drop in rows_of("table7", "model", "configuration", "drop")}
    assert worst["sure"] == ("upsample:high", 75)
    assert worst["shaky"] == ("gaussian_noise:high", pytest.approx(2 * ONE))  # the first of 42 alike
    rows = frame_of("tables13_14")
    assert rows.groupby(["model", "level"]).size().tolist() == [5] * 9
    assert list(rows["level"].unique()) == ["low", "mid", "high"]
    sure = rows[(rows["model"] == "sure") & (rows["level"] == "high")]
    assert sure["configuration"].tolist()[:2] == ["upsample:high", "fog:high"]
    assert sure["drop"].tolist()[:3] == pytest.approx([75, 3 * ONE, 0])


def test_flips_families_and_categories_by_hand() -> None:
    flips = dict(rows_of("table25", "model", "upsample:high flip_plus"))
    assert flips == pytest.approx({"sure": 75, "shaky": 2 * ONE, "blind": 0})
    assert rows_of("table21", "model", "configuration", "flip_plus")[0] == ("sure", "upsample:high", 75)
    transform = rows_by(frame_of("table24"), "configuration")["flip_v"]
    assert values(transform, f"{DATA} flip_plus", f"{DATA} flip_minus") == pytest.approx([ONE, 1.5 * ONE])
    named = frame_of("table12")
    assert [name for name in map(str, named) if name.endswith(" drop")] == ["Seer drop"]
    assert rows_by(named, "configuration")["upsample:high"]["Seer drop"] == pytest.approx((75 + 2 * ONE) / 2)
    fog = rows_by(frame_of("tables15_16_17"), "corruption")["fog"]
    assert values(fog, "low drop", "mid drop", "high drop") == pytest.approx([ONE / 2, ONE / 2, 2.5 * ONE])
    assert rows_of("table8", "category", "questions")[0] == ("animals", 6)
    assert rows_of("table27", "catastrophic_count")[0] == (45,)


def test_sizes_modes_and_what_helps() -> None:
    slope = (1 + 3 - 1 + 6 + 9 + 1 - (42 + 84 - 14)) * ONE / 133  # sizes differ by ten
    assert rows_of("table9", "family", "scaling_slope") == [("Seer", pytest.approx(slope))]
    assert rows_of("table10", "model", "mode", "clean_accuracy") == [("sure", "direct", 75), ("shaky", "rank", 50)]
    helpful = rows_of("positive_augmentations", "configuration", "drop")
    assert helpful[0] == ("flip_h", pytest.approx(-ONE))
    assert [drop for _, drop in helpful] == sorted(drop for _, drop in helpful)
    assert len(helpful) == 8  # seven binary ones, and upsample:low


def test_models_that_reason_stand_in_tables_but_not_in_means() -> None:
    about = describe_models(RECORDS | {"shaky": RECORDS["shaky"] | {"mode": "cot"}}, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = evidence_of("a sweep", hand_made_predictions(), about, FEW)
    assert evidence.averaged.endswith("are of sure; left out: blind (no visual gain) and shaky (cot).")
    main, binary, modes = (make_table(BY_NAME[name], evidence) for name in ("table3", "table4", "table10"))
    assert main is not None
    assert binary is not None
    assert modes is not None
    assert main.frame["model"].tolist() == ["sure", "shaky", "blind"]
    assert rows_by(binary.frame, "configuration")["invert"][f"{DATA} drop"] == 0
    assert modes.frame["mode"].tolist() == ["cot", "direct"]


def test_the_reference_looks_too() -> None:
    assert dict(rows_of("table6", "model", "mce"))["shaky"] == 100
    for name in ("table6", "table28", "corruption_errors"):
        assert set(frame_of(name)["reference"]) == {"shaky"}


def test_corruption_errors_by_type_by_hand() -> None:
    rows = rows_by(frame_of("corruption_errors"), "corruption")
    assert len(rows) == 49
    expected = {"fog": (1300 / 21, 1500 / 21), "upsample": (2300 / 21, 1500 / 21), "invert": (75.0, 125.0)}
    for corruption, (sure, blind) in expected.items():
        errors = values(rows[corruption], "sure ce", "shaky ce", "blind ce")
        assert errors == pytest.approx([sure, 100, blind])
    # Questions are drawn two at a time, so the interval of "sure" is wide, and that of the reference is a point.
    fog = rows["fog"]
    assert fog["sure ce_low"] < fog["sure ce"] < fog["sure ce_high"]
    assert values(fog, "shaky ce_low", "shaky ce_high") == [100, 100]


def test_severity_by_model_by_hand() -> None:
    rows = rows_by(frame_of("severity_by_model"), "model")
    relative = [f"mrce_at_{level}" for level in ("low", "mid", "high", "binary")]
    assert values(rows["sure"], *relative) == pytest.approx([0, 12 * ONE / 42, 24 * ONE / 42, 2 * ONE / 7])
    assert values(rows["shaky"], *relative) == pytest.approx([0, 50, 100, -100])
    counts = ["violation_rate", "undefined_correlations", "positive_count"]
    assert values(rows["sure"], *counts) == pytest.approx([100 / 42, 40, 1])
    assert values(rows["shaky"], *counts) == [0, 0, 7]
    assert [rows[model]["severity_correlation"] for model in ("sure", "shaky")] == pytest.approx([0.75, 1])
    assert np.isnan(values(rows["blind"], *relative, "severity_correlation")).all()
    assert {f"{name}_{end}" for name in (*relative, *counts) for end in ("low", "high")} < set(rows["sure"])


def test_what_is_absent_is_named_with_its_reason(tmp_path: Path) -> None:
    render_tables(hand_made_evidence(), ["table5", "table9"], tmp_path)
    alone = quiet_evidence(hand_made_predictions().query("model == 'blind'"))
    text = render_tables(alone, ["table5", "table9", "table10", "positive_augmentations"], tmp_path)
    assert text.splitlines()[::2] == [
        "Table 5: none, as no model has a visual gain.",
        "Table 9: none, as no family has models of two sizes.",
        "Table 10: none, as no family was asked in more than one mode.",
        "Positive augmentations: none, as nothing raises the mean accuracy.",
    ]
    assert not list(tmp_path.iterdir()), "tables of an earlier sweep are left"
    with pytest.raises(UnknownNameError, match=r"Unknown table of VLM-RobustBench 'table33'.*Did you mean 'table3'"):
        render_tables(alone, ["table33"], tmp_path)


def test_a_run_of_models_that_do_not_look_has_all_other_tables(tmp_path: Path) -> None:
    alone = quiet_evidence(hand_made_predictions().query("model == 'blind'"))
    render_tables(alone, BY_NAME, tmp_path)
    missing = set(BY_NAME) - {path.stem for path in tmp_path.glob("*.csv")}
    assert missing == {"table5", "table9", "table10", "table11", "positive_augmentations"}


@pytest.mark.filterwarnings("default")
def test_a_model_that_does_not_look_is_named_in_a_warning_and_dashed() -> None:
    with pytest.warns(RuntimeWarning, match="blind gains nothing from its images"):
        evidence = evidence_of("a sweep", hand_made_predictions(), describe_models(RECORDS, {}), FEW)
    table = make_table(BY_NAME["table3"], evidence)
    assert table is not None
    blind = next(line for line in markdown(table).splitlines() if "| blind |" in line)
    assert blind.split(" | ")[3:9:5] == ["0.0 [0.0, 0.0]", "\N{EN DASH}"]


def test_an_unreadable_configuration_costs_the_clean_accuracy() -> None:
    unread = hand_made_predictions()
    fog = (unread["variant"] == "fog") & (unread["severity"] == 3)
    unread.loc[fog, "status"], unread.loc[fog, "score"] = "no_answer", 0.0
    evidence = quiet_evidence(unread)
    statuses = evidence.frames["statuses"].query("condition == 'fog:mid'")
    assert statuses["no_answer"].tolist() == [100] * 3
    drops = evidence.frames["configurations"].query("configuration == 'fog:mid'").set_index("model")["drop"]
    clean = evidence.frames["models"].set_index("model")["clean_accuracy"]
    assert drops.to_dict() == pytest.approx(clean.to_dict())
    assert evidence.frames["models"]["unread_corrupted"].tolist() == pytest.approx([100 / 133] * 3)


def test_data_sets_stand_beside_or_below_each_other() -> None:
    first = hand_made_predictions()
    second = first.query("model != 'blind'").assign(dataset="other")
    evidence = quiet_evidence(pd.concat([first, second]))
    main, binary = (make_table(BY_NAME[name], evidence) for name in ("table3", "table4"))
    assert main is not None
    assert binary is not None
    assert main.frame.groupby("dataset").size().to_dict() == {DATA: 3, "other/test": 2}
    assert [column.group for column in binary.columns] == ["", DATA, DATA, "other/test", "other/test"]
    assert (binary.frame[f"{DATA} drop"] == binary.frame["other/test drop"]).all()


def test_no_predictions_are_an_error() -> None:
    with pytest.raises(InvalidValueError, match="no predictions"):
        evidence_of("a sweep", hand_made_predictions().head(0), describe_models(RECORDS, {}))


def test_families_come_from_the_network_unless_they_are_given() -> None:
    about = describe_models(RECORDS, {"shaky": "Mine"})
    assert about["model"].tolist() == ["sure", "shaky", "blind"]
    assert about["family"].tolist() == ["Seer", "Mine", "blind"]
    assert about["parameters"].tolist() == pytest.approx([1e9, 1e8, np.nan], nan_ok=True)


def test_a_model_of_several_networks_is_its_own_family() -> None:
    blip, pair = "BlipForQuestionAnswering", "BlipForImageTextRetrieval + T5ForConditionalGeneration"
    about = describe_models({"one": {"network": blip}, "two": {"network": pair}}, {})
    assert about["family"].tolist() == ["Blip", "two"]


def test_a_family_of_a_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model 'shakey'.*Did you mean 'shaky'.*blind, shaky, sure"):
        describe_models(RECORDS, {"sure": "Mine", "shakey": "Mine"})
    with pytest.raises(UnknownNameError, match="Unknown model 'shakey'"):
        load_evidence(str(write_sweep(tmp_path)), {"shakey": "Mine"}, FEW)


def test_the_first_of_equally_good_models_is_the_best() -> None:
    # Both have 500/9 %, but the drop to nothing is rounded up, and so is what it adds up to.
    clean = 500 / 9
    models = pd.DataFrame({"dataset": "d", "model": ["first", "second"], "accuracy": [clean, 0.0]})
    frame = models.assign(drop=accuracy_drop(clean, models["accuracy"]))
    assert (frame["accuracy"] + frame["drop"]).to_numpy().argmax() == 1, "no rounding, so nothing is shown"
    assert best_model(frame)["model"].tolist() == ["first"]


def test_picks_keep_order_and_leave_out_what_is_undefined() -> None:
    frame = pd.DataFrame({"group": list("bbaa"), "name": list("wxyz"), "value": [1.0, 2.0, np.nan, 3.0]})
    assert top(2, "value", "group")(frame)["name"].tolist() == ["x", "w", "z"]
    assert top(1, "value", "group", smallest=True)(frame)["name"].tolist() == ["w", "z"]
    assert only("name", "z", "w")(frame)["name"].tolist() == ["z", "w"]


def test_taxonomy_and_parameters_cover_the_suite() -> None:
    taxonomy, schedule = taxonomy_table().frame, parameter_table().frame
    assert (len(taxonomy), taxonomy["types"].sum(), taxonomy["configurations"].sum()) == (10, 49, 133)
    assert len(schedule) == 42
    assert list(rows_by(schedule, "corruption")["rotate"].values()) == ["rotate", "degrees", "5", "15", "30"]
