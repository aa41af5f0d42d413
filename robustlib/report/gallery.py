"""The gallery: every corruption at every severity on real photographs, and the tables of all severities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pandas as pd
import skimage.data
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from robustlib.corruptions import Corruption, corrupt, list_corruptions
from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.report.figures import NOTE_SIZE, paper_style
from robustlib.report.tables import Column, Table

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "rocket")
"""Colour photographs that the wheel of scikit-image carries, so that nothing is downloaded."""

SIDE = 224  # pixels of a photograph when it is corrupted, as most models see it
TILE, GAP = 58, 2  # pixels of a photograph when it is shown
DPI = 66  # of the tiles in print, where the figure is not too tall for a page
_TALLEST = 8.5  # inches of tiles that fit on a page
_LABELS, _HEADINGS, _FOOT = 1.45, 0.22, 0.25  # inches


@dataclass(frozen=True)
class Row:
    """Corruptions that are one function with the same parameters in several suites; they share a row of pictures."""

    corruptions: tuple[Corruption, ...]

    @property
    def names(self) -> str:
        """The names that it has, mostly one."""
        return ", ".join(dict.fromkeys(corruption.name for corruption in self.corruptions))

    @property
    def suites(self) -> str:
        """The suites that it belongs to."""
        return ", ".join(corruption.suite for corruption in self.corruptions)


@dataclass(frozen=True)
class Gallery:
    """The pictures of one category of corruptions."""

    category: str
    photograph: str
    rows: tuple[Row, ...]
    tiles: tuple[tuple[Pixels, ...], ...]
    """For each row the clean photograph, then each severity: uint8 TILE x TILE x 3."""
    numbers: pd.DataFrame
    """For each row and severity its parameters and how far the values are from the clean ones on average (0 .. 255);
    NaN where the size changes."""


def prepare_galleries(suites: Sequence[str], photographs: Sequence[str], seed: int) -> list[Gallery]:
    """Corrupt a photograph by all corruptions of some suites, a gallery for each category.

    Args:
        suites: names of suites; what they share is shown once.
        photographs: some of `PHOTOGRAPHS`, taken in turn by the categories.
        seed: as for `robustlib.corrupt`.

    Raises:
        InvalidValueError: no suite or no photograph is given.
        UnknownNameError: there is no such suite or photograph.
    """
    if not suites or not photographs:
        raise InvalidValueError(
            f"A gallery needs at least one suite and one photograph, got {list(suites)} and {list(photographs)}."
        )
    return [
        _prepare(category, rows, photograph, seed)
        for (category, rows), photograph in zip(_rows_by_category(suites).items(), cycle(photographs), strict=False)
    ]


def plot_gallery(gallery: Gallery) -> Figure:
    """Draw a row for each corruption, a column for the clean photograph and each severity.

    The figure's own resolution shows each pixel of the tiles as 2 x 2.
    """
    columns = max(len(tiles) for tiles in gallery.tiles)
    sheet = _sheet(gallery.tiles, columns)
    dpi = max(DPI, math.ceil(sheet.shape[0] / _TALLEST))
    across, down = sheet.shape[1] / dpi, sheet.shape[0] / dpi
    width, height = _LABELS + across, _HEADINGS + down + _FOOT
    with paper_style():
        figure = Figure(figsize=(width, height), dpi=2 * dpi)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((_LABELS / width, _FOOT / height, across / width, down / height))
        axes.imshow(sheet, interpolation="none", aspect="auto")
        axes.set_axis_off()
        for column in range(columns):
            middle = column * (TILE + GAP) + TILE / 2
            axes.text(middle, -5, str(column) if column else "clean", ha="center", va="bottom")
        for number, row in enumerate(gallery.rows):
            middle = number * (TILE + GAP) + TILE / 2
            axes.text(-6, middle, row.names.replace(", ", "\n"), ha="right", va="bottom")
            axes.text(-6, middle + 2, row.suites.replace(", ", "\n"), ha="right", va="top", size=6, color="0.35")
        note = f"Photograph: {gallery.photograph} (scikit-image), corrupted at {SIDE} x {SIDE} pixels"
        figure.text(0.995, 0.05 / height, note, ha="right", va="bottom", fontsize=NOTE_SIZE, color="0.35")
    return figure


def severity_table(suite: str) -> Table:
    """Return the parameters of all corruptions of a suite at all severities, as an appendix prints them."""
    corruptions = list_corruptions(suite)
    levels = max(len(corruption.parameters) for corruption in corruptions)
    frame = pd.DataFrame(
        {
            "corruption": corruption.name,
            "category": corruption.category,
            "parameters": ", ".join(corruption.parameters[0]),
            **{f"severity_{level}": _values(corruption, level) for level in range(1, levels + 1)},
            "random": "yes" if corruption.random else "no",
            "definition": corruption.fidelity,
        }
        for corruption in corruptions
    )
    labels = {f"severity_{level}": str(level) for level in range(1, levels + 1)}
    columns = tuple(
        Column(name, labels.get(name, name.capitalize()), group="Severity" if name in labels else "")
        for name in map(str, frame)
    )
    caption = (
        f"The corruptions of {suite} and their parameters. Definition: faithful to the published one, fixed where that "
        f"is at fault, or ours."
    )
    return Table(f"severities_{suite}", caption, frame, columns)


def source_table(suites: Sequence[str]) -> Table:
    """Return where each definition comes from, and what a reader has to know about it."""
    corruptions = [corruption for suite in suites for corruption in list_corruptions(suite)]
    frame = pd.DataFrame(
        {"corruption": corruption.key, "source": corruption.source, "note": corruption.note}
        for corruption in corruptions
    )
    columns = tuple(Column(name, name.capitalize()) for name in map(str, frame))
    return Table("severity_sources", "Sources of the corruptions' definitions and parameters.", frame, columns)


def _rows_by_category(suites: Sequence[str]) -> dict[str, list[Row]]:
    alike: dict[object, list[Corruption]] = {}
    for corruption in (corruption for suite in suites for corruption in list_corruptions(suite)):
        values = tuple(tuple(parameters.items()) for parameters in corruption.parameters)
        alike.setdefault((corruption.function, values), []).append(corruption)
    categories: dict[str, list[Row]] = {}
    for corruptions in alike.values():
        categories.setdefault(corruptions[0].category, []).append(Row(tuple(corruptions)))
    return categories


def _prepare(category: str, rows: Sequence[Row], photograph: str, seed: int) -> Gallery:
    clean = load_photograph(photograph)
    tiles, numbers = [], []
    for row in rows:
        first = row.corruptions[0]
        corrupted = [corrupt(clean, first.key, severity, seed) for severity in first.severities]
        tiles.append(tuple(make_tile(image) for image in (clean, *corrupted)))
        numbers += [
            {
                "corruption": row.names,
                "suites": row.suites,
                "severity": severity,
                "parameters": ", ".join(f"{name} {value}" for name, value in first.parameters[severity - 1].items()),
                "mean_absolute_difference": mean_difference(clean, image),
            }
            for severity, image in zip(first.severities, corrupted, strict=True)
        ]
    return Gallery(category, photograph, tuple(rows), tuple(tiles), pd.DataFrame(numbers))


def load_photograph(photograph: str) -> Pixels:
    """Return the middle square of a photograph, SIDE x SIDE.

    Raises:
        UnknownNameError: it is none of `PHOTOGRAPHS`.
    """
    if photograph not in PHOTOGRAPHS:
        raise UnknownNameError("photograph", photograph, PHOTOGRAPHS)
    whole = Image.fromarray(getattr(skimage.data, photograph)())
    side = min(whole.size)
    left, top = (whole.width - side) // 2, (whole.height - side) // 2
    box = (left, top, left + side, top + side)
    return np.array(whole.resize((SIDE, SIDE), Image.Resampling.BOX, box))


def make_tile(image: Pixels) -> Pixels:
    """Average over areas, or repeat pixels where an image has been made smaller than a tile."""
    return np.array(Image.fromarray(image).resize((TILE, TILE), Image.Resampling.BOX))


def mean_difference(clean: Pixels, image: Pixels) -> float:
    """Return how far the values are from the clean ones on average (0 .. 255); NaN where the size changes."""
    if image.shape != clean.shape:
        return float("nan")
    return float(np.abs(image.astype(np.float64) - clean).mean())


def _sheet(tiles: Sequence[Sequence[Pixels]], columns: int) -> Pixels:
    step = TILE + GAP
    sheet = np.full((len(tiles) * step - GAP, columns * step - GAP, 3), 255, np.uint8)
    for row, pictures in enumerate(tiles):
        for column, picture in enumerate(pictures):
            sheet[row * step : row * step + TILE, column * step : column * step + TILE] = picture
    return sheet


def _values(corruption: Corruption, level: int) -> str:
    if level > len(corruption.parameters):
        return ""
    return ", ".join(map(str, corruption.parameters[level - 1].values()))
