"""Consistency over severities: does an answer stay the same while the damage grows (first document, Section 9)?"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array
from robustlib.metrics.bootstrap import Interval, draw_clusters, percentile_interval

_MEASURES = [f"{name}{bound}" for name in ("consistency", "fluctuating") for bound in ("", "_low", "_high")]
_COLUMNS = (
    dict.fromkeys(["model", "dataset", "split", "suite", "family", "variant"], "str")
    | dict.fromkeys(["questions", "levels"], "int64")
    | dict.fromkeys(_MEASURES, "float64")
)


class Consistency(NamedTuple):
    """How steady the answers to n questions are."""

    consistency: Array
    """n: share of neighbouring levels with the same answer: 1 for no change at all, 0 for one at every step."""
    fluctuates: NDArray[np.bool_]
    """n: whether an answer comes back after it was given up, as in 0, 1, 0, 1, 0; not so in 0, 0, 1, 1, 1."""


def severity_consistency(answers: ArrayLike) -> Consistency:
    """Return how steady answers are from one severity to the next.

    Args:
        answers: n x levels, in order of severity; numbers or texts that are equal where the answers are.

    Raises:
        InvalidValueError: not two-dimensional, or fewer than two levels.
    """
    table = np.asarray(answers)
    if table.ndim != 2 or table.shape[1] < 2:
        raise InvalidValueError(f"answers must be questions x at least two levels, got the shape {table.shape}.")
    codes = np.unique(table, return_inverse=True)[1].reshape(table.shape)
    changes = (codes[:, 1:] != codes[:, :-1]).sum(axis=1)
    ordered = np.sort(codes, axis=1)
    different = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    return Consistency(1 - changes / (table.shape[1] - 1), changes > different - 1)


def consistency_summary(predictions: pd.DataFrame, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return how steady a model's answers are under every corruption or typing error that comes in severities.

    The clean answer is level 0. Answers are compared as they were scored; none at all counts as one more answer.

    Args:
        predictions: the table of `robustlib.read_predictions`.
        resamples: resamples of whole images behind each interval.
        seed: seed of the resamples.

    Returns:
        Columns ``model``, ``dataset``, ``split``, ``suite``, ``family``, ``variant``, ``questions``, ``levels``, and
        the means of `Consistency` with their intervals: ``consistency``, ``consistency_low``, ``consistency_high``,
        ``fluctuating``, ``fluctuating_low``, ``fluctuating_high``. A single image gives no interval: NaN.

    Raises:
        InvalidValueError: a question lacks its answer at a level, or has two.
    """
    evaluated = ["model", "dataset", "split"]
    conditions = ["suite", "family", "variant"]
    records = []
    for place, frame in predictions.groupby(evaluated, sort=True):
        clean = frame[frame["family"] == "clean"].set_index("group_id")
        damaged = frame[frame["severity"] > 0]
        for condition, rows in damaged.groupby(conditions, sort=True):
            if rows["severity"].nunique() < 2:
                continue
            answers = _answers_by_level(clean, rows, "/".join(map(str, condition)))
            codes = pd.factorize(answers.to_numpy().ravel())[0].reshape(answers.shape)
            steady = severity_consistency(codes)
            images = clean["image_id"].loc[answers.index]
            draws = draw_clusters(images, resamples, seed) if len(images.unique()) > 1 else None
            record = dict(zip([*evaluated, *conditions], (*place, *condition), strict=True))
            record |= {"questions": len(answers), "levels": answers.shape[1]}
            for name, values in (("consistency", steady.consistency), ("fluctuating", steady.fluctuates)):
                interval = Interval(np.nan, np.nan) if draws is None else percentile_interval(draws.means(values))
                record |= {name: values.mean(), f"{name}_low": interval.low, f"{name}_high": interval.high}
            records.append(record)
    return pd.DataFrame(records, columns=list(_COLUMNS)).astype(_COLUMNS)


def _answers_by_level(clean: pd.DataFrame, rows: pd.DataFrame, condition: str) -> pd.DataFrame:
    """Return source questions x levels of answers."""
    if rows.duplicated(["group_id", "severity"]).any():
        raise InvalidValueError(f"Some questions have two answers at one severity of {condition}.")
    answers = rows.pivot_table(index="group_id", columns="severity", values="answer", aggfunc="first")
    answers.insert(0, 0, clean["answer"].reindex(answers.index))
    lacking = answers.isna().to_numpy()
    if lacking.any():
        question, level = (int(index) for index in np.argwhere(lacking)[0])
        raise InvalidValueError(
            f"Question {answers.index[question]} has no answer at severity {answers.columns[level]} of {condition}."
        )
    return answers
