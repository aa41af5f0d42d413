import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from robustlib.errors import InvalidValueError
from robustlib.metrics import preference_weights, visual_robustness_error
from robustlib.metrics.vqa_bench import SUBMETRICS
from robustlib.report import vqa_figure_data as data
from robustlib.report import vqa_figures as figures
from robustlib.report.figures import colours, new_figure, paper_style, save_figure
from robustlib.report.vqa_bench import counts_text
from robustlib.report.vqa_evidence import Evidence
from tests.report.readable import read_figure

PAIRS: dict[str, tuple[Any, Any]] = {
    "relative_drops": (data.prepare_relative_drops, figures.plot_relative_drops),
    "errors": (data.prepare_errors, figures.plot_errors),
    "average_errors": (data.prepare_average_errors, figures.plot_average_errors),
    "submetric_profiles": (data.prepare_submetric_profiles, figures.plot_submetric_profiles),
    "weightings": (data.prepare_weightings, figures.plot_weightings),
    "sizes": (data.prepare_sizes, figures.plot_sizes),
}


def test_every_figure_has_its_numbers_and_its_drawing() -> None:
    prepared = {name.removeprefix("prepare_") for name in vars(data) if name.startswith("prepare_")}
    plotted = {name.removeprefix("plot_") for name in vars(figures) if name.startswith("plot_")}
    assert prepared == plotted == set(PAIRS)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("name", PAIRS)
def test_figures_are_readable_with_any_number_of_models(
    evidence_of_size: dict[int, Evidence], name: str, count: int
) -> None:
    prepare, plot = PAIRS[name]
    evidence = evidence_of_size[count]
    figure = plot(prepare(evidence), counts_text(evidence))
    assert "n = 1,935 questions" in read_figure(figure)


@pytest.mark.parametrize("name", ["relative_drops", "sizes"])
def test_files_are_the_same_bytes_each_time_and_hold_the_numbers(
    published: Evidence, name: str, tmp_path: Path
) -> None:
    prepare, plot = PAIRS[name]
    numbers = prepare(published)
    first, second = (
        save_figure(plot(prepare(published), "n = 3"), numbers, tmp_path / run, name) for run in ("first", "second")
    )
    assert [path.name for path in first] == [f"{name}.pdf", f"{name}.png", f"{name}.csv"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    for word in (b"CreationDate", b"Matplotlib", b"matplotlib"):
        assert word not in first[0].read_bytes() + first[1].read_bytes()
    pd.testing.assert_frame_equal(pd.read_csv(first[2]), numbers, check_exact=True, check_dtype=False)


@pytest.mark.parametrize("kind", ["drawing", "photograph"])
def test_a_small_png_looks_as_it_was_drawn(published: Evidence, kind: str, tmp_path: Path) -> None:
    numbers = data.prepare_errors(published)
    figure = figures.plot_errors(numbers, "n = 3")
    if kind == "photograph":
        figure = new_figure(4, 3, "n = 3")
        pixels = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
        figure.set_layout_engine("none")  # which would move the photograph a little each time
        figure.subplots().imshow(pixels, interpolation="nearest")
    drawn = io.BytesIO()
    with paper_style():
        figure.savefig(drawn, format="png", dpi=240)
    _, png, _ = save_figure(figure, numbers, tmp_path, kind)
    saved = Image.open(png)
    assert saved.mode == {"drawing": "P", "photograph": "RGB"}[kind]
    before, after = (np.asarray(image.convert("RGB"), float) for image in (Image.open(drawn), saved))
    difference = np.abs(after - before)
    assert np.sqrt(np.square(difference).mean()) <= {"drawing": 1, "photograph": 2}[kind]
    assert (difference > 32).mean() < 1e-4, "a few pixels at the edges of lines"
    assert difference.max() <= {"drawing": 64, "photograph": 2}[kind]


def test_files_do_not_depend_on_the_process(published: Evidence, tmp_path: Path) -> None:
    numbers = data.prepare_sizes(published)
    here = save_figure(figures.plot_sizes(numbers, "n = 3"), numbers, tmp_path / "here", "sizes")
    code = """
import sys
from robustlib.report.figures import save_figure
from robustlib.report.vqa_evidence import load_evidence
from robustlib.report.vqa_figure_data import prepare_sizes
from robustlib.report.vqa_figures import plot_sizes
numbers = prepare_sizes(load_evidence("published"))
save_figure(plot_sizes(numbers, "n = 3"), numbers, sys.argv[1], "sizes")
"""
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=environment)
    for path in here:
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes()


def test_drawing_leaves_matplotlib_as_it_was(published: Evidence, tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    numbers = data.prepare_sizes(published)
    save_figure(figures.plot_sizes(numbers, "n = 3"), numbers, tmp_path, "sizes")
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_too_many_series_are_refused() -> None:
    assert len(set(colours(10))) == 10
    with pytest.raises(InvalidValueError, match="can tell 10 series apart, got 11"):
        colours(11)


def test_weightings_favour_each_sub_metric_in_turn(published: Evidence) -> None:
    frame = data.prepare_weightings(published)
    assert list(frame["weighting"].unique()) == ["equal", *SUBMETRICS]
    preferences = [0.0, 0.0, 0.0, float(np.log(6)), 0.0]
    assert preference_weights(preferences) == pytest.approx([0.1, 0.1, 0.1, 0.6, 0.1])
    expected = visual_robustness_error(published.cube.errors, preferences).per_model
    assert frame.loc[frame["weighting"] == "average_error", "vre"].to_numpy() == pytest.approx(expected)


def test_average_errors_lie_between_their_bounds(published: Evidence) -> None:
    frame = data.prepare_average_errors(published)
    assert len(frame) == 4 * 14
    cell = frame[(frame["model"] == "ViLT") & (frame["corruption"] == "pixelate")].iloc[0]
    # Pixelation of severity 1 raised the accuracy of ViLT from 71.26 to 72.044 percent.
    assert cell["lowest_error"] == pytest.approx(1 - 0.72044)
    assert cell["highest_error"] == pytest.approx(1 - 0.65981)
    assert frame["average_error"].between(frame["lowest_error"], frame["highest_error"]).all()


def test_profiles_average_the_scaled_sub_metrics(published: Evidence) -> None:
    frame = data.prepare_submetric_profiles(published)
    models = frame[frame["of"] == "model"].groupby("name", sort=False)["value"].mean()
    assert models.to_numpy() == pytest.approx(visual_robustness_error(published.cube.errors).per_model)
    assert frame[frame["of"] == "corruption group"]["name"].nunique() == 6
    assert frame["value"].between(0, 1).all()


def test_drops_and_errors_are_the_cube_in_long_form(published: Evidence) -> None:
    errors, drops = data.prepare_errors(published), data.prepare_relative_drops(published)
    assert errors["error"].to_numpy() == pytest.approx(published.cube.errors.ravel())
    cell = drops[(drops["model"] == "PNP") & (drops["corruption"] == "shot_noise")]["relative_drop_percent"]
    mean = sum([64.8, 41.519, 40.119, 37.394, 34.981, 31.856]) / 6
    assert cell.item() == pytest.approx(100 * (64.8 - mean) / 64.8)
