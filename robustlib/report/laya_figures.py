"""The figures of the third document: each function draws a frame of `laya_figure_data`, no more.

Every ``note`` is the small line in a corner that says how much evidence stands behind the figure.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import IPython.display
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustlib.metrics.calibration import BINS
from robustlib.report.figures import (
    COLUMN_WIDTH,
    MARKERS,
    NOTE_SIZE,
    PAGE_WIDTH,
    colours,
    new_figure,
    paper_style,
    save_figure,
)
from robustlib.report.laya_layout import FAMILY_LABELS
from robustlib.report.laya_spread import in_family_order

_display: Any = IPython.display  # it has no types
_SHOWN = 130  # pixels per inch in a notebook
_SPREAD = 0.8  # share of a row over which its series are spread
_BARS: dict[str, Any] = {"linestyle": "", "elinewidth": 0.8, "markersize": 3.5}
_ZERO: dict[str, Any] = {"color": "0.6", "linewidth": 0.6, "zorder": 0}
_LABEL_LETTERS = 16  # of a line beside a small panel
_ECE_TICKS = (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
_LEGEND_LETTERS, _MARKER_LETTERS = 14, 5  # letters per inch of a legend, and how many of them a marker takes
_MARKERS = [marker for marker in MARKERS if marker not in "PX"]  # those that show whether they are filled


def draw(plot: Callable[[pd.DataFrame, str], Figure], numbers: pd.DataFrame, note: str, folder: str, name: str) -> Any:
    """Write a figure and return it to be shown in a notebook; where there is nothing to draw, return a sentence.

    Args:
        plot: one of the functions below.
        numbers: the frame that it draws.
        note: how much evidence stands behind it.
        folder: where its files go.
        name: their stem.
    """
    if numbers.empty:
        return _display.Markdown("This source has no numbers for this figure.")
    figure = plot(numbers, note)
    save_figure(figure, numbers, folder, name)
    return _display.Image(f"{folder}/{name}.png", width=int(figure.get_figwidth() * _SHOWN))


def plot_changes(changes: pd.DataFrame, note: str) -> Figure:
    """Draw change of accuracy and flip rate of every family as points with intervals; a row of panels a data set."""
    metrics = {"accuracy_change": "Change of accuracy", "flip_rate": "Flip rate"}
    titles, families = _distinct(changes, "panel"), _distinct(changes, "family")
    series = sorted(_distinct(changes, "series"))
    with paper_style():
        height = 0.9 + len(titles) * (0.5 + _row_height(changes) * len(families))
        figure = new_figure(PAGE_WIDTH, height, f"Bars: 95 % intervals over images.\n{note}")
        grid = figure.subplots(len(titles), len(metrics), sharex="col", sharey=True, squeeze=False)
        for axes_of_row, (title, panel) in zip(grid, changes.groupby("panel", sort=False), strict=True):
            for axes, (metric, label) in zip(axes_of_row, metrics.items(), strict=True):
                for rows, place, style in _series(panel[panel["metric"] == metric], series):
                    y = rows["family"].map(families.index).astype(float) + place
                    axes.errorbar(rows["value"], y, xerr=_whiskers(rows), **style, **_BARS)
                axes.axvline(0, **_ZERO)
                axes.set(title=title, xlabel=label)
                _name_rows(axes, [FAMILY_LABELS[family] for family in families])
        _legend_above(figure, grid[0, 0])
    return figure


def plot_variants(variants: pd.DataFrame, note: str) -> Figure:
    """Draw the flip rate of every variant and series as a heatmap; a panel a data set."""
    flips = variants[variants["metric"] == "flip_rate"]
    distinct = in_family_order(flips[["family", "variant"]].drop_duplicates().sort_values("variant"))
    rows = list(distinct.itertuples(index=False, name=None))
    titles = _distinct(flips, "panel")
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 1.3 + 0.16 * len(rows), f"Flip rate in percent of answers.\n{note}")
        grid = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
        for axes, (title, panel) in zip(grid, flips.groupby("panel", sort=False), strict=True):
            matrix = panel.pivot_table("value", ["family", "variant"], "series").reindex(rows)
            sns.heatmap(
                100 * matrix,
                ax=axes,
                cmap=sns.light_palette("#3f8fd0", as_cmap=True),  # light enough for black numbers everywhere
                vmin=0,
                vmax=100,
                annot=True,
                fmt=".0f",
                annot_kws={"size": NOTE_SIZE, "color": "black"},
                linewidths=0.5,
                cbar=False,
                yticklabels=[f"{FAMILY_LABELS[family]}: {variant}" for family, variant in rows],
            )
            axes.set(title=title, xlabel="", ylabel="")
            axes.tick_params(length=0)
            axes.tick_params(axis="x", rotation=35)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
    return figure


def plot_positions(positions: pd.DataFrame, note: str) -> Figure:
    """Draw accuracy by the place at which the right option was shown."""
    return _plot_lines(positions, "place", "Place of the right option", note)


def plot_typos(typos: pd.DataFrame, note: str) -> Figure:
    """Draw accuracy by the severity of typing errors; 0 is the question as it stands."""
    return _plot_lines(typos, "severity", "Severity of typing errors", note)


def plot_image_use(controls: pd.DataFrame, note: str) -> Figure:
    """Draw accuracy with the right image, another one and none, beside chance and the commonest label."""
    known = {"clean_accuracy": "right image", "shuffled_accuracy": "another image", "no_image_accuracy": "no image"}
    guesses = {"chance_accuracy": ("chance", ":"), "majority_accuracy": ("commonest label", "-")}
    titles, series = _distinct(controls, "panel"), sorted(_distinct(controls, "series"))
    with paper_style():
        width = COLUMN_WIDTH if len(titles) == 1 else PAGE_WIDTH
        figure = new_figure(width, 1.3 + 0.24 * len(series), f"Bars: 95 % intervals over images.\n{note}")
        grid = figure.subplots(1, len(titles), sharex=True, sharey=True, squeeze=False)[0]
        for axes, (title, panel) in zip(grid, controls.groupby("panel", sort=False), strict=True):
            y = panel["series"].map(series.index)
            for (name, label), colour, marker in zip(known.items(), colours(len(known)), MARKERS, strict=False):
                axes.plot(panel[name], y, marker, color=colour, label=label, zorder=3)
            bars = _whiskers(panel, "clean_accuracy", "clean_accuracy_low", "clean_accuracy_high")
            axes.errorbar(panel["clean_accuracy"], y, xerr=bars, color=colours(1)[0], **_BARS)
            for name, (label, line) in guesses.items():
                axes.vlines(panel[name], y - 0.4, y + 0.4, color="0.3", linestyle=line, linewidth=1, label=label)
            axes.set(title=title, xlabel="Accuracy", xlim=(0, 1.02))
            _name_rows(axes, series)
        _legend_above(figure, grid[0])
    return figure


def plot_floors(floors: pd.DataFrame, note: str) -> Figure:
    """Draw every calibration error over its noise floors; filled where it is beyond both."""
    titles, families = _distinct(floors, "panel"), _distinct(floors, "family")
    series = sorted(_distinct(floors, "series"))
    about = (
        "Bars: up to the 95th percentile of the noise floor, answers independent; ticks: that percentile, all answers "
        f"on an image together. Filled: beyond both.\n{note}"
    )
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 1.2 + _row_height(floors) * len(families), about)
        grid = figure.subplots(1, len(titles), sharex=True, sharey=True, squeeze=False)[0]
        for axes, (title, panel) in zip(grid, floors.groupby("panel", sort=False), strict=True):
            for rows, place, style in _series(panel, series):
                y = rows["family"].map(families.index).astype(float) + place
                axes.barh(y, rows["floor_p95"], height=_SPREAD / 10, color="0.8")
                axes.plot(rows["clustered_floor_p95"], y, "|", color="0.3", markersize=5)
                axes.plot(rows["ece"], y, linestyle="", markerfacecolor="white", **style)
                beyond = rows[rows["beyond_noise"]]
                axes.plot(beyond["ece"], y[beyond.index], linestyle="", **(style | {"label": None}))
            axes.set_xscale("function", functions=(np.sqrt, np.square))  # the small ones matter, and may be 0
            largest = floors[["ece", "floor_p95", "clustered_floor_p95"]].max().max()
            axes.set(
                title=title, xlabel="ECE (square-root scale)", xticks=[tick for tick in _ECE_TICKS if tick <= largest]
            )
            axes.set_xlim(0, 1.1 * largest)
            _name_rows(axes, [FAMILY_LABELS[family] for family in families])
        _legend_above(figure, grid[0])
    return figure


def plot_reliability(bins: pd.DataFrame, note: str) -> Figure:
    """Draw reliability diagrams: a row a data set, a column a model, a line a family."""
    titles, series, families = _distinct(bins, "panel"), _distinct(bins, "series"), _distinct(bins, "family")
    with paper_style():
        about = f"Mean accuracy and confidence in each of {BINS} bins; area: share of the family's answers.\n{note}"
        height = 1.2 + len(titles) * (0.25 + 0.8 * PAGE_WIDTH / max(4, len(series)))
        figure = new_figure(PAGE_WIDTH, height, about)
        grid = figure.subplots(len(titles), len(series), sharex=True, sharey=True, squeeze=False)
        for (row, column), axes in np.ndenumerate(grid):
            panel = bins[(bins["panel"] == titles[row]) & (bins["series"] == series[column])]
            axes.plot([0, 1], [0, 1], **_ZERO)
            for family, colour, marker in zip(families, colours(len(families)), MARKERS, strict=False):
                points = panel[panel["family"] == family]
                area = 60 * points["answers"] / points["answers"].sum() + 2
                x, y = points["confidence"], points["accuracy"]
                axes.plot(x, y, color=colour, linewidth=0.8, alpha=0.4)
                axes.scatter(x, y, area, marker=marker, label=FAMILY_LABELS[family], **_hollow(colour))
            axes.set(xlim=(0, 1.1), ylim=(-0.1, 1.1), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
            axes.set_title(_in_parts(series[column]) if row == 0 else "")
            axes.set_xlabel("Confidence" if row == len(titles) - 1 else "")
            if column == 0:
                axes.set_ylabel("\n".join([*textwrap.wrap(titles[row], _LABEL_LETTERS), "Accuracy"]))
        _legend_above(figure, grid[0, 0])
    return figure


def _in_parts(name: str) -> str:
    """Break a model's name behind its parts, "pocket/" or "prior:", and where it is long, for narrow panels."""
    parts = re.split(r"(?<=[:/])", name)
    return "\n".join(line for part in parts for line in textwrap.wrap(part, _LABEL_LETTERS))


