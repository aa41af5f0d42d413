"""Tables 1, 2 and 3 of the visual robustness benchmark for VQA, from the authors' figures or from predictions."""

from collections.abc import Sequence

import pandas as pd

from robustlib.data.published import PUBLISHED
from robustlib.metrics.cube import AccuracyCube
from robustlib.metrics.vqa_bench import SUBMETRICS, preference_weights, relative_drops, severity_aggregated_accuracy
from robustlib.metrics.vqa_bench_frames import corruption_summary, model_summary
from robustlib.report.tables import Column, Place, Table, extreme_places, round_text
from robustlib.report.vqa_evidence import Evidence
from robustlib.report.vqa_layout import group_of, label_of

_MEAN_ROW, _DROP_ROW = "mean_accuracy", "relative_drop_percent"
_SYMBOLS = dict(zip(SUBMETRICS, (r"$\mathcal{F}$", r"$\mathcal{R}$", r"$\rho$", r"$\mu$", r"$\Delta$"), strict=True))


def table1(evidence: Evidence) -> Table:
    """Return Table 1: severity-aggregated accuracy of every model and corruption, with means and relative drops.

    As in the document, the smallest value of a row or column of means and drops is bold, the largest underlined.
    """
    cube = evidence.cube
    drops = relative_drops(cube.accuracy, cube.models)
    models = model_summary(cube)
    frame = pd.DataFrame(severity_aggregated_accuracy(cube.accuracy), columns=list(cube.corruptions))
    frame.insert(0, "model", list(cube.models))
    frame["mean_accuracy"] = models["mean_accuracy"].to_numpy()
    frame["clean_accuracy"] = models["clean_accuracy"].to_numpy()
    frame["relative_drop_percent"] = 100 * drops.per_model
    frame.loc[len(frame)] = [_MEAN_ROW, *corruption_summary(cube)["mean_accuracy"], *[float("nan")] * 3]
    frame.loc[len(frame)] = [_DROP_ROW, *(100 * drops.per_corruption), *[float("nan")] * 3]
    return Table(
        name="table1",
        caption=(
            "Severity-aggregated accuracy (mean of the clean images and severities 1 to 5) by model and corruption, "
            "mean accuracy $A_v$, clean accuracy $A_{v,0}$, and relative accuracy drop in percent. "
            f"Bold: smallest, underlined: largest. {counts_text(evidence)}"
        ),
        frame=frame,
        columns=(
            Column("model", "Model"),
            *(Column(name, label_of(name), group_of(name), 3) for name in cube.corruptions),
            Column("mean_accuracy", r"$A_v$ $\uparrow$", decimals=3),
            Column("clean_accuracy", r"$A_{v,0}$ $\uparrow$", decimals=3),
            Column("relative_drop_percent", r"$A^{rel}_v$ (%) $\downarrow$", decimals=2),
        ),
        row_decimals={len(frame) - 1: 2},
        bold=frozenset(_table1_extremes(frame, cube, largest=False)),
        underlined=frozenset(_table1_extremes(frame, cube, largest=True)),
        rules=frozenset({len(cube.models)}),
        labels={_MEAN_ROW: r"$A_c$ $\uparrow$", _DROP_ROW: r"$A^{rel}_c$ (%) $\downarrow$"},
    )


