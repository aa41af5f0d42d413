"""The figures of the visual robustness benchmark for VQA: each function draws a frame of `vqa_figure_data`, no more.

Every ``note`` is the small line in a corner that says how much evidence stands behind the figure.
"""

from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullLocator

from robustlib.report.figures import COLUMN_WIDTH, MARKERS, NOTE_SIZE, PAGE_WIDTH, colours, new_figure, paper_style
from robustlib.report.vqa_figure_data import FAVOURED_WEIGHT
from robustlib.report.vqa_layout import SUBMETRIC_LABELS, group_of, label_of

_PANELS_ACROSS = 7
_POINT: dict[str, Any] = {"markersize": 5.5, "markeredgecolor": "white", "markeredgewidth": 0.5}
_LEGEND_LETTERS = 8  # letters per inch that fit in one row of a legend, beside its markers


def plot_relative_drops(drops: pd.DataFrame, note: str) -> Figure:
    """Draw the relative accuracy drop of every model and corruption as a heatmap, with the groups named above."""
    matrix = drops.pivot_table("relative_drop_percent", "model", "corruption", sort=False)
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 1.25 + 0.27 * len(matrix), note)
        axes = figure.add_subplot()
        sns.heatmap(
            matrix,
            ax=axes,
            cmap=sns.light_palette("#3f8fd0", as_cmap=True),  # light enough for black numbers everywhere
            annot=True,
            fmt=".1f",
            annot_kws={"size": NOTE_SIZE, "color": "black"},
            linewidths=0.5,
            cbar_kws={"label": "Relative drop (%)", "pad": 0.01, "aspect": 12},
            xticklabels=[label_of(name) for name in matrix.columns],
        )
        axes.set(xlabel="", ylabel="")
        axes.tick_params(axis="both", length=0)
        axes.tick_params(axis="x", rotation=35)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
        axes.tick_params(axis="y", rotation=0)
        _name_groups(axes, list(matrix.columns))
    return figure


def plot_errors(errors: pd.DataFrame, note: str) -> Figure:
    """Draw error against severity: a panel per corruption, a line per model."""
    return draw_by_severity(errors, "error", "Error (share)", note)


def draw_by_severity(numbers: pd.DataFrame, value: str, label: str, note: str) -> Figure:
    """Draw a column of numbers, with that label, against severity: a panel per corruption, a line per model."""
    corruptions, models = list(numbers["corruption"].unique()), list(numbers["model"].unique())
    across = min(_PANELS_ACROSS, len(corruptions))
    down = -(-len(corruptions) // across)
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 0.7 + 1.25 * down, note)
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for number, (axes, corruption) in enumerate(zip(grid, corruptions, strict=False)):
            panel = numbers[numbers["corruption"] == corruption]
            for model, colour, marker in zip(models, colours(len(models)), MARKERS, strict=False):
                line = panel[panel["model"] == model]
                axes.plot(line["severity"], line[value], color=colour, marker=marker, label=model)
            axes.set(title=label_of(corruption), xticks=range(6), ylabel="" if number % across else label)
            axes.grid(axis="y")
            if number + across >= len(corruptions):
                axes.set_xlabel("Severity")
                axes.tick_params(labelbottom=True)
        for axes in grid[len(corruptions) :]:
            axes.set_axis_off()
        _legend_above(figure, grid[0])
    return figure


def plot_average_errors(averages: pd.DataFrame, note: str) -> Figure:
    """Draw the average error of every corruption and model as bars; whiskers span the six severity levels."""
    corruptions, models = list(averages["corruption"].unique()), list(averages["model"].unique())
    places, width = np.arange(len(corruptions)), 0.8 / len(models)
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 2.6, f"Whiskers: lowest to highest of the six levels.\n{note}")
        axes = figure.add_subplot()
        for number, (model, colour) in enumerate(zip(models, colours(len(models)), strict=True)):
            bars = averages[averages["model"] == model].set_index("corruption").loc[corruptions]
            mean = bars["average_error"]
            spread = np.stack([mean - bars["lowest_error"], bars["highest_error"] - mean])
            offset = (number - (len(models) - 1) / 2) * width
            whiskers = {"elinewidth": 0.6, "ecolor": "0.25", "capsize": 1.2, "capthick": 0.6}
            axes.bar(places + offset, mean, 0.9 * width, color=colour, label=model, yerr=spread, error_kw=whiskers)
        axes.set_xticks(
            places, [label_of(name) for name in corruptions], rotation=35, ha="right", rotation_mode="anchor"
        )
        axes.set(ylabel="Average error (share)", xlim=(-0.6, len(corruptions) - 0.4))
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        _legend_above(figure, axes)
    return figure