def _plot_lines(points: pd.DataFrame, x: str, label: str, note: str) -> Figure:
    titles, series = _distinct(points, "panel"), sorted(_distinct(points, "series"))
    with paper_style():
        width = COLUMN_WIDTH if len(titles) == 1 else PAGE_WIDTH
        figure = new_figure(width, 2.6, f"Bars: 95 % intervals over images.\n{note}")
        grid = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
        for axes, (title, panel) in zip(grid, points.groupby("panel", sort=False), strict=True):
            for rows, place, style in _series(panel, series):
                axes.errorbar(rows[x] + 0.4 * place, rows["value"], yerr=_whiskers(rows), elinewidth=0.8, **style)
            axes.set(title=title, xlabel=label, xticks=sorted(panel[x].unique()))
            axes.grid(axis="y")
        grid[0].set_ylabel("Accuracy")
        _legend_above(figure, grid[0])
    return figure


def _series(panel: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[pd.DataFrame, float, dict[str, Any]]]:
    """Yield the rows of one series after the other, how far it is moved aside, and its look.

    All series of the figure have their turn in every panel, with no rows if need be: so each has one look throughout,
    and any panel has the whole legend.
    """
    places = _SPREAD * ((np.arange(len(names)) + 0.5) / len(names) - 0.5)
    for name, place, colour, marker in zip(names, places, colours(len(names)), cycle(_MARKERS), strict=False):
        yield panel[panel["series"] == name], place, {"color": colour, "marker": marker, "label": name}


