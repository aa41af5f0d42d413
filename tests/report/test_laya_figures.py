"""The third document's figures can be read, with one model or several, and hold their numbers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustlib.data.published import PUBLISHED
from robustlib.report import laya_figure_data as data
from robustlib.report import laya_figures as figures
from robustlib.report.laya_evidence import LayaEvidence, load_evidence
from robustlib.report.laya_tables import counts_text
from tests.report.laya_toys import evidence as toy_evidence
from tests.report.readable import read_figure

NAMES = ["changes", "variants", "image_use", "positions", "typos", "floors", "reliability"]


@pytest.fixture(scope="module", params=[1, 3])
def toys(request: pytest.FixtureRequest) -> LayaEvidence:
    return toy_evidence(request.param)


def pair(name: str) -> tuple[Any, Any]:
    return getattr(data, f"prepare_{name}"), getattr(figures, f"plot_{name}")


def test_every_figure_has_its_numbers_and_its_drawing() -> None:
    prepared = {name.removeprefix("prepare_") for name in vars(data) if name.startswith("prepare_")}
    plotted = {name.removeprefix("plot_") for name in vars(figures) if name.startswith("plot_")}
    assert prepared == plotted == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_figures_can_be_read(toys: LayaEvidence, name: str) -> None:
    prepare, plot = pair(name)
    words = read_figure(plot(prepare(toys), counts_text(toys)))
    assert "n = 20 on 20 images" in words
    for series in prepare(toys)["series"].unique():
        assert series in re.sub(r"([:/]) ", r"\1", words)  # narrow panels break a name there


def test_six_models_with_long_names_have_room_side_by_side(toys: LayaEvidence) -> None:
    bins = data.prepare_reliability(toys)
    bins = bins[bins["series"] == bins["series"].iloc[0]]
    names = [f"prior:easy_vqa_choice_{place}" for place in range(6)]
    many = pd.concat([bins.assign(series=name) for name in names])
    words = read_figure(figures.plot_reliability(many, "no note"))
    assert words.count("prior:") == len(names)


@pytest.mark.parametrize("name", ["changes", "positions", "typos", "floors"])
def test_a_model_that_a_panel_lacks_changes_the_look_of_no_other(name: str) -> None:
    prepare, plot = pair(name)
    whole = prepare(toy_evidence(3))
    first, models = whole["panel"].iloc[0], sorted(whole["series"].unique())
    figure = plot(whole[(whole["panel"] != first) | (whole["series"] != models[0])], "no note")
    drawn = [entry for axes in figure.axes for entry in zip(*axes.get_legend_handles_labels(), strict=True)]
    lines = [(label, handle[0] if isinstance(handle, tuple) else handle) for handle, label in drawn]
    looks = {(label, line.get_color(), line.get_marker()) for label, line in lines if len(line.get_xdata())}
    assert sorted(label for label, _, _ in looks) == models, "one look a model"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == models


def test_controls_stand_beside_the_name_of_their_model() -> None:
    whole = data.prepare_image_use(toy_evidence(3))
    first, models = whole["panel"].iloc[0], sorted(whole["series"].unique())
    lacking = whole[(whole["panel"] != first) | (whole["series"] != models[0])]
    figure = figures.plot_image_use(lacking, "no note")
    shared = figure.axes[0]  # the others have its ticks, without their labels
    names = dict(zip(shared.get_yticks(), (label.get_text() for label in shared.get_yticklabels()), strict=True))
    for axes, (_, rows) in zip(figure.axes, lacking.groupby("panel", sort=False), strict=True):
        points = next(line for line in axes.lines if line.get_label() == "right image").get_xydata()
        shown = {names[y]: x for x, y in np.asarray(points)}
        assert shown == dict(zip(rows["series"], rows["clean_accuracy"], strict=True))


@pytest.mark.parametrize("name", ["changes", "variants", "image_use", "positions", "floors"])
def test_the_authors_seven_data_sets_can_be_read(name: str) -> None:
    published = load_evidence(PUBLISHED)
    prepare, plot = pair(name)
    words = read_figure(plot(prepare(published), counts_text(published)))
    assert "As published. n = 160 to 300 questions" in words
    assert "cauldron_visual7w" in words


def test_files_hold_the_numbers_and_are_the_same_bytes_each_time(toys: LayaEvidence, tmp_path: Path) -> None:
    numbers = data.prepare_floors(toys)
    for run in ("first", "second"):
        shown = figures.draw(figures.plot_floors, numbers, "n = 3", str(tmp_path / run), "floors")
        assert shown.data == (tmp_path / run / "floors.png").read_bytes()
    for ending in ("pdf", "png", "csv"):
        assert (tmp_path / f"first/floors.{ending}").read_bytes() == (tmp_path / f"second/floors.{ending}").read_bytes()
    stored = pd.read_csv(tmp_path / "first/floors.csv", keep_default_na=False, na_values="NaN")
    pd.testing.assert_frame_equal(stored, numbers, check_exact=True, check_dtype=False)


def test_where_there_is_nothing_to_draw_a_sentence_says_so(tmp_path: Path) -> None:
    numbers = data.prepare_reliability(load_evidence(PUBLISHED))
    shown = figures.draw(figures.plot_reliability, numbers, "n = 3", str(tmp_path / "none"), "reliability")
    assert shown.data == "This source has no numbers for this figure."
    assert not (tmp_path / "none").exists()
