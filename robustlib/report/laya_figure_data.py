"""The numbers behind every figure of the third document: one long frame each, nothing drawn.

All have ``panel`` and ``series``: see `robustlib.report.laya_spread.panels`.
"""

from collections.abc import Collection

import pandas as pd

from robustlib.metrics.controls import image_use
from robustlib.metrics.families import MAIN_FAMILIES
from robustlib.report.laya_evidence import LayaEvidence
from robustlib.report.laya_spread import PLACES, in_family_order, panels

RELIABILITY_FAMILIES = ("clean", "image", "image_shuffle")
"""What a reliability diagram shows: the image as it is, damaged, and wrong."""

_PLACE = ["panel", "series"]
_VALUE = ["value", "low", "high"]


def prepare_changes(evidence: LayaEvidence) -> pd.DataFrame:
    """Return change of accuracy and flip rate: ``family``, ``metric``, ``value``, ``low`` and ``high``."""
    return _of_families(evidence, ["accuracy_change", "flip_rate"])[[*_PLACE, "family", "metric", *_VALUE]]


def prepare_variants(evidence: LayaEvidence) -> pd.DataFrame:
    """Return change of accuracy and flip rate of every variant: as `prepare_changes`, with ``variant``."""
    own = evidence.families[evidence.families["variant"] != ""]
    own = own[own["family"].isin(MAIN_FAMILIES) & own["metric"].isin(["accuracy_change", "flip_rate"])]
    rows = _in_panels(in_family_order(own.sort_values("variant", kind="stable")))
    return rows[[*_PLACE, "family", "variant", "metric", *_VALUE]]


def prepare_positions(evidence: LayaEvidence) -> pd.DataFrame:
    """Return accuracy by the place of the right option: ``place`` (from 1), ``value``, ``low`` and ``high``."""
    own = evidence.families[evidence.families["metric"] == "accuracy_by_position"]
    rows = _in_panels(own.assign(place=own["variant"].str.split().str[-1].astype(int) + 1))
    return rows.sort_values([*_PLACE, "place"])[[*_PLACE, "place", *_VALUE]].reset_index(drop=True)


def prepare_typos(evidence: LayaEvidence) -> pd.DataFrame:
    """Return accuracy under typing errors: ``severity`` (0 for none), ``value``, ``low`` and ``high``."""
    own = evidence.families[evidence.families["metric"] == "accuracy"]
    typed = own[(own["family"] == "typos") & (own["variant"] != "")]
    clean = own[(own["family"] == "clean") & own["dataset"].isin(typed["dataset"])]
    levels = [
        clean.assign(severity=0),
        typed.assign(severity=typed["variant"].str.split("-").str[-1].astype(int)),
    ]
    rows = _in_panels(pd.concat(levels, ignore_index=True))
    return rows.sort_values([*_PLACE, "severity"])[[*_PLACE, "severity", *_VALUE]].reset_index(drop=True)


def prepare_image_use(evidence: LayaEvidence) -> pd.DataFrame:
    """Return the controls of image use: the columns of `robustlib.metrics.image_use`."""
    return _in_panels(image_use(evidence.families).sort_values(list(PLACES), kind="stable"))


def prepare_floors(evidence: LayaEvidence) -> pd.DataFrame:
    """Return calibration errors and floors: the columns of `robustlib.metrics.calibration_summary`."""
    return _in_panels(in_family_order(evidence.calibration, list(PLACES)))


def prepare_reliability(evidence: LayaEvidence, families: Collection[str] = RELIABILITY_FAMILIES) -> pd.DataFrame:
    """Return the bins of some families: ``family``, ``low``, ``high``, ``answers``, ``confidence``, ``accuracy``."""
    rows = evidence.reliability
    return _in_panels(in_family_order(rows[rows["family"].isin(families)], list(PLACES)))


def _of_families(evidence: LayaEvidence, metrics: Collection[str]) -> pd.DataFrame:
    own = evidence.families[(evidence.families["variant"] == "") & evidence.families["metric"].isin(metrics)]
    own = own[own["family"].isin(MAIN_FAMILIES) & (own["family"] != "clean")]
    return _in_panels(in_family_order(own, list(PLACES)))


def _in_panels(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([rows.assign(panel=title) for title, rows in panels(frame)], ignore_index=True)
