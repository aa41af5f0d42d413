"""The accuracy cube: models x corruptions x 6 levels, from one long table of predictions.

A cell that is missing, or that was asked fewer questions than another, would quietly bias every average built on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import LEVELS, Array, levels_array, model_names
from robustlib.metrics.checks import require_columns, require_one_source

_CELL = ["model", "corruption", "severity"]


@dataclass(frozen=True)
class AccuracyCube:
    """Accuracies with their names."""

    models: tuple[str, ...]
    corruptions: tuple[str, ...]
    accuracy: Array
    """V x C x 6, in [0, 1]; level 0 is the clean images."""
    questions: int
    """How many questions stand behind each accuracy."""

    def __post_init__(self) -> None:
        shape = levels_array(self.accuracy, "accuracy").shape
        model_names(self.models, shape[0])
        if len(self.corruptions) != shape[1]:
            raise InvalidValueError(f"corruptions must name all {shape[1]} corruptions, got {list(self.corruptions)}.")

    @property
    def errors(self) -> Array:
        """One minus accuracy: V x C x 6, in [0, 1] (Equation 9)."""
        return 1 - self.accuracy


def accuracy_cube(predictions: pd.DataFrame, suite: str = "vqa_bench") -> AccuracyCube:
    """Average the scores of a predictions table over questions, for every model, corruption and severity (Equation 2).

    Args:
        predictions: one row per model, question and condition, with the columns ``model``, ``dataset``, ``split``,
            ``question_id``, ``suite``, ``family``, ``variant``, ``severity`` and ``score`` (in [0, 1]). Rows whose
            answer could not be had count with the score they carry, 0.
        suite: the corruption suite to read; clean rows belong to every suite.

    Returns:
        Models and corruptions in the order of their first rows.

    Raises:
        InvalidValueError: a column, a cell or a question is missing, a question stands twice in a cell, a score is no
            number in [0, 1], or the table holds more than one data set and split.
    """
    rows = _rows_of(predictions, suite)
    models, corruptions = rows["model"].unique(), rows.loc[rows["severity"] > 0, "corruption"].unique()
    if not len(corruptions):
        known = sorted(set(predictions["suite"]) - {""})
        raise InvalidValueError(f"The predictions hold no corruption of suite {suite!r}; they hold {known or 'none'}.")
    _check_complete(rows)
    means = rows.groupby(_CELL, sort=False)["score"].mean().rename("accuracy").reset_index()
    clean = means[means["corruption"] == "clean"]
    everywhere = pd.concat([means, *(clean.assign(corruption=name) for name in corruptions)])
    return cube_of_accuracies(everywhere, rows["question_id"].nunique(), list(models), list(corruptions))


def cube_of_accuracies(
    accuracies: pd.DataFrame, questions: int, models: Sequence[str], corruptions: Sequence[str]
) -> AccuracyCube:
    """Arrange a table of accuracies as a cube.

    Args:
        accuracies: columns ``model``, ``corruption``, ``severity`` (0 to 5) and ``accuracy`` (in [0, 1]).
        questions: how many questions stand behind each accuracy.
        models: the models to take, in this order.
        corruptions: the corruptions to take, in this order.

    Raises:
        InvalidValueError: a cell is missing or not in [0, 1]; the message names it.
    """
    wanted = pd.MultiIndex.from_product([models, corruptions, range(LEVELS)], names=_CELL)
    column = accuracies.set_index(_CELL)["accuracy"]
    missing = wanted[~wanted.isin(column.index)]
    if len(missing):
        raise InvalidValueError(f"No accuracy for {_cell_name(missing[0])} ({len(missing)} cells are missing in all).")
    values = column.reindex(wanted).to_numpy(dtype=float).reshape(len(models), len(corruptions), LEVELS)
    return AccuracyCube(tuple(models), tuple(corruptions), levels_array(values, "accuracy"), questions)


def _rows_of(predictions: pd.DataFrame, suite: str) -> pd.DataFrame:
    needed = ["model", "dataset", "split", "question_id", "suite", "family", "variant", "severity", "score"]
    require_columns(predictions, needed)
    corrupted = (predictions["family"] == "corruption") & (predictions["suite"] == suite)
    rows = predictions.loc[(predictions["family"] == "clean") | corrupted, needed].rename(
        columns={"variant": "corruption"}
    )
    require_one_source(rows)
    wrong = rows.loc[~rows["score"].between(0, 1)]
    if len(wrong):
        cell, score = tuple(wrong[_CELL].iloc[0]), wrong["score"].iloc[0]
        raise InvalidValueError(f"A score must lie in [0, 1], got {score} for {_cell_name(cell)}.")
    return rows


def _check_complete(rows: pd.DataFrame) -> None:
    """Raise InvalidValueError unless every cell that is there has every question once."""
    number = rows.groupby(_CELL, sort=False).ngroup().to_numpy()
    question, ids = pd.factorize(rows["question_id"])
    times = np.bincount(number * len(ids) + question, minlength=(number.max() + 1) * len(ids)).reshape(-1, len(ids))
    for cell, asked in np.argwhere(times > 1):
        name = _cell_name(tuple(rows.loc[number == cell, _CELL].iloc[0]))
        raise InvalidValueError(f"Question {ids[asked]!r} stands twice in {name}.")
    for cell in np.flatnonzero((times == 0).any(axis=1)):
        name = _cell_name(tuple(rows.loc[number == cell, _CELL].iloc[0]))
        raise InvalidValueError(
            f"{name} has {times[cell].sum()} of the {len(ids)} questions; "
            "every model must answer all of them under every condition."
        )


def _cell_name(cell: tuple[object, ...]) -> str:
    model, corruption, severity = cell
    return f"model {model}, corruption {corruption}, severity {severity}"
