"""The third document's tables of calibration: temperatures, calibration errors, and the noise floor under each."""

from robustlib.data.published import PUBLISHED
from robustlib.metrics.calibration import BINS, COLDEST, HOTTEST
from robustlib.metrics.ece_floor import SIMULATIONS
from robustlib.metrics.families import MAIN_FAMILIES
from robustlib.report.laya_evidence import LayaEvidence
from robustlib.report.laya_layout import FAMILY_LABELS
from robustlib.report.laya_spread import PLACES, file_name, headed, in_family_order, listed, panels
from robustlib.report.laya_tables import counts_text
from robustlib.report.tables import Column, Table

_YES_NO = {True: "yes", False: "no"}


def temperature_tables(evidence: LayaEvidence) -> list[Table]:
    """Return the temperature of every model and kind of question, and what it was fitted to."""
    caption = (
        "Temperatures: for each kind of question the one that makes the unperturbed answers to held-out questions, on "
        "images that are shown nowhere else, most likely. It is 1 where none of them is wrong: then a colder one "
        "always fits better, and how cold to stop is not in the data. All others are from "
        f"{COLDEST:g} to {HOTTEST:g}, at a bound where the likelihood still rises there."
    )
    columns = [
        Column("answers", "Answers", "Held out", 0),
        Column("wrong", "Wrong", "Held out", 0),
        Column("temperature", "Temperature", "", 2),
    ]
    return listed("temperatures", caption, evidence.temperatures, {"model": "Model", "kind": "Kind"}, columns)


def ece_tables(evidence: LayaEvidence) -> list[Table]:
    """Return the calibration error by family; bold where it is beyond noise."""
    caption = (
        f"Expected calibration error (ECE, {BINS} bins) by family, all answers of a family counting alike. "
        f"Bold: above the 95th percentile of both noise floors. {calibrated_text(evidence)} {counts_text(evidence)}"
    )
    errors = evidence.families[(evidence.families["metric"] == "ece") & evidence.families["family"].isin(MAIN_FAMILIES)]
    wide = errors.pivot_table(index=list(PLACES), columns="family", values="value").reset_index()
    columns = [Column(family, label, "", 3) for family, label in FAMILY_LABELS.items()]
    beyond = evidence.calibration[evidence.calibration["beyond_noise"]]
    cells = set(zip(beyond["dataset"], beyond["model"], beyond["family"], strict=True))
    places = zip(wide["dataset"], wide["model"], strict=True)
    bold = {(row, family) for row, place in enumerate(places) for family in wide.columns if (*place, family) in cells}
    return listed("ece_by_family", caption, wide, PLACES, columns, frozenset(bold))


def floor_tables(evidence: LayaEvidence) -> list[Table]:
    """Return every calibration error beside its floors, with the verdict and what follows: a table for each panel."""
    errors = ", $\\pm$ their Monte-Carlo standard errors" if "floor_mean_error" in evidence.calibration else ""
    caption = (
        "Calibration errors (ECE) and their noise floors: the ECE that a perfectly calibrated model of the same "
        "confidences would show on as many answers, each right or wrong on its own (independent) or all on one image "
        f"together (clustered); mean and 95th percentile of {SIMULATIONS} simulations{errors}. "
        "Ratio: ECE over the mean independent floor. Beyond noise: above both 95th percentiles. Without noise: "
        "$\\sqrt{ECE^2 - floor^2}$. Needed: how many answers would put this ECE above both floors. "
        f"{calibrated_text(evidence)}"
    )
    columns = [
        Column("rows", "Answers", "n", 0),
        Column("clusters", "Images", "n", 0),
        Column("ece", "ECE", "", 3),
        *_floor("floor", "Independent floor"),
        *_floor("clustered_floor", "Clustered floor"),
        Column("ratio", "Ratio", "", 1),
        Column("beyond", "Beyond noise"),
        Column("debiased", "Without noise", "", 3),
        Column("answers_to_clear", "Needed", "", 0),
    ]
    frame = evidence.calibration.assign(beyond=evidence.calibration["beyond_noise"].map(_YES_NO))
    return [
        table
        for title, rows in panels(in_family_order(frame, list(PLACES)))
        for table in listed(
            file_name("ece_floors", title),
            headed(title, caption),
            rows,
            {"series": "Model" if title else "Data set", "family": "Family"},
            columns,
        )
    ]


def calibrated_text(evidence: LayaEvidence) -> str:
    """Return the sentence that says whose probabilities these are."""
    if evidence.source == PUBLISHED:
        return "Probabilities: of the checkpoint's own temperatures. Floors are known of unperturbed questions."
    if evidence.temperatures.empty:
        return "Probabilities: the models' own; no temperatures were fitted."
    return "Probabilities: of temperatures fitted to held-out answers."


def _floor(name: str, title: str) -> list[Column]:
    return [
        Column(f"{name}_mean", "Mean", title, 3),
        Column(f"{name}_mean_error", "$\\pm$", title, 4),
        Column(f"{name}_p95", "95 %", title, 3),
        Column(f"{name}_p95_error", "$\\pm$", title, 4),
    ]
