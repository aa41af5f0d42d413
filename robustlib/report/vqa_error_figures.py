"""The figures of errors and of colour bias in the visual robustness benchmark for VQA."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from robustlib.metrics.error_kinds import KINDS, count_kinds
from robustlib.report.figures import MARKERS, NOTE_SIZE, PAGE_WIDTH, colours, new_figure, paper_style, save_figure
from robustlib.report.vqa_errors import CONDITION_LABELS, SHARE_LABELS, ErrorEvidence
from robustlib.report.vqa_layout import label_of

_KINDS_NOTE = "n: answers, right on the clean image, that turned wrong at any severity. Kinds are told by rules."
_BARS = "Bars: 95 % intervals (images resampled), none where all answers agree."
_ROW = 0.19  # inches


def save_error_figures(evidence: ErrorEvidence, folder: str) -> list[Path]:
    """Write the figures that there are numbers for, as PDF, PNG and CSV, and return the paths of the PNGs."""
    kinds, bias = prepare_kinds(evidence), evidence.bias
    paths = save_figure(plot_kinds(kinds), kinds, folder, "error_kinds") if len(kinds) else []
    paths += save_figure(plot_colour_bias(bias), bias, folder, "colour_bias_shares") if len(bias) else []
    return [path for path in paths if path.suffix == ".png"]


def prepare_kinds(evidence: ErrorEvidence) -> pd.DataFrame:
    """Return the share of every kind of error by model and by corruption.

    Columns ``of`` ("model" or "corruption"), ``name``, ``turned_wrong`` (number of answers), ``kind`` and ``share``.
    Kinds that no error is of are left out, and rows where nothing turned wrong.
    """
    parts = [
        count_kinds(evidence.answers, [of]).rename(columns={of: "name"}).assign(of=of) for of in ("model", "corruption")
    ]
    table = pd.concat(parts, ignore_index=True)
    rows = ["of", "name", "turned_wrong"]
    shares = table[rows].assign(**{kind: table[f"{kind}_share"] for kind in KINDS if table[kind].any()})
    return shares.melt(rows, var_name="kind", value_name="share").dropna(ignore_index=True)


def plot_kinds(kinds: pd.DataFrame) -> Figure:
    """Draw what `prepare_kinds` returns as stacked bars, a panel for models above one for corruptions."""
    parts = kinds.groupby("of", sort=False)
    blocks = [part.pivot_table("share", ["name", "turned_wrong"], "kind", sort=False) for _, part in parts]
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 1.1 + _ROW * sum(map(len, blocks)), _KINDS_NOTE)
        panels = figure.subplots(len(blocks), sharex=True, squeeze=False, height_ratios=[*map(len, blocks)]).ravel()
        for axes, block in zip(panels, blocks, strict=True):
            left = np.zeros(len(block))
            for kind, colour in zip(block, colours(len(block.columns)), strict=True):
                axes.barh(range(len(block)), block[kind], 0.8, left, color=colour, label=str(kind).replace("_", " "))
                left += block[kind].to_numpy()
            names = [label_of(name) if axes is panels[-1] else name for name, _ in block.index]
            axes.set_yticks(range(len(block)), names)
            for place, (_, wrong) in enumerate(block.index):
                axes.text(1.01, place, f"n = {wrong:,}", va="center", fontsize=NOTE_SIZE)
            axes.set(xlim=(0, 1), ylim=(len(block) - 0.5, -0.5))
            axes.tick_params(axis="y", length=0)
        panels[-1].xaxis.set_major_formatter(PercentFormatter(1))
        panels[-1].set_xlabel("Share of the answers that turned wrong")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(KINDS))
    return figure


def plot_colour_bias(bias: pd.DataFrame) -> Figure:
    """Draw the shares of `robustlib.metrics.colour_bias.colour_bias_shares` with their intervals, a panel for each."""
    models, conditions = list(bias["model"].unique()), list(bias["condition"].unique())
    note = f"n = {bias['questions'].max():,} colour questions on {bias['images'].max():,} images. {_BARS}"
    with paper_style():
        figure = new_figure(PAGE_WIDTH, 1.2 + 0.33 * len(models), note)
        panels = figure.subplots(1, len(SHARE_LABELS), sharex=True, sharey=True)
        for axes, (share, label) in zip(panels, SHARE_LABELS.items(), strict=True):
            for number, (condition, colour) in enumerate(zip(conditions, colours(len(conditions)), strict=True)):
                rows = bias[bias["condition"] == condition].set_index("model").loc[models]
                ends = np.abs(rows[[f"{share}_low", f"{share}_high"]].to_numpy().T - rows[share].to_numpy())
                places = np.arange(len(models)) + 0.22 * (number - (len(conditions) - 1) / 2)
                style = {"fmt": MARKERS[number], "color": colour, "elinewidth": 1}
                axes.errorbar(rows[share], places, xerr=ends, label=CONDITION_LABELS[condition], **style)
            axes.set(xlim=(-0.06, 1.06), xticks=(0, 0.25, 0.5, 0.75, 1), xlabel="Share of answers", title=label)
            axes.xaxis.set_major_formatter(PercentFormatter(1))
            axes.grid(axis="x")
        panels[0].set_yticks(range(len(models)), models)
        panels[0].set_ylim(len(models) - 0.5, -0.5)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(conditions))
    return figure
