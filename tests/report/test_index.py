"""The record beside the outputs, and the page that shows them all."""

import json
from pathlib import Path

import nbformat
import pytest
from PIL import Image

from robustlib.__main__ import main
from robustlib.errors import InvalidValueError
from robustlib.report.index import write_index
from robustlib.report.provenance import write_provenance


@pytest.fixture
def figures(tmp_path: Path) -> Path:
    folder = tmp_path / "figures" / "vqa" / "tables"
    folder.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "n.ipynb")
    (folder / "small.md").write_text("Caption.\n\n| a |\n| :-- |\n| 1 |\n")
    (folder / "small.csv").write_text("a\n1\n")
    (folder / "large.md").write_text("A long table.\n\n" + "| row |\n" * 100)
    Image.new("RGB", (4, 3)).save(folder / "drop.png")
    for number in (2, 10):
        (folder / f"table{number}.md").write_text("Numbered.\n")
    write_provenance(str(folder), str(tmp_path / "n.ipynb"), {"seed": 1}, "published")
    return tmp_path / "figures"


def test_the_record_names_inputs_and_outputs_but_no_time(figures: Path, tmp_path: Path) -> None:
    folder = figures / "vqa" / "tables"
    before = (folder / "provenance.json").read_bytes()
    record = json.loads(before)
    assert record["notebook"]["file"] == "n.ipynb"
    assert record["parameters"] == {"seed": 1}
    assert "vqa_bench_printed.csv" in record["source"]["published"]
    assert set(record["outputs"]) == {
        *("small.md", "small.csv", "large.md", "drop.png"),
        *("table2.md", "table10.md"),
    }
    write_provenance(str(folder), str(tmp_path / "n.ipynb"), {"seed": 1}, "published")
    assert (folder / "provenance.json").read_bytes() == before


def test_nothing_made_means_nothing_to_record(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="no table or figure"):
        write_provenance(str(tmp_path), "n.ipynb", {}, "published")


def test_the_page_shows_tables_and_figures_and_links_what_is_long(figures: Path) -> None:
    path, html = write_index(figures)
    assert (path.name, html.name) == ("README.md", "index.html")
    page = path.read_text()
    assert "[index.html](index.html)" in page
    assert "## vqa/tables" in page
    assert "| 1 |" in page
    assert "[CSV](vqa/tables/small.csv)" in page
    assert "![drop](vqa/tables/drop.png)" in page
    assert "A long table." in page
    assert "| row |" not in page
    headings = [line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")]
    assert headings == ["Table 2", "Table 10", "Drop", "Large", "Small"]


def test_the_command_prints_the_pages(figures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = tmp_path / "build"
    assert main(["index", str(figures), "--notebooks", str(tmp_path), "--build", str(build)]) == 0
    pages = [figures / "README.md", figures / "index.html", build / "index.html"]
    assert capsys.readouterr().out.split() == list(map(str, pages))
    assert all(page.exists() for page in pages)


def test_a_missing_output_or_no_record_at_all_is_an_error(figures: Path, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text("{}")
    with pytest.raises(InvalidValueError, match=r"n\.ipynb cannot be read as a notebook"):
        write_index(figures, tmp_path)
    with pytest.raises(InvalidValueError, match=r"there is no .*nowhere\."):
        write_index(figures, tmp_path / "nowhere")
    (figures / "vqa" / "tables" / "drop.png").unlink()
    with pytest.raises(InvalidValueError, match=r"drop\.png"):
        write_index(figures)
    (figures / "vqa" / "tables" / "provenance.json").write_text("<<<<<<< HEAD")
    with pytest.raises(InvalidValueError, match=r"provenance\.json is damaged"):
        write_index(figures)
    with pytest.raises(InvalidValueError, match="run the notebooks first"):
        write_index(tmp_path / "nowhere")
