"""How far corruptions move what models look at: Section 7.6 of the visual robustness benchmark for VQA, measured."""

from dataclasses import dataclass
from math import nan
from pathlib import Path

import pandas as pd

from robustlib.files import write_atomically
from robustlib.metrics.drift import ANOTHER_IMAGE, drift_summary, explanation_drift
from robustlib.report.figures import save_figure
from robustlib.report.tables import Column, Table, round_text
from robustlib.report.vqa_figures import draw_by_severity
from robustlib.report.vqa_layout import in_table_order, label_of
from robustlib.sweep.explanations import read_explanations

NONE = "These predictions hold no explanations: none were asked for, or no model of the sweep explains its answers."

_LABELS = {ANOTHER_IMAGE: "another image", "corruption": "corruptions", "True": "changed", "False": "the same"}
_MEASURES = {"correlation": "Correlation", "shift": "Shift", "captions_kept": "Captions kept"}
_RULES = (
    "Means over pairs with 95 % intervals (images resampled): Pearson's correlation, and the distance between the "
    "centres of mass as a share of the image's diagonal. Constant: pairs with a map that is the same everywhere, whose "
    "correlation counts as 0, or as 1 if both are."
)
_CAPTIONS = " Captions kept: the share of the clean image's captions that are written again."


@dataclass(frozen=True)
class DriftEvidence:
    """What the tables and figures of explanations are made from; without rows where a sweep holds none."""

    explanations: pd.DataFrame
    """From `robustlib.sweep.explanations.read_explanations`."""
    pairs: pd.DataFrame
    """From `robustlib.metrics.drift.explanation_drift`; corruptions in the order of Table 1."""
    resamples: int
    """Of images, for the intervals."""
    seed: int
    """Of the resamples."""

    @property
    def corrupted(self) -> pd.DataFrame:
        """The pairs that a corruption made."""
        return self.pairs[self.pairs["variant"] != ANOTHER_IMAGE]

    @property
    def graded(self) -> pd.DataFrame:
        """Those of them made by corruptions of several severities."""
        pairs = self.corrupted
        return pairs[pairs.groupby(["suite", "variant"])["severity"].transform("nunique") > 1]

    def summary(self, pairs: pd.DataFrame, *by: str) -> pd.DataFrame:
        """Return `drift_summary` of some pairs, without captions where no model writes any."""
        table = drift_summary(pairs, by, self.resamples, self.seed)
        return table if table["captions_kept"].notna().any() else table.loc[:, :"shift_high"]


def load_drift(source: str, resamples: int = 1000, seed: int = 0) -> DriftEvidence:
    """Compare the maps in the folder of a sweep.

    Raises:
        InvalidValueError: a map has no clean one to compare it with.
        StoreError: the explanations are damaged.
    """
    explanations = read_explanations(source)
    pairs = pd.DataFrame()
    if len(explanations):
        pairs = explanation_drift(explanations)
        order = in_table_order(list(pairs["variant"].unique()))
        pairs = pairs.sort_values("variant", kind="stable", key=lambda names: names.map(order.index))
    return DriftEvidence(explanations, pairs, resamples, seed)


def drift_tables(evidence: DriftEvidence) -> list[Table]:
    """Return the drift by model, by corruption, and by whether the answer changed; none without explanations."""
    if evidence.pairs.empty:
        return []
    pairs, corrupted = evidence.pairs, evidence.corrupted
    beside = pairs["variant"].where(pairs["variant"] == ANOTHER_IMAGE, "corruption")
    answer = corrupted["changed"].astype(str)
    return [
        _table(
            "drift_by_model",
            evidence,
            pairs.assign(beside=beside).sort_values("beside", ascending=False, kind="stable"),
            {"model": "Model", "beside": "Clean beside"},
            "How far the maps of an answer on a clean and on a corrupted image are from each other, and, to compare, "
            "those on two clean images.",
        ),
        _table(
            "drift_by_corruption",
            evidence,
            pairs.assign(corruption=pairs["variant"]),
            {"corruption": "Corruption"},
            "How far each corruption moves the maps, over all models and severities.",
        ),
        _table(
            "drift_by_answer",
            evidence,
            corrupted.assign(answer=answer).sort_values("answer", kind="stable"),
            {"model": "Model", "answer": "Answer"},
            "How far corruptions move the maps where the answer changed, and where it stayed the same.",
        ),
    ]


