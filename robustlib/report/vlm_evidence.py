"""What the tables and figures of VLM-RobustBench are made from: a sweep's answers, as a few frames of numbers.

Every number stands beside the ends of its 95 % interval, in columns that end in ``_low`` and ``_high``. Means over
models are of those that are asked for the answer alone, as in the document, and answer better with the images than
without.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from robustlib.errors import InvalidValueError
from robustlib.metrics.corruption_error import reference_model
from robustlib.metrics.rates import BASELINES, BenchScores
from robustlib.metrics.vlm_robustbench import (
    category_sensitivity,
    configuration_table,
    level_table,
    mean_configuration_table,
    model_table,
    overall_table,
    scaling_table,
    tier_certainty,
)
from robustlib.metrics.vlm_scores import bench_scores, status_shares_by_condition
from robustlib.report.vlm_models import describe_models, main_models, name_models
from robustlib.sweep.store import read_coded_predictions, read_manifest

_SOURCE = ["dataset", "split"]
_COLUMNS = ["model", *_SOURCE, "question_id", "image_id", "category", "suite", "family", "variant", "severity"]


@dataclass(frozen=True)
class BenchEvidence:
    """Everything that the tables and figures are made from."""

    source: str
    """The folder of a sweep."""
    frames: Mapping[str, pd.DataFrame]
    """Each begins with the column ``dataset``.

    * models: all numbers of each model, with its family, checkpoint, mode, parameters (NaN if unknown), the reference
      of its corruption errors, whether means take it in (averaged), and the share of its answers that are not ok.
    * errors: the corruption error (ce) of each model and type of corruption, with the reference.
    * configurations: what each configuration does to each model; means: to the models on average; families: to the
      models of a family on average.
    * levels, overall, categories, slopes: over models; certainty: the tiers of each model; statuses: of each condition.
    """
    counts: str
    """How many questions and images stand behind the numbers, as a sentence for each data set."""
    averaged: str
    """Which models the means are of, likewise."""
    interval: str
    """What an interval is, in words."""


def load_evidence(
    source: str, families: Mapping[str, str] | None = None, resamples: int = 1000, seed: int = 0
) -> BenchEvidence:
    """Load the numbers of a finished sweep.

    Args:
        source: the sweep's folder.
        families: the family of a model, by what the sweep calls it; one that is not there has its network's.
        resamples: how many resamples the intervals are made of.
        seed: equal seeds give equal intervals.

    Raises:
        StoreError: the folder holds no finished sweep, or a damaged one.
        InvalidValueError: the predictions lack a condition or question.
        UnknownNameError: a family is given to a model that the sweep does not have.
    """
    predictions = read_coded_predictions(source, [*_COLUMNS, "status", "score"])
    about = describe_models(read_manifest(source)["models"], families or {})
    return evidence_of(source, predictions, about, resamples, seed)


def evidence_of(
    source: str, predictions: pd.DataFrame, about: pd.DataFrame, resamples: int = 1000, seed: int = 0
) -> BenchEvidence:
    """Return the evidence in a predictions table.

    Args:
        source: what to call it.
        predictions: the rows of one or more data sets.
        about: from `describe_models`, with every model of the predictions.
        resamples: how many resamples the intervals are made of.
        seed: equal seeds give equal intervals.

    Raises:
        InvalidValueError: there is no row, or those of a data set are not whole: see `bench_scores`.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    counts, averaged = [], []
    for (dataset, split), rows in predictions.groupby(_SOURCE, sort=False):
        name, scores = f"{dataset}/{split}", bench_scores(rows)
        main = main_models(scores, about)
        for kind, frame in _frames(rows, scores, main, about, {"resamples": resamples, "seed": seed}):
            frame.insert(0, "dataset", name)
            parts.setdefault(kind, []).append(frame)
        counts.append(_count(name, scores))
        averaged.append(name_models(name, scores, main, about))
    if not parts:
        raise InvalidValueError("There are no predictions to make tables of.")
    frames = {kind: pd.concat(frames, ignore_index=True) for kind, frames in parts.items()}
    interval = f"95 % interval over {resamples:,} resamples of whole images"
    return BenchEvidence(source, frames, " ".join(counts), " ".join(averaged), interval)


