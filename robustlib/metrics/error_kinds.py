"""Kinds of errors under corruption (visual robustness benchmark for VQA, Section 8.1, Table 4), told by rules.

The document names five kinds by examples, without rules. Here an answer that was right on the clean image and is wrong
on the corrupted one is of the first kind that holds, by the words of the question, of a right answer and its own. Where
"yes" or "no" is right, "yes, it is" is "yes".

1. ``no_answer``: there is none. Not of the document.
2. ``blindness``: it denies what is there: "no" for "yes" (as in the document's "Are the women selling?"), or "yes" for
   "no" where the question has a "no" or "not" in it; else "nothing", "nobody", "0", "no dog" and the like for a right
   answer that does not deny.
3. ``irrationality``: it is of another type than the right answer (see `robustlib.metrics.answer_types.answer_type`), or
   the question names alternatives ("red or blue?") and it is none of them.
4. ``miscolor``: both are colours.
5. ``undercount``, ``overcount``: the question asks how many, and the number is lower, higher. The document has no name
   for too high a number, which is no undercount.
6. ``misclassify``: everything else: a wrong answer of the right type, also "yes" for "no", a misread number on a shirt,
   and amounts that cannot be compared ("many").

Rules see words, not meaning: an absurd answer of the right type ("flying kite" of a man who stands) is misclassified to
them. `agreement` measures them on answers that a person sorted.
"""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from robustlib.data.question import YES_NO
from robustlib.errors import InvalidValueError
from robustlib.metrics.answer_types import answer_type, count_in, is_count
from robustlib.metrics.checks import require_columns
from robustlib.scoring.vqa import normalise_answer

KINDS = ("miscolor", "undercount", "overcount", "misclassify", "blindness", "irrationality", "no_answer")
"""Those of the document in its order, with what it lacks beside them."""

RIGHT = 0.5
"""The score from which an answer counts as right: as one that two of ten people gave (0.6), or the right option (1)."""

_DENIES = re.compile(
    r"(there (is|are) )?(nothing|nobody|noone|nowhere|0( .*)?$|no \w|not (here|seen|shown|there|visible))"
)
_NEGATED = re.compile(r"\b(no|not)\b", re.IGNORECASE)
_QUESTION = ["dataset", "split", "question_id"]
_COLUMNS = ["model", *_QUESTION, "suite", "variant", "severity", "answer", "score"]


def error_kind(question: str, reference: str, prediction: str) -> str:
    """Return the kind of a wrong answer, one of `KINDS`.

    Args:
        question: the question's text.
        reference: a right answer.
        prediction: the wrong answer; "" for none.
    """
    right, wrong = normalise_answer(reference), normalise_answer(prediction)
    if not wrong:
        return "no_answer"
    first = wrong.split()[0]
    if right in YES_NO and first in YES_NO:
        wrong = first
    if _is_denied(question, right, wrong):
        return "blindness"
    kind = answer_type(question, right)
    if answer_type(question, wrong) != kind or _is_no_alternative(question, right, wrong):
        return "irrationality"
    if kind == "number" and is_count(question):
        return _miscount(count_in(right), count_in(wrong))
    return "miscolor" if kind == "colour" else "misclassify"


def sort_answers(predictions: pd.DataFrame, questions: pd.DataFrame, suite: str = "vqa_bench") -> pd.DataFrame:
    """Return what became, under each corruption, of the answers that were right on the clean image.

    Args:
        predictions: the table of `robustlib.read_predictions`, with ``model``, ``dataset``, ``split``,
            ``question_id``, ``suite``, ``family``, ``variant``, ``severity``, ``answer`` and ``score``.
        questions: ``dataset``, ``split``, ``question_id``, ``question`` (its text) and ``reference`` (a right answer).
        suite: the corruptions to read.

    Returns:
        One row per model, question and condition: ``model``, ``dataset``, ``split``, ``question_id``, ``corruption``,
        ``severity``, ``question``, ``reference``, ``clean_answer``, ``answer`` and ``kind``, one of `KINDS`, or "" for
        an answer that is still right (`RIGHT`).

    Raises:
        InvalidValueError: there is no corruption of this suite, a column is missing, or a row lacks its clean row, has
            two of them, or lacks its question.
    """
    require_columns(predictions, [*_COLUMNS, "family"])
    corrupted = predictions[(predictions["family"] == "corruption") & (predictions["suite"] == suite)]
    if corrupted.empty:
        raise InvalidValueError(f"The predictions hold no corruption of suite {suite!r}.")
    rows = corrupted.rename(columns={"variant": "corruption"})[
        ["model", *_QUESTION, "corruption", "severity", "answer", "score"]
    ]
    rows = join_clean(rows, predictions).merge(questions, how="left", on=_QUESTION, validate="many_to_one")
    if rows["question"].isna().any():
        lost = rows.loc[rows["question"].isna(), "question_id"].iloc[0]
        raise InvalidValueError(f"The text of question {lost!r} is unknown; these are not the questions of the sweep.")
    rows = rows[rows["clean_score"] >= RIGHT].reset_index(drop=True)
    texts = rows.loc[~(rows["score"] >= RIGHT), ["question", "reference", "answer"]]
    kinds = [error_kind(*words) for words in texts.drop_duplicates().itertuples(index=False, name=None)]
    rows["kind"] = ""
    places = texts.groupby(list(texts), sort=False, dropna=False).ngroup()
    rows.loc[texts.index, "kind"] = np.array(kinds, object)[places]
    return rows[
        ["model", *_QUESTION, "corruption", "severity", "question", "reference", "clean_answer", "answer", "kind"]
    ]


