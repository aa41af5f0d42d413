"""Figures that the authors of the source documents published, as data that a program can compare with.

The files lie in ``published/``; each begins with comment lines that name its source.
"""

from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np
import pandas as pd

from robustlib.errors import RobustlibError

PUBLISHED = "published"
"""What a notebook or report calls these figures as a source, where it could also name a folder of predictions."""

_FOLDER = Path(__file__).parent / "published"

VQA_BENCH_QUESTIONS = 16_000
"""Question and answer pairs of the visual robustness benchmark for VQA (Section 6, Datasets)."""


class PublishedDataError(RobustlibError):
    """A file of published figures that is not what its loader promises."""


def published_paths() -> list[Path]:
    """Return the paths of all files of published figures, in the order of their names."""
    return sorted(_FOLDER.glob("*.csv"))


def vqa_bench_per_severity() -> pd.DataFrame:
    """Return the benchmark's 336 accuracies: 4 models x 14 corruptions x 6 severity levels, level 0 being clean.

    Returns:
        Columns ``model``, ``corruption`` (text), ``severity`` (integer, 0 to 5) and ``accuracy`` (in [0, 1]), in the
        order of the document's Table 1.

    Raises:
        PublishedDataError: the file has another number of rows, a cell twice, or a value out of range.
    """
    frame = published_table("vqa_bench_per_severity", ["model", "corruption", "severity", "accuracy_percent"], rows=336)
    frame["severity"] = frame["severity"].astype(int)
    frame["accuracy"] = frame.pop("accuracy_percent").astype(float) / 100
    _require(not frame.duplicated(["model", "corruption", "severity"]).any(), "vqa_bench_per_severity", "a cell twice")
    _require(frame["severity"].between(0, 5).all(), "vqa_bench_per_severity", "a severity outside 0 to 5")
    _require(frame["accuracy"].between(0, 1).all(), "vqa_bench_per_severity", "an accuracy outside 0 to 100 percent")
    return frame


def vqa_bench_printed() -> pd.DataFrame:
    """Return the 256 numbers in Tables 1, 2 and 3 of the benchmark, as printed.

    Returns:
        Text columns ``table`` ("table1" to "table3"), ``model``, ``corruption``, ``metric``, ``printed`` and ``unit``
        ("" or "percent"). ``model`` or ``corruption`` is "" where the number belongs to all of them.

    Raises:
        PublishedDataError: the file has another number of rows, a cell twice, or a print that is no number.
    """
    columns = ["table", "model", "corruption", "metric", "printed", "unit"]
    frame = published_table("vqa_bench_printed", columns, rows=256)
    _require(not frame.duplicated(columns[:4]).any(), "vqa_bench_printed", "a cell twice")
    _require(frame["unit"].isin(["", "percent"]).all(), "vqa_bench_printed", "an unknown unit")
    _require(frame["printed"].map(_is_number).all(), "vqa_bench_printed", "a print that is no number")
    return frame


def vlm_robustbench_stated() -> pd.DataFrame:
    """Return the numbers that the text of VLM-RobustBench states, as it states them.

    Returns:
        Text columns ``dataset``, ``scope``, ``condition``, ``metric``, ``stated`` and ``section``; the file says what
        they mean.

    Raises:
        PublishedDataError: the file has another number of rows, a statement twice, or one that is no number.
    """
    columns = ["dataset", "scope", "condition", "metric", "stated", "section"]
    frame = published_table("vlm_robustbench_stated", columns, rows=66)
    _require(not frame.duplicated(columns[:4]).any(), "vlm_robustbench_stated", "a statement twice")
    _require(frame["stated"].map(_is_number).all(), "vlm_robustbench_stated", "a statement that is no number")
    return frame


def _path(name: str) -> Path:
    return _FOLDER / f"{name}.csv"


def published_table(name: str, columns: list[str], rows: int) -> pd.DataFrame:
    """Return a file of published figures as text, cell by cell as it is written.

    Args:
        name: the file's name without its ending.
        columns: the columns it must have.
        rows: how many rows it must have.

    Raises:
        PublishedDataError: it has others.
    """
    frame = pd.read_csv(_path(name), dtype=str, keep_default_na=False, comment="#")
    _require(list(frame.columns) == columns, name, f"the columns {list(frame.columns)} instead of {columns}")
    _require(len(frame) == rows, name, f"{len(frame)} rows instead of {rows}")
    return frame


def _require(holds: bool | np.bool_, name: str, fault: str) -> None:
    if not holds:
        raise PublishedDataError(f"{_path(name)} holds {fault}.")


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False
