"""The numbers behind every figure of the visual robustness benchmark for VQA: one long frame each, nothing drawn."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from robustlib.metrics.vqa_bench import SUBMETRICS, relative_drops, visual_robustness_error
from robustlib.metrics.vqa_bench_frames import scaled_submetrics
from robustlib.report.vqa_bench import table3
from robustlib.report.vqa_evidence import Evidence
from robustlib.report.vqa_layout import group_of

FAVOURED_WEIGHT = 0.6
"""The weight of the sub-metric that a weighting favours; the other four share the rest (Section 7.7)."""

_CELL = ["model", "corruption"]


def prepare_relative_drops(evidence: Evidence) -> pd.DataFrame:
    """Return the relative accuracy drop of every cell: ``model``, ``corruption``, ``relative_drop_percent``."""
    cube = evidence.cube
    frame = pd.MultiIndex.from_product([cube.models, cube.corruptions], names=_CELL).to_frame(index=False)
    return frame.assign(relative_drop_percent=100 * relative_drops(cube.accuracy, cube.models).per_cell.ravel())


def prepare_errors(evidence: Evidence) -> pd.DataFrame:
    """Return every error: ``model``, ``corruption``, ``severity`` (0 is clean), ``error`` (in [0, 1])."""
    cube = evidence.cube
    levels = range(cube.errors.shape[2])
    frame = pd.MultiIndex.from_product([cube.models, cube.corruptions, levels], names=[*_CELL, "severity"])
    return frame.to_frame(index=False).assign(error=cube.errors.ravel())


def prepare_average_errors(evidence: Evidence) -> pd.DataFrame:
    """Return the mean error over levels 0 to 5 of every cell, and the lowest and highest of the six.

    Columns ``model``, ``corruption``, ``average_error``, ``lowest_error``, ``highest_error``, all in [0, 1].
    """
    errors = prepare_errors(evidence).groupby(_CELL, sort=False)["error"]
    return errors.agg(average_error="mean", lowest_error="min", highest_error="max").reset_index()


def prepare_submetric_profiles(evidence: Evidence) -> pd.DataFrame:
    """Return the scaled sub-metrics averaged for every model and for every group of corruptions.

    Columns ``of`` ("model" or "corruption group"), ``name``, ``submetric`` and ``value`` (in [0, 1]).
    """
    scaled = scaled_submetrics(evidence.cube).reset_index()
    scaled["corruption group"] = scaled["corruption"].map(group_of)
    parts = [
        scaled.groupby(of, sort=False)[list(SUBMETRICS)].mean().rename_axis("name").reset_index().assign(of=of)
        for of in ("model", "corruption group")
    ]
    long = pd.concat(parts).melt(["of", "name"], list(SUBMETRICS), var_name="submetric")
    return long.reset_index(drop=True)


def prepare_weightings(evidence: Evidence) -> pd.DataFrame:
    """Return the VRE of every model under six weightings: ``weighting``, ``model``, ``vre`` (in [0, 1]).

    ``weighting`` is "equal" or the sub-metric that has the weight 0.6 while the others have 0.1 each.
    """
    favour = np.log(FAVOURED_WEIGHT / ((1 - FAVOURED_WEIGHT) / (len(SUBMETRICS) - 1)))
    weightings = {"equal": np.zeros(len(SUBMETRICS))}
    weightings |= {name: favour * (np.array(SUBMETRICS) == name) for name in SUBMETRICS}
    cube = evidence.cube
    parts = [
        pd.DataFrame(
            {
                "weighting": name,
                "model": cube.models,
                "vre": visual_robustness_error(cube.errors, list(preferences), cube.models).per_model,
            }
        )
        for name, preferences in weightings.items()
    ]
    return pd.concat(parts, ignore_index=True)


def prepare_sizes(evidence: Evidence, preferences: Sequence[float] | None = None) -> pd.DataFrame:
    """Return size beside robustness and accuracy: ``model``, ``parameters_millions``, ``clean_accuracy``, ``vre``."""
    return table3(evidence, preferences).frame
