"""The same bytes in another folder, time zone, locale and order of hashing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.report.page_site import make_predictions

ROOT = Path(__file__).parents[2]
CODE = """
from pathlib import Path

from robustlib.report import vqa_bench, vqa_figure_data, vqa_figures
from robustlib.report.figures import save_figure
from robustlib.report.tables import write_table
from robustlib.report.vqa_evidence import load_evidence
from tests.report.page_site import make_site

evidence = load_evidence("published")
for table in (vqa_bench.table1(evidence), vqa_bench.table2(evidence)):
    write_table(table, "figures/tables")
drops = vqa_figure_data.prepare_relative_drops(evidence)
save_figure(vqa_figures.plot_relative_drops(drops, "n"), drops, "figures/drops", "relative_drops")
make_site(Path("."), Path("build/data/out"))
"""
PLACES = {
    "here": {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8"},
    "over/there": {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "2", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    | {"PYTHONUTF8": "0"},
}


def render(folder: Path, settings: dict[str, str]) -> dict[str, bytes]:
    environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", CODE], check=True, cwd=folder, env=environment)
    figures = folder / "figures"
    return {str(path.relative_to(figures)): path.read_bytes() for path in figures.rglob("*") if path.is_file()}


def test_results_are_the_same_bytes_wherever_they_are_made(tmp_path: Path) -> None:
    asked = make_predictions(tmp_path / "asked").parent
    rendered = []
    for place, settings in PLACES.items():
        shutil.copytree(asked, tmp_path / place / "build" / "data")
        rendered.append(render(tmp_path / place, settings))
    first, second = rendered
    assert first.keys() == second.keys()
    assert {Path(name).suffix for name in first} == {".csv", ".md", ".tex", ".png", ".pdf", ".html", ".json"}
    assert [name for name in first if first[name] != second[name]] == []
    page = first["index.html"].decode()
    assert str(tmp_path) not in page
    assert "answers turned wrong" in page
