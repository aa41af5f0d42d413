"""The third document's tables of invariance: how far answers move with their company or the precision."""

import pandas as pd

from robustlib.report.laya_evidence import LayaEvidence
from robustlib.report.laya_layout import CONDITION_LABELS
from robustlib.report.laya_spread import listed
from robustlib.report.tables import Column, Table

_CHANGES = {
    "max_probability_change": ("Largest", "Change of probability"),
    "mean_probability_change": ("Mean", "Change of probability"),
    "max_logit_change": ("Largest", "Change of logit"),
    "mean_logit_change": ("Mean", "Change of logit"),
}


def invariance_tables(evidence: LayaEvidence) -> list[Table]:
    """Return how far every way of asking is from one question a call, and each answer that changed."""
    return [*_summary(evidence.invariance), *_changed(evidence.changed)]


def short(value: float) -> str:
    """Print a change with two significant digits; more of a maximum of rounding errors mean nothing."""
    return f"{value:.1e}" if value else "0"


def _summary(frame: pd.DataFrame) -> list[Table]:
    caption = (
        "The same questions in other company, and in half precision, against one question a call: largest and mean "
        "change over questions of the probabilities and of the logits, to two significant digits; answers that "
        "changed; and rows that are equal bit by bit."
    )
    if frame.empty:
        return []
    texts = {name: frame[name].map(short) for name in _CHANGES}
    shown = frame.assign(**texts, asked=frame["condition"].map(CONDITION_LABELS))
    columns = [
        Column("rows", "Questions", "", 0),
        *(Column(name, label, group) for name, (label, group) in _CHANGES.items()),
        Column("flips", "Flips", "", 0),
        Column("exact", "Exact", "", 0),
    ]
    return listed("invariance", caption, shown, {"model": "Model", "asked": "Asked"}, columns)


def _changed(frame: pd.DataFrame) -> list[Table]:
    caption = (
        "The answers that changed, as places of options counted from 1. Margin: probability of the first option less "
        "that of the second."
    )
    if frame.empty:
        return []
    shown = frame.assign(
        asked=frame["condition"].map(CONDITION_LABELS),
        reference_choice=frame["reference_choice"] + 1,
        choice=frame["choice"] + 1,
    )
    columns = [
        Column("question_id", "Question"),
        Column("reference_choice", "Alone", "Option", 0),
        Column("choice", "Changed", "Option", 0),
        Column("reference_margin", "Alone", "Margin", 4),
        Column("margin", "Changed", "Margin", 4),
        Column("probability_change", "Change of probability", "", 4),
    ]
    return listed("invariance_changes", caption, shown, {"model": "Model", "asked": "Asked"}, columns)
