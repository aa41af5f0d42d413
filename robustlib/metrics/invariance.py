"""Invariance: does an answer depend on what else is asked in the same call, or on the precision of the arithmetic?

Of each condition, the logits are compared with those of the same model asked one question at a time (third document,
"Repeat and batch invariance"). Wherever an answer changes, its margin says whether it hung by a thread.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array
from robustlib.metrics.calibration import probabilities
from robustlib.metrics.paired_rows import Integers, option_numbers

REFERENCE = "alone"
"""The condition that the others are compared with: one question a call."""

_KEY = ["model", "dataset", "split", "question_id"]
_NAMES = dict.fromkeys([*_KEY, "condition"], "str")
_COMPARED = (
    _NAMES
    | dict.fromkeys(["reference_choice", "choice"], "int64")
    | dict.fromkeys(["reference_margin", "margin", "probability_change", "logit_change"], "float64")
    | {"flipped": "bool"}
)
_CHANGES = ("probability_change", "logit_change")
_MEASURES = [f"{kind}_{name}" for name in _CHANGES for kind in ("max", "mean")]
_SUMMARY = (
    dict.fromkeys(["model", "condition"], "str")
    | {"rows": "int64"}
    | dict.fromkeys(_MEASURES, "float64")
    | dict.fromkeys(["flips", "exact"], "int64")
)


def compare_conditions(
    asked: pd.DataFrame, temperatures: Mapping[str, Mapping[str, float]] | None = None
) -> pd.DataFrame:
    """Compare every answer with the one to the same question asked alone.

    Args:
        asked: text columns ``model``, ``dataset``, ``split``, ``question_id``, ``kind`` and ``condition``, and lists
            ``logits`` in the order of the options; missing where the model gave none.
        temperatures: for each model one for each kind of question; 1 without.

    Returns:
        One row for each question that has logits in a condition and alone: ``model``, ``dataset``, ``split``,
        ``question_id``, ``condition``; ``reference_choice`` and ``choice``, the options with the highest logit; their
        margins ``reference_margin`` and ``margin``, the probability of the first option less that of the second;
        ``probability_change`` and ``logit_change``, the largest over options; and ``flipped``, whether the choice is
        another.

    Raises:
        InvalidValueError: a question was asked twice in a condition, or has another number of logits there than alone.
    """
    known = asked[asked["logits"].notna()]
    for row in known[known.duplicated([*_KEY, "condition"])].itertuples():
        raise InvalidValueError(
            f"{row.model} was asked question {row.question_id!r} of {row.dataset}/{row.split} twice in condition "
            f"{row.condition!r}; each needs one answer."
        )
    reference = known.loc[known["condition"] == REFERENCE, [*_KEY, "logits"]]
    others = known[known["condition"] != REFERENCE]
    pairs = others.merge(reference, on=_KEY, suffixes=("", "_alone"))
    _check_lengths(pairs)
    chosen = temperatures or {}
    scale = [chosen.get(model, {}).get(kind, 1.0) for model, kind in zip(pairs["model"], pairs["kind"], strict=True)]
    logits, alone = option_numbers(pairs["logits"])[0], option_numbers(pairs["logits_alone"])[0]
    probs, probs_alone = probabilities(logits, scale), probabilities(alone, scale)
    table = pairs[[*_KEY, "condition"]].assign(
        reference_choice=_best(alone),
        choice=_best(logits),
        reference_margin=_margin(probs_alone),
        margin=_margin(probs),
        probability_change=_largest(np.abs(probs - probs_alone)),
        logit_change=_largest(np.abs(logits - alone)),
    )
    return table.assign(flipped=table["choice"] != table["reference_choice"])[list(_COMPARED)].astype(_COMPARED)


def invariance_summary(compared: pd.DataFrame) -> pd.DataFrame:
    """Return how far the conditions are from one question a call.

    Args:
        compared: from `compare_conditions`.

    Returns:
        For each model and condition: ``rows``, the largest and the mean change of probabilities and of logits
        (``max_probability_change`` and so on), ``flips``, and ``exact``, the rows whose logits are equal bit by bit.
    """
    records = [
        {
            "model": model,
            "condition": condition,
            "rows": len(rows),
            **{f"{kind}_{name}": rows[name].agg(kind) for name in _CHANGES for kind in ("max", "mean")},
            "flips": rows["flipped"].sum(),
            "exact": (rows["logit_change"] == 0).sum(),
        }
        for (model, condition), rows in compared.groupby(["model", "condition"], sort=False)
    ]
    return pd.DataFrame(records, columns=list(_SUMMARY)).astype(_SUMMARY)


def _check_lengths(pairs: pd.DataFrame) -> None:
    counted = pairs.assign(given=pairs["logits"].map(len), alone=pairs["logits_alone"].map(len))
    for row in counted[counted["given"] != counted["alone"]].itertuples():
        raise InvalidValueError(
            f"{row.model} gave {row.given} logits to question {row.question_id!r} of {row.dataset}/{row.split} "
            f"in condition {row.condition!r}, and {row.alone} alone; both need one for each option."
        )


def _best(logits: Array) -> Integers:
    best: Integers = np.where(np.isnan(logits), -np.inf, logits).argmax(axis=1)
    return best


def _largest(values: Array) -> Array:
    largest: Array = np.fmax.reduce(values, axis=1)
    return largest


def _margin(probs: Array) -> Array:
    """Return the first probability of each row less the second, 1 where there is one option."""
    ordered = np.sort(np.nan_to_num(probs), axis=1)
    second = ordered[:, -2] if ordered.shape[1] > 1 else 0.0
    margin: Array = ordered[:, -1] - second
    return margin
