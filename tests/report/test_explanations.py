"""The notebook of explanations on a real sweep and on one without any; which questions are shown, and how."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustlib.report.explanations import NONE, DriftEvidence, drift_reading, drift_tables, load_drift
from robustlib.report.overlays import choose, overlay, prepare_strips
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, run_sweep
from robustlib.sweep.explanations import run_explanations
from tests.report.test_vqa_notebooks import expected_files, run

PROFILE = Profile(
    "explained",
    datasets=(DatasetChoice("easy_vqa", "test", rows=24),),
    models=(ModelChoice("pocket/vilt"), ModelChoice("pocket/pnp")),
    corruptions=("vqa_bench/contrast", "vqa_bench_extra/grayscale"),
    severities=(1, 3, 5),
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small sweep with explanations."""
    folder = tmp_path_factory.mktemp("explained")
    run_sweep(PROFILE, folder)
    run_explanations(PROFILE, folder, 16)
    return str(folder)


@pytest.fixture(scope="module")
def evidence(source: str) -> DriftEvidence:
    return load_drift(source)


def test_the_notebook_writes_tables_and_figures(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("vqa_bench_explanations", monkeypatch, source=source, out_dir=str(tmp_path), resamples=50)
    tables = [f"drift_by_{of}.{ending}" for of in ("answer", "corruption", "model") for ending in ("csv", "md", "tex")]
    figures = [f"{name}.{ending}" for name in ("drift_by_severity", "overlays") for ending in ("csv", "pdf", "png")]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*tables, *figures, "provenance.json"])
    assert "explanations.parquet" in (tmp_path / "provenance.json").read_text()
    shown = pd.read_csv(tmp_path / "overlays.csv")
    assert set(shown["corruption"]) == {"contrast"}  # the grey image has no severities
    last = shown.groupby(["model", "rule"], sort=False)["answer"].agg(["first", "last"])
    assert (last["first"].str.split().str[0] != last["last"].str.split().str[0]).all()


def test_without_explanations_the_notebook_says_so(
    sweep_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("vqa_bench_explanations", monkeypatch, source=str(sweep_folder), out_dir=str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == expected_files(["no_explanations"], ["md"])
    assert drift_reading(load_drift(str(sweep_folder)), str(tmp_path)) == NONE


def test_tables_hold_every_pair(evidence: DriftEvidence) -> None:
    by_model, by_corruption, by_answer = (table.frame for table in drift_tables(evidence))
    corrupted = 16 * (3 + 1)  # contrast at three severities, and grey
    assert by_model["pairs"].tolist() == [corrupted, corrupted, 16, 16]
    assert by_corruption.set_index("corruption")["pairs"].to_dict() == {
        "contrast": 2 * 16 * 3,
        "grayscale": 2 * 16,
        "another_image": 2 * 16,
    }
    assert by_answer["pairs"].sum() == 2 * corrupted
    assert by_answer["changed"].isin([0, 1]).all()
    near, far = (by_model[by_model["beside"] == beside]["correlation"] for beside in ("corruption", "another_image"))
    assert near.min() > far.max()


def test_captions_are_spoken_of_where_a_model_writes_some(evidence: DriftEvidence) -> None:
    without = evidence.pairs[evidence.pairs["captions_kept"].isna()]
    assert 0 < len(without) < len(evidence.pairs)
    for shown, spoken in ((evidence, True), (replace(evidence, pairs=without), False)):
        assert {"Captions kept" in table.caption for table in drift_tables(shown)} == {spoken}


def test_the_shown_questions_are_the_extreme_and_the_middle_one(evidence: DriftEvidence) -> None:
    pairs = evidence.graded[evidence.graded["severity"] == 5].head(5)
    by_hand = pairs.assign(
        model="m", changed=[True, True, False, True, True], correlation=[0.5, -0.2, -1, 0.9, 0.1], variant="contrast"
    )
    weak = by_hand.assign(severity=1, correlation=-0.9)
    chosen = choose(replace(evidence, pairs=pd.concat([weak, by_hand])))
    assert chosen[["rule", "correlation"]].to_numpy().tolist() == [["largest drift", -0.2], ["median drift", 0.5]]
    one = choose(replace(evidence, pairs=pd.concat([weak, by_hand.head(1)])))
    assert len(one) == 1
    assert choose(replace(evidence, pairs=pd.concat([weak, by_hand.assign(changed=False)]))).empty


def test_a_strip_holds_the_severities_of_one_question(evidence: DriftEvidence, source: str) -> None:
    strips = prepare_strips(evidence, source)
    assert {strip.model for strip in strips} == {"pocket/vilt", "pocket/pnp"}
    for strip in strips:
        assert [tile.severity for tile in strip.tiles] == [0, 1, 3, 5]
        assert all(bool(tile.captions) == (strip.model == "pocket/pnp") for tile in strip.tiles)
        assert len({tile.pixels.tobytes() for tile in strip.tiles}) == 4


def test_an_overlay_colours_what_the_map_holds() -> None:
    grey: Any = np.full((32, 64, 3), 128, np.uint8)
    nothing = overlay(grey, np.zeros((4, 8), np.float32))
    assert nothing.shape == (32, 64, 3)
    assert (nothing == 128).all()
    shares = np.zeros((4, 8), np.float32)
    shares[1, 6] = 0.01
    changed = (overlay(grey, shares) != 128).any(axis=2)
    assert changed[12, 52]
    assert not changed[:, :40].any()
