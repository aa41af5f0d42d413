"""What is answered about the colours of grey images."""

import numpy as np
import pandas as pd
import pytest

from robustlib.data import load_dataset
from robustlib.errors import InvalidValueError
from robustlib.metrics import cluster_bootstrap
from robustlib.metrics.answer_types import answer_type
from robustlib.metrics.colour_bias import SHARES, SUITE, colour_bias_shares

ANSWERS = {  # model, condition: answers to the three colour questions, then to one about a shape
    ("toy", "clean"): ["red", "gray", "Blue", "circle"],
    ("toy", "grayscale"): ["red", "gray", "", "red"],
    ("toy", "grayscale_inverse"): ["green", "a white one", "gray", "circle"],
    ("other", "clean"): ["teal", "gray", "blue", "circle"],
    ("other", "grayscale"): ["teal", "red", "blue", "circle"],
}
RIGHT = ["red", "gray", "blue", "circle"]
QUESTIONS = pd.DataFrame(
    {
        "dataset": "toy",
        "split": "test",
        "question_id": ["a", "b", "c", "d"],
        "question": ["What color is it?", "Is it gray or red?", "What color is it?", "What is the red shape?"],
        "reference": RIGHT,
    }
)
ROWS = pd.DataFrame(
    [
        {
            "model": model,
            "dataset": "toy",
            "split": "test",
            "question_id": question,
            "image_id": image,
            "suite": "" if condition == "clean" else SUITE,
            "family": "clean" if condition == "clean" else "corruption",
            "variant": condition,
            "answer": answer,
            "score": float(answer.lower() == right),
        }
        for (model, condition), answers in ANSWERS.items()
        for question, image, answer, right in zip("abcd", ["1", "1", "2", "2"], answers, RIGHT, strict=True)
    ]
)


def test_shares_by_hand() -> None:
    found = colour_bias_shares(ROWS, QUESTIONS)
    assert found[["model", "condition"]].to_numpy().tolist() == [
        ["toy", "clean"],
        ["toy", "grayscale"],
        ["toy", "grayscale_inverse"],
        ["other", "clean"],
        ["other", "grayscale"],
    ]
    assert set(found["questions"]) == {3}
    assert set(found["images"]) == {2}
    thirds = 3 * found[list(SHARES)].to_numpy()
    assert thirds == pytest.approx(np.array([[2, 3, 3], [1, 2, 2], [1, 0, 0], [2, 3, 2], [3, 2, 1]]))


def test_intervals_are_those_of_the_cluster_bootstrap() -> None:
    random = np.random.default_rng(0)
    questions = pd.DataFrame({"dataset": "toy", "split": "test", "question_id": [str(n) for n in range(60)]})
    questions = questions.assign(question="What color is it?", reference="red")
    clean = questions[["dataset", "split", "question_id"]].assign(
        model="toy", image_id=[f"{n // 3}" for n in range(60)], suite="", family="clean", variant="clean", score=1.0
    )
    clean = clean.assign(answer="red")
    grey = clean.assign(
        suite=SUITE, family="corruption", variant="grayscale", answer=random.choice(["red", "gray"], 60)
    )
    found = colour_bias_shares(pd.concat([clean, grey]), questions, resamples=200, seed=3).iloc[1]
    values = (grey["answer"] == "red").to_numpy(float)
    low, high = cluster_bootstrap(values, grey["image_id"], np.mean, resamples=200, seed=3)
    assert low < values.mean() == found["chromatic"] < high
    assert (found["chromatic_low"], found["chromatic_high"]) == pytest.approx((low, high))


def test_one_image_has_no_interval_and_no_colour_question_no_row() -> None:
    one = colour_bias_shares(ROWS[ROWS["question_id"] == "a"], QUESTIONS)
    assert one["questions"].tolist() == [1] * 5
    assert one[[f"{share}_{end}" for share in SHARES for end in ("low", "high")]].isna().to_numpy().all()
    none = colour_bias_shares(ROWS, QUESTIONS[QUESTIONS["question_id"] == "d"])
    assert none.empty
    assert none.columns.equals(one.columns)


def test_a_sweep_without_grey_images_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="add the suite 'vqa_bench_extra', and severity 1"):
        colour_bias_shares(ROWS[ROWS["variant"] == "clean"], QUESTIONS)


def test_the_rule_finds_the_colour_questions_that_a_data_set_names() -> None:
    questions = load_dataset("easy_vqa", "test")
    found = [question.id for question in questions if answer_type(question.text, question.answers[0]) == "colour"]
    assert found == [question.id for question in questions if question.category == "colour"]
    assert len(found) > 1000
