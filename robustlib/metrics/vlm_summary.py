"""A model's row of VLM-RobustBench's main table, from accuracies alone."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.metrics.arrays import Array
from robustlib.metrics.configurations import configurations
from robustlib.metrics.drops import (
    accuracy_drop,
    benign_at_low,
    relative_corruption_error,
    severe_failure_rate,
    visual_gain,
    worst_at_low,
    worst_case_drop,
)


def robustness_summary(
    acc_clean: float,
    acc_no_image: float,
    acc_config: Mapping[tuple[str, int], float] | pd.Series | pd.DataFrame,
    model: str = "the model",
) -> dict[str, float]:
    """Return a model's row of the benchmark's main table (Table 3).

    Args:
        acc_clean: accuracy on the clean images, in percent.
        acc_no_image: accuracy without the images, in percent.
        acc_config: accuracy in percent under each of the 133 configurations: a mapping from (corruption, severity),
            such as ``("fog", 3)``, with severities 1, 3 and 5, and 1 for binary transforms; a Series with these two
            index levels; or a DataFrame with the columns ``corruption``, ``severity`` and ``accuracy``.
        model: the name that a warning uses.

    Returns:
        ``clean_accuracy``, ``severe_failure_rate``, ``benign_at_low`` and ``mrce`` in percent; ``worst_case_drop``,
        ``worst_at_low`` and ``visual_gain`` in points. Without visual gain ``mrce`` is NaN, with a warning.

    Raises:
        InvalidTypeError: acc_config is none of these.
        InvalidValueError: a column is missing; a configuration is missing, unknown or stands twice; or an accuracy is
            not in [0, 100].
    """
    clean, no_image = (
        _percent(value, name) for value, name in ((acc_clean, "acc_clean"), (acc_no_image, "acc_no_image"))
    )
    drops, gain = accuracy_drop(clean, _config_array(acc_config)), visual_gain(clean, no_image)
    return {
        "clean_accuracy": clean,
        "worst_case_drop": float(worst_case_drop(drops)),
        "severe_failure_rate": float(severe_failure_rate(drops, clean)),
        "worst_at_low": float(worst_at_low(drops)),
        "benign_at_low": float(benign_at_low(drops)),
        "visual_gain": float(gain),
        "mrce": float(relative_corruption_error(drops, gain, [model]).mean()),
    }


_KEYS = ["corruption", "severity"]


def _config_array(acc_config: Mapping[tuple[str, int], float] | pd.Series | pd.DataFrame) -> Array:
    """Return the 133 accuracies in order."""
    if isinstance(acc_config, pd.DataFrame):
        absent = [name for name in (*_KEYS, "accuracy") if name not in acc_config.columns]
        if absent:
            raise InvalidValueError(f"acc_config lacks the columns {absent}; it has {list(acc_config.columns)}.")
        acc_config = acc_config.set_index(_KEYS)["accuracy"]
    if not isinstance(acc_config, (Mapping, pd.Series)):
        raise InvalidTypeError(f"acc_config must map (corruption, severity) to accuracies, got {acc_config!r}.")
    given = dict(acc_config.items())
    if len(given) != len(acc_config):
        twice = next(key for key, count in Counter(acc_config.keys()).items() if count > 1)
        raise InvalidValueError(f"acc_config must hold each configuration once, but {twice} stands several times.")
    wanted = {(found.corruption, found.severity): str(found) for found in configurations()}
    missing = [name for key, name in wanted.items() if key not in given]
    if missing:
        raise InvalidValueError(
            f"acc_config lacks {len(missing)} of {len(wanted)} configurations: {', '.join(missing)}."
        )
    unknown = [key for key in given if key not in wanted]
    if unknown:
        raise InvalidValueError(f"acc_config holds {len(unknown)} that are no configurations: {unknown}.")
    return np.array([_percent(given[key], f"acc_config[{key}]") for key in wanted])


def _percent(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be an accuracy in percent, got {value!r}.") from error
    if not 0 <= number <= 100:
        raise InvalidValueError(f"{name} must be an accuracy in percent, from 0 to 100, got {value!r}.")
    return number
