"""Held-out questions are about other images than the sweep's."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from robustlib.data import load_dataset
from robustlib.errors import InvalidValueError
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import (
    DatasetChoice,
    FailedAnswersError,
    ModelChoice,
    Profile,
    make_plan,
    read_manifest,
    read_predictions,
)
from robustlib.sweep.held_out import HELD_OUT, run_held_out
from tests.sweep.test_invariance import Toy


@pytest.fixture(autouse=True)
def _toy_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustlib.sweep.plan.load_model", lambda name: Toy())


def profile(rows: int | None) -> Profile:
    return Profile(
        "toy",
        datasets=(DatasetChoice("easy_vqa_choice", "test", rows=rows),),
        models=(ModelChoice("toy"),),
        families=("text",),
    )


def test_held_out_questions_are_fresh_clean_and_as_many_as_wanted(tmp_path: Path) -> None:
    run_held_out(profile(100), tmp_path, 3)
    found = read_predictions(tmp_path / HELD_OUT)
    evaluated = make_plan(profile(100)).datasets["easy_vqa_choice/test"]
    assert {question.image_id for question in evaluated}.isdisjoint(found["image_id"])
    assert len(found) == 300
    assert set(found["family"]) == {"clean"}
    assert set(found["category"]) == {question.category for question in load_dataset("easy_vqa_choice", "test")}
    assert read_manifest(tmp_path / HELD_OUT)["profile"]["name"] == "toy (held out)"


@pytest.mark.parametrize("times", [0, -1])
def test_no_held_out_questions_are_an_error(times: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=f"times must be at least 1, got {times}"):
        run_held_out(profile(100), tmp_path, times)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_over_all_images_leaves_nothing_to_hold_out(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="shows all images of easy_vqa_choice/test"):
        run_held_out(profile(None), tmp_path, 3)
    assert list(tmp_path.iterdir()) == []


def test_failed_held_out_answers_are_asked_again_on_request_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Toy, prompts: Sequence[Prompt]) -> list[Answer]:
        raise RuntimeError("out of luck")

    with monkeypatch.context() as patch:
        patch.setattr(Toy, "answer", fail)
        with pytest.raises(FailedAnswersError, match="20 of 20 answers"):
            run_held_out(profile(20), tmp_path, 1)
    with pytest.raises(FailedAnswersError, match="20 of 20 answers"):
        run_held_out(profile(20), tmp_path, 1)
    run_held_out(profile(20), tmp_path, 1, retry_failed=True)
    assert read_manifest(tmp_path / HELD_OUT)["statuses"] == {"ok": 20}
