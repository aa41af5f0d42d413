"""What `verify` calls moved, on folders that were changed by hand."""

import json
import shutil
from pathlib import Path

import pytest

from robustlib.__main__ import main
from robustlib.errors import InvalidValueError
from robustlib.report.verify import compare_folders

CELLS = "model,share\nvilt,0.5\nblip,NaN\nzero,0.0\n"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A folder, and a copy of it."""
    old = tmp_path / "old" / "tables"
    old.mkdir(parents=True)
    (old / "drop.csv").write_text(CELLS)
    (old / "drop.png").write_bytes(b"a picture")
    (old / "other.md").write_text("| 1 |\n")
    (old.parent / "index.html").write_text("0.5")
    hashes = {"source": {"manifest_sha256": "hash", "beside": {"held_out": "hash"}}, "outputs": {"drop.csv": "hash"}}
    record = {"parameters": {"seed": 1, "out_dir": "old"}} | hashes
    (old / "provenance.json").write_text(json.dumps(record))
    return shutil.copytree(tmp_path / "old", tmp_path / "new"), tmp_path / "old"


def moved(folders: tuple[Path, Path]) -> list[str]:
    return list(map(str, compare_folders(*folders).moves))


def test_equal_folders_are_the_same(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = compare_folders(*folders)
    assert (len(found.same), found.within, found.moves) == (5, [], [])
    assert main(["verify", *map(str, folders)]) == 0
    assert capsys.readouterr().out == "5 files are the same, 0 within 1e-06 relative or 1e-09.\n"


@pytest.mark.parametrize(("old", "new"), [("0.5", "0.5000004"), ("0.0", "5e-10"), ("0.5", "5e-1")])
def test_numbers_within_tolerance_excuse_what_shows_them(folders: tuple[Path, Path], old: str, new: str) -> None:
    fresh = folders[0]
    (fresh / "tables" / "drop.csv").write_text(CELLS.replace(f",{old}\n", f",{new}\n"))
    (fresh / "tables" / "drop.png").write_bytes(b"another picture")
    (fresh / "index.html").write_text("another page")
    found = compare_folders(*folders)
    assert found.moves == []
    assert found.within == ["tables/drop.csv", "tables/drop.png", "index.html"]


@pytest.mark.parametrize(
    ("old", "new", "move"),
    [
        ("0.5", "0.500001", "tables/drop.csv: row 1, share: 0.5 -> 0.500001"),
        ("NaN", "0.1", "tables/drop.csv: row 2, share: NaN -> 0.1"),
        ("0.0", "2e-09", "tables/drop.csv: row 3, share: 0.0 -> 2e-09"),
        ("vilt", "vilt2", "tables/drop.csv: row 1, model: vilt -> vilt2"),
        ("zero,0.0\n", "", "tables/drop.csv: row 3, model: zero -> "),
        ("model,share", "model,shares", "tables/drop.csv: columns: model, share -> model, shares"),
    ],
)
def test_a_cell_that_moved_is_named(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], old: str, new: str, move: str
) -> None:
    (folders[0] / "tables" / "drop.csv").write_text(CELLS.replace(old, new))
    assert moved(folders)[0] == move
    assert main(["verify", *map(str, folders)]) == 2
    printed = capsys.readouterr()
    assert move in printed.out.splitlines()
    assert "moved, in 1 files" in printed.err


def test_pictures_and_texts_have_no_tolerance_of_their_own(folders: tuple[Path, Path]) -> None:
    fresh, _ = folders
    (fresh / "tables" / "drop.png").write_bytes(b"another picture")
    (fresh / "tables" / "other.md").write_text("| 2 |\n")
    assert moved(folders) == [
        "tables/drop.png: 9 bytes -> 15 other bytes",
        "tables/other.md: 6 bytes -> 6 other bytes",
    ]


def test_files_too_many_or_too_few_are_named(folders: tuple[Path, Path]) -> None:
    fresh, _ = folders
    (fresh / "tables" / "other.md").rename(fresh / "tables" / "more.md")
    assert moved(folders) == ["tables/more.md: missing -> there", "tables/other.md: there -> missing"]


def test_of_a_record_only_the_place_and_hashes_may_differ(folders: tuple[Path, Path]) -> None:
    record = folders[0] / "tables" / "provenance.json"
    record.write_text(record.read_text().replace('"old"', '"new"'))
    found = compare_folders(*folders)
    assert (len(found.same), found.within, found.moves) == (5, [], [])
    record.write_text(record.read_text().replace("hash", "other"))
    (folders[0] / "index.html").write_text("a page with another hash")
    found = compare_folders(*folders)
    assert (found.within, found.moves) == (["tables/provenance.json", "index.html"], [])
    record.write_text(record.read_text().replace("1", "2"))
    assert moved(folders) == [
        "tables/provenance.json: parameters seed: 1 -> 2",
        "index.html: 3 bytes -> 24 other bytes",
    ]


def test_a_page_of_other_results_is_not_compared(folders: tuple[Path, Path]) -> None:
    (folders[1] / "index.html").unlink()
    assert moved(folders) == []


def test_counts_have_no_tolerance(folders: tuple[Path, Path]) -> None:
    for folder, count in zip(folders, (10_000_001, 10_000_000), strict=True):
        (folder / "tables" / "drop.csv").write_text(f"n\n{count}\n")
    assert moved(folders) == ["tables/drop.csv: row 1, n: 10000000 -> 10000001"]


def test_an_empty_folder_is_an_error(folders: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"empty holds no tables or figures"):
        compare_folders(tmp_path / "empty", folders[1])