def _hollow(colour: Any) -> dict[str, Any]:
    return {"facecolors": "none", "edgecolors": [colour], "linewidths": 1}


def _whiskers(rows: pd.DataFrame, value: str = "value", low: str = "low", high: str = "high") -> Any:
    """Return how far an interval reaches to either side, nowhere where there is none."""
    bars = np.stack([rows[value] - rows[low], rows[high] - rows[value]])
    return np.nan_to_num(bars).clip(min=0)


def _distinct(frame: pd.DataFrame, name: str) -> list[str]:
    return list(frame[name].unique())


def _row_height(frame: pd.DataFrame) -> float:
    """Return the height of a row of points, in inches, with room for all series."""
    return 0.14 + 0.06 * frame["series"].nunique()


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _legend_above(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    across = _legend_columns(labels, figure.get_figwidth() * _LEGEND_LETTERS)
    figure.legend(handles, labels, loc="outside upper center", ncols=across, columnspacing=1.2, handletextpad=0.4)


def _legend_columns(labels: Sequence[str], letters: float) -> int:
    """Return into how many columns labels can be put, top down, that are together so many letters wide."""
    for across in range(len(labels), 1, -1):
        down = -(-len(labels) // across)
        columns = [labels[start : start + down] for start in range(0, len(labels), down)]
        if sum(max(map(len, column)) + _MARKER_LETTERS for column in columns) <= letters:
            return across
    return 1
