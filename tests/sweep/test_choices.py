"""Sweeps whose models answer questions with options in words."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from robustlib.data import Dataset
from robustlib.metrics import bench_scores, model_table, status_shares_by_condition
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import CLEAN, NO_IMAGE, FailedAnswersError, read_predictions, run_sweep, suite_conditions
from tests.sweep.options_toys import Ranker, Writer, options_dataset, options_plan

RESPONSES = [
    (Answer("(B)"), 1, "ok"),
    (Answer("I considered (A), but it is incorrect. Final answer: C."), 2, "ok"),
    (Answer("A or B"), -1, "no_answer"),
    (Answer("I am not sure."), -1, "no_answer"),
    (Answer(""), -1, "no_answer"),
    (Answer("<think>Maybe A."), -1, "truncated"),
    (Answer("Error code: 500"), -1, "error"),
    (Answer("(B)", "truncated"), -1, "truncated"),
    (Answer("(B)", "ok", choice=0), 0, "ok"),
    (Answer("star", "no_answer", choice=1), -1, "no_answer"),
]


@pytest.mark.parametrize(("answer", "choice", "status"), RESPONSES)
def test_a_choice_is_read_from_the_response_where_the_model_made_none(
    tmp_path: Path, answer: Answer, choice: int, status: str
) -> None:
    class Fixed(Ranker):
        def answer_one(self, prompt: Prompt) -> Answer:
            return answer

    questions = tuple(replace(question, label=1) for question in options_dataset().questions[:2])
    plan = options_plan([CLEAN], Fixed(), dataset=Dataset("shapes", "test", questions))
    if status == "error":
        with pytest.raises(FailedAnswersError, match=re.escape(answer.text)):
            run_sweep(plan, tmp_path)
    else:
        run_sweep(plan, tmp_path)
    for row, question in zip(read_predictions(tmp_path).itertuples(), questions, strict=True):
        assert (row.choice, row.status, row.response) == (choice, status, answer.text)
        assert row.answer == (question.options[choice] if status == "ok" else "")
        assert row.score == (choice == 1)


def test_the_rule_that_read_a_choice_is_told(tmp_path: Path) -> None:
    dataset = options_dataset()
    run_sweep(options_plan([CLEAN], Writer(dataset), dataset=dataset), tmp_path)
    table = read_predictions(tmp_path)
    assert set(table.rule) == {"statement"}
    assert set(table.score) == {1.0}


def test_vlm_robustbench_takes_a_swept_table_in_which_no_corrupted_answer_can_be_read(tmp_path: Path) -> None:
    dataset = options_dataset(questions=4)
    conditions = [CLEAN, NO_IMAGE, *suite_conditions("vlm_robustbench", (1, 3, 5))]
    writer = Writer(dataset)
    run_sweep(options_plan(conditions, Ranker(), writer, dataset=dataset, seeding="sample", base_seed=1234), tmp_path)
    table = read_predictions(tmp_path)
    scores = bench_scores(table)
    assert scores.correct.shape == (2, 135, 4)
    shares = status_shares_by_condition(table).set_index("condition")
    assert set(shares.loc[shares.model == "toy/ranker", "ok"]) == {100}
    unread = shares.loc[shares.model == "toy/writer", "no_answer"].to_dict()
    assert (unread["clean"], unread["no_image"]) == (0, 100)
    rates = scores.of_models(["toy/writer"]).rates()
    drops = dict(zip(unread, [0, *rates.clean - rates.no_image, *rates.clean[0] - rates.config[0]], strict=True))
    silent = [condition for condition, share in unread.items() if share == 100]
    assert len(silent) > 100, "only the weakest corruptions leave a small image as it was"
    assert {drops[condition] for condition in silent} == {rates.clean[0]} == {100}
    with pytest.warns(RuntimeWarning, match="toy/ranker gains nothing from its images"):
        assert set(model_table(scores, resamples=5).model) == {"toy/ranker", "toy/writer"}
