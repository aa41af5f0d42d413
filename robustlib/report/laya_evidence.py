"""The numbers behind the third document's tables and figures: from a sweep's predictions, or the authors' own.

Tables and figures take one `LayaEvidence` and cannot tell which of the two it is. What a source does not have is an
empty frame, and gives no table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from robustlib.data.published import PUBLISHED
from robustlib.data.published_laya import laya_floors, laya_invariance, laya_summary
from robustlib.errors import InvalidValueError
from robustlib.metrics.calibration_frames import (
    apply_temperatures,
    calibration_summary,
    fit_temperatures,
    reliability_summary,
)
from robustlib.metrics.consistency import consistency_summary
from robustlib.metrics.ece_floor import answers_to_clear, debiased_ece
from robustlib.metrics.extensions import extension_summary
from robustlib.metrics.families import family_summary
from robustlib.metrics.invariance import compare_conditions, invariance_summary
from robustlib.sweep.held_out import HELD_OUT
from robustlib.sweep.invariance import INVARIANCE, read_invariance
from robustlib.sweep.store import read_predictions

AUTHORS_MODEL = "laya-vision"
"""What the tables call the authors' checkpoint, SmolVLM-256M with block option attention."""

_COLUMNS = [
    *("model", "dataset", "split", "question_id", "group_id", "image_id", "kind", "suite", "family", "variant"),
    *("severity", "order", "target", "label", "choice", "answer", "status", "score", "confidence", "logits", "probs"),
]
_NOTHING = pd.DataFrame(columns=_COLUMNS)
_NOT_ASKED = pd.DataFrame(columns=["model", "dataset", "split", "question_id", "kind", "condition", "logits"])
_NOT_FITTED = pd.DataFrame(columns=["model", "kind", "answers", "wrong", "temperature"])
_IMAGES = ["dataset", "split", "image_id"]


@dataclass(frozen=True)
class LayaEvidence:
    """Everything that the tables and figures are made from."""

    source: str
    """`PUBLISHED` or the folder of a sweep."""
    families: pd.DataFrame
    """See `robustlib.metrics.family_summary`."""
    extensions: pd.DataFrame
    """See `robustlib.metrics.extension_summary`."""
    calibration: pd.DataFrame
    """See `robustlib.metrics.calibration_summary`."""
    reliability: pd.DataFrame
    """See `robustlib.metrics.calibration_frames.reliability_summary`."""
    consistency: pd.DataFrame
    """See `robustlib.metrics.consistency_summary`."""
    unread: pd.DataFrame
    """Answers that could not be had or read: ``model``, ``dataset``, ``family``, ``variant``, ``share``, ``rows``."""
    temperatures: pd.DataFrame
    """``model``, ``kind``, ``answers`` and ``wrong`` (held out), ``temperature``."""
    invariance: pd.DataFrame
    """See `robustlib.metrics.invariance_summary`."""
    changed: pd.DataFrame
    """The answers that changed: flipped rows of `robustlib.metrics.compare_conditions`."""


def load_evidence(source: str) -> LayaEvidence:
    """Load the numbers.

    Args:
        source: "published" for the authors' own, else the folder of a sweep. Where it holds held-out answers, the
            probabilities are those of temperatures fitted to them; otherwise they are the models' own. Where it holds
            no invariance check, there are no numbers about it.

    Raises:
        StoreError: the folder holds no finished sweep, or a damaged file.
        InvalidValueError: the held-out answers are about images of the sweep, or the predictions are not whole.
    """
    if source == PUBLISHED:
        return _published()
    folder = Path(source)
    held_out = read_predictions(folder / HELD_OUT, _COLUMNS) if (folder / HELD_OUT).is_dir() else None
    asked = read_invariance(folder) if (folder / INVARIANCE).exists() else None
    return evidence_of(source, read_predictions(folder, _COLUMNS), held_out, asked)


def evidence_of(
    source: str, predictions: pd.DataFrame, held_out: pd.DataFrame | None = None, asked: pd.DataFrame | None = None
) -> LayaEvidence:
    """Return the evidence in tables of predictions.

    Args:
        source: what to call it.
        predictions: of a sweep over families of perturbations.
        held_out: clean answers to questions on other images.
        asked: the table of an invariance check.
    """
    fitted = _NOT_FITTED if held_out is None else _fit(predictions, held_out)
    temperatures = {
        str(model): dict(zip(rows["kind"], rows["temperature"], strict=True)) for model, rows in fitted.groupby("model")
    }
    rows = split_kinds(_tempered(predictions, temperatures))
    compared = compare_conditions(_NOT_ASKED if asked is None else asked, temperatures)
    return LayaEvidence(
        source=source,
        families=family_summary(rows),
        extensions=extension_summary(rows),
        calibration=calibration_summary(rows),
        reliability=reliability_summary(rows),
        consistency=consistency_summary(rows),
        unread=_unread(rows),
        temperatures=fitted,
        invariance=invariance_summary(compared),
        changed=compared[compared["flipped"]].reset_index(drop=True),
    )


