"""What the third document's numbers say, in sentences that are computed and so hold for any source."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from robustlib.metrics.controls import image_use
from robustlib.report.laya_evidence import LayaEvidence
from robustlib.report.laya_layout import CONDITION_LABELS, FAMILY_LABELS
from robustlib.report.tables import round_text

_KEEPS_MEANING = ("option_order", "text", "image")
_COMPANY = "The company a question is in"
_CAUSES = {"bf16": "Half precision", "predict_vs_batch": "The other code path"}  # of all other conditions, the company


def reading(evidence: LayaEvidence) -> str:
    """Return what stands out, as a Markdown list."""
    sentences = [
        *_accuracy(evidence),
        *_variants(evidence),
        *_image(evidence),
        *_calibration(evidence),
        *_extensions(evidence),
    ]
    return "\n".join(f"- {sentence}" for sentence in [*sentences, *_invariance(evidence)])


def verdict(row: Any) -> str:
    """Put the control of image use into words.

    Args:
        row: of `robustlib.metrics.image_use`.
    """
    if pd.isna(row.shuffled_change_low):
        return "undecided: no interval"
    words = ["uses the image" if row.uses_image else "no sign that it uses the image"]
    if row.uses_image and row.shuffled_accuracy < row.no_image_accuracy:
        words.append("a wrong one misleads it more than none")
    if pd.notna(row.majority_accuracy) and not row.beats_majority:
        words.append("not better than the commonest label")
    return "; ".join(words)


def _accuracy(evidence: LayaEvidence) -> Iterator[str]:
    own = evidence.families
    whole = own[(own["variant"] == "") & own["family"].isin(["clean", *_KEEPS_MEANING])]
    clean = whole[(whole["family"] == "clean") & (whole["metric"] == "accuracy")]
    yield f"Unperturbed accuracy: from {_smallest(clean)} to {_largest(clean)}."
    changes = whole[(whole["metric"] == "accuracy_change") & (whole["family"] != "clean")]
    if changes.empty:
        return
    lost, won = changes["high"] < 0, changes["low"] > 0
    yield (
        f"Of {len(changes)} changes of accuracy under families that keep the meaning, {lost.sum()} are losses beyond "
        f"noise and {won.sum()} gains; the largest loss is {_smallest(changes)}."
    )
    flips = whole[(whole["metric"] == "flip_rate") & (whole["family"] != "clean")]
    yield f"Most answers change in {_largest(flips)}, as a share of variants."


def _variants(evidence: LayaEvidence) -> Iterator[str]:
    own = evidence.families
    variants = own[own["family"].isin(_KEEPS_MEANING) & (own["variant"] != "") & (own["metric"] == "accuracy_change")]
    unread = evidence.unread[evidence.unread["family"].isin(_KEEPS_MEANING) & (evidence.unread["share"] > 0.5)]
    names = sorted(unread["variant"].unique())
    readable = variants[~variants["variant"].isin(names)]
    if names:
        yield f"Most answers to {', '.join(names)} could not be had from some model; they count as wrong."
    if len(readable):
        yield f"The costliest {'other ' if names else ''}variant is {_smallest(readable)}."
    spreads = own[own["metric"] == "accuracy_spread_by_order"]
    if len(spreads):
        yield f"Orders of the options that every question has are at most {_largest(spreads)} apart in accuracy."


def _image(evidence: LayaEvidence) -> Iterator[str]:
    table = image_use(evidence.families)
    table["verdict"] = [verdict(row) for row in table.itertuples(index=False)]
    for dataset, rows in table.groupby("dataset", sort=True):
        said = [f"{model}: {words}" for model, words in zip(rows["model"], rows["verdict"], strict=True)]
        yield f"The control of image use on {dataset}. {'. '.join(said)}."


def _calibration(evidence: LayaEvidence) -> Iterator[str]:
    for family in ("clean", "image_shuffle"):
        rows = evidence.calibration[evidence.calibration["family"] == family]
        if len(rows):
            yield (
                f"{FAMILY_LABELS[family]}: {rows['beyond_noise'].sum()} of {len(rows)} calibration errors are beyond "
                f"noise; the largest is {_largest(rows.rename(columns={'ece': 'value'}))}."
            )


def _extensions(evidence: LayaEvidence) -> Iterator[str]:
    own = evidence.extensions
    attacks = own[own["metric"] == "attack_success_rate"]
    for family in ("inject_image", "inject_text"):
        rows = attacks[(attacks["family"] == family) & (attacks["variant"] != "")]
        if len(rows):
            yield f"{FAMILY_LABELS[family]} gets its way in at most {_largest(rows)} of the attackable questions."
    negated = own[(own["family"] == "negation") & (own["variant"] == "") & (own["metric"] == "flip_rate")]
    if len(negated):
        yield (
            f"Asked the opposite, models do not give the opposite answer in {_smallest(negated)} to "
            f"{_largest(negated)} of yes/no questions."
        )
    rises = own[own["metric"] == "none_rate_rise"]
    if len(rises):
        yield f"With another image 'none of the above' is picked more often by at most {_largest(rises)}."


def _invariance(evidence: LayaEvidence) -> Iterator[str]:
    rows = evidence.invariance.rename(columns={"max_probability_change": "value"})
    causes = rows["condition"].map(_CAUSES).fillna(_COMPANY)
    for cause in (_COMPANY, *_CAUSES.values()):
        some = rows[causes == cause]
        if len(some):
            worst = some.nlargest(1, "value").iloc[0]
            yield (
                f"{cause} moves a probability by at most {worst['value']:.1e} ({worst['model']}, "
                f"{CONDITION_LABELS[worst['condition']]}) and changes {some['flips'].sum()} of {some['rows'].sum()} "
                "answers."
            )


def _smallest(rows: pd.DataFrame) -> str:
    return _named(rows.nsmallest(1, "value").iloc[0])


def _largest(rows: pd.DataFrame) -> str:
    return _named(rows.nlargest(1, "value").iloc[0])


def _named(row: pd.Series) -> str:
    family = FAMILY_LABELS.get(str(row["family"]), str(row["family"])).lower()
    what = "" if row["family"] == "clean" else f"{family}, {row['variant']}: " if row.get("variant") else f"{family}: "
    return f"{round_text(row['value'], 3)} ({what}{row['model']} on {row['dataset']})"
