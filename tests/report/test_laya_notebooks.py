"""The third document's notebooks, run in this process: its sweep over a small profile, then what is made of it."""

import json
from pathlib import Path

import pytest

from tests.report.test_vqa_notebooks import expected_files, run

PROFILE = """
models = ["pocket/vilt", "pocket/blip"]
families = ["option_order", "text", "image_shuffle", "text_only", "abstain", "negation", "typos"]
batch_size = 16

[[datasets]]
name = "easy_vqa_choice"
split = "test"
rows = 12
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laya")
    (folder / "toy.toml").write_text(PROFILE)
    with pytest.MonkeyPatch.context() as patch:
        settings = {"profile": str(folder / "toy.toml"), "out": str(folder / "out"), "held_out": 3, "in_company": 3}
        run("laya_sweep", patch, **settings)
    return folder / "out"


def test_the_sweep_leaves_answers_held_out_answers_and_the_check(sweep: Path) -> None:
    for name in ("manifest.json", "held_out/manifest.json", "invariance.parquet"):
        assert (sweep / name).exists()


def test_tables_of_a_sweep(sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("laya_tables", monkeypatch, source=str(sweep), out_dir=str(tmp_path))
    panels = ["easy_vqa_choice_choice", "easy_vqa_choice_yesno"]
    stems = [f"{name}_{panel}" for name in ("families", "variants", "ece_floors") for panel in panels]
    stems += ["main", "positions", "image_use", "typos", "consistency", "no_answer", "abstention", "negation"]
    stems += ["temperatures", "ece_by_family", "invariance"]
    written = sorted(path.name for path in tmp_path.iterdir())
    numbers = ["numbers.csv", "numbers_extensions.csv"]
    assert [name for name in written if name not in numbers] == expected_files(stems, ["csv", "md", "tex"])
    assert set(numbers) <= set(written)
    record = json.loads((tmp_path / "provenance.json").read_text())
    assert set(record["source"]["beside"]) == {"held_out/manifest.json", "invariance.parquet"}


def test_figures_of_a_sweep(sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("laya_figures", monkeypatch, source=str(sweep), out_dir=str(tmp_path))
    stems = ["changes", "floors", "image_use", "positions", "reliability", "typos", "variants"]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected_files(stems, ["csv", "pdf", "png"])


def test_tables_of_the_authors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("laya_tables", monkeypatch, source="published", out_dir=str(tmp_path))
    written = {path.stem for path in tmp_path.iterdir()}
    assert {"main", "families", "variants", "ece_floors", "injection", "invariance", "numbers"} <= written
    assert not {"typos", "temperatures", "no_answer"} & written
