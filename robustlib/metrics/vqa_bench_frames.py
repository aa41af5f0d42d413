"""The metrics of the visual robustness benchmark with names on them: one row per model, corruption or status."""

from collections.abc import Sequence

import pandas as pd

from robustlib.metrics.checks import require_columns
from robustlib.metrics.cube import AccuracyCube
from robustlib.metrics.statuses import count_statuses
from robustlib.metrics.vqa_bench import (
    min_max_scale,
    relative_drops,
    severity_aggregated_accuracy,
    severity_submetrics,
    visual_robustness_error,
)


def model_summary(cube: AccuracyCube, preferences: Sequence[float] | None = None) -> pd.DataFrame:
    """Return every model's row of the benchmark's Table 2.

    Returns:
        Index ``model``; columns ``clean_accuracy``, ``mean_accuracy``, ``relative_drop`` (shares), the five unscaled
        sub-metrics averaged over corruptions, and ``vre``.
    """
    columns = {
        "clean_accuracy": cube.accuracy[:, 0, 0],
        "mean_accuracy": severity_aggregated_accuracy(cube.accuracy).mean(axis=1),
        "relative_drop": relative_drops(cube.accuracy, cube.models).per_model,
    }
    submetrics = severity_submetrics(cube.errors, cube.models)
    columns |= {name: matrix.mean(axis=1) for name, matrix in submetrics.items()}
    columns["vre"] = visual_robustness_error(cube.errors, preferences, cube.models).per_model
    return pd.DataFrame(columns, index=pd.Index(cube.models, name="model"))


def corruption_summary(cube: AccuracyCube, preferences: Sequence[float] | None = None) -> pd.DataFrame:
    """Return every corruption's row of the benchmark's Table 2.

    Returns:
        Index ``corruption``; columns as in `model_summary`, averaged over models, without ``clean_accuracy``.
    """
    columns = {
        "mean_accuracy": severity_aggregated_accuracy(cube.accuracy).mean(axis=0),
        "relative_drop": relative_drops(cube.accuracy, cube.models).per_corruption,
    }
    submetrics = severity_submetrics(cube.errors, cube.models)
    columns |= {name: matrix.mean(axis=0) for name, matrix in submetrics.items()}
    columns["vre"] = visual_robustness_error(cube.errors, preferences, cube.models).per_corruption
    return pd.DataFrame(columns, index=pd.Index(cube.corruptions, name="corruption"))


def scaled_submetrics(cube: AccuracyCube) -> pd.DataFrame:
    """Return the five scaled sub-metrics of every model and corruption: columns of values in [0, 1]."""
    cells = pd.MultiIndex.from_product([cube.models, cube.corruptions], names=["model", "corruption"])
    submetrics = severity_submetrics(cube.errors, cube.models)
    return pd.DataFrame({name: min_max_scale(matrix).ravel() for name, matrix in submetrics.items()}, index=cells)


def status_shares(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return, for clean and for other rows of every model, how many rows there are and the share of each status.

    Returns:
        Columns ``model``, ``images`` ("clean" or "corrupted"), ``rows``, then one share in [0, 1] per status.

    Raises:
        InvalidValueError: the column ``model``, ``family`` or ``status`` is missing, or a status is unknown.
    """
    require_columns(predictions, ["model", "family", "status"])
    images = predictions["family"].eq("clean").map({True: "clean", False: "corrupted"}).rename("images")
    return count_statuses(predictions["status"], [predictions["model"], images]).reset_index().astype({"model": str})
