"""The metrics of VLM-RobustBench as tables: names on the numbers, and a 95 % interval on each.

Intervals resample whole images, and clean and corrupted answers stay paired. The largest of many drops is large by luck
as well, so the interval of a maximum lies high and may leave out the value itself.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array, warn_undefined
from robustlib.metrics.configurations import configurations
from robustlib.metrics.corruption_error import reference_model
from robustlib.metrics.drops import TIERS, accuracy_drop, tier_of, visual_gain
from robustlib.metrics.rates import BASELINES, BenchScores, Rates
from robustlib.metrics.severity_mismatch import scaling_slopes
from robustlib.metrics.vlm_intervals import (
    Estimate,
    Statistic,
    estimate,
    resample,
    summarise,
    summarise_all,
    tier_probabilities,
)
from robustlib.metrics.vlm_statistics import (
    ALL_LEVELS,
    configuration_metrics,
    level_metrics,
    mean_configuration_metrics,
    model_metrics,
    overall_metrics,
)

SURE = 0.95
"""A tier is sure where at least this share of the resamples has the drop in it."""


def models_with_gain(scores: BenchScores) -> tuple[str, ...]:
    """Return the models that answer better with the images than without; all of them if none does.

    Means over models are of these, since the others have no relative corruption error, and no drop to speak of.
    """
    rates = scores.rates()
    gains = visual_gain(rates.clean, rates.no_image) > 0
    return tuple(model for model, gain in zip(scores.models, gains, strict=True) if gain) or scores.models


def model_table(
    scores: BenchScores, resamples: int = 1000, seed: int = 0, reference: str | None = None
) -> pd.DataFrame:
    """Return every number of every model: see `robustlib.metrics.vlm_statistics.model_metrics`.

    Args:
        scores: from `bench_scores`.
        resamples: how many resamples the intervals are made of.
        seed: equal seeds give equal intervals.
        reference: the model whose corruption error is 100 %; the one of lowest clean accuracy without it. Resamples do
            not choose another.

    Returns:
        Columns ``model``, ``metric``, ``value``, ``low``, ``high`` and ``defined``, the share of resamples in which the
        number is defined.

    Raises:
        UnknownNameError: the reference is not among the models.
    """
    _warn_without_gain(scores)
    if reference is None:
        reference = reference_model(scores.rates().clean, scores.models)
    statistic = partial(model_metrics, models=scores.models, reference=reference)
    return _long(estimate(scores, statistic, resamples, seed), "model", scores.models)


def level_table(scores: BenchScores, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return the numbers of every level over all models: see `robustlib.metrics.vlm_statistics.level_metrics`.

    Returns:
        Columns ``level``, then as in `model_table`. A model without visual gain leaves the mean relative corruption
        error undefined.
    """
    _warn_without_gain(scores)
    return _long(estimate(scores, level_metrics, resamples, seed), "level", ALL_LEVELS)


