"""Metrics: from arrays or one long table of predictions to numbers. No models, no files, no torch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from robustlib.metrics.cube import AccuracyCube, accuracy_cube
    from robustlib.metrics.vqa_bench_frames import corruption_summary, model_summary, status_shares

__all__ = [
    "SUBMETRICS",
    "AccuracyCube",
    "RelativeDrops",
    "RobustnessErrors",
    "accuracy_cube",
    "corruption_summary",
    "min_max_scale",
    "model_summary",
    "preference_weights",
    "relative_drops",
    "severity_aggregated_accuracy",
    "severity_submetrics",
    "status_shares",
    "visual_robustness_error",
    "vqa_accuracy",
]

# These need pandas, which takes most of a second to import.
_MODULE_OF = {
    "AccuracyCube": "cube",
    "accuracy_cube": "cube",
    "corruption_summary": "vqa_bench_frames",
    "model_summary": "vqa_bench_frames",
    "status_shares": "vqa_bench_frames",
}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"robustlib.metrics.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'robustlib.metrics' has no attribute {name!r}")
