"""The rendering notebook's calls, run in this process on a small finished sweep, without a kernel."""

import json
from pathlib import Path

import pytest

from robustlib.report.vlm_specs import SPECS
from tests.report.test_vqa_notebooks import run
from tests.report.vlm_run import FEW, write_sweep


@pytest.mark.filterwarnings("ignore:blind gains nothing from its images")
def test_tables_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = write_sweep(tmp_path / "predictions"), tmp_path / "out"
    run("vlm_robustbench_report", monkeypatch, source=str(source), out_dir=str(out), resamples=FEW, photograph="rocket")
    stems = {spec.name for spec in SPECS} | {"table1", "table29", "stated_context", "stated_claims"}
    written = {path.name for path in out.iterdir()}
    tables = {f"{stem}.{ending}" for stem in stems for ending in ("csv", "md", "tex")}
    figures = {"figure1", "figure2", "figure3", "figure14", "table1_examples"}
    drawn = {f"{stem}.{ending}" for stem in figures for ending in ("csv", "pdf", "png")}
    assert written == tables | drawn | {"provenance.json"}
    record = json.loads((out / "provenance.json").read_text())
    assert record["parameters"]["photograph"] == "rocket"
    assert set(record["outputs"]) == tables | drawn
    assert len(record["source"]["shards"]) == 3
