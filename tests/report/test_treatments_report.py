"""Treated images in print: what the tables show, how strong the denoisers of the profile are, and the notebooks."""

import csv
import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import skimage.metrics

from robustlib.corruptions import corrupt
from robustlib.data import load_dataset
from robustlib.errors import InvalidValueError
from robustlib.metrics.treatments import WHITE_BOX, suited_treatment, treatment_gains
from robustlib.report.tables import markdown
from robustlib.report.treatments import gain_tables, plot_gains, reading, severity_table, vre_tables
from robustlib.sweep import load_profile
from tests.metrics.test_treatments import DEBLOCK, MEDIAN, RIGHT, predictions
from tests.report.test_vqa_notebooks import expected_files, run
from tests.sweep.toys import pixels_of

SIMILARITY: Any = skimage.metrics  # carries no types


def test_the_table_of_gains_holds_them_all_and_marks_what_white_box_chooses() -> None:
    gains = treatment_gains(predictions().sort_values("treatment", kind="stable"), 50)
    (table,) = gain_tables(gains)
    assert [column.name for column in table.columns[4:]] == [DEBLOCK, MEDIAN, WHITE_BOX]
    for row in gains.to_dict("records"):
        (shown,) = table.frame[table.frame["corruption"] == row["corruption"]].to_dict("records")
        name = row["treatment"]
        assert [shown["accuracy"], *(shown[f"{name}{end}"] for end in ("", "_low", "_high"))] == [
            row[end] for end in ("accuracy", "gain", "gain_low", "gain_high")
        ]
    bold = {(table.frame["corruption"][number], name) for number, name in table.bold}
    assert bold == {("imagenet_c/impulse_noise", MEDIAN), ("imagenet_c/jpeg_compression", DEBLOCK)}
    assert "n = 4 questions on 3 images" in markdown(table)
    assert gain_tables(gains.iloc[:0]) == []
    (black,) = gain_tables(gains[gains["treatment"] != WHITE_BOX])
    assert ("White box" in table.caption, "White box" in black.caption) == (True, False)


def test_the_sentences_say_what_is_gained_and_what_it_costs() -> None:
    gains = treatment_gains(predictions(), 50)
    gains[["gain_low", "gain_high"]] = -1.0, 1.0
    lines = set(reading(gains).splitlines())
    found = "- toy on set/test, {}: {} [-1.0, 1.0] points over all corruptions, {} [-1.0, 1.0] on clean images."
    assert {found.format(MEDIAN, "0.0", "-25.0"), found.format(WHITE_BOX, "20.8", "0.0")} <= lines


def test_the_figure_shows_every_gain() -> None:
    gains = treatment_gains(predictions(), 50)
    axes: Any = plot_gains(gains).axes[0]
    drawn = sorted(float(x) for line in axes.containers for x in line.lines[0].get_xdata())
    assert drawn == sorted(gains["gain"])
    assert [label.get_text() for label in axes.get_yticklabels()] == list(gains["corruption"].unique())
    assert axes.get_title() == "toy\nset/test"


def test_a_sweep_without_treatments_has_no_figure() -> None:
    gains = treatment_gains(predictions().query("treatment == ''"))
    assert gains.empty
    with pytest.raises(InvalidValueError, match="name `treatments` in the profile"):
        plot_gains(gains)


def test_severities_stand_beside_their_parameters() -> None:
    table = severity_table(predictions())
    assert len(table.frame) == len(RIGHT)
    cells = table.frame.set_index(["corruption", "treatment", "severity"])
    assert cells.loc[("imagenet_c/jpeg_compression", "", 5), "parameters"] == "quality 7"
    assert cells.loc[("imagenet_c/jpeg_compression", MEDIAN, 3), "toy"] == 25
    assert cells.loc[("clean", MEDIAN, 0), "toy"] == 75


def test_models_after_treatments_stand_on_one_scale_of_the_vre() -> None:
    assert list(vre_tables(predictions(), [0.0] * 5)) == []
    right = {("fog", level, treatment): "abc"[level // 2 :] for level in range(1, 6) for treatment in ("", MEDIAN)}
    right |= {("clean", 0, treatment): "abc" for treatment in ("", MEDIAN)}
    (table,) = vre_tables(predictions(right), [0.0] * 5)
    assert table.name == "vre_imagenet_c"
    assert sorted(table.frame["name"]) == ["fog", "toy", "toy after denoise/median@2"]


def test_each_denoiser_of_the_profile_is_as_strong_as_restores_pictures_best() -> None:
    profile = load_profile("pocket/denoising")
    pictures = {question.image_id: pixels_of(question) for question in load_dataset("easy_vqa", "train", 0.005, 42)}
    images = list(pictures.values())[:6]

    def quality(treatment: str, strength: int) -> float:
        """Return the mean peak signal-to-noise ratio (dB) after the corruptions that a denoiser suits."""
        suited = [name for name in profile.corruptions if suited_treatment(name, [treatment])]
        assert suited
        denoiser = treatment.partition("@")[0]
        return mean(
            float(
                SIMILARITY.peak_signal_noise_ratio(
                    image, corrupt(corrupt(image, name, level, seed), denoiser, strength)
                )
            )
            for name in suited
            for level in profile.severities
            for seed, image in enumerate(images)
        )

    for treatment in profile.treatments:
        qualities = {strength: quality(treatment, strength) for strength in range(1, 6)}
        assert treatment.endswith(f"@{max(qualities, key=lambda strength: qualities[strength])}")


def test_the_notebooks_on_denoising(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("denoising_sweep", monkeypatch, profile="smoke/denoising", out=str(tmp_path / "answers"))
    out = tmp_path / "report"
    run("denoising_report", monkeypatch, source=str(tmp_path / "answers"), out_dir=str(out), resamples=20)
    tables, figures = (
        ["gains.csv", "gains.md", "gains.tex"],
        ["gains_figure.csv", "gains_figure.pdf", "gains_figure.png"],
    )
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*tables, *figures, *expected_files(["severities"], ["csv", "md", "tex"])]
    )


@pytest.mark.filterwarnings("ignore:pocket/vilt has a clean error of 0")
def test_the_template_of_ablations_asks_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"out": str(tmp_path / "answers"), "out_dir": str(tmp_path / "tables")}
    chosen = {"fraction": 0.002, "corruptions": ["imagenet_c/fog"], "treatments": ["vqa_bench/jpeg_compression@5"]}
    run("ablation_template", monkeypatch, **chosen, **places, preferences=[5.0, 0.0, 0.0, 0.0, 0.0])
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == expected_files(["gains", "severities", "vre_imagenet_c"], ["csv", "md", "tex"])
    with open(tmp_path / "tables" / "severities.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 6
    record = json.loads((tmp_path / "tables" / "provenance.json").read_text())
    assert record["source"]["profile"]["corruptions"] == ["imagenet_c/fog"]
    assert record["parameters"]["preferences"] == [5.0, 0.0, 0.0, 0.0, 0.0]