def prepare_drift(evidence: DriftEvidence) -> pd.DataFrame:
    """Return `drift_summary` of every cell of several severities, without captions.

    Columns ``model``, ``corruption`` and ``severity``, then its own.
    """
    pairs = evidence.graded.sort_values("severity", kind="stable")
    pairs = pairs.assign(corruption=pairs["variant"])
    return evidence.summary(pairs, "model", "corruption", "severity").loc[:, :"shift_high"]


def save_drift_figure(evidence: DriftEvidence, folder: str, name: str) -> list[Path]:
    """Write the figure of correlations by severity, if there are any, and return the path of the PNG."""
    if evidence.pairs.empty or evidence.graded.empty:
        return []
    drift = prepare_drift(evidence)
    others = evidence.pairs.loc[evidence.pairs["variant"] == ANOTHER_IMAGE, "correlation"]
    note = (
        f"n = {drift['pairs'].min():,} questions about {drift['images'].min():,} images in each point. "
        f"Maps of two clean images correlate by {round_text(others.mean(), 2)}."
    )
    figure = draw_by_severity(drift, "correlation", "Correlation", note)
    return [path for path in save_figure(figure, drift, folder, name) if path.suffix == ".png"]


def drift_reading(evidence: DriftEvidence, folder: str) -> str:
    """Return a Markdown list of what stands out; where there is nothing, say so, in a file as well."""
    if evidence.pairs.empty:
        write_atomically(Path(folder) / "no_explanations.md", f"{NONE}\n".encode())
        return NONE
    pairs = evidence.corrupted
    by_corruption = pairs.groupby(pairs["variant"].map(label_of))[["correlation", "shift"]].mean()
    likeness = by_corruption["correlation"]
    sentences = [
        f"Clean and corrupted map correlate most under {_extreme(likeness, 'max')}, "
        f"least under {_extreme(likeness, 'min')}.",
        f"The centre of a map moves most under {_extreme(by_corruption['shift'], 'max')}, as a share of the diagonal.",
    ]
    for model, own in pairs.groupby("model", sort=False):
        means = own.groupby("changed")["correlation"].mean()
        sentences.append(
            f"{model}: {_percent(own['changed'].mean())} of the answers change; the maps correlate by "
            f"{round_text(means.get(True, nan), 2)} where they do, by {round_text(means.get(False, nan), 2)} where not."
        )
    for model, own in pairs.dropna(subset="captions_kept").groupby("model", sort=False):
        kept = own.groupby("changed")["captions_kept"].mean()
        sentences.append(
            f"{model} writes {_percent(kept.get(True, nan))} of the clean image's captions again where the answer "
            f"changes, {_percent(kept.get(False, nan))} where not."
        )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _table(name: str, evidence: DriftEvidence, pairs: pd.DataFrame, by: dict[str, str], caption: str) -> Table:
    frame = evidence.summary(pairs, *by)
    measures = [
        Column(measure, label, decimals=3, interval=(f"{measure}_low", f"{measure}_high"))
        for measure, label in _MEASURES.items()
        if measure in frame
    ]
    return Table(
        name=name,
        caption=f"{caption} {_RULES}{_CAPTIONS if 'captions_kept' in frame else ''}",
        frame=frame,
        columns=(
            *(Column(column, label) for column, label in by.items()),
            Column("pairs", "Pairs", decimals=0),
            Column("images", "Images", decimals=0),
            Column("changed", "Answers changed", decimals=3),
            Column("constant", "Constant", decimals=0),
            *measures,
        ),
        labels={corruption: label_of(corruption) for corruption in pairs.get("corruption", ())} | _LABELS,
    )


def _extreme(means: pd.Series, which: str) -> str:
    place, value = (means.idxmax(), means.max()) if which == "max" else (means.idxmin(), means.min())
    return f"{place} ({round_text(value, 2)})"


def _percent(share: float) -> str:
    return f"{round_text(100 * share, 1)} %"
