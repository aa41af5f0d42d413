"""The hand-made predictions of `tests.metrics.vlm_table` as evidence, and as the folder of a finished sweep."""

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from robustlib.report.vlm_evidence import BenchEvidence, evidence_of
from robustlib.report.vlm_models import describe_models
from robustlib.sweep.store import SCHEMA, file_hash, write_shard
from tests.metrics.vlm_table import hand_made_predictions

RECORDS: dict[str, dict[str, Any]] = {
    "sure": {"network": "SeerForConditionalGeneration", "checkpoint": "seer", "mode": "direct", "parameters": 10**9},
    "shaky": {"network": "SeerForConditionalGeneration", "checkpoint": "seer", "mode": "rank", "parameters": 10**8},
    "blind": {"network": "none", "checkpoint": "prior", "parameters": "served"},
}
"""What a manifest says of the three models."""
FEW = 20  # resamples


@cache
def hand_made_evidence() -> BenchEvidence:
    """Return the evidence in the hand-made predictions."""
    return quiet_evidence(hand_made_predictions())


def quiet_evidence(predictions: pd.DataFrame) -> BenchEvidence:
    """Return the evidence in predictions, without the warnings about models that gain nothing from images."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evidence_of("a sweep", predictions, describe_models(RECORDS, {}), FEW)


def rows_by(frame: pd.DataFrame, *keys: str) -> dict[Any, dict[Any, Any]]:
    """Return the rows of a frame by the value of one column, or by the values of several."""
    rows = frame.to_dict("records")
    return {tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in rows}


def values(row: dict[Any, Any], *columns: str) -> list[Any]:
    """Return some values of a row."""
    return [row[column] for column in columns]


def write_sweep(folder: Path) -> Path:
    """Write the hand-made predictions as a finished sweep, a shard for each model; return the folder."""
    shards = []
    for model, rows in hand_made_predictions().assign(treatment="").groupby("model"):
        path = folder / "shards" / f"{model}.parquet"
        write_shard(path, pa.Table.from_pylist(rows.to_dict("records"), SCHEMA), {"model": str(model)})
        shards.append({"path": path.relative_to(folder).as_posix(), "sha256": file_hash(path)})
    (folder / "manifest.json").write_text(json.dumps({"profile": {}, "models": RECORDS, "shards": shards}))
    return folder
