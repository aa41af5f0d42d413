"""Figures 1 and 2 of VLM-RobustBench: does what looks worse cost more, and what costs most?"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustlib.metrics.configurations import BINARY, LEVELS
from robustlib.report.figures import NOTE_SIZE, PAGE_WIDTH, colours, new_figure, paper_style
from robustlib.report.vlm_evidence import BenchEvidence
from robustlib.report.vlm_spec import only, top

_ALL_LEVELS = (*LEVELS, BINARY)
_NAMED = 3  # configurations of each level that Figure 1 names
_HEADING = 0.4  # room for these names above the points, as a share of the points' own
_NUMBERS = ["dataset", "level", "configuration", "drop", "drop_low", "drop_high"]


def prepare_severity(evidence: BenchEvidence) -> pd.DataFrame:
    """Return the mean drop of every configuration by level, the smallest first (Figure 1).

    Columns ``dataset``, ``level``, ``configuration``, ``drop``, ``drop_low`` and ``drop_high``, in points.
    """
    ordered = evidence.frames["means"].sort_values("drop", kind="stable")
    return only("level", *_ALL_LEVELS)(ordered)[_NUMBERS].reset_index(drop=True)


def prepare_most_harmful(evidence: BenchEvidence, count: int = 10) -> pd.DataFrame:
    """Return the configurations of each level with the largest mean drops (Figure 2): columns as of Figure 1."""
    leveled = only("level", *LEVELS)(evidence.frames["means"])
    return top(count, "drop", "dataset", "level")(leveled)[_NUMBERS]


def plot_severity(numbers: pd.DataFrame, note: str) -> Figure:
    """Draw every configuration as a point with its interval, in a column for its level; a row for each data set."""
    datasets = list(numbers["dataset"].unique())
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 0.5 + 2.6 * len(datasets), note)
        for axes, dataset in zip(figure.subplots(len(datasets), squeeze=False)[:, 0], datasets, strict=True):
            rows = numbers[numbers["dataset"] == dataset]
            for place, (level, colour) in enumerate(zip(_ALL_LEVELS, colours(len(_ALL_LEVELS)), strict=True)):
                _draw_level(axes, rows[rows["level"] == level], place, colour)
            worst = rows.loc[rows["level"] == "low", "drop"].max()
            axes.axhline(worst, color="0.35", linewidth=0.6, linestyle="--")
            axes.axhline(0, color="0.35", linewidth=0.6)
            milder = (rows.loc[rows["level"] == "high", "drop"] < worst).sum()
            total = (rows["level"] == "high").sum()
            axes.set_title(f"{dataset}: {milder} of {total} high configurations cost less than the worst low one")
            axes.set_xticks(range(len(_ALL_LEVELS)), _ALL_LEVELS)
            axes.set(ylabel="Mean drop (points)", xlim=(-0.55, len(_ALL_LEVELS) - 0.45))
            low, high = axes.get_ylim()
            axes.set_ylim(low, high + _HEADING * (high - low))
    return figure


def plot_most_harmful(numbers: pd.DataFrame, note: str) -> Figure:
    """Draw the largest mean drops as bars with intervals: a panel for each level, a row for each data set."""
    datasets = list(numbers["dataset"].unique())
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 0.4 + 2.3 * len(datasets), note)
        grid = figure.subplots(len(datasets), len(LEVELS), sharex="row", squeeze=False)
        for panels, dataset in zip(grid, datasets, strict=True):
            for axes, level, colour in zip(panels, LEVELS, colours(len(LEVELS)), strict=True):
                rows = numbers[(numbers["dataset"] == dataset) & (numbers["level"] == level)]
                names = rows["configuration"].str.partition(":")[0]
                axes.barh(names, rows["drop"], color=colour)
                axes.hlines(names, rows["drop_low"], rows["drop_high"], color="0.25", linewidth=0.8)
                axes.invert_yaxis()
                axes.tick_params(axis="y", length=0)
                axes.set(title=level.capitalize(), xlabel=f"Mean drop (points)\n{dataset}")
    return figure


def _draw_level(axes: Axes, rows: pd.DataFrame, place: int, colour: tuple[float, float, float]) -> None:
    """Draw a level's points from left to right in the order of their rows, and name the last."""
    steps = [place + 0.8 * (number / max(len(rows) - 1, 1) - 0.5) for number in range(len(rows))]
    axes.vlines(steps, rows["drop_low"], rows["drop_high"], color=colour, linewidth=0.8, alpha=0.5)
    axes.plot(steps, rows["drop"], "o", color=colour, markersize=2.5)
    worst = rows["configuration"].tail(_NAMED).str.partition(":")[0]
    heading = "\n".join(["Largest:", *worst[::-1]])
    axes.text(place - 0.42, 0.97, heading, ha="left", va="top", size=NOTE_SIZE, transform=axes.get_xaxis_transform())
