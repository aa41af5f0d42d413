"""The third document's tables of accuracy: main table, families, variants, positions, controls and typing errors."""

import pandas as pd

from robustlib.data.published import PUBLISHED
from robustlib.metrics.controls import image_use
from robustlib.metrics.families import MAIN_FAMILIES, average_over_datasets
from robustlib.report.laya_evidence import LayaEvidence
from robustlib.report.laya_layout import EXTENSIONS, MAIN, TYPOS, Cells
from robustlib.report.laya_reading import verdict
from robustlib.report.laya_spread import (
    PLACES,
    bounds,
    by_place,
    file_name,
    headed,
    in_family_order,
    listed,
    panels,
    spread,
)
from robustlib.report.tables import Column, Table

INTERVALS = "In brackets: 95 % percentile intervals over whole images."

_KEYS = ["family", "variant", "metric"]
_MEASURES = {
    "accuracy": "Accuracy",
    "accuracy_change": "Change",
    "flip_rate": "Flip rate",
    "any_flip_rate": "Any flip",
    "balanced_accuracy": "Balanced acc.",
}
_COUNTS = {"groups": "Questions", "rows": "Answers", "clusters": "Images"}


def main_tables(evidence: LayaEvidence) -> list[Table]:
    """Return the main table in the document's layout, with each model's means where there are several data sets."""
    caption = (
        "Accuracy, its change from the same questions unperturbed (bold: its 95 % interval excludes 0), and flip rate, "
        "the share of variants whose answer is another. A question counts once, however many variants it has. "
        f"{INTERVALS} {counts_text(evidence)}"
    )
    means = average_over_datasets(evidence.families)
    means = means[means["datasets"] > 1].assign(variant="")
    named = means.assign(dataset="mean of " + means["datasets"].astype(str))
    summary = pd.concat([by_place(evidence.families), named], ignore_index=True)
    return spread("main", caption, summary, PLACES, _KEYS, MAIN)


def family_tables(evidence: LayaEvidence) -> list[Table]:
    """Return every family with its intervals, counts and share of answers that were none: a table for each panel."""
    caption = (
        "Every family. Change: accuracy less that of the same questions unperturbed (bold: its 95 % interval excludes "
        "0). Flip rate: share of variants whose answer is another; any flip: share of questions with at least one. "
        "Balanced accuracy, the mean recall over labels, says something about yes/no questions; the label of a choice "
        "is a position. No answer: share of answers that could not be had or read; they count as wrong. "
        f"{INTERVALS}"
    )
    cells: Cells = {(metric,): Column(metric, label, "", 3, bounds(metric)) for metric, label in _MEASURES.items()}
    cells |= {(count,): Column(count, label, "Number of", 0) for count, label in _COUNTS.items()}
    cells |= {("no_answer",): Column("no_answer", "No answer", "", 3)}
    whole = evidence.families[(evidence.families["variant"] == "") & evidence.families["family"].isin(MAIN_FAMILIES)]
    counts = whole[whole["metric"] == "accuracy"].drop(columns=["metric", "value"])
    counts = counts.melt(["model", "dataset", "family"], list(_COUNTS), var_name="metric")
    summary = in_family_order(pd.concat([whole, counts, _unread_by_family(evidence)]), ["dataset", "model"])
    return [
        table
        for title, rows in panels(summary[["dataset", "model", "family", "metric", "value", "low", "high"]])
        for table in spread(
            file_name("families", title),
            headed(title, caption),
            rows,
            {"series": "Model" if title else "Data set", "family": "Family"},
            ["metric"],
            cells,
        )
    ]


def variant_tables(evidence: LayaEvidence) -> list[Table]:
    """Return change and flip rate of every variant of the main families: a table for each panel."""
    caption = (
        "Change of accuracy and flip rate of every variant, each answer counting once, beside the same questions "
        f"unperturbed. Bold: the 95 % interval of the change excludes 0. {counts_text(evidence)}"
    )
    labels = {"accuracy_change": r"$\Delta$", "flip_rate": "Flip"}
    own = evidence.families[(evidence.families["variant"] != "") & evidence.families["family"].isin(MAIN_FAMILIES)]
    shown = in_family_order(own[own["metric"].isin(labels)].sort_values("variant", kind="stable"))
    rows = {"family": "Family", "variant": "Variant"}
    tables = []
    for title, summary in panels(shown):
        cells: Cells = {
            (series, metric): Column(f"{series}_{metric}", label, series, 3)
            for series in sorted(summary["series"].unique())
            for metric, label in labels.items()
        }
        tables += spread(
            file_name("variants", title), headed(title, caption), summary, rows, ["series", "metric"], cells
        )
    return tables


def position_tables(evidence: LayaEvidence) -> list[Table]:
    """Return accuracy by the place at which the right option was shown, and the spreads over places and orders."""
    caption = (
        "Accuracy by the place at which the right option was shown, over all orders of the options with the "
        "unperturbed one; and how far apart (largest less smallest) are the places, and the orders that all questions "
        "have. "
        f"{INTERVALS}"
    )
    summary = evidence.families[evidence.families["family"] == "option_order"]
    places = summary.loc[summary["metric"] == "accuracy_by_position", "variant"].drop_duplicates()
    cells: Cells = {
        ("option_order", place, "accuracy_by_position"): Column(
            place.replace(" ", "_"), f"{number + 1}", "Right option at place", 3, bounds(place.replace(" ", "_"))
        )
        for number, place in sorted((int(place.split()[-1]), place) for place in places)
    }
    for metric, label in (("accuracy_spread_by_position", "Places"), ("accuracy_spread_by_order", "Orders")):
        cells[("option_order", "", metric)] = Column(metric, label, "Spread over", 3)
    return spread("positions", caption, by_place(summary), PLACES, _KEYS, cells)


