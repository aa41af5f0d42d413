"""From the predictions table to right and wrong answers as arrays: nothing missing, nothing twice."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.checks import require_columns, require_one_source
from robustlib.metrics.configurations import SUITE, configurations
from robustlib.metrics.rates import BASELINES, BenchScores
from robustlib.metrics.statuses import STATUSES, count_statuses

_SOURCE = ["model", "dataset", "split", "question_id", "image_id", "category"]
_CONDITION = ["suite", "family", "variant", "severity"]


def bench_scores(predictions: pd.DataFrame) -> BenchScores:
    """Arrange a predictions table as right and wrong answers.

    Args:
        predictions: one row per model, question and condition, with the columns ``model``, ``dataset``, ``split``,
            ``question_id``, ``image_id``, ``category``, ``suite``, ``family``, ``variant``, ``severity`` and ``score``
            (0 or 1). Rows whose answer could not be had count with the score they carry, 0. Rows of other suites,
            families and severities are left out.

    Raises:
        InvalidValueError: a column, a condition or a question is missing, a question stands twice, has two images or
            categories, a score is neither 0 nor 1, or there is more than one data set and split.
    """
    rows = _rows_of(predictions, "score")
    wrong = rows.loc[~rows["score"].isin((0, 1))]
    if len(wrong):
        raise InvalidValueError(
            f"VLM-RobustBench counts answers as right (1) or wrong (0), got the score {wrong['score'].iloc[0]} "
            f"of model {wrong['model'].iloc[0]} for question {wrong['question_id'].iloc[0]!r}."
        )
    questions = rows[["question_id", "image_id", "category"]].drop_duplicates().sort_values("question_id")
    twice = questions.loc[questions["question_id"].duplicated(), "question_id"]
    if len(twice):
        raise InvalidValueError(f"Question {twice.iloc[0]!r} must have one image and one category, but has several.")
    models = sorted(rows["model"].unique())
    shape = (len(models), len(_conditions()), len(questions))
    cells = np.ravel_multi_index(
        (
            pd.Index(models).get_indexer(rows["model"]),
            rows["condition"].to_numpy(),
            pd.Index(questions["question_id"]).get_indexer(rows["question_id"]),
        ),
        shape,
    )
    _check_complete(np.bincount(cells, minlength=np.prod(shape)).reshape(shape), models, list(questions["question_id"]))
    correct = np.zeros(np.prod(shape), dtype=bool)
    correct[cells] = rows["score"].to_numpy() == 1
    return BenchScores(
        tuple(models),
        questions["image_id"].to_numpy(str),
        questions["category"].to_numpy(str),
        correct.reshape(shape),
    )


def status_shares_by_condition(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return how many answers of each model could be had under each condition, to stand beside every accuracy.

    Args:
        predictions: as for `bench_scores`, with the column ``status``.

    Returns:
        Columns ``model``, ``condition`` ("clean", "no_image", "fog:low", "flip_v", ...), ``rows``, then the share of
        each status in percent.

    Raises:
        InvalidValueError: as `bench_scores`, but for conditions and questions that are missing; or a status is unknown.
    """
    rows = _rows_of(predictions, "status")
    table = count_statuses(rows["status"], [rows["model"], rows["condition"]]).reset_index()
    percent = {status: 100 * table[status] for status in STATUSES}
    table = table.astype({"model": str})
    return table.assign(condition=table["condition"].map(dict(enumerate(_conditions()))), **percent)


def _conditions() -> list[str]:
    return [*BASELINES, *map(str, configurations())]


def _rows_of(predictions: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the rows of this benchmark, with one column of values and the place of their condition among the 135."""
    columns = [*_SOURCE, *_CONDITION, value]
    require_columns(predictions, columns)
    condition = _condition_of(predictions)
    rows = predictions.loc[condition >= 0, columns].assign(condition=condition[condition >= 0])
    require_one_source(rows)
    return rows


def _condition_of(predictions: pd.DataFrame) -> NDArray[np.intp]:
    """Return the place of each row's condition among the 135, -1 for rows that are not of this benchmark."""
    keys = pd.MultiIndex.from_tuples([(found.corruption, found.severity) for found in configurations()])
    place = keys.get_indexer(pd.MultiIndex.from_frame(predictions[["variant", "severity"]]))
    mine = (predictions["suite"] == SUITE).to_numpy() & (predictions["family"] == "corruption").to_numpy()
    condition = np.where(mine & (place >= 0), place + len(BASELINES), -1)
    for number, family in enumerate(BASELINES):
        condition[(predictions["family"] == family).to_numpy()] = number
    return condition


def _check_complete(counts: NDArray[np.intp], models: list[str], questions: list[str]) -> None:
    """Raise InvalidValueError unless every model answered every question once under every condition."""
    asked = counts.sum(axis=2)
    for model, of_model in zip(models, asked, strict=True):
        missing = [name for name, answers in zip(_conditions(), of_model, strict=True) if not answers]
        if missing:
            raise InvalidValueError(
                f"Model {model} lacks {len(missing)} of {len(of_model)} conditions: {', '.join(missing)}."
            )
    odd = np.argwhere(counts != 1)
    if len(odd):
        model, condition, question = odd[0]
        raise InvalidValueError(
            f"Model {models[model]} must answer question {questions[question]!r} once under "
            f"{_conditions()[condition]}, but did {counts[tuple(odd[0])]} times."
        )