def join_clean(rows: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Put what the same model said on the clean image beside its rows, as ``clean_answer`` and ``clean_score``.

    Raises:
        InvalidValueError: there is no clean answer to one of them, or there are two.
    """
    names = {"answer": "clean_answer", "score": "clean_score"}
    clean = predictions.loc[predictions["family"] == "clean", ["model", *_QUESTION, *names]].rename(columns=names)
    if (twice := clean.duplicated(["model", *_QUESTION])).any():
        model, *_, question = clean.loc[twice, ["model", *_QUESTION]].iloc[0]
        raise InvalidValueError(f"{model} has two clean answers to question {question!r}; leave out treated images.")
    joined = rows.merge(clean, how="left", on=["model", *_QUESTION], validate="many_to_one")
    if joined["clean_score"].isna().any():
        lost = joined[joined["clean_score"].isna()].iloc[0]
        raise InvalidValueError(f"{lost['model']} has no clean answer to question {lost['question_id']!r}.")
    return joined


def count_kinds(answers: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Count the kinds of errors of every model, of every corruption, or of every cell of both.

    Args:
        answers: from `sort_answers`.
        by: the columns to group by, such as ["model"].

    Returns:
        One row per group, in the order of their first rows: the columns of `by`; ``answers``, how many were right on
        the clean image; ``turned_wrong``, how many of them are wrong now; for each of `KINDS` a count under its name,
        then its share of those under its name and ``_share``, NaN where none turned wrong.
    """
    flags = {kind: answers["kind"] == kind for kind in KINDS}
    flagged = answers[[*by]].assign(answers=1, turned_wrong=answers["kind"] != "", **flags)
    table = flagged.groupby([*by], sort=False).sum().reset_index()
    wrong = table["turned_wrong"].where(table["turned_wrong"] > 0)
    return table.join(table[list(KINDS)].div(wrong, axis=0).add_suffix("_share"))


def agreement(labelled: pd.DataFrame) -> pd.DataFrame:
    """Measure the rules on answers that a person sorted.

    Args:
        labelled: ``question``, ``reference``, ``prediction`` and ``kind``, the person's.

    Returns:
        One row per kind that a person or a rule found: ``kind``, ``labelled``, ``ruled`` and ``both``, numbers of
        answers that the person, the rules and both sorted there; ``precision``, both of ruled, and ``recall``, both of
        labelled, NaN where there is none.
    """
    texts = labelled[["question", "reference", "prediction"]].itertuples(index=False, name=None)
    ruled = pd.Series([error_kind(*words) for words in texts], index=labelled.index)
    found = [kind for kind in KINDS if kind in {*labelled["kind"], *ruled}]
    counts = pd.DataFrame(
        {
            "kind": found,
            "labelled": [(labelled["kind"] == kind).sum() for kind in found],
            "ruled": [(ruled == kind).sum() for kind in found],
            "both": [((labelled["kind"] == kind) & (ruled == kind)).sum() for kind in found],
        }
    )
    shares = {"precision": "ruled", "recall": "labelled"}
    return counts.assign(**{name: counts["both"] / counts[of].where(counts[of] > 0) for name, of in shares.items()})


def _is_denied(question: str, right: str, wrong: str) -> bool:
    if wrong in YES_NO:
        return right in YES_NO and wrong == ("yes" if _NEGATED.search(question) else "no")
    return _DENIES.match(wrong) is not None and right != "no" and _DENIES.match(right) is None


def _is_no_alternative(question: str, right: str, wrong: str) -> bool:
    asked = f" {normalise_answer(question)} "
    return " or " in asked and f" {right} " in asked and f" {wrong} " not in asked


def _miscount(right: float | None, wrong: float | None) -> str:
    if right is None or wrong is None:
        return "misclassify"
    return "undercount" if wrong < right else "overcount" if wrong > right else "misclassify"