def image_use_tables(evidence: LayaEvidence) -> list[Table]:
    """Return the control of image use: other image, no image, chance and majority, with its verdict in words."""
    caption = (
        "Does the model use the image? Accuracy with the right image, with another question's, and with none; of "
        "guessing, and of always giving the commonest label. It does where another image costs accuracy beyond noise: "
        f"the 95 % interval of the paired change lies below 0. {INTERVALS} {counts_text(evidence)}"
    )
    columns = [
        Column("clean_accuracy", "Right image", "Accuracy", 3, bounds("clean_accuracy")),
        Column("shuffled_accuracy", "Shuffled", "Accuracy", 3),
        Column("no_image_accuracy", "None", "Accuracy", 3),
        Column("chance_accuracy", "Chance", "Accuracy", 3),
        Column("majority_accuracy", "Majority", "Accuracy", 3),
        Column("shuffled_change", "Shuffled", "Change", 3, bounds("shuffled_change")),
        Column("no_image_change", "None", "Change", 3, bounds("no_image_change")),
        Column("verdict", "Verdict"),
    ]
    frame = image_use(evidence.families)
    judged = frame.assign(verdict=[verdict(row) for row in frame.itertuples(index=False)])
    return listed("image_use", caption, by_place(judged), PLACES, columns)


def typo_tables(evidence: LayaEvidence) -> list[Table]:
    """Return accuracy and flips under typing errors by severity, and how steady the answers are over severities."""
    caption = (
        "Typing errors: accuracy and flip rate at five severities, a slip for 2, 4, 6, 8 and 10 % of the letters. "
        f"{counts_text(evidence)}"
    )
    about = (
        "How steady an answer is while typing errors grow. Consistency: share of neighbouring severities with the same "
        "answer, the unperturbed question being the first. Fluctuating: share of questions to which an answer comes "
        f"back that was given up before. {INTERVALS}"
    )
    columns = [
        Column("consistency", "Consistency", "", 3, bounds("consistency")),
        Column("fluctuating", "Fluctuating", "", 3, bounds("fluctuating")),
        Column("questions", "Questions", "", 0),
        Column("levels", "Levels", "", 0),
    ]
    if not (evidence.families["family"] == "typos").any():
        return []
    steady = evidence.consistency[evidence.consistency["family"] == "typos"]
    return [
        *spread("typos", caption, by_place(evidence.families), PLACES, _KEYS, TYPOS),
        *listed("consistency", about, by_place(steady), PLACES, columns),
    ]


def extension_tables(evidence: LayaEvidence) -> list[Table]:
    """Return a table for each extension family that was asked."""
    summary = by_place(evidence.extensions)
    return [
        table
        for block in EXTENSIONS
        for table in spread(block.name, f"{block.about} {INTERVALS}", summary, PLACES, _KEYS, block.cells)
    ]


def unread_tables(evidence: LayaEvidence) -> list[Table]:
    """Return the variants to which some answers could not be had or read; none where all could."""
    found = evidence.unread
    if found.empty or not found["share"].any():
        return []
    some = found.groupby(["family", "variant"])["share"].transform("max") > 0
    summary = in_family_order(
        found[some].rename(columns={"share": "value"}).assign(low=float("nan"), high=float("nan"))
    )
    cells: Cells = {
        (dataset, model): Column(f"{dataset}_{model}", model, dataset, 3)
        for dataset, model in sorted(set(zip(summary["dataset"], summary["model"], strict=True)))
    }
    caption = (
        "Share of answers that could not be had or read, by variant; variants without any are left out. They count as "
        "wrong. A model that ranks answers of its own knows no other options, so it cannot answer where one is new."
    )
    return spread(
        "no_answer",
        caption,
        summary,
        {"family": "Family", "variant": "Variant"},
        ["dataset", "model"],
        cells,
    )


def counts_text(evidence: LayaEvidence) -> str:
    """Return the sentence that says how much evidence stands behind a table or figure."""
    own = evidence.families
    clean = own[(own["family"] == "clean") & (own["metric"] == "accuracy")].drop_duplicates("dataset")
    source = "As published. " if evidence.source == PUBLISHED else ""
    if len(clean) > 3:
        groups, images = clean["groups"].astype(int), clean["clusters"].astype(int)
        return (
            f"{source}n = {groups.min()} to {groups.max()} questions on {images.min()} to {images.max()} images a data "
            "set."
        )
    counts = "; ".join(
        f"{row.dataset}: n = {row.groups:.0f} on {row.clusters:.0f} images" for row in clean.itertuples()
    )
    return f"{source}Questions, {counts}."


def _unread_by_family(evidence: LayaEvidence) -> pd.DataFrame:
    if evidence.unread.empty:
        return pd.DataFrame()
    rows = evidence.unread[evidence.unread["family"].isin(MAIN_FAMILIES)]
    sums = rows.assign(value=rows["share"] * rows["rows"]).groupby(["model", "dataset", "family"])[["value", "rows"]]
    totals = sums.sum()
    return (totals["value"] / totals["rows"]).rename("value").reset_index().assign(metric="no_answer")
