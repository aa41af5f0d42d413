"""The notebooks' calls, run in this process on both sources, without a kernel."""

import json
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def run(notebook: str, monkeypatch: pytest.MonkeyPatch, **parameters: object) -> None:
    """Run a notebook's code in its own folder, with other parameters than its own."""
    monkeypatch.chdir(NOTEBOOKS)
    names: dict[str, object] = {}
    for cell in nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{notebook}, cell {cell.id}", "exec"), names)
        if "parameters" in cell.metadata.get("tags", []):
            assert set(parameters) <= set(names)
            names.update(parameters)


def expected_files(stems: list[str], endings: list[str]) -> list[str]:
    return sorted(["provenance.json", *(f"{stem}.{ending}" for stem in stems for ending in endings)])


def test_published_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("published_audit", monkeypatch, out_dir=str(tmp_path))
    stems = ["audit", "audit_findings", "audit_summary"]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected_files(stems, ["csv", "md", "tex"])


@pytest.mark.parametrize("source", ["published", "sweep"])
def test_tables(source: str, sweep_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = str(sweep_folder) if source == "sweep" else source
    run("vqa_bench_tables", monkeypatch, source=source, out_dir=str(tmp_path), preferences=[0, 0, 0, 1.5, 0])
    stems = ["table1", "table2", "table3", *([] if source == "published" else ["statuses"])]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected_files(stems, ["csv", "md", "tex"])
    record = json.loads((tmp_path / "provenance.json").read_text())
    assert record["parameters"]["preferences"] == [0, 0, 0, 1.5, 0]


def test_figures(sweep_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("vqa_bench_figures", monkeypatch, source=str(sweep_folder), out_dir=str(tmp_path))
    stems = ["average_errors", "errors", "relative_drops", "sizes", "submetric_profiles", "weightings"]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected_files(stems, ["csv", "pdf", "png"])
