"""The main table of the third document: accuracy, change from clean and flips, for every family of perturbations.

A question counts once in its family, however many variants it has: rows are averaged within their group first. Change
and flips compare each answer with the same question's clean one. Intervals are 95 % percentiles over whole images.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from robustlib.metrics.arrays import Array, ratio
from robustlib.metrics.paired_rows import CLEAN, Cell, Evaluation, evaluations
from robustlib.metrics.samples import Finding, Sample, as_table

CONTROLS = ("image_shuffle", "text_only")
MAIN_FAMILIES = (CLEAN, "option_order", "text", "image", *CONTROLS, "typos")
_AVERAGED = ("accuracy", "balanced_accuracy", "clean_accuracy", "accuracy_change", "flip_rate", "ece")


def family_summary(predictions: pd.DataFrame, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return all numbers about the families that keep a question's meaning, the controls and typing errors.

    Metrics of a family (``variant`` is ""): ``accuracy``, ``clean_accuracy`` and ``accuracy_change`` (on the same
    questions), ``flip_rate`` (share of variants whose answer is another than the clean one, right or wrong),
    ``any_flip_rate`` (share of questions with at least one flip), ``balanced_accuracy`` (mean recall over labels; on
    choice questions the label is a position, so it says something on yes/no sets only), ``chance_accuracy`` (mean of
    one over the number of options) and ``ece``. Each but the first four needs options or confidences, and is absent
    without. Of each variant: the first four, every row counting once.

    Of option_order, also ``accuracy_by_position`` (``variant`` is the place at which the right option was shown, clean
    rows among them) and two spreads, largest minus smallest: ``accuracy_spread_by_order`` over the orders that every
    question has, clean among them, and ``accuracy_spread_by_position``. Of the controls, also ``majority_accuracy`` (of
    always giving the commonest label) and, of image_shuffle, ``agreement_with_text_only``.

    Args:
        predictions: the table of `robustlib.read_predictions`.
        resamples: resamples of each interval (at most 400 of them for ``ece``).
        seed: seed of the resamples.

    Returns:
        One row per number: see `robustlib.metrics.samples.as_table`. A number without an interval has NaN bounds, as
        all have with a single image. Without predictions the table is empty.

    Raises:
        InvalidValueError: see `robustlib.metrics.paired_rows.evaluations`.
    """
    return as_table(
        (evaluation, family, finding)
        for evaluation in evaluations(predictions, MAIN_FAMILIES)
        for family, cell in evaluation.cells.items()
        for finding in _family(evaluation, family, Sample.of(cell, resamples, seed))
    )


def average_over_datasets(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the plain mean over data sets of a model's main numbers on each family.

    Args:
        summary: from `family_summary`.

    Returns:
        Columns ``model``, ``family``, ``metric``, ``value`` and ``datasets``, how many stand behind the mean.
    """
    whole = summary[(summary["variant"] == "") & summary["metric"].isin(_AVERAGED)]
    means = whole.groupby(["model", "family", "metric"], sort=False)["value"].agg(value="mean", datasets="size")
    return means.reset_index()


def whole_family(sample: Sample) -> Iterator[Finding]:
    """Yield the numbers that every family has, each question counting once."""
    rows, weights, flip = sample.cell.rows, sample.group_weights, flips(sample.cell)
    any_flip = (np.bincount(sample.group, flip) > 0)[sample.group]
    yield from sample.means(accuracies(sample.cell) | {"flip_rate": flip, "any_flip_rate": any_flip}, weights)
    yield from sample.calibration()
    labelled = rows.gold >= 0
    if labelled.any():
        gold, weight = rows.gold[labelled], weights[labelled]
        recalls = ratio(np.bincount(gold, weight * rows.score[labelled]), np.bincount(gold, weight))
        yield sample.fact("balanced_accuracy", np.nanmean(recalls))
    if (rows.options > 0).all():
        yield sample.fact("chance_accuracy", np.average(1 / rows.options, weights=weights))


def each_variant(sample: Sample) -> Iterator[Finding]:
    """Yield the comparison with clean for one variant after the other, each row counting once."""
    for variant in sample.by_variant():
        yield from variant.means(accuracies(variant.cell) | {"flip_rate": flips(variant.cell)})


def accuracies(cell: Cell) -> dict[str, Array]:
    """Return accuracy, clean accuracy and their difference for each row."""
    score, clean = cell.rows.score, cell.clean.score
    return {"accuracy": score, "clean_accuracy": clean, "accuracy_change": score - clean}


def flips(cell: Cell) -> Array:
    """Return, for each row, 1 where the answer is another than the clean one and 0 where it is the same."""
    flipped: Array = (cell.rows.answer != cell.clean.answer).astype(np.float64)
    return flipped


def _family(evaluation: Evaluation, family: str, sample: Sample) -> Iterator[Finding]:
    yield from whole_family(sample)
    if family != CLEAN:
        yield from each_variant(sample)
    if family == "option_order":
        yield from _option_order(sample)
    if family in CONTROLS:
        yield from _control(sample, family, evaluation)


def _option_order(sample: Sample) -> Iterator[Finding]:
    cell, first = sample.cell, sample.first
    orders = [variant.cell.rows.score for variant in sample.by_variant()]
    by_order = [cell.clean.score[first].mean(), *(score.mean() for score in orders if len(score) == len(first))]
    yield sample.fact("accuracy_spread_by_order", np.ptp(by_order))
    places = np.concatenate([cell.rows.label, cell.clean.label[first]])
    scores = np.concatenate([cell.rows.score, cell.clean.score[first]])
    index = np.concatenate([np.arange(len(cell.rows)), first])
    by_place = []
    for place in np.unique(places[places >= 0]):
        here = places == place
        by_place.append(scores[here].mean())
        pooled = sample.where(index[here], f"position {place}")
        yield from pooled.means({"accuracy_by_position": scores[here]})
    if by_place:
        yield sample.fact("accuracy_spread_by_position", np.ptp(by_place))


def _control(sample: Sample, family: str, evaluation: Evaluation) -> Iterator[Finding]:
    gold = sample.cell.clean.gold[sample.first]
    if (gold >= 0).any():
        yield sample.fact("majority_accuracy", np.bincount(gold[gold >= 0]).max() / len(gold))
    other = evaluation.cells.get("text_only")
    if family == "image_shuffle" and other is not None:
        _, here, there = np.intersect1d(sample.cell.rows.group, other.rows.group, return_indices=True)
        both = sample.where(here)
        yield from both.means({"agreement_with_text_only": both.cell.rows.answer == other.rows.answer[there]})
