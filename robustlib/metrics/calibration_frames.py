"""Calibration with names on it: temperatures and noise floors from the predictions table."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from robustlib.errors import InvalidValueError
from robustlib.metrics.calibration import Reliability, fit_temperature, probabilities, reliability_diagram
from robustlib.metrics.ece_floor import SIMULATIONS, judge_calibration
from robustlib.metrics.families import MAIN_FAMILIES
from robustlib.metrics.paired_rows import CLEAN, evaluations, option_numbers

_PLACES = dict.fromkeys(["model", "dataset", "split", "family"], "str")
_COUNTS = dict.fromkeys(["rows", "clusters"], "int64")
_FLOOR = ["mean", "p95", "mean_error", "p95_error"]
_NUMBERS = ["ece", *(f"{kind}_{name}" for kind in ("floor", "clustered_floor") for name in _FLOOR), "ratio"]
_COLUMNS = (
    _PLACES
    | _COUNTS
    | dict.fromkeys(_NUMBERS, "float64")
    | {"beyond_noise": "bool", "debiased": "float64", "answers_to_clear": "float64"}
)


def calibration_summary(predictions: pd.DataFrame, simulations: int = SIMULATIONS, seed: int = 0) -> pd.DataFrame:
    """Return the calibration error of every model, data set and family beside its two noise floors.

    Args:
        predictions: the table of `robustlib.read_predictions`.
        simulations: draws of each floor.
        seed: seed of the floors.

    Returns:
        Columns ``model``, ``dataset``, ``split``, ``family``, ``rows``, ``clusters`` and those of `CalibrationVerdict`,
        where the parts of each `EceFloor` have ``floor_`` or ``clustered_floor_`` in front. A family without any
        confidence has no row.

    Raises:
        InvalidValueError: see `robustlib.metrics.paired_rows.evaluations`.
    """
    records = []
    for model, dataset, split, cells in evaluations(predictions, MAIN_FAMILIES):
        for family, cell in cells.items():
            rows = cell.rows.take(np.isfinite(cell.rows.confidence))
            if not len(rows):
                continue
            verdict = judge_calibration(rows.confidence, rows.score, rows.cluster, simulations=simulations, seed=seed)
            record = {"model": model, "dataset": dataset, "split": split, "family": family}
            counts = {"rows": len(rows), "clusters": len(np.unique(rows.cluster))}
            floors = {f"floor_{name}": value for name, value in verdict.floor._asdict().items()}
            floors |= {f"clustered_floor_{name}": value for name, value in verdict.clustered_floor._asdict().items()}
            records.append(record | counts | floors | verdict._asdict())
    return pd.DataFrame(records, columns=list(_COLUMNS)).astype(_COLUMNS)


def reliability_summary(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a reliability diagram for every model, data set and family.

    Args:
        predictions: the table of `robustlib.read_predictions`.

    Returns:
        Columns ``model``, ``dataset``, ``split``, ``family`` and those of `Reliability`, a row for each bin that holds
        answers of known confidence.

    Raises:
        InvalidValueError: see `robustlib.metrics.paired_rows.evaluations`.
    """
    parts = [pd.DataFrame(columns=[*_PLACES, *Reliability._fields])]
    for model, dataset, split, cells in evaluations(predictions, MAIN_FAMILIES):
        for family, cell in cells.items():
            rows = cell.rows.take(np.isfinite(cell.rows.confidence))
            if len(rows):
                bins = pd.DataFrame(reliability_diagram(rows.confidence, rows.score)._asdict())
                place = {"model": model, "dataset": dataset, "split": split, "family": family}
                parts.append(bins[bins["answers"] > 0].assign(**place))
    kinds = _PLACES | dict.fromkeys(Reliability._fields, "float64") | {"answers": "int64"}
    return pd.concat(parts, ignore_index=True).astype(kinds)[list(kinds)]


def fit_temperatures(predictions: pd.DataFrame) -> dict[str, float]:
    """Fit one temperature to each kind of question, on the clean answers to questions that are not evaluated.

    Args:
        predictions: one model's predictions on a held-out split. Rows without logits or label are left out.

    Returns:
        For each ``kind`` that has labels and logits, its temperature (see `fit_temperature`), from `COLDEST` to
        `HOTTEST` of `robustlib.metrics.calibration`: that of two options of which the wrong one is always chosen is the
        hottest. It is 1, no change, where every answer is right: then colder always fits better, and how cold to stop
        is not in the data.

    Raises:
        InvalidValueError: several models, or no row to fit to.
    """
    models = sorted(predictions["model"].unique())
    if len(models) > 1:
        raise InvalidValueError(f"Temperatures belong to one model, got {', '.join(models)}.")
    clean = predictions[(predictions["family"] == CLEAN) & (predictions["label"] >= 0) & predictions["logits"].notna()]
    if clean.empty:
        raise InvalidValueError("A temperature needs clean answers with logits and labels, the predictions hold none.")
    return {str(kind): _fit(rows) for kind, rows in clean.groupby("kind", sort=True)}


def apply_temperatures(predictions: pd.DataFrame, temperatures: Mapping[str, float]) -> pd.DataFrame:
    """Return the predictions with ``probs`` and ``confidence`` computed anew from the logits.

    Args:
        predictions: the table of `robustlib.read_predictions`.
        temperatures: one for each kind of question that has logits, from `fit_temperatures`.

    Raises:
        InvalidValueError: a kind with logits has no temperature.
    """
    has_logits = predictions["logits"].notna().to_numpy()
    rows = predictions[has_logits]
    unknown = sorted(set(rows["kind"]) - set(temperatures))
    if unknown:
        raise InvalidValueError(f"No temperature for {', '.join(unknown)}; there are {dict(temperatures)}.")
    tempered = probabilities(option_numbers(rows["logits"])[0], rows["kind"].map(dict(temperatures)))
    chosen = rows["choice"].to_numpy()
    given = np.take_along_axis(tempered, chosen.clip(0)[:, None], axis=1)[:, 0]
    probs, confidence = predictions["probs"].to_numpy(object, copy=True), predictions["confidence"].to_numpy(copy=True)
    for place, row in zip(np.flatnonzero(has_logits), tempered, strict=True):
        probs[place] = row[~np.isnan(row)]
    confidence[has_logits] = np.where(chosen < 0, np.nan, given)
    return predictions.assign(probs=probs, confidence=confidence)


def _fit(rows: pd.DataFrame) -> float:
    if (rows["choice"] == rows["label"]).all():
        return 1.0
    return fit_temperature(option_numbers(rows["logits"])[0], rows["label"].to_numpy())
