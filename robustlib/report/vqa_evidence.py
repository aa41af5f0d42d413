"""Where the numbers of the visual robustness benchmark come from: the authors' figures or a sweep's predictions.

Tables and figures take one `Evidence` and cannot tell which of the two it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from robustlib.data.published import PUBLISHED, VQA_BENCH_QUESTIONS, vqa_bench_per_severity, vqa_bench_printed
from robustlib.errors import InvalidValueError
from robustlib.metrics.cube import AccuracyCube, accuracy_cube, cube_of_accuracies
from robustlib.metrics.vqa_bench_frames import status_shares
from robustlib.report.vqa_layout import in_table_order
from robustlib.sweep.store import read_coded_predictions, read_manifest

_COLUMNS = ["model", "dataset", "split", "question_id", "suite", "family", "variant", "severity", "status", "score"]


@dataclass(frozen=True)
class Evidence:
    """Everything that the tables and figures of the benchmark are made from."""

    source: str
    """`PUBLISHED` or the folder of a sweep."""
    cube: AccuracyCube
    """Corruptions in the order of Table 1."""
    parameters: Mapping[str, float]
    """How many parameters each model has, NaN where that is unknown, as of one behind an endpoint."""
    statuses: pd.DataFrame | None = None
    """Shares of answers that could not be had or read, by model; None where the source does not say."""


def load_evidence(source: str) -> Evidence:
    """Load the benchmark's numbers.

    Args:
        source: "published" for the authors' per-severity accuracies, else the folder of a sweep.

    Raises:
        InvalidValueError: the predictions lack a model, corruption, severity or question, or the sweep's manifest
            lacks the parameter count of a model; the message names it.
        StoreError: the folder holds no finished sweep, or a damaged one.
    """
    if source == PUBLISHED:
        return _published()
    models = read_manifest(source)["models"]
    parameters = {name: _count(about["parameters"]) for name, about in models.items() if "parameters" in about}
    return evidence_of(source, read_coded_predictions(source, _COLUMNS), parameters)


def evidence_of(source: str, predictions: pd.DataFrame, parameters: Mapping[str, float]) -> Evidence:
    """Return the evidence in a predictions table.

    Args:
        source: what to call it.
        predictions: the long table of a sweep over the suite ``vqa_bench``; rows of other suites take no part.
        parameters: model name to number of parameters, for every model in the table.
    """
    cube = accuracy_cube(predictions)
    unknown = [model for model in cube.models if model not in parameters]
    if unknown:
        raise InvalidValueError(f"No parameter count for {unknown}; there are counts for {sorted(parameters)}.")
    asked = predictions["family"].eq("clean") | predictions["suite"].eq("vqa_bench")
    return Evidence(source, _ordered(cube), parameters, status_shares(predictions[asked]))


def _count(parameters: int | str) -> float:
    return float(parameters) if isinstance(parameters, int) else float("nan")


def _published() -> Evidence:
    accuracies, printed = vqa_bench_per_severity(), vqa_bench_printed()
    models, corruptions = list(accuracies["model"].unique()), list(accuracies["corruption"].unique())
    cube = cube_of_accuracies(accuracies, VQA_BENCH_QUESTIONS, models, corruptions)
    counts = printed[printed["metric"] == "parameters_millions"].set_index("model")["printed"].astype(float) * 1e6
    return Evidence(PUBLISHED, _ordered(cube), dict(counts))


def _ordered(cube: AccuracyCube) -> AccuracyCube:
    order = in_table_order(cube.corruptions)
    positions = [cube.corruptions.index(name) for name in order]
    return AccuracyCube(cube.models, tuple(order), cube.accuracy[:, positions], cube.questions)
