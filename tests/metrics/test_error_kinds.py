"""The rules that sort errors, against hand cases and against the labelled set."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from robustlib.data.labelled import labelled_error_kinds
from robustlib.errors import InvalidValueError
from robustlib.metrics.answer_types import ACHROMATIC, CHROMATIC, answer_type, is_colour, names_chromatic
from robustlib.metrics.error_kinds import KINDS, agreement, count_kinds, error_kind, sort_answers

LABELLED = labelled_error_kinds()
MISSED = {
    "Which bowl has more oranges?": "misclassify",
    "What is the man about to do?": "misclassify",
    "What is the man doing?": "misclassify",
    "How many boats are in the water?": "misclassify",
    "How many sheep are there?": "misclassify",
    "Is the room empty?": "misclassify",
    "Is it daytime?": "blindness",
    "Is this a kitchen?": "blindness",
    "What type of wine is in the glass?": "miscolor",
    "What is the dog doing?": "misclassify",
    "What time of day is it?": "misclassify",
    "What is the weather like?": "misclassify",
    "What sport is this?": "misclassify",
}
"""What the rules sorted otherwise than the person when they were measured, and where."""


def test_the_labelled_set_is_whole() -> None:
    assert len(LABELLED) == 100
    assert (LABELLED["source"] == "table4").sum() == 15
    assert set(LABELLED["source"]) == {"table4", "own"}
    assert set(LABELLED["kind"]) == set(KINDS) - {"no_answer"}
    assert not (LABELLED == "").to_numpy().any()
    assert not LABELLED.duplicated(["question", "reference", "prediction"]).any()


def test_precision_and_recall_on_the_labelled_set_are_as_measured() -> None:
    measured = {  # kind: labelled, ruled, both
        "miscolor": (15, 16, 15),
        "undercount": (14, 13, 13),
        "overcount": (8, 7, 7),
        "misclassify": (26, 33, 23),
        "blindness": (18, 19, 17),
        "irrationality": (19, 12, 12),
    }
    found = agreement(LABELLED).set_index("kind")
    counts = found[["labelled", "ruled", "both"]].itertuples(name=None)
    assert {kind: tuple(numbers) for kind, *numbers in counts} == measured
    assert found.loc["misclassify", "precision"] == 23 / 33
    assert found.loc["irrationality", "recall"] == 12 / 19
    texts = LABELLED[["question", "reference", "prediction", "kind"]].itertuples(index=False, name=None)
    ruled = [(question, error_kind(question, *words), kind) for question, *words, kind in texts]
    wrong = [(question, found) for question, found, kind in ruled if found != kind]
    assert len(wrong) == len(MISSED)
    assert dict(wrong) == MISSED


@pytest.mark.parametrize(
    ("question", "reference", "prediction", "kind"),
    [
        ("What color is it?", "red", "", "no_answer"),
        ("What color is it?", "red", "?", "no_answer"),
        ("What color is it?", "red", "Dark blue.", "miscolor"),
        ("What color is it?", "orange", "gold", "miscolor"),
        ("What fruit is it?", "orange", "apple", "misclassify"),
        ("What color is it?", "red", "apple", "irrationality"),
        ("Is it red or blue?", "red", "green", "irrationality"),
        ("How many are there?", "two", "1", "undercount"),
        ("How many are there?", "ten", "a dozen", "overcount"),
        ("How many are there?", "2", "zero", "blindness"),
        ("How many are there?", "0", "none of them", "misclassify"),
        ("How many are there?", "2", "several", "misclassify"),
        ("How many are there?", "2.5", "1,000", "overcount"),
        ("What time is it?", "10:30", "5:10", "misclassify"),
        ("Is there a dog?", "yes", "no", "blindness"),
        ("Is there a dog?", "no", "yes", "misclassify"),
        ("Is there a dog?", "no", "Yes, there is.", "misclassify"),
        ("Is there a dog?", "yes", "No, it is a cat.", "blindness"),
        ("What does the sign say?", "stop", "yes sir", "misclassify"),
        ("Is there not a dog?", "no", "yes", "blindness"),
        ("Is no dog present?", "yes", "no", "misclassify"),
        ("Is there a dog?", "no", "nothing", "irrationality"),
        ("Who is it?", "nobody", "man", "misclassify"),
        ("Who is it?", "man", "There is no one", "blindness"),
        ("What is it?", "dog", "northern light", "misclassify"),
        ("What is it?", "dog", "left", "irrationality"),
        ("What is it?", "dog", "yes", "irrationality"),
        ("What shape is it?", "circle", "yellow", "irrationality"),
    ],
)
def test_rules(question: str, reference: str, prediction: str, kind: str) -> None:
    assert error_kind(question, reference, prediction) == kind


def test_every_answer_is_of_one_of_the_kinds() -> None:
    answers = ["", "?", "no", "0", "\N{SNOWMAN}", "1.2.3", ":", "light", "or", "a", "not", "10:20", "yes yes", "3 or 4"]
    answers += sorted(set(LABELLED["prediction"]))
    found = {
        error_kind(question, reference, answer)
        for question, reference in LABELLED[["question", "reference"]].itertuples(index=False, name=None)
        for answer in answers
    }
    assert found == set(KINDS)


def test_colours() -> None:
    assert CHROMATIC.isdisjoint(ACHROMATIC)
    assert is_colour("Light-blue and white")
    assert not any(map(is_colour, ["", "light", "red car", "the"]))
    assert names_chromatic("a red car")
    assert not any(map(names_chromatic, ["", "dark gray", "redundant"]))
    assert answer_type("What is it?", "orange") == "thing"
    assert answer_type("What colour is it?", "orange") == "colour"


def row(question: str, answer: str, score: float, variant: str = "clean", severity: int = 0) -> dict[str, object]:
    suite = "" if variant == "clean" else "vqa_bench_extra" if variant == "grayscale" else "vqa_bench"
    return {
        "model": "toy",
        "dataset": "toy",
        "split": "test",
        "question_id": question,
        "suite": suite,
        "family": "corruption" if suite else "clean",
        "variant": variant,
        "severity": severity,
        "answer": answer,
        "score": score,
    }


def asked(questions: Sequence[tuple[str, str, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(questions, columns=["question_id", "question", "reference"])
    return frame.assign(dataset="toy", split="test")


ROWS = [
    row("a", "red", 1),
    row("b", "2", 0.6),
    row("c", "cat", 0.3),
    row("a", "blue", 0, "snow", 1),
    row("b", "1", 0.3, "snow", 1),
    row("c", "dog", 0, "snow", 1),
    row("a", "red", 1, "fog", 5),
    row("b", "4", 0, "fog", 5),
    row("a", "gray", 0, "grayscale", 1),
]
QUESTIONS = asked([("a", "What color is it?", "red"), ("b", "How many?", "2"), ("c", "What is it?", "dog")])


def test_only_answers_that_were_right_can_turn_wrong() -> None:
    found = sort_answers(pd.DataFrame(ROWS), QUESTIONS)
    cells = found[["question_id", "corruption", "severity", "clean_answer", "answer", "kind"]].to_numpy().tolist()
    assert cells == [
        ["a", "snow", 1, "red", "blue", "miscolor"],
        ["b", "snow", 1, "2", "1", "undercount"],
        ["a", "fog", 5, "red", "red", ""],
        ["b", "fog", 5, "2", "4", "overcount"],
    ]


def test_the_same_words_are_of_the_same_kind_wherever_they_stand() -> None:
    wrong = ["blue", "", "2", "blue", "no", "", "blue", "green"]
    rows = [*ROWS[:1], *(row("a", answer, 0, "snow", place) for place, answer in enumerate(wrong))]
    found = sort_answers(pd.DataFrame(rows), QUESTIONS)
    assert found["kind"].tolist() == [error_kind("What color is it?", "red", answer) for answer in wrong]
    assert found["kind"].nunique() == 3


def test_counts_and_shares_add_up() -> None:
    answers = sort_answers(pd.DataFrame(ROWS), QUESTIONS)
    table = count_kinds(answers, ["corruption"]).set_index("corruption")
    assert table.index.tolist() == ["snow", "fog"]
    assert table["answers"].tolist() == [2, 2]
    assert table["turned_wrong"].tolist() == [2, 1]
    assert table[list(KINDS)].sum(axis=1).equals(table["turned_wrong"])
    assert table[[f"{kind}_share" for kind in KINDS]].sum(axis=1).tolist() == [1, 1]
    assert list(table.loc["snow", ["miscolor", "undercount", "miscolor_share"]]) == [1, 1, 0.5]
    assert len(count_kinds(answers, ["model", "corruption"])) == 2
    still_right = count_kinds(answers[answers["kind"] == ""], ["model"])
    assert still_right["turned_wrong"].tolist() == [0]
    assert np.isnan(still_right["miscolor_share"]).all()


@pytest.mark.parametrize(
    ("rows", "questions", "message"),
    [
        (ROWS[:3], QUESTIONS, "no corruption of suite 'vqa_bench'"),
        (ROWS[1:], QUESTIONS, "toy has no clean answer to question 'a'"),
        (ROWS, QUESTIONS[1:], "question 'a' is unknown"),
        ([*ROWS, row("b", "2", 1)], QUESTIONS, "toy has two clean answers to question 'b'"),
        ([{"family": "corruption"}], QUESTIONS, "lack the columns .*'answer'"),
    ],
)
def test_what_cannot_be_sorted_is_refused(rows: list[dict[str, object]], questions: pd.DataFrame, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        sort_answers(pd.DataFrame(rows), questions)
