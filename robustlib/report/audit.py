"""The audit: recompute every printed number of the benchmark's tables from the published accuracies, and compare.

Nothing here knows which numbers are misprinted; the verdicts come from rounding and the notes from `audit_notes`.
"""

from decimal import ROUND_HALF_UP, Decimal

import pandas as pd

from robustlib.metrics.cube import AccuracyCube
from robustlib.metrics.vqa_bench import severity_aggregated_accuracy
from robustlib.metrics.vqa_bench_frames import corruption_summary, model_summary
from robustlib.report.tables import Column, Table

VERDICTS = ("equal", "last digit", "differs", "not recomputable")
KEY = ["model", "corruption", "metric"]

_NOISE = Decimal("1e-12")


def audit(printed: pd.DataFrame, cube: AccuracyCube) -> pd.DataFrame:
    """Compare every printed number with the one that the accuracies give.

    Args:
        printed: the frame of `robustlib.data.published.vqa_bench_printed`.
        cube: the published accuracies.

    Returns:
        The printed rows with ``recomputed`` (in the printed unit), ``difference`` (printed minus recomputed) and
        ``verdict``: "equal", the number rounds to the print (a number half-way between two prints rounds to either);
        "last digit", one unit off in the last printed digit; "differs", further off; "not recomputable", no accuracy
        decides it.
    """
    known = recomputed_numbers(cube)
    values = printed[KEY].merge(known, on=KEY, how="left", validate="many_to_one")["recomputed"].to_numpy()
    frame = printed.assign(recomputed=values * printed["unit"].map({"": 1, "percent": 100}).to_numpy())
    frame["difference"] = frame["printed"].astype(float) - frame["recomputed"]
    pairs = zip(frame["printed"], frame["recomputed"], strict=True)
    return frame.assign(verdict=[verdict(text, value) for text, value in pairs])


def recomputed_numbers(cube: AccuracyCube) -> pd.DataFrame:
    """Return every number of Tables 1 to 3 that the accuracies decide: columns `KEY` and ``recomputed`` (shares)."""
    cells = pd.DataFrame(severity_aggregated_accuracy(cube.accuracy), index=cube.models, columns=cube.corruptions)
    parts = [
        cells.rename_axis("model").reset_index().melt("model", var_name="corruption").assign(metric="accuracy"),
        model_summary(cube).reset_index().melt("model", var_name="metric").assign(corruption=""),
        corruption_summary(cube).reset_index().melt("corruption", var_name="metric").assign(model=""),
    ]
    return pd.concat(parts, ignore_index=True).rename(columns={"value": "recomputed"})[[*KEY, "recomputed"]]


def verdict(printed: str, recomputed: float) -> str:
    """Return one of `VERDICTS` for a number and its print."""
    if pd.isna(recomputed):
        return "not recomputable"
    unit = last_digit(printed)
    if abs(Decimal(printed) - exact(recomputed)) <= unit / 2:
        return "equal"
    off = abs(Decimal(printed) - round_half_up(exact(recomputed), unit))
    return "last digit" if off == unit else "differs"


def last_digit(printed: str) -> Decimal:
    """Return the unit of the last printed digit: 0.001 for "0.576"."""
    exponent = Decimal(printed).as_tuple().exponent
    return Decimal(1).scaleb(int(exponent))


def exact(value: float) -> Decimal:
    """Return a computed number as a decimal, free of the noise of binary sums."""
    return Decimal(repr(float(value))).quantize(_NOISE)


def round_half_up(value: Decimal, unit: Decimal) -> Decimal:
    """Round to a unit the way people do: a half goes up."""
    return value.quantize(unit, rounding=ROUND_HALF_UP)


def summary_table(audited: pd.DataFrame) -> Table:
    """Return how many printed numbers of each table earned each verdict."""
    counts = pd.crosstab(audited["table"], audited["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    counts.loc["all"] = counts.sum()
    frame = counts.reset_index().rename_axis(None, axis=1)
    frame.columns = [name.replace(" ", "_") for name in frame.columns]
    return Table(
        name="audit_summary",
        caption="Printed numbers of Tables 1 to 3 by verdict, recomputed from the 336 published accuracies.",
        frame=frame,
        columns=(
            Column("table", "Table"),
            *(Column(name.replace(" ", "_"), name.capitalize(), decimals=0) for name in VERDICTS),
        ),
        rules=frozenset({len(frame) - 1}),
    )


def audit_table(audited: pd.DataFrame, name: str, caption: str) -> Table:
    """Return audited numbers, all or some, as a table for print."""
    texts = ["table", "model", "corruption", "metric", "unit", "printed", "recomputed", "difference", "verdict", "note"]
    labels = {"recomputed": 5, "difference": 5}
    return Table(
        name=name,
        caption=caption,
        frame=audited[texts].reset_index(drop=True),
        columns=tuple(Column(text, text.capitalize(), decimals=labels.get(text)) for text in texts),
    )
