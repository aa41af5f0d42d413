"""What VLM-RobustBench does to pictures: all its configurations on one photograph."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustlib.corruptions import corrupt
from robustlib.data.images import Pixels
from robustlib.metrics.configurations import BINARY, LEVELS, SUITE, configurations
from robustlib.report.figures import NOTE_SIZE, PAGE_WIDTH, new_figure, paper_style
from robustlib.report.gallery import SIDE, load_photograph, make_tile, mean_difference
from robustlib.report.vlm_spec import category_label

_LINE, _GAP = 0.125, 0.04  # inches: a line of the smallest type, and between tiles
_BLOCKS = 3  # of corruptions with levels, side by side
_NAME = 1.22  # inches for the longest name
_LONGEST = 16  # letters that fit under a tile of the smallest size


@dataclass(frozen=True)
class Pictures:
    """A photograph under every configuration."""

    photograph: str
    tiles: Mapping[str, Pixels]
    """By configuration, such as "fog:low"."""
    numbers: pd.DataFrame
    """Columns ``configuration``, ``corruption``, ``severity``, ``level``, ``category`` and
    ``mean_absolute_difference`` (0 .. 255; NaN where the size changes)."""

    @property
    def note(self) -> str:
        """What is seen, for the corner of a figure."""
        return f"Photograph: {self.photograph} (scikit-image), corrupted at {SIDE} x {SIDE} pixels."


def prepare_pictures(photograph: str, seed: int) -> Pictures:
    """Corrupt a photograph in every way.

    Args:
        photograph: one of `robustlib.report.gallery.PHOTOGRAPHS`.
        seed: as for `robustlib.corrupt`.

    Raises:
        UnknownNameError: there is no such photograph.
    """
    clean = load_photograph(photograph)
    images = {
        str(found): corrupt(clean, f"{SUITE}/{found.corruption}", found.severity, seed) for found in configurations()
    }
    differences = [mean_difference(clean, image) for image in images.values()]
    numbers = pd.DataFrame(configurations()).assign(mean_absolute_difference=differences)
    numbers.insert(0, "configuration", list(images))
    return Pictures(photograph, {name: make_tile(image) for name, image in images.items()}, numbers)


def plot_examples(pictures: Pictures) -> Figure:
    """Draw one example of each category, at mid where there are levels (beside Table 1)."""
    numbers = pictures.numbers[pictures.numbers["level"].isin(("mid", BINARY))]
    examples = numbers.drop_duplicates("category").to_dict("records")
    names = {row["configuration"]: f"{category_label(row['category'])}\n{row['corruption']}" for row in examples}
    return _plot_grid(pictures, names, across=5)


def plot_types(pictures: Pictures, level: str) -> Figure:
    """Draw all 49 types, those with levels at one of them (Figure 3)."""
    shown = pictures.numbers[pictures.numbers["level"].isin((level, BINARY))].to_dict("records")
    names = {row["configuration"]: _in_two_lines(row["corruption"]) for row in shown}
    return _plot_grid(pictures, names, across=7)


def plot_configurations(pictures: Pictures) -> Figure:
    """Draw all 133 configurations: low, mid and high of each type that has them, then the rest (Figure 14)."""
    numbers = pictures.numbers
    leveled = numbers.loc[numbers["level"] != BINARY, "corruption"].unique()
    binary = numbers.loc[numbers["level"] == BINARY, "configuration"]
    down = -(-len(leveled) // _BLOCKS)
    block, cell = PAGE_WIDTH / _BLOCKS, PAGE_WIDTH / len(binary)
    side = (block - _NAME) / len(LEVELS) - _GAP
    step = side + _GAP
    with paper_style():
        figure, axes = _canvas(3 * _LINE + (down + 1) * step, pictures.note)
        for number, name in enumerate(leveled):
            column, row = divmod(number, down)
            left, top = column * block + _NAME, _LINE + row * step
            axes.text(left - 0.06, top + side / 2, name, ha="right", va="center", size=NOTE_SIZE)
            for place, level in enumerate(LEVELS):
                _draw(axes, pictures.tiles[f"{name}:{level}"], left + place * step, top, side)
                if row == 0:
                    axes.text(left + place * step + side / 2, top - 0.03, level, ha="center", size=NOTE_SIZE)
        for number, name in enumerate(binary):
            _draw(axes, pictures.tiles[name], (number + 0.5) * cell - side / 2, 1.5 * _LINE + down * step, side, name)
    return figure


def _plot_grid(pictures: Pictures, names: Mapping[str, str], across: int) -> Figure:
    """Draw some configurations, from left to right, with two lines under each."""
    cell = PAGE_WIDTH / across
    side = 0.75 * cell
    step = side + 2 * _LINE + 2 * _GAP
    with paper_style():
        figure, axes = _canvas(-(-len(names) // across) * step, pictures.note)
        for number, (configuration, name) in enumerate(names.items()):
            row, column = divmod(number, across)
            _draw(axes, pictures.tiles[configuration], (column + 0.125) * cell, row * step, side, name)
    return figure


def _in_two_lines(name: str) -> str:
    return name.replace("_", "_\n", 1) if len(name) > _LONGEST else name


def _canvas(height: float, note: str) -> tuple[Figure, Axes]:
    """Return an empty page and axes in inches, the origin in the upper left corner."""
    figure = new_figure(PAGE_WIDTH, height + 0.2, note)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(0, PAGE_WIDTH), ylim=(height, 0), autoscale_on=False)
    return figure, axes


def _draw(axes: Axes, tile: Pixels, left: float, top: float, side: float, below: str = "") -> None:
    axes.imshow(tile, extent=(left, left + side, top + side, top), interpolation="none", aspect="equal")
    axes.text(left + side / 2, top + side + 0.03, below, ha="center", va="top", size=NOTE_SIZE)
