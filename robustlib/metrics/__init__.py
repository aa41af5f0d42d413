"""Metrics: from arrays or one long table of predictions to numbers. No models, no files, no torch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robustlib.metrics.bootstrap import ClusterDraws, Interval, cluster_bootstrap, draw_clusters, percentile_interval
from robustlib.metrics.calibration import (
    Reliability,
    expected_calibration_error,
    fit_temperature,
    probabilities,
    reliability_diagram,
    resampled_calibration_error,
)
from robustlib.metrics.drops import TIERS, tier_of
from robustlib.metrics.ece_floor import (
    CalibrationVerdict,
    EceFloor,
    answers_to_clear,
    debiased_ece,
    ece_floor,
    judge_calibration,
)
from robustlib.metrics.flips import FlipRates, flip_rates
from robustlib.metrics.vqa_bench import (
    SUBMETRICS,
    RelativeDrops,
    RobustnessErrors,
    min_max_scale,
    preference_weights,
    relative_drops,
    severity_aggregated_accuracy,
    severity_submetrics,
    visual_robustness_error,
)
from robustlib.scoring.vqa import vqa_accuracy

if TYPE_CHECKING:
    from robustlib.metrics.calibration_frames import apply_temperatures, calibration_summary, fit_temperatures
    from robustlib.metrics.colour_bias import colour_bias_shares
    from robustlib.metrics.consistency import Consistency, consistency_summary, severity_consistency
    from robustlib.metrics.controls import image_use
    from robustlib.metrics.cube import AccuracyCube, accuracy_cube
    from robustlib.metrics.drift import Drift, drift_summary, explanation_drift, map_drift
    from robustlib.metrics.error_kinds import count_kinds, error_kind, sort_answers
    from robustlib.metrics.extensions import extension_summary
    from robustlib.metrics.families import MAIN_FAMILIES, average_over_datasets, family_summary
    from robustlib.metrics.invariance import compare_conditions, invariance_summary
    from robustlib.metrics.rates import BenchScores
    from robustlib.metrics.statuses import STATUSES
    from robustlib.metrics.treatments import treatment_gains
    from robustlib.metrics.vlm_robustbench import (
        category_sensitivity,
        configuration_table,
        level_table,
        mean_configuration_table,
        model_table,
        models_with_gain,
        overall_table,
        scaling_table,
        tier_certainty,
    )
    from robustlib.metrics.vlm_scores import bench_scores, status_shares_by_condition
    from robustlib.metrics.vlm_summary import robustness_summary
    from robustlib.metrics.vqa_bench_frames import corruption_summary, model_summary, status_shares

__all__ = [
    "MAIN_FAMILIES",
    "STATUSES",
    "SUBMETRICS",
    "TIERS",
    "AccuracyCube",
    "BenchScores",
    "CalibrationVerdict",
    "ClusterDraws",
    "Consistency",
    "Drift",
    "EceFloor",
    "FlipRates",
    "Interval",
    "RelativeDrops",
    "Reliability",
    "RobustnessErrors",
    "accuracy_cube",
    "answers_to_clear",
    "apply_temperatures",
    "average_over_datasets",
    "bench_scores",
    "calibration_summary",
    "category_sensitivity",
    "cluster_bootstrap",
    "colour_bias_shares",
    "compare_conditions",
    "configuration_table",
    "consistency_summary",
    "corruption_summary",
    "count_kinds",
    "debiased_ece",
    "draw_clusters",
    "drift_summary",
    "ece_floor",
    "error_kind",
    "expected_calibration_error",
    "explanation_drift",
    "extension_summary",
    "family_summary",
    "fit_temperature",
    "fit_temperatures",
    "flip_rates",
    "image_use",
    "invariance_summary",
    "judge_calibration",
    "level_table",
    "map_drift",
    "mean_configuration_table",
    "min_max_scale",
    "model_summary",
    "model_table",
    "models_with_gain",
    "overall_table",
    "percentile_interval",
    "preference_weights",
    "probabilities",
    "relative_drops",
    "reliability_diagram",
    "resampled_calibration_error",
    "robustness_summary",
    "scaling_table",
    "severity_aggregated_accuracy",
    "severity_consistency",
    "severity_submetrics",
    "sort_answers",
    "status_shares",
    "status_shares_by_condition",
    "tier_certainty",
    "tier_of",
    "treatment_gains",
    "visual_robustness_error",
    "vqa_accuracy",
]

# These need pandas, which takes most of a second to import.
_MODULE_OF = {
    "apply_temperatures": "calibration_frames",
    "calibration_summary": "calibration_frames",
    "fit_temperatures": "calibration_frames",
    "colour_bias_shares": "colour_bias",
    "Consistency": "consistency",
    "consistency_summary": "consistency",
    "severity_consistency": "consistency",
    "AccuracyCube": "cube",
    "accuracy_cube": "cube",
    "Drift": "drift",
    "drift_summary": "drift",
    "explanation_drift": "drift",
    "map_drift": "drift",
    "count_kinds": "error_kinds",
    "error_kind": "error_kinds",
    "sort_answers": "error_kinds",
    "extension_summary": "extensions",
    "MAIN_FAMILIES": "families",
    "average_over_datasets": "families",
    "family_summary": "families",
    "image_use": "controls",
    "compare_conditions": "invariance",
    "invariance_summary": "invariance",
    "BenchScores": "rates",
    "STATUSES": "statuses",
    "treatment_gains": "treatments",
    "category_sensitivity": "vlm_robustbench",
    "configuration_table": "vlm_robustbench",
    "level_table": "vlm_robustbench",
    "mean_configuration_table": "vlm_robustbench",
    "model_table": "vlm_robustbench",
    "models_with_gain": "vlm_robustbench",
    "overall_table": "vlm_robustbench",
    "scaling_table": "vlm_robustbench",
    "tier_certainty": "vlm_robustbench",
    "bench_scores": "vlm_scores",
    "status_shares_by_condition": "vlm_scores",
    "robustness_summary": "vlm_summary",
    "corruption_summary": "vqa_bench_frames",
    "model_summary": "vqa_bench_frames",
    "status_shares": "vqa_bench_frames",
}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"robustlib.metrics.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'robustlib.metrics' has no attribute {name!r}")