def plot_submetric_profiles(profiles: pd.DataFrame, note: str) -> Figure:
    """Draw the scaled sub-metrics as two radars: one line per model, one line per group of corruptions."""
    with paper_style():
        figure = new_figure(
            PAGE_WIDTH,
            3.5,
            f"Scaled sub-metrics, rings at 0.25, 0.5, 0.75 and 1; a group is the mean of its corruptions.\n{note}",
        )
        for place, (of, block) in enumerate(profiles.groupby("of", sort=False), start=1):
            axes: Any = figure.add_subplot(1, 2, place, projection="polar")
            _draw_radar(axes, block)
            axes.legend(title=str(of).capitalize(), loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3)
    return figure


def plot_weightings(weightings: pd.DataFrame, note: str) -> Figure:
    """Draw the VRE of every model under each weighting as points on a line."""
    names, models = list(weightings["weighting"].unique()), list(weightings["model"].unique())
    with paper_style():
        figure = new_figure(COLUMN_WIDTH, 2.7, note)
        axes = figure.add_subplot()
        for model, colour, marker in zip(models, colours(len(models)), MARKERS, strict=False):
            values = weightings[weightings["model"] == model].set_index("weighting").loc[names, "vre"]
            axes.plot(values, range(len(names)), marker, color=colour, label=model, **_POINT)
        axes.set_yticks(range(len(names)), [SUBMETRIC_LABELS.get(name, "None (equal weights)") for name in names])
        axes.invert_yaxis()
        axes.grid(axis="both")
        axes.set(xlabel="VRE (lower is more robust)", ylabel=f"Sub-metric with weight {FAVOURED_WEIGHT}", xlim=(0, 1))
        _legend_above(figure, axes)
    return figure


def plot_sizes(sizes: pd.DataFrame, note: str) -> Figure:
    """Draw the number of parameters against VRE and against clean accuracy."""
    panels = {"vre": "VRE", "clean_accuracy": "Clean accuracy"}
    with paper_style():
        figure = new_figure(COLUMN_WIDTH, 2.3, note)
        grid = figure.subplots(1, 2, sharex=True)
        for axes, (column, label) in zip(grid, panels.items(), strict=True):
            points = zip(sizes["model"], sizes["parameters_millions"], sizes[column], strict=True)
            for (model, size, value), colour, marker in zip(points, colours(len(sizes)), MARKERS, strict=False):
                axes.plot(size, value, marker, color=colour, label=model, **_POINT)
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(_size_ticks(sizes["parameters_millions"]))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_locator(NullLocator())
            axes.grid(axis="both")
            axes.set(xlabel="Parameters (millions)", ylabel=label)
            axes.margins(0.25, 0.15)
        _legend_above(figure, grid[0])
    return figure


def _name_groups(axes: Axes, corruptions: list[str]) -> None:
    first = 0
    for group, members in groupby(corruptions, key=group_of):
        width = len(list(members))
        axes.text(first + width / 2, -0.12, group, ha="center", va="bottom", fontsize=NOTE_SIZE)
        axes.axvline(first, color="white", linewidth=3)
        first += width


def _draw_radar(axes: Any, block: pd.DataFrame) -> None:
    names = list(block["name"].unique())
    angles = np.linspace(0, 2 * np.pi, len(SUBMETRIC_LABELS), endpoint=False)
    for name, colour, marker in zip(names, colours(len(names)), MARKERS, strict=False):
        values = block[block["name"] == name].set_index("submetric").loc[list(SUBMETRIC_LABELS), "value"].to_numpy()
        axes.plot(np.append(angles, 0), np.append(values, values[0]), color=colour, marker=marker, label=name)
    axes.set_theta_zero_location("N")
    axes.set_xticks(angles, [label.replace(" ", "\n", 1) for label in SUBMETRIC_LABELS.values()])
    axes.tick_params(axis="x", pad=6)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        label.set(ha=("center", "right", "left")[int(np.sign(np.round(np.sin(angle), 9)))])
    axes.set(ylim=(0, 1), yticks=(0.25, 0.5, 0.75, 1), yticklabels=[])


def _size_ticks(sizes: pd.Series) -> Locator:
    return LogLocator(subs=(1, 3)) if sizes.max() >= 10 * sizes.min() else MaxNLocator(3)


def _legend_above(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    across = len(labels) if sum(map(len, labels)) < figure.get_figwidth() * _LEGEND_LETTERS else 2
    figure.legend(handles, labels, loc="outside upper center", ncols=across, columnspacing=1.2, handletextpad=0.4)
