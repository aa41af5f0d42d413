"""Figures for a paper: one style, and files that are the same bytes on every run.

Each figure of robustlib is a ``prepare_*`` that returns the numbers and a ``plot_*`` that only draws them.
"""

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically

COLUMN_WIDTH, PAGE_WIDTH = 3.4, 7.0
"""Inches: one column of a two-column page, and the whole page."""

NOTE_SIZE = 7
"""Points: the smallest type in any figure."""

DPI = 240

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "<", ">")

_NOTE_HEIGHT, _NOTE_LETTERS = 0.14, 18  # inches per line, letters per inch
_STYLE = {
    "font.family": "DejaVu Sans",  # travels with Matplotlib, so that every machine sets the same glyphs
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "patch.linewidth": 0,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "grid.linewidth": 0.4,
    "pdf.fonttype": 42,
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw and save in the house style, and leave Matplotlib's settings as they were."""
    settings: Any = {**sns.axes_style("ticks"), **_STYLE}
    with mpl.rc_context(settings):
        yield


def new_figure(width: float, height: float, note: str) -> Figure:
    """Return an empty figure, in inches, with a note (what n is, what a bar spans) in its lower right corner.

    The figure belongs to no window and to no global state of Matplotlib.
    """
    lines = [line for part in note.splitlines() for line in textwrap.wrap(part, int(width * _NOTE_LETTERS))]
    share = _NOTE_HEIGHT * len(lines) / height
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, share, 1, 1 - share))
    figure.text(0.995, 0.01, "\n".join(lines), ha="right", va="bottom", fontsize=NOTE_SIZE, color="0.35")
    return figure


def colours(count: int) -> list[tuple[float, float, float]]:
    """Return colours that people with any colour vision can tell apart.

    Raises:
        InvalidValueError: more are wanted than can be told apart.
    """
    if count > len(MARKERS):
        raise InvalidValueError(f"A figure can tell {len(MARKERS)} series apart, got {count}; plot fewer at a time.")
    return list(sns.color_palette("colorblind", count))


def save_figure(figure: Figure, numbers: pd.DataFrame, folder: str | Path, name: str, dpi: int = DPI) -> list[Path]:
    """Write a figure as PDF and PNG, and the numbers behind it as CSV.

    Args:
        figure: a figure made by a ``plot_*`` function.
        numbers: the frame that it was drawn from.
        folder: where the three files go; made if it is not there.
        name: their stem.
        dpi: of the PNG; figures made of photographs need less.

    Returns:
        The paths of the three files. They hold no date and no version, so equal figures are equal bytes.
    """
    contents = {
        "pdf": _rendered(figure, "pdf", dpi, {"CreationDate": None, "Creator": None, "Producer": None}),
        "png": _rendered(figure, "png", dpi, {"Software": None}),
        "csv": numbers.to_csv(index=False, na_rep="NaN", lineterminator="\n").encode(),
    }
    paths = [Path(folder) / f"{name}.{ending}" for ending in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_atomically(path, content)
    return paths


def _rendered(figure: Figure, kind: str, dpi: int, metadata: dict[str, None]) -> bytes:
    buffer = io.BytesIO()
    with paper_style():
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=metadata)
    return buffer.getvalue()