def table2(evidence: Evidence, preferences: Sequence[float] | None = None) -> Table:
    """Return Table 2: accuracy, the five unscaled sub-metrics and VRE of every model and every corruption.

    As in the document, bold marks the most robust model and the strongest corruption by each metric.

    Args:
        evidence: the numbers.
        preferences: five preference scores of the sub-metrics, equal weights without them.
    """
    cube = evidence.cube
    blocks = {
        "model": model_summary(cube, preferences).rename_axis("name").reset_index(),
        "corruption": corruption_summary(cube, preferences).rename_axis("name").reset_index(),
    }
    frame = pd.concat([block.assign(of=kind) for kind, block in blocks.items()], ignore_index=True)
    accuracies, errors = ["clean_accuracy", "mean_accuracy"], ["relative_drop", *SUBMETRICS, "vre"]
    frame = frame[["of", "name", *accuracies, *errors]]
    models, corruptions = range(len(cube.models)), range(len(cube.models), len(frame))
    best = extreme_places(frame, accuracies, models, largest=True) | extreme_places(
        frame, errors, models, largest=False
    )
    strongest = extreme_places(frame, accuracies[1:], corruptions, largest=False)
    strongest |= extreme_places(frame, errors, corruptions, largest=True)
    return Table(
        name="table2",
        caption=(
            "Accuracy, unscaled error metrics (first drop $\\mathcal{F}$, range of error $\\mathcal{R}$, error rate "
            "$\\rho$, average error $\\mu$, average difference $\\Delta$) and visual robustness error (VRE) of models "
            f"and corruptions. Bold: the most robust model and the strongest corruption by each metric. "
            f"{weights_text(preferences)} {counts_text(evidence)}"
        ),
        frame=frame,
        columns=(
            Column("of", "Of"),
            Column("name", "Name"),
            Column("clean_accuracy", r"$A_{v,0}$ $\uparrow$", "Accuracy", 3),
            Column("mean_accuracy", r"$A$ $\uparrow$", "Accuracy", 3),
            Column("relative_drop", r"$A^{rel}$ $\downarrow$", "Accuracy", 3),
            *(Column(name, rf"{_SYMBOLS[name]} $\downarrow$", "Error metrics", 3) for name in SUBMETRICS),
            Column("vre", r"VRE $\downarrow$", decimals=3),
        ),
        bold=frozenset(best | strongest),
        rules=frozenset({len(cube.models)}),
        labels={name: label_of(name) for name in cube.corruptions},
    )


def table3(evidence: Evidence, preferences: Sequence[float] | None = None) -> Table:
    """Return Table 3: size, clean accuracy and VRE of every model."""
    summary = model_summary(evidence.cube, preferences)
    frame = pd.DataFrame(
        {
            "model": list(evidence.cube.models),
            "parameters_millions": [evidence.parameters[model] / 1e6 for model in evidence.cube.models],
            "clean_accuracy": summary["clean_accuracy"].to_numpy(),
            "vre": summary["vre"].to_numpy(),
        }
    )
    return Table(
        name="table3",
        caption=(
            "Number of parameters (millions), clean accuracy and visual robustness error (VRE) of the models. "
            f"{weights_text(preferences)} {counts_text(evidence)}"
        ),
        frame=frame,
        columns=(
            Column("model", "Model"),
            Column("parameters_millions", "Parameters (M)", decimals=1),
            Column("clean_accuracy", r"$A_{v,0}$ $\uparrow$", decimals=3),
            Column("vre", r"VRE $\downarrow$", decimals=3),
        ),
    )


def status_tables(evidence: Evidence) -> list[Table]:
    """Return the table of answers that could not be had or read; none where the source does not say."""
    if evidence.statuses is None:
        return []
    shares = [Column(name, name.replace("_", " "), "Share of rows", 4) for name in evidence.statuses.columns[3:]]
    return [
        Table(
            name="statuses",
            caption="Rows (question and condition) by status of the answer. Rows that are not ok score 0 and count.",
            frame=evidence.statuses,
            columns=(Column("model", "Model"), Column("images", "Images"), Column("rows", "Rows", decimals=0), *shares),
        )
    ]


def counts_text(evidence: Evidence) -> str:
    """Return the sentence that says how much evidence stands behind a table or figure."""
    cube, stated = evidence.cube, " (as the document states)" if evidence.source == PUBLISHED else ""
    return (
        f"Each accuracy is the mean of n = {cube.questions:,} questions{stated}; "
        f"{len(cube.models)} models, {len(cube.corruptions)} corruptions."
    )


def weights_text(preferences: Sequence[float] | None) -> str:
    """Return the sentence that says how the VRE weighs its sub-metrics."""
    weights = zip(_SYMBOLS.values(), preference_weights(preferences), strict=True)
    return f"VRE weights: {', '.join(f'{symbol} {round_text(weight, 2)}' for symbol, weight in weights)}."


def _table1_extremes(frame: pd.DataFrame, cube: AccuracyCube, largest: bool) -> set[Place]:
    models = range(len(cube.models))
    places = extreme_places(frame, ["mean_accuracy", "clean_accuracy", "relative_drop_percent"], models, largest)
    for row in range(len(models), len(frame)):
        values = frame.loc[row, list(cube.corruptions)].astype(float)
        best = values.max() if largest else values.min()
        places |= {(row, name) for name in cube.corruptions if values[name] == best}
    return places
