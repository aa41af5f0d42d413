"""The numbers that VLM-RobustBench reports of models, of levels and of all together, as functions of rates.

Each function takes `Rates` with any leading axes, so that the same lines give a number and its resamples. Undefined
numbers are NaN, without a warning. Nothing here needs pandas.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from robustlib.metrics.arrays import Array, ratio
from robustlib.metrics.configurations import BINARY, LEVELS, corruption_columns, level_columns
from robustlib.metrics.corruption_error import (
    corruption_errors,
    mean_corruption_error,
    mean_corruption_error_by_category,
)
from robustlib.metrics.drops import (
    TIERS,
    accuracy_drop,
    benign_at_low,
    relative_to_gain,
    severe_failure_rate,
    tier_counts,
    visual_gain,
    without_noise,
    worst_at_low,
    worst_case_drop,
)
from robustlib.metrics.rates import Rates
from robustlib.metrics.severity_mismatch import monotonicity_violations, severity_correlations, tail_share

ALL_LEVELS = (*LEVELS, BINARY)


def configuration_metrics(rates: Rates) -> Mapping[str, Array]:
    """Return what each configuration does to each model: ... x V x 133.

    Tables 4, 5, 7, 13 to 17, 21, 24 and 25: ``accuracy``, ``flip_plus`` and ``flip_minus`` in percent, ``drop`` in
    points, ``rce`` in percent of the visual gain.
    """
    drops, flips = accuracy_drop(rates.clean, rates.config), rates.flips
    return {
        "accuracy": rates.config,
        "drop": drops,
        "rce": relative_to_gain(drops, visual_gain(rates.clean, rates.no_image)),
        "flip_plus": flips.plus,
        "flip_minus": flips.minus,
    }


def mean_configuration_metrics(rates: Rates) -> Mapping[str, Array]:
    """Return the means over models of `configuration_metrics`: ... x 133."""
    means = {name: values.mean(axis=-2) for name, values in configuration_metrics(rates).items()}
    return means | {"drop": without_noise(means["drop"])}


def model_metrics(rates: Rates, models: Sequence[str], reference: str) -> Mapping[str, Array]:
    """Return every number of each model: ... x V.

    Tables 3, 10, 11, 19, 20, 23, 26 and 28. Accuracies, rates, errors and shares are in percent, drops and gains in
    points; ``ce_fog`` and its like are the corruption errors of the 49 types, undefined where the reference makes no
    error; ``flip_ratio`` is the mean Flip+ over the mean Flip-; ``mce`` and ``severity_correlation`` are means of the
    corruption errors and the rhos that are defined, ``undefined_errors`` and ``undefined_correlations`` say how many
    are not; ``positive_count`` is out of 133.
    """
    drops, gain = accuracy_drop(rates.clean, rates.config), visual_gain(rates.clean, rates.no_image)
    rce, flips = relative_to_gain(drops, gain), rates.flips
    plus, minus = flips.plus.mean(axis=-1), flips.minus.mean(axis=-1)
    errors = corruption_errors(rates.config, models, reference)
    tiers = tier_counts(drops)
    return {
        "clean_accuracy": rates.clean,
        "no_image_accuracy": rates.no_image,
        "visual_gain": gain,
        "mean_drop": drops.mean(axis=-1),
        "worst_case_drop": worst_case_drop(drops),
        "severe_failure_rate": severe_failure_rate(drops, rates.clean),
        "worst_at_low": worst_at_low(drops),
        "benign_at_low": benign_at_low(drops),
        "mrce": rce.mean(axis=-1),
        **{f"mrce_at_{level}": rce[..., level_columns(level)].mean(axis=-1) for level in ALL_LEVELS},
        **{f"ce_{corruption}": errors[..., place] for place, corruption in enumerate(corruption_columns())},
        "mce": mean_corruption_error(errors),
        "undefined_errors": np.isnan(errors).sum(axis=-1),
        **{f"mce_{category}": value for category, value in mean_corruption_error_by_category(errors).items()},
        **{f"{tier}_share": 100 * tiers[..., place] / drops.shape[-1] for place, tier in enumerate(TIERS)},
        "positive_count": tiers[..., TIERS.index("positive")],
        "flip_plus": plus,
        "flip_minus": minus,
        "flip_ratio": ratio(plus, minus),
        **_mismatch(drops, axes=(-1,)),
    }


def level_metrics(rates: Rates) -> Mapping[str, Array]:
    """Return the numbers of each level, over all models: ... x 4, in the order of `ALL_LEVELS`.

    Tables 18, 20 and 22: how many configurations of all models are in each tier, and the means over models of the
    drop, the relative corruption error and the flips.
    """
    drops, gain = accuracy_drop(rates.clean, rates.config), visual_gain(rates.clean, rates.no_image)
    plus, minus = _level_means(rates.flips.plus), _level_means(rates.flips.minus)
    tiers = np.stack([tier_counts(drops[..., level_columns(level)]).sum(axis=-2) for level in ALL_LEVELS], axis=-2)
    return {
        **{f"{tier}_count": tiers[..., place] for place, tier in enumerate(TIERS)},
        "mean_drop": _level_means(drops),
        "mean_rce": _level_means(relative_to_gain(drops, gain)),
        "flip_plus": plus,
        "flip_minus": minus,
        "flip_ratio": ratio(plus, minus),
    }


def overall_metrics(rates: Rates) -> Mapping[str, Array]:
    """Return the numbers over all models and configurations: Section 5.2 and Tables 26 and 27.

    ``catastrophic_count`` is out of 133 for each model, and ``tail_share`` the share of them that is spatial.
    """
    drops = accuracy_drop(rates.clean, rates.config)
    return {
        "visual_gain": visual_gain(rates.clean, rates.no_image).mean(axis=-1),
        "catastrophic_count": tier_counts(drops)[..., TIERS.index("catastrophic")].sum(axis=-1),
        "tail_share": tail_share(drops),
        **_mismatch(drops, axes=(-2, -1)),
    }


def _mismatch(drops: Array, axes: tuple[int, ...]) -> dict[str, Array]:
    rho = severity_correlations(drops)
    defined = np.isfinite(rho)
    return {
        "violation_rate": 100 * monotonicity_violations(drops).mean(axis=axes),
        "severity_correlation": ratio(np.nansum(rho, axis=axes), defined.sum(axis=axes)),
        "undefined_correlations": (~defined).sum(axis=axes),
    }


def _level_means(values: Array) -> Array:
    """Return the means over models and the configurations of each level: ... x 4 from ... x V x 133."""
    return np.stack([values[..., level_columns(level)].mean(axis=(-2, -1)) for level in ALL_LEVELS], axis=-1)