def _frames(
    rows: pd.DataFrame, scores: BenchScores, main: BenchScores, about: pd.DataFrame, drawing: dict[str, int]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the frames of one data set, by their name."""
    reference = reference_model(main.rates().clean, main.models)
    configurations = configuration_table(scores, **drawing)
    statuses = status_shares_by_condition(rows)
    numbers = model_table(scores, **drawing, reference=reference)
    models = about.merge(_wide(numbers, "model"), on="model")
    models = models.assign(reference=reference, averaged=models["model"].isin(main.models))
    yield "models", models.merge(_unread(statuses), on="model")
    yield "errors", _errors(numbers).assign(reference=reference)
    yield "configurations", configurations.merge(models[["model", "family", "averaged"]], on="model")
    yield "means", mean_configuration_table(main, **drawing)
    yield "families", _by_family(main, about, drawing)
    yield "levels", _wide(level_table(main, **drawing), "level")
    yield "overall", _wide(overall_table(main, **drawing).assign(models=len(main.models)), "models")
    yield "categories", _as_drops(category_sensitivity(main, **drawing))
    yield "slopes", _slopes(main, about, drawing)
    yield "certainty", tier_certainty(configurations)
    yield "statuses", statuses


def _wide(table: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Turn rows of one metric each into columns: each metric, followed by the ends of its interval."""
    columns = {
        f"{metric}{suffix}": rows.set_index(axis)[end]
        for metric, rows in table.groupby("metric", sort=False)
        for suffix, end in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    return pd.DataFrame(columns).rename_axis(axis).reset_index()


def _errors(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the corruption errors among the numbers of models: ``model``, ``corruption``, ``ce`` and its interval."""
    rows = numbers[numbers["metric"].str.startswith("ce_")]
    rows = rows.assign(corruption=rows["metric"].str.removeprefix("ce_"))
    return rows.rename(columns={"value": "ce", "low": "ce_low", "high": "ce_high"})


def _unread(statuses: pd.DataFrame) -> pd.DataFrame:
    """Return the share of answers that are not ok: ``unread_clean`` and ``unread_corrupted``, in percent."""
    unread = statuses.assign(unread=100 - statuses["ok"])
    clean = unread[unread["condition"] == "clean"].set_index("model")["unread"]
    corrupted = unread[~unread["condition"].isin(BASELINES)].groupby("model")["unread"].mean()
    return pd.DataFrame({"unread_clean": clean, "unread_corrupted": corrupted}).reset_index()


def _by_family(main: BenchScores, about: pd.DataFrame, drawing: dict[str, int]) -> pd.DataFrame:
    own = about[about["model"].isin(main.models)]
    tables = [
        mean_configuration_table(main.of_models(list(members["model"])), **drawing).assign(family=family)
        for family, members in own.groupby("family", sort=False)
    ]
    return pd.concat(tables, ignore_index=True)


def _as_drops(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns={"value": "drop", "low": "drop_low", "high": "drop_high"})


def _slopes(main: BenchScores, about: pd.DataFrame, drawing: dict[str, int]) -> pd.DataFrame:
    """Return the slopes of the families that have models of several known sizes."""
    sized = about[about["model"].isin(main.models) & about["parameters"].notna()]
    several = sized[sized.groupby("family")["parameters"].transform("nunique") > 1]
    if several.empty:
        return pd.DataFrame({"family": []})
    models = list(several["model"])
    sizes, families = (dict(zip(models, several[name], strict=True)) for name in ("parameters", "family"))
    return _wide(scaling_table(main.of_models(models), sizes, families, **drawing), "family")


def _count(name: str, scores: BenchScores) -> str:
    return f"{name}: n = {len(scores.images):,} questions on {len(set(scores.images)):,} images."
