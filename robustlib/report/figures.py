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
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from PIL import Image

from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically

COLUMN_WIDTH, PAGE_WIDTH = 3.4, 7.0
"""Inches: one column of a two-column page, and the whole page."""

NOTE_SIZE = 7
"""Points: the smallest type in any figure."""

DPI = 240

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "<", ">")

_NOTE_HEIGHT, _NOTE_LETTERS = 0.14, 18  # inches per line, letters per inch
_STEP = 5  # between the values of a photograph in print; no eye sees the 2 of 255 that one may be off
_INVISIBLE = 1.0  # levels of 255: root mean square by which a palette may change a drawing
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
        The paths of the three files. They hold no date and no version, so equal figures are equal bytes. To keep them
        small, photographs in them (not in the CSV) are rounded to multiples of 5, and drawings have a palette.
    """
    _round_photographs(figure)
    contents = {
        "pdf": _rendered(figure, "pdf", dpi, {"CreationDate": None, "Creator": None, "Producer": None}),
        "png": _small_png(_rendered(figure, "png", dpi, {"Software": None})),
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


def _round_photographs(figure: Figure) -> None:
    for image in figure.findobj(AxesImage):
        pixels = np.asarray(image.get_array())
        if pixels.dtype == np.uint8 and pixels.ndim == 3:
            image.set_data((np.round(pixels / _STEP) * _STEP).astype(np.uint8))


def _small_png(content: bytes) -> bytes:
    """Return a PNG without transparency, with a palette of 256 colours where nobody sees the difference."""
    whole = Image.open(io.BytesIO(content)).convert("RGB")
    few = whole.quantize(256, dither=Image.Dither.NONE)
    difference = np.asarray(few.convert("RGB"), float) - np.asarray(whole, float)
    buffer = io.BytesIO()
    (few if np.square(difference).mean() <= _INVISIBLE**2 else whole).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
