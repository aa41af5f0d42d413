"""The gallery shows what there is, once, and its files are the same bytes each time."""

import csv
from pathlib import Path

import numpy as np
import pytest

from robustlib.corruptions import list_corruptions, list_suites
from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.report import gallery
from robustlib.report.figures import save_figure
from robustlib.report.gallery import (
    PHOTOGRAPHS,
    TILE,
    load_photograph,
    plot_gallery,
    prepare_galleries,
    severity_table,
    source_table,
)
from robustlib.report.notebooks import run_notebook
from robustlib.report.provenance import RECORD
from robustlib.report.tables import latex, markdown

ROOT = Path(__file__).parents[2]


def test_every_corruption_of_three_suites_is_shown_and_what_they_share_is_one_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def leave(image: Pixels, name: str, severity: int, seed: int) -> Pixels:
        return image

    monkeypatch.setattr(gallery, "corrupt", leave)
    suites = ["vlm_robustbench", "imagenet_c", "vqa_bench"]
    galleries = prepare_galleries(suites, PHOTOGRAPHS, seed=0)
    rows = {row.names: row for shown in galleries for row in shown.rows}
    shown = [corruption.key for part in galleries for row in part.rows for corruption in row.corruptions]
    assert sorted(shown) == sorted(corruption.key for suite in suites for corruption in list_corruptions(suite))
    assert len(shown) == 49 + 19 + 14
    assert rows["salt_pepper, impulse_noise"].suites == "vlm_robustbench, imagenet_c, vqa_bench"
    assert rows["saturate"].suites == "imagenet_c, vqa_bench"
    assert rows["rain"].suites == "vlm_robustbench"


def test_tiles_show_the_clean_photograph_and_each_severity() -> None:
    for part in prepare_galleries(["meaning_preserving", "vqa_bench_extra"], PHOTOGRAPHS, seed=0):
        for row, tiles in zip(part.rows, part.tiles, strict=True):
            assert {tile.shape for tile in tiles} == {(TILE, TILE, 3)}
            assert len(tiles) == 1 + len(row.corruptions[0].severities)
            assert not any(np.array_equal(tile, tiles[0]) for tile in tiles[1:])
        assert len(part.numbers) == len(part.rows)


def test_a_gallery_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        for part in prepare_galleries(["vqa_bench_extra"], ["rocket"], seed=1):
            save_figure(plot_gallery(part), part.numbers, tmp_path / folder, part.category, dpi=132)
    names = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert names == ["binary.csv", "binary.pdf", "binary.png"]
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


@pytest.mark.parametrize("suite", list_suites())
def test_the_tables_say_what_the_data_file_says(suite: str) -> None:
    table = severity_table(suite)
    with (ROOT / "robustlib/corruptions/severities.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["suite"] == suite]
    assert list(table.frame["corruption"]) == [row["name"] for row in rows]
    assert list(table.frame["parameters"]) == [", ".join(row["parameters"].split()) for row in rows]
    for level in range(1, max(len(corruption.severities) for corruption in list_corruptions(suite)) + 1):
        values = [[float(cell) for cell in row[f"severity_{level}"].split()] for row in rows]
        printed = [[float(cell) for cell in text.split(", ") if cell] for text in table.frame[f"severity_{level}"]]
        assert printed == values
    for row in rows:
        assert f"| {row['name']} |" in markdown(table)
        assert row["name"].replace("_", r"\_") in latex(table)
    assert list(source_table([suite]).frame["note"]) == [row["note"] for row in rows]


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="vqa_bench"):
        prepare_galleries(["vqa_bnch"], PHOTOGRAPHS, seed=0)


@pytest.mark.parametrize("name", ["rockt", "rocket_scientist", "camera", "data_dir"])  # scikit-image has the last two
def test_an_unknown_photograph_is_refused(name: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Unknown photograph '{name}'.*Known: astronaut, chelsea"):
        load_photograph(name)
    with pytest.raises(UnknownNameError, match=f"Unknown photograph '{name}'"):
        prepare_galleries(["vqa_bench"], ["rocket", name], seed=0)


@pytest.mark.parametrize(("suites", "photographs"), [(["vqa_bench"], []), ([], PHOTOGRAPHS)])
def test_a_gallery_of_nothing_is_refused(suites: list[str], photographs: list[str]) -> None:
    with pytest.raises(InvalidValueError, match=r"at least one suite and one photograph, got .*\[\]"):
        prepare_galleries(suites, photographs, seed=0)


def test_the_notebook_writes_the_gallery(tmp_path: Path) -> None:
    out = tmp_path / "gallery"
    parameters = {"suites": ["meaning_preserving"], "out_dir": str(out)}
    run_notebook(ROOT / "notebooks/corruption_gallery.ipynb", tmp_path / "run.ipynb", parameters)
    written = {path.name for path in out.iterdir()}
    categories = {corruption.category for corruption in list_corruptions("meaning_preserving")}
    assert {f"{category}.{ending}" for category in categories for ending in ("csv", "pdf", "png")} < written
    assert {f"severities_{suite}.{ending}" for suite in list_suites() for ending in ("csv", "md", "tex")} < written
    assert RECORD in written
