import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest

from robustlib.corruptions import corrupt, image_seed
from robustlib.data import LazyImage
from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import FailedAnswersError, read_manifest, read_predictions, run_sweep, sweep_status
from robustlib.sweep.lock import exclusive
from tests.sweep.toys import CONDITIONS, PROFILE, PixelModel, contents, pixels_of, toy_dataset, toy_plan


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole")
    run_sweep(toy_plan(), out)
    return out


def test_every_model_answers_every_question_under_every_condition(whole: Path) -> None:
    rows = read_predictions(whole)
    cells = set(zip(rows.model, rows.question_id, rows.suite, rows.variant, rows.severity, strict=True))
    assert len(rows) == len(cells) == 2 * 11 * len(CONDITIONS)
    assert set(rows.status) == {"ok"}
    assert read_manifest(whole)["statuses"] == {"ok": len(rows)}


def test_answers_belong_to_the_pixels_that_the_corruption_returned(whole: Path) -> None:
    rows = read_predictions(whole).query("model == 'toy/mean' and variant == 'gaussian_noise' and severity == 5")
    by_question = {row.question_id: row for row in rows.itertuples()}
    for question in toy_dataset():
        seed = image_seed(PROFILE.base_seed, question.image_id)
        pixels = corrupt(pixels_of(question), "imagenet_c/gaussian_noise", 5, seed)
        row = by_question[question.id]
        assert (row.seed, row.confidence) == (seed, pixels.mean() / 255)
        assert row.score == (pixels.mean() > 127.5)


def test_clean_answers_belong_to_the_images_as_they_are(whole: Path) -> None:
    rows = read_predictions(whole).query("model == 'toy/mean' and variant == 'clean'")
    assert list(rows.confidence) == [pixels_of(question).mean() / 255 for question in toy_dataset()]


def test_a_second_run_asks_nothing_and_changes_nothing(whole: Path) -> None:
    before = contents(whole)
    idle = PixelModel("toy/mean")
    run_sweep(toy_plan(mean=idle), whole)
    assert idle.batches == []
    assert contents(whole) == before


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_number_of_workers_does_not_change_a_byte(whole: Path, tmp_path: Path, workers: int) -> None:
    run_sweep(toy_plan(), tmp_path, workers=workers)
    assert contents(tmp_path) == contents(whole)


def test_batches_are_fixed_and_a_model_sees_each_image_corrupted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int, int]] = []

    def counted(pixels: Pixels, name: str, severity: int, seed: int) -> Pixels:
        calls.append((name, severity, seed))
        return corrupt(pixels, name, severity, seed)

    monkeypatch.setattr("robustlib.sweep.showing.corrupt", counted)
    models = PixelModel("toy/mean"), PixelModel("toy/corner")
    run_sweep(toy_plan(mean=models[0], corner=models[1]), tmp_path, workers=1)
    assert len(set(calls)) == 5 * (len(CONDITIONS) - 1)
    assert set(Counter(calls).values()) == {len(models)}
    assert models[0].batches == models[1].batches == [4, 4, 3] * len(CONDITIONS)


class Moody(PixelModel):
    """A model that fails on one question, in one of several ways."""

    def __init__(self, fault: str, bad: str = "take 5") -> None:
        super().__init__("toy/mean")
        self.fault = fault
        self.bad = bad

    def answer_one(self, prompt: Prompt) -> Answer:
        answer = super().answer_one(prompt)
        if self.bad not in prompt.text:
            return answer
        if self.fault == "raises":
            raise RuntimeError("out of luck")
        if self.fault == "exits":
            sys.exit(0)
        return {
            "text": replace(answer, text=None),  # type: ignore[arg-type]  # the mistake under test, here and below
            "option mass": replace(answer, option_mass=1.5),
            "confidence": replace(answer, confidence=nan),
            "logits": replace(answer, logits=(1.0, nan)),
            "choice": replace(answer, choice=3),
            "status": replace(answer, status="refused"),  # type: ignore[arg-type]
        }[self.fault]


@pytest.mark.parametrize(
    "fault", ["raises", "exits", "text", "option mass", "confidence", "logits", "choice", "status"]
)
def test_a_failed_question_is_a_row_and_its_neighbours_are_answered(whole: Path, tmp_path: Path, fault: str) -> None:
    with pytest.raises(FailedAnswersError, match=r"^7 of 154 answers .* toy/mean on question question-5"):
        run_sweep(toy_plan(mean=Moody(fault)), tmp_path)
    rows = read_predictions(tmp_path)
    good = read_predictions(whole)
    failed = rows.status == "error"
    assert set(rows[failed].question_id) == {"question-5"}
    assert (rows[failed].score == 0).all()
    assert (rows[failed].response != "").all()
    assert rows[~failed].equals(good[~failed])
    assert read_manifest(tmp_path)["statuses"] == {"ok": 147, "error": 7}
    status = sweep_status(tmp_path)
    assert (status.done, status.failed, status.statuses["error"]) == (14, 7, 7)


