"""Compare two folders of tables and figures: what moved, file by file and cell by cell."""

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from robustlib.errors import InvalidValueError
from robustlib.report.provenance import RECORD

RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""A number may move by a millionth of itself, and near 0 by a thousand-millionth: the same answers give the same
numbers but for the order in which processors add."""

_PAGES = ("README.md", "index.html")
_UNCOMPARED = ("outputs", "shards", "manifest_sha256", "beside", "out_dir")
"""Hashes of files that are compared themselves, or of answers, whose last bits may differ; and a mere place."""


class Move(NamedTuple):
    """One thing that moved further than it may."""

    file: str
    place: str
    """Row and column, such as "row 3, vre"; "" for a whole file."""
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}: {f'{self.place}: ' if self.place else ''}{self.old} -> {self.new}"


@dataclass
class Comparison:
    """What became of each file."""

    same: list[str] = field(default_factory=list)
    """Files of the same bytes."""
    within: list[str] = field(default_factory=list)
    """Files of other bytes whose numbers moved within tolerance, and what is drawn or printed from those."""
    moves: list[Move] = field(default_factory=list)


def compare_folders(fresh: str | Path, committed: str | Path) -> Comparison:
    """Compare two folders of tables and figures.

    CSV files are compared cell by cell: numbers within `RELATIVE` or `ABSOLUTE`, whole numbers and text exactly;
    provenance records value by value but for hashes. Any other file has the same bytes or moved, unless the numbers of
    the CSV file beside it differ within tolerance; the two pages show all numbers and hashes, so for them any such file
    counts. A page that only one folder has shows other results and is not compared.

    Args:
        fresh: what was computed now.
        committed: what it should be.

    Raises:
        InvalidValueError: one of the folders holds no file.
    """
    new, old = _files(Path(fresh)), _files(Path(committed))
    found = Comparison()
    for name in sorted(new.keys() | old.keys(), key=lambda name: (not name.endswith(".csv"), name in _PAGES, name)):
        if name not in new or name not in old:
            sides = ("there", "missing") if name in old else ("missing", "there")
            found.moves += [] if name in _PAGES else [Move(name, "", *sides)]
        elif old[name] == new[name] or _differ_in_place(name, old[name], new[name]):
            found.same.append(name)
        elif moves := _compare(name, old[name], new[name], found.within):
            found.moves += moves
        else:
            found.within.append(name)
    return found


def _files(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if not files:
        raise InvalidValueError(f"{folder} holds no tables or figures to compare; run `make reproduce` first.")
    return files


def _differ_in_place(name: str, old: bytes, new: bytes) -> bool:
    """Return whether two files are records that differ in nothing but where they lie."""
    if Path(name).name != RECORD:
        return False
    before, after = json.loads(old), json.loads(new)
    return bool(before | {"parameters": _placeless(before)} == after | {"parameters": _placeless(after)})


def _placeless(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record["parameters"].items() if name != "out_dir"}


def _compare(name: str, old: bytes, new: bytes, within: list[str]) -> list[Move]:
    if name.endswith(".csv"):
        return _compare_cells(name, *(list(csv.reader(io.StringIO(content.decode()))) for content in (old, new)))
    if Path(name).name == RECORD:
        return _compare_values(name, "", json.loads(old), json.loads(new))
    beside = str(Path(name).with_suffix(".csv"))
    excused = beside in within or (name in _PAGES and bool(within))
    return [] if excused else [Move(name, "", f"{len(old)} bytes", f"{len(new)} other bytes")]


def _compare_cells(name: str, old: list[list[str]], new: list[list[str]]) -> list[Move]:
    heading = old[0] if old else []
    if old[:1] != new[:1]:
        return [Move(name, "columns", ", ".join(heading), ", ".join(new[0] if new else []))]
    rows: Iterator[tuple[list[str], list[str]]] = zip_longest(old[1:], new[1:], fillvalue=[])
    return [
        Move(name, f"row {number}, {column}", was, now)
        for number, (before, after) in enumerate(rows, start=1)
        for column, was, now in zip_longest(heading, before, after, fillvalue="")
        if not _alike(was, now)
    ]


def _compare_values(name: str, place: str, old: Any, new: Any) -> list[Move]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in sorted(old.keys() | new.keys()) if key not in _UNCOMPARED]
        return [
            move for key in keys for move in _compare_values(name, f"{place} {key}".strip(), old.get(key), new.get(key))
        ]
    return [] if old == new else [Move(name, place, json.dumps(old), json.dumps(new))]


def _alike(old: str, new: str) -> bool:
    if old == new:
        return True
    if all(re.fullmatch(r"-?\d+", cell) for cell in (old, new)):  # counts and numbers that stand for names
        return False
    try:
        return math.isclose(float(old), float(new), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    except ValueError:
        return False
