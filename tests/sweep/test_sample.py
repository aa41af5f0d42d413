"""Asking a model outside of a sweep: the same rows as a sweep's, and an honest count of what was timed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robustlib.data import load_dataset
from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.models import load_model
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, read_manifest, read_predictions, run_sweep
from robustlib.sweep.conditions import Condition, family_condition
from robustlib.sweep.sample import BATCH, answer_sample, measure_speeds
from robustlib.sweep.store import read_identity
from tests.sweep.toys import PixelModel, toy_dataset

PRIOR = Profile(
    name="prior",
    datasets=(DatasetChoice("easy_vqa", "test", rows=50),),
    models=(ModelChoice("prior:easy_vqa"), ModelChoice("prior:easy_vqa", label="again")),
)


class Failing(PixelModel):
    """Fails at every question."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        raise RuntimeError("no more luck")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("swept")
    run_sweep(PRIOR, out, workers=1)
    return out


def test_rows_are_those_of_a_sweep(swept: Path) -> None:
    rows = answer_sample(load_model("prior:easy_vqa"), load_dataset("easy_vqa", "test"), 50, seed=PRIOR.sampling_seed)
    expected = read_predictions(swept).query("model == 'prior:easy_vqa'")
    columns = ["question_id", "image_id", "category", "answer", "response", "status", "score", "confidence"]
    assert rows[columns].to_numpy().tolist() == expected[columns].to_numpy().tolist()
    assert set(rows["model"]) == {"prior:easy_vqa"}


def test_each_question_keeps_its_answer_and_text_whatever_the_order_of_its_image() -> None:
    dataset, model = toy_dataset(questions=2 * BATCH + 3), PixelModel("toy/mean")
    rows = answer_sample(model, dataset, 1000)
    assert rows["question_id"].tolist() == [question.id for question in dataset]
    assert rows["text"].tolist() == [question.text for question in dataset]
    alone = [model.answer_one(Prompt(question.pixels(), "")) for question in dataset]
    assert rows["confidence"].tolist() == [answer.confidence for answer in alone]
    assert max(model.batches) == BATCH


def test_a_condition_changes_the_images_by_the_seed() -> None:
    noise = Condition("imagenet_c", "corruption", "gaussian_noise", 3)
    clean, first, again, other = (
        answer_sample(PixelModel("toy/mean"), toy_dataset(), 11, *more)["confidence"].tolist()
        for more in ((), (noise, 1), (noise, 1), (noise, 2))
    )
    assert first == again
    assert clean != first != other != clean


def test_every_shard_of_a_sweep_says_what_answered(swept: Path) -> None:
    record = load_model("prior:easy_vqa").describe()
    for shard in read_manifest(swept)["shards"]:
        assert read_identity(swept / shard["path"])["model"] == {"name": shard["model"], **record}
    assert {"checkpoint", "revision", "network", "processor", "dtype", "prompt", "decoding"} <= set(record)


@pytest.mark.parametrize(
    ("change", "lack"),
    [({"answers": ()}, "reference answers"), ({"options": ("no", "yes")}, "which of its options is right")],
)
def test_questions_without_a_right_answer_are_not_asked(change: dict[str, Any], lack: str) -> None:
    dataset, model = toy_dataset(), PixelModel("toy/mean")
    dataset = replace(dataset, questions=(*dataset.questions[:-1], replace(dataset.questions[-1], **change)))
    with pytest.raises(InvalidValueError, match=f"Question question-10 lacks {lack}, so no answer could be scored"):
        answer_sample(model, dataset, 1000)
    assert model.batches == []


@pytest.mark.parametrize("count", [0, -1])
def test_no_questions_are_an_error(count: int) -> None:
    with pytest.raises(InvalidValueError, match=f"At least 1 question must be asked, got {count}"):
        answer_sample(PixelModel("toy/mean"), toy_dataset(), count)


def test_a_condition_that_asks_nothing_is_an_error() -> None:
    message = "Condition option_order asks nothing about these 5 questions of toy/test"
    with pytest.raises(InvalidValueError, match=message):
        answer_sample(PixelModel("toy/mean"), toy_dataset(questions=5), 5, family_condition("option_order"))


def test_the_models_of_a_sweep_are_timed_by_their_labels(swept: Path) -> None:
    speeds = measure_speeds(swept, 20)
    assert speeds["model"].tolist() == ["prior:easy_vqa", "again"]
    assert speeds["questions"].tolist() == [20, 20]
    assert (speeds["questions_per_second"] > 0).all()


def test_a_model_that_fails_has_no_speed(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustlib.sweep.sample.load_model", lambda name, **_: Failing(name))
    with pytest.raises(RobustlibError, match="prior:easy_vqa failed at 20 of 20 questions: RuntimeError: no more luck"):
        measure_speeds(swept, 20)