def test_answers_that_are_not_ok_score_zero_and_stay(tmp_path: Path) -> None:
    class Silent(PixelModel):
        def answer_one(self, prompt: Prompt) -> Answer:
            return Answer("yes", status="truncated") if "take 3" in prompt.text else Answer("", status="no_answer")

    run_sweep(toy_plan(mean=Silent("toy/mean")), tmp_path)
    rows = read_predictions(tmp_path).query("model == 'toy/mean'")
    assert rows.status.value_counts().to_dict() == {"no_answer": 70, "truncated": 7}
    assert (rows.score == 0).all()
    assert (rows.answer == "").all()


def test_answers_that_cannot_be_told_apart_stop_the_sweep(tmp_path: Path) -> None:
    class Forgetful(PixelModel):
        def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
            return super().answer(prompts)[1:]

    with pytest.raises(RobustlibError, match="toy/mean gave 3 answers to 4 prompts"):
        run_sweep(toy_plan(mean=Forgetful("toy/mean")), tmp_path)
    with pytest.raises(RobustlibError, match="no finished sweep"):
        read_predictions(tmp_path)


def test_options_are_scored_by_the_chosen_text_and_softmax_is_taken(tmp_path: Path) -> None:
    options = ("None", "N/A", "007")
    dataset = toy_dataset(questions=3)
    questions = tuple(replace(q, kind="choice", options=options, label=2, answers=("007",) * 10) for q in dataset)

    class Chooser(PixelModel):
        def answer_one(self, prompt: Prompt) -> Answer:
            choice = int(prompt.text[-2])
            return Answer(text="ABC"[choice], choice=choice, logits=(0.0, 0.0, float(np.log(2))))

    run_sweep(toy_plan(dataset=replace(dataset, questions=questions), mean=Chooser("toy/mean")), tmp_path)
    rows = read_predictions(tmp_path).query("model == 'toy/mean' and variant == 'clean'")
    assert list(rows.answer) == list(options)
    assert list(rows.response) == ["A", "B", "C"]
    assert list(rows.score) == [0, 0, 1]
    assert all(np.allclose(probs, [0.25, 0.25, 0.5], atol=1e-15) for probs in rows.probs)


def test_a_damaged_shard_is_made_again(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_sweep(toy_plan(), tmp_path)
    truncated, flipped, *_ = sorted(tmp_path.rglob("*.parquet"))
    truncated.write_bytes(truncated.read_bytes()[:-100])
    content = bytearray(flipped.read_bytes())
    content[60] ^= 1
    flipped.write_bytes(content)
    run_sweep(toy_plan(), tmp_path)
    assert contents(tmp_path) == contents(whole)
    told = capsys.readouterr().err
    assert str(truncated) in told
    assert str(flipped) in told


def test_a_lost_shard_is_made_again(whole: Path, tmp_path: Path) -> None:
    run_sweep(toy_plan(), tmp_path)
    min(tmp_path.rglob("*.parquet")).unlink()
    run_sweep(toy_plan(), tmp_path)
    assert contents(tmp_path) == contents(whole)


def test_another_profile_in_the_same_folder_takes_over_the_manifest(whole: Path, tmp_path: Path) -> None:
    run_sweep(toy_plan(), tmp_path)
    run_sweep(toy_plan(replace(PROFILE, base_seed=1)), tmp_path)
    rows = read_predictions(tmp_path)
    assert len(rows) == 154
    noisy = rows.variant == "gaussian_noise"
    assert (rows.confidence != read_predictions(whole).confidence)[noisy].all()


def test_a_folder_in_use_is_refused_and_named(whole: Path, tmp_path: Path) -> None:
    with exclusive(tmp_path), pytest.raises(RobustlibError, match=rf"Another sweep .*process {os.getpid()} on "):
        run_sweep(toy_plan(), tmp_path)
    run_sweep(toy_plan(), tmp_path)
    assert contents(tmp_path) == contents(whole)


def test_the_lock_of_a_dead_process_is_taken_over(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("process 1 on a machine that went down")
    run_sweep(toy_plan(), tmp_path)
    assert contents(tmp_path) == contents(whole)
    assert f"process {os.getpid()} on " in (tmp_path / "lock").read_text()


def test_a_missing_image_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    dataset = toy_dataset()
    lost = replace(dataset.questions[0], image=LazyImage(tmp_path / "lost.png"))
    with pytest.raises(RobustlibError, match=r"lost\.png"):
        toy_plan(dataset=replace(dataset, questions=(lost, *dataset.questions[1:])))


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        run_sweep(toy_plan(), tmp_path / "file" / "out")


def test_unknown_engines_and_useless_workers_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Known: local"):
        run_sweep(toy_plan(), tmp_path, engine="lokal")
    with pytest.raises(InvalidValueError, match="workers must be at least 1, got 0"):
        run_sweep(toy_plan(), tmp_path, workers=0)


def test_the_manifest_says_what_was_asked_of_whom(whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text())
    assert manifest["models"]["toy/corner"] == {"name": "toy/corner", "fingerprint": "toy/corner 1"}
    assert manifest["datasets"]["toy/test"]["questions"] == 11
    assert manifest["profile"]["base_seed"] == 0
    assert {"opencv-python-headless", "python", "robustlib", "torch", "transformers"} <= set(manifest["versions"])
    assert [shard["rows"] for shard in manifest["shards"]] == [11] * 14