def overall_table(scores: BenchScores, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return the numbers over all models: see `robustlib.metrics.vlm_statistics.overall_metrics`.

    Returns:
        Columns ``metric``, then as in `model_table`.
    """
    numbers = estimate(scores, overall_metrics, resamples, seed)
    rows = [(name, *map(float, number)) for name, number in numbers.items()]
    return pd.DataFrame(rows, columns=["metric", *Estimate._fields])


def configuration_table(scores: BenchScores, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return what each configuration does to each model, and how sure its tier is.

    Returns:
        Columns ``model``, ``configuration`` (such as "fog:low"), ``corruption``, ``severity``, ``level``, ``category``;
        the numbers of `robustlib.metrics.vlm_statistics.configuration_metrics`, each with ``_low`` and ``_high``;
        ``tier``; and ``p_positive`` to ``p_catastrophic``, the share of resamples in which the drop is in each tier.
    """
    _warn_without_gain(scores)
    table = _by_configuration(scores, configuration_metrics, resamples, seed)
    table.insert(0, "model", [model for model in scores.models for _ in configurations()])
    return table


def tier_certainty(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return how many configurations of each model are in each tier, and of how many of them that is sure.

    Args:
        verdicts: from `configuration_table`.

    Returns:
        Columns ``model``, ``tier``, ``configurations`` and ``sure``: those in the tier in 95 % of the resamples.
    """
    sure = [row[f"p_{row['tier']}"] >= SURE for row in verdicts.to_dict("records")]
    counted = verdicts.assign(sure=sure).groupby(["model", "tier"])["sure"].agg(configurations="size", sure="sum")
    every = pd.MultiIndex.from_product([verdicts["model"].unique(), TIERS], names=["model", "tier"])
    return counted.reindex(every, fill_value=0).reset_index()


def mean_configuration_table(scores: BenchScores, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return what each configuration does to the models on average: as `configuration_table`, without the model.

    Its rows of the tier "positive" are the augmentations that help (Appendix A.6).
    """
    _warn_without_gain(scores)
    return _by_configuration(scores, mean_configuration_metrics, resamples, seed)


def category_sensitivity(scores: BenchScores, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return the mean drop over models and configurations within each category of questions, largest first (Table 8).

    Returns:
        Columns ``category``, ``questions`` (how many), then ``value``, ``low``, ``high`` in points and ``defined``.
    """
    lost = 100 * (scores.correct[:, 0].mean(axis=0) - scores.correct[:, len(BASELINES) :].mean(axis=(0, 1)))
    draws = scores.draw(resamples, seed)
    rows = []
    for category in np.unique(scores.categories):
        mine = scores.categories == category
        number = summarise(np.array(lost[mine].mean()), draws.means(lost, mine))
        rows.append((category, int(mine.sum()), *map(float, number)))
    table = pd.DataFrame(rows, columns=["category", "questions", *Estimate._fields])
    return table.sort_values(["value", "category"], ascending=[False, True], ignore_index=True)


def scaling_table(
    scores: BenchScores,
    parameters: Mapping[str, float],
    families: Mapping[str, str],
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the slope of the mean drop on log10(parameters) within each family (Table 9).

    Args:
        scores: from `bench_scores`.
        parameters: the number of parameters of every model.
        families: the family of every model.
        resamples: how many resamples the intervals are made of.
        seed: equal seeds give equal intervals.

    Returns:
        Columns ``family``, ``metric`` ("scaling_slope"), then as in `model_table`; undefined for a family of one size.

    Raises:
        InvalidValueError: a model has no number of parameters or no family.
    """
    unknown = [model for model in scores.models if model not in parameters or model not in families]
    if unknown:
        raise InvalidValueError(f"Every model needs a number of parameters and a family, but {unknown} lack one.")
    sizes, names = [parameters[model] for model in scores.models], [families[model] for model in scores.models]

    def slopes(rates: Rates) -> Mapping[str, Array]:
        by_family = scaling_slopes(accuracy_drop(rates.clean, rates.config).mean(axis=-1), sizes, names)
        return {"scaling_slope": np.stack(list(by_family.values()), axis=-1)}

    return _long(estimate(scores, slopes, resamples, seed), "family", list(dict.fromkeys(names)))


def _by_configuration(scores: BenchScores, statistic: Statistic, resamples: int, seed: int) -> pd.DataFrame:
    resampled = resample(scores, statistic, resamples, seed)
    numbers = summarise_all(statistic(scores.rates()), resampled)
    drops = numbers["drop"].value.reshape(-1)
    rows = configurations() * (len(drops) // len(configurations()))
    columns: dict[str, object] = {"tier": tier_of(drops)}
    for name, number in numbers.items():
        ends = {"": number.value, "_low": number.low, "_high": number.high}
        columns |= {f"{name}{end}": values.reshape(-1) for end, values in ends.items()}
    sure = tier_probabilities(resampled["drop"]).reshape(-1, len(TIERS))
    columns |= {f"p_{tier}": sure[:, place] for place, tier in enumerate(TIERS)}
    names = pd.Series(list(map(str, rows)), name="configuration")
    return pd.concat([names, pd.DataFrame(rows), pd.DataFrame(columns)], axis=1)


def _long(numbers: Mapping[str, Estimate], axis: str, labels: Sequence[str]) -> pd.DataFrame:
    frames = [pd.DataFrame({axis: labels, "metric": name, **number._asdict()}) for name, number in numbers.items()]
    return pd.concat(frames, ignore_index=True)


def _warn_without_gain(scores: BenchScores) -> None:
    rates = scores.rates()
    without = visual_gain(rates.clean, rates.no_image) <= 0
    warn_undefined(scores.models, without, "gains nothing from its images, so its relative corruption error")
