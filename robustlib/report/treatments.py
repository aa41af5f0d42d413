"""Tables and the figure of treated images: what denoisers, and corruptions after corruptions, do to accuracy."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from robustlib.corruptions import find_corruption
from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import LEVELS
from robustlib.metrics.cube import accuracy_cube
from robustlib.metrics.treatments import ALL, CLEAN, WHITE_BOX, name_cells
from robustlib.report.figures import MARKERS, PAGE_WIDTH, colours, new_figure, paper_style
from robustlib.report.tables import Column, Table, round_text
from robustlib.report.vqa_bench import table2
from robustlib.report.vqa_evidence import Evidence

_CELL = ["dataset", "model", "corruption"]
_CHOICE = (
    "White box takes for each corruption the treatment that suits its kind, whatever comes of it, and none where none "
    "does; these are bold. "
)


def gain_tables(gains: pd.DataFrame) -> list[Table]:
    """Return the gain of every treatment by model and corruption; no table where nothing was treated.

    Args:
        gains: from `robustlib.metrics.treatments.treatment_gains`.
    """
    if gains.empty:
        return []
    frame = gains[[*_CELL, "accuracy"]].drop_duplicates(ignore_index=True)
    bold = set()
    for treatment, rows in gains.groupby("treatment", sort=False):
        name = str(treatment)
        ends = {"gain": name, "gain_low": f"{name}_low", "gain_high": f"{name}_high"}
        frame = frame.merge(rows[[*_CELL, *ends]].rename(columns=ends), on=_CELL, validate="one_to_one")
        bold |= {(number, name) for number in np.flatnonzero(rows["suited"])}
    return [
        Table(
            name="gains",
            caption=(
                "Accuracy (%) and what it gains by a treatment of the images before the model (percentage points, with "
                "95 % interval, of no width where no score changes). "
                f"{_CHOICE if WHITE_BOX in set(gains['treatment']) else ''}{counts_text(gains)}"
            ),
            frame=frame,
            columns=(
                *(Column(name, name.capitalize()) for name in _CELL),
                Column("accuracy", "Accuracy", decimals=1),
                *(
                    Column(name, name, "Gain", 1, (f"{name}_low", f"{name}_high"))
                    for name in gains["treatment"].unique()
                ),
            ),
            bold=frozenset(bold),
            rules=frozenset(np.flatnonzero(~frame.duplicated(["dataset", "model"]))[1:].tolist()),
        )
    ]


def severity_table(predictions: pd.DataFrame) -> Table:
    """Return accuracy by corruption, severity and treatment, the corruption's parameters beside its severity.

    Args:
        predictions: the table of ``read_predictions(path, treated=True)``.
    """
    rows = name_cells(predictions)
    cell = ["dataset", "corruption", "treatment", "severity"]
    means = 100 * rows.pivot_table("score", cell, "model", sort=False)
    frame = means.sort_index(kind="stable").reset_index().rename_axis(columns=None)
    pairs = frame[["corruption", "severity"]].itertuples(index=False)
    frame.insert(len(cell), "parameters", [_parameters(*pair) for pair in pairs])
    counts = rows.groupby("dataset", sort=False)["question_id"].nunique()
    asked = ", ".join(f"n = {count:,} questions of {dataset}" for dataset, count in counts.items())
    return Table(
        name="severities",
        caption=f"Accuracy (%) by corruption, treatment and severity; means of {asked}.",
        frame=frame,
        columns=(
            *(Column(name, name.capitalize()) for name in cell[:-1]),
            Column("severity", "Severity", decimals=0),
            Column("parameters", "Parameters"),
            *(Column(str(model), str(model), "Accuracy", 1) for model in means.columns),
        ),
    )


def vre_tables(predictions: pd.DataFrame, preferences: Sequence[float]) -> Iterator[Table]:
    """Yield the benchmark's Table 2 for every suite that was asked at all five severities.

    A model after a treatment is one more model there, so that all are on one scale.

    Args:
        predictions: the table of ``read_predictions(path, treated=True)``, of one data set.
        preferences: five preference scores of the error metrics.
    """
    suffix = (" after " + predictions["treatment"]).where(predictions["treatment"] != "", "")
    named = predictions.assign(model=predictions["model"] + suffix)
    for suite, rows in named[named["family"] == "corruption"].groupby("suite", sort=False):
        if set(rows["severity"]) == set(range(1, LEVELS)):
            cube = accuracy_cube(named, str(suite))
            yield replace(table2(Evidence(str(suite), cube, {}), preferences), name=f"vre_{suite}")


def plot_gains(gains: pd.DataFrame) -> Figure:
    """Draw the gain of every treatment with its interval: a panel per data set and model, a row per corruption.

    Raises:
        InvalidValueError: nothing was treated.
    """
    if gains.empty:
        raise InvalidValueError("No image was treated: name `treatments` in the profile, and ask the models again.")
    corruptions, treatments = list(gains["corruption"].unique()), list(gains["treatment"].unique())
    groups = list(gains.groupby(["dataset", "model"], sort=False))
    offsets = np.linspace(0.3, -0.3, len(treatments)) * (len(treatments) > 1)
    with paper_style():
        note = f"Bars: 95 % intervals (images resampled), none where no score changes. {counts_text(gains)}"
        figure = new_figure(PAGE_WIDTH, 1.1 + 0.36 * len(corruptions), note)
        panels = figure.subplots(1, len(groups), sharex=True, sharey=True, squeeze=False)[0]
        for axes, ((dataset, model), own) in zip(panels, groups, strict=True):
            for number, treatment in enumerate(treatments):
                rows = own[own["treatment"] == treatment]
                y = offsets[number] - rows["corruption"].map(corruptions.index)
                ends = [rows["gain"] - rows["gain_low"], rows["gain_high"] - rows["gain"]]
                style = {"color": colours(len(treatments))[number], "fmt": MARKERS[number], "elinewidth": 0.8}
                axes.errorbar(rows["gain"], y, xerr=ends, label=treatment, **style)
            axes.axvline(0, color="0.4", linewidth=0.6, zorder=0)
            axes.set(title=f"{model}\n{dataset}", xlabel="Gain (percentage points)")
            axes.set_yticks(range(0, -len(corruptions), -1), corruptions)
            axes.grid(axis="x")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(treatments))
    return figure


def reading(gains: pd.DataFrame) -> str:
    """Return a sentence for each data set, model and treatment: its gain over all corruptions, and on clean images."""
    key = ["dataset", "model", "treatment"]
    whole, clean = (gains[gains["corruption"] == corruption] for corruption in (ALL, CLEAN))
    return "\n".join(
        f"- {row['model']} on {row['dataset']}, {row['treatment']}: {_interval(row)} points over all corruptions, "
        f"{_interval(row, '_clean')} on clean images."
        for row in whole.merge(clean, on=key, suffixes=("", "_clean")).to_dict("records")
    )


def counts_text(gains: pd.DataFrame) -> str:
    """Return the sentence that says how many questions and images stand behind the gains."""
    counts = gains[["dataset", "questions", "images"]].drop_duplicates().itertuples(index=False)
    return " ".join(f"{name}: n = {questions:,} questions on {images:,} images." for name, questions, images in counts)


def _interval(row: Mapping[Hashable, Any], of: str = "") -> str:
    value, low, high = (round_text(float(row[f"{name}{of}"]), 1) for name in ("gain", "gain_low", "gain_high"))
    return f"{value} [{low}, {high}]"


def _parameters(corruption: str, severity: int) -> str:
    if not severity:
        return ""
    return ", ".join(f"{name} {value}" for name, value in find_corruption(corruption).parameters[severity - 1].items())