def split_kinds(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the predictions with choices and yes/no questions of one data set told apart as two data sets.

    Positions, majorities and chance mean nothing over both. A variant stays with its source question, also where it is
    asked in the other form. The name of the kind stands behind that of the data set, unless it has a single kind.
    """
    source = ["dataset", "split", "group_id"]
    clean = predictions.loc[predictions["family"] == "clean", [*source, "kind"]].drop_duplicates()
    kinds = clean.groupby(["dataset", "split"])["kind"].transform("nunique")
    clean["name"] = clean["dataset"].where(kinds == 1, clean["dataset"] + " (" + clean["kind"] + ")")
    names = predictions[source].merge(clean[[*source, "name"]], how="left", validate="many_to_one")["name"]
    return predictions.assign(dataset=names.fillna(predictions["dataset"].reset_index(drop=True)).to_numpy())


def _fit(predictions: pd.DataFrame, held_out: pd.DataFrame) -> pd.DataFrame:
    """Return a temperature for each model and kind of question with logits; 1 where none of the kind was held out."""
    shown = pd.MultiIndex.from_frame(predictions[_IMAGES])
    known = held_out[pd.MultiIndex.from_frame(held_out[_IMAGES]).isin(shown)]
    if len(known):
        raise InvalidValueError(
            f"{len(known)} held-out answers are about images of the sweep, such as {known['image_id'].iloc[0]!r}; a "
            "temperature must be fitted to others. Run the held-out sweep again."
        )
    scored = held_out[held_out["logits"].notna()]
    fitted = {model: fit_temperatures(rows) for model, rows in scored.groupby("model")}
    counts = scored.assign(wrong=scored["choice"] != scored["label"]).groupby(["model", "kind"])["wrong"]
    needed = predictions.loc[predictions["logits"].notna(), ["model", "kind"]].drop_duplicates()
    frame = needed.sort_values(["model", "kind"]).merge(
        counts.agg(answers="size", wrong="sum").reset_index(), how="left", validate="one_to_one"
    )
    pairs = zip(frame["model"], frame["kind"], strict=True)
    temperatures = [fitted.get(model, {}).get(kind, 1.0) for model, kind in pairs]
    return frame.fillna({"answers": 0, "wrong": 0}).assign(temperature=temperatures)


def _tempered(predictions: pd.DataFrame, temperatures: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    parts = [
        apply_temperatures(rows, temperatures[str(model)]) if model in temperatures else rows
        for model, rows in predictions.groupby("model", sort=True)
    ]
    return pd.concat(parts, ignore_index=True)


def _unread(rows: pd.DataFrame) -> pd.DataFrame:
    cells = rows.assign(unread=rows["status"] != "ok").groupby(["model", "dataset", "family", "variant"], sort=True)
    return cells["unread"].agg(share="mean", rows="size").reset_index()


def _published() -> LayaEvidence:
    summary = laya_summary()
    summary = summary[summary["dataset"] != "macro"].assign(model=AUTHORS_MODEL, split="val")
    return LayaEvidence(
        source=PUBLISHED,
        families=summary,
        extensions=summary,
        calibration=_published_calibration(),
        reliability=reliability_summary(_NOTHING),
        consistency=consistency_summary(_NOTHING),
        unread=_unread(_NOTHING),
        temperatures=_NOT_FITTED,
        invariance=laya_invariance().assign(model=AUTHORS_MODEL),
        changed=compare_conditions(_NOT_ASKED),
    )


def _published_calibration() -> pd.DataFrame:
    """Return the printed floors with what follows from them."""
    floors = laya_floors().assign(model=AUTHORS_MODEL, split="val", family="clean")
    higher = floors[["floor_p95", "clustered_floor_p95"]].max(axis=1)
    errors = list(zip(floors["ece"], floors["floor_mean"], higher, floors["rows"], strict=True))
    return floors.assign(
        ratio=floors["ece"] / floors["floor_mean"],
        beyond_noise=floors["ece"] > higher,
        debiased=[debiased_ece(ece, mean) for ece, mean, _, _ in errors],
        answers_to_clear=[float(answers_to_clear(ece, p95, rows)) for ece, _, p95, rows in errors],
    )
