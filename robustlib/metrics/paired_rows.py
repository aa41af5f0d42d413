"""From the predictions table to arrays: every perturbed answer beside the clean answer to its source question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array
from robustlib.metrics.calibration import checked_shares
from robustlib.metrics.checks import require_columns
from robustlib.scoring.vqa import normalise_answer

Integers = NDArray[np.intp]

CLEAN = "clean"
ADDED = -2
"""Code of an answer that is no option of the source question."""

_COLUMNS = (
    "model",
    "dataset",
    "split",
    "question_id",
    "group_id",
    "image_id",
    "family",
    "variant",
    "severity",
    "label",
    "choice",
    "answer",
    "score",
    "confidence",
    "logits",
    "probs",
    "order",
    "target",
)


@dataclass(frozen=True)
class Rows:
    """Answers as arrays of one length n; k is the largest number of options."""

    group: Integers
    """Number of the source question."""
    cluster: Integers
    """Number of the image."""
    variant: NDArray[Any]
    """Name of the variant; for typing errors with its severity."""
    score: Array
    """Accuracy of the answer, in [0, 1]; 0 where there is none."""
    options: Integers
    """How many options were shown; 0 for an open question."""
    order: Integers
    """n x k: source index of each option shown, -1 for one that was added and behind the last."""
    label: Integers
    """Place of the right option as shown, -1 for none."""
    choice: Integers
    """Place of the chosen option as shown, -1 for none."""
    target: Integers
    """What the variant is about (see `robustlib.perturbations.Variant`), -1 for nothing."""
    gold: Integers
    """Source index of the right option, negative for none."""
    answer: Integers
    """Code of the answer: the source index of the chosen option, -1 for no choice, `ADDED` for an added one. For an
    open question, one code for each normalised text."""
    confidence: Array
    """Probability of the answer, NaN if unknown."""
    logits: Array
    """n x k, NaN behind the last option or where the model gives none."""
    probs: Array
    """n x k, NaN likewise."""

    def __len__(self) -> int:
        return len(self.group)

    def take(self, index: NDArray[Any]) -> Self:
        """Return the rows at an index or under a mask."""
        return type(self)(**{field.name: getattr(self, field.name)[index] for field in fields(self)})


class Cell(NamedTuple):
    """The rows of one family, each with the clean row of its source question."""

    rows: Rows
    """n rows of the family."""
    clean: Rows
    """n clean rows, one for each."""


class Evaluation(NamedTuple):
    """All that one model answered on one data set."""

    model: str
    dataset: str
    split: str
    cells: dict[str, Cell]
    """For each of the families asked for that was found, its rows."""


def evaluations(predictions: pd.DataFrame, families: Sequence[str]) -> Iterator[Evaluation]:
    """Pair the rows of some families with their clean rows, for one model and data set after the other.

    Args:
        predictions: the table of `robustlib.read_predictions`.
        families: the families to read; those that are absent are left out.

    Raises:
        InvalidValueError: a column is missing, a row stands twice, a source question has no clean row, or a row is not
            consistent in itself: its score, or what it says of its options.
    """
    require_columns(predictions, _COLUMNS)
    wanted = predictions[predictions["family"].isin([CLEAN, *families])]
    for key, frame in wanted.groupby(["model", "dataset", "split"], sort=True):
        model, dataset, split = map(str, key)
        yield Evaluation(model, dataset, split, _pair(frame, families, f"{model} on {dataset}/{split}"))


def option_numbers(column: pd.Series, fill: float = np.nan, width: int = 1) -> tuple[Array, Integers]:
    """Return a column of lists as n x k numbers, filled up behind each list, and how long each list is.

    Args:
        column: n lists, with one number for each option; a missing list counts as an empty one.
        fill: what stands behind the last number of a list.
        width: the least k.
    """
    lists = [value if isinstance(value, list | tuple | np.ndarray) else () for value in column]
    lengths = np.fromiter(map(len, lists), np.intp, len(lists))
    numbers = np.full((len(lists), max(width, lengths.max(initial=0))), fill)
    numbers[np.arange(numbers.shape[1]) < lengths[:, None]] = np.concatenate([np.empty(0), *lists])
    return numbers, lengths


def _pair(frame: pd.DataFrame, families: Sequence[str], place: str) -> dict[str, Cell]:
    """Return the rows of each family that is found, paired with their clean rows; the place is named in errors."""
    if frame.duplicated(["question_id", "family", "variant", "severity"]).any():
        raise InvalidValueError(f"Some answers of {place} stand twice in the predictions.")
    rows, family = _rows(frame), frame["family"].to_numpy()
    clean = rows.take(family == CLEAN)
    clean_row = np.full(rows.group.max() + 1, -1)
    clean_row[clean.group] = np.arange(len(clean))
    lost = np.flatnonzero(clean_row[rows.group] < 0)
    if lost.size:
        first = frame.iloc[lost[0]]
        raise InvalidValueError(
            f"{lost.size} answers of {place} have no clean answer to be compared with, the first of family "
            f"{first['family']} to a variant of question {first['group_id']!r}."
        )
    cells = {name: rows.take(family == name) for name in families}
    return {name: Cell(found, clean.take(clean_row[found.group])) for name, found in cells.items() if len(found)}


def _rows(frame: pd.DataFrame) -> Rows:
    shown, options = option_numbers(frame["order"], fill=-1, width=2)
    order = shown.astype(np.intp)
    label, choice = frame["label"].to_numpy(np.intp), frame["choice"].to_numpy(np.intp)
    _check_options(frame, options, choice < options, "chose option", choice)
    _check_options(frame, options, label < options, "has the label", label)
    severity = ("-" + frame["severity"].astype(str)).where(frame["family"] == "typos", "")
    return Rows(
        group=pd.factorize(frame["group_id"], sort=True)[0],
        cluster=pd.factorize(frame["image_id"], sort=True)[0],
        variant=(frame["variant"].astype(str) + severity).to_numpy(),
        score=checked_shares(frame["score"], "score"),
        options=options,
        order=order,
        label=label,
        choice=choice,
        target=frame["target"].to_numpy(np.intp),
        gold=_in_source(label, order),
        answer=np.where(options > 0, _in_source(choice, order), _text_codes(frame["answer"])),
        confidence=frame["confidence"].to_numpy(np.float64),
        logits=_numbers_of_options(frame, "logits", options),
        probs=_numbers_of_options(frame, "probs", options),
    )


def _numbers_of_options(frame: pd.DataFrame, name: str, options: Integers) -> Array:
    numbers, lengths = option_numbers(frame[name], width=max(2, options.max(initial=0)))
    _check_options(frame, options, (lengths == options) | (lengths == 0), f"has so many {name}:", lengths)
    return numbers


def _check_options(
    frame: pd.DataFrame, options: Integers, holds: NDArray[np.bool_], what: str, found: Integers
) -> None:
    wrong = np.flatnonzero(~holds)
    if wrong.size:
        question, count = frame["question_id"].iloc[wrong[0]], options[wrong[0]]
        raise InvalidValueError(f"Question {question} has {count} options by its order, but {what} {found[wrong[0]]}.")


def _in_source(place: Integers, order: Integers) -> Integers:
    """Return the source index of the option at a place, -1 for no place and `ADDED` for an added option."""
    found = np.take_along_axis(order, place[:, None].clip(0), axis=1)[:, 0]
    return np.where(place < 0, -1, np.where(found < 0, ADDED, found))


def _text_codes(answers: pd.Series) -> Integers:
    codes, texts = pd.factorize(answers)
    return pd.factorize(np.array([normalise_answer(str(text)) for text in texts], dtype=object))[0][codes]
