"""Explanations beside a sweep: of its own questions and answers, whole or not at all, and made once."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.models.base import Explanation, Prompt
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, read_predictions, run_sweep
from robustlib.sweep.explanations import EXPLANATIONS, read_explanations, run_explanations
from robustlib.sweep.store import StoreError
from tests.sweep.toys import PixelModel

PROFILE = Profile(
    "toy",
    datasets=(DatasetChoice("easy_vqa", "test", rows=30),),
    models=(ModelChoice("toy/mean"), ModelChoice("toy/explains")),
    corruptions=("imagenet_c/brightness",),
    severities=(1, 5),
    no_image=True,
    treatments=("imagenet_c/gaussian_noise@1",),
    batch_size=4,
)


class ExplainingModel(PixelModel):
    """Sees the brightness of each quarter of an image, from left to right."""

    calls = 0

    def explain(self, prompts: Sequence[Prompt]) -> list[Explanation]:
        type(self).calls += 1
        quarters = [np.array_split(prompt.image, 4, axis=1) for prompt in prompts if prompt.image is not None]
        maps = [np.array([[part.mean() for part in own]], np.float32) for own in quarters]
        return [
            Explanation(answer, own, (prompt.text,))
            for answer, own, prompt in zip(self.answer(prompts), maps, prompts, strict=True)
        ]


class FailingModel(PixelModel):
    def explain(self, prompts: Sequence[Prompt]) -> list[Explanation]:
        raise RuntimeError(f"{len(prompts)} are too many")


@pytest.fixture(autouse=True)
def _toy_models(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"toy/explains": ExplainingModel, "toy/fails": FailingModel}
    monkeypatch.setattr("robustlib.sweep.plan.load_model", lambda name: kinds.get(name, PixelModel)(name))
    monkeypatch.setattr("robustlib.sweep.plan.code_hash", lambda: "toy")
    ExplainingModel.calls = 0


def test_questions_and_answers_are_those_of_the_sweep(tmp_path: Path) -> None:
    plain = replace(PROFILE, no_image=False)
    run_sweep(plain, tmp_path)
    assert run_explanations(PROFILE, tmp_path, 10) == tmp_path / EXPLANATIONS
    found = read_explanations(tmp_path)
    assert found.groupby(["model", "variant", "severity"]).size().to_dict() == {
        ("toy/explains", "brightness", 1): 10,
        ("toy/explains", "brightness", 5): 10,
        ("toy/explains", "clean", 0): 10,
    }
    place = ["model", "question_id", "variant", "severity"]
    both = found.merge(read_predictions(tmp_path), on=place, suffixes=("", "_asked"))
    assert len(both) == 30
    for name in ("answer", "score", "confidence", "image_id", "seed"):
        assert (both[name] == both[f"{name}_asked"]).all()


def test_every_map_stands_beside_its_own_question(tmp_path: Path) -> None:
    run_explanations(PROFILE, tmp_path, 30)
    found = read_explanations(tmp_path)
    assert (found["rows"].eq(1) & found["columns"].eq(4)).all()
    shares = [np.mean(own) / 255 for own in found["map"]]
    np.testing.assert_allclose(shares, found["confidence"], rtol=1e-4)
    assert found["captions"].map(len).eq(1).all()


def test_what_is_there_is_kept_and_what_is_else_or_damaged_made_again(tmp_path: Path) -> None:
    run_explanations(PROFILE, tmp_path, 10)
    path, calls = tmp_path / EXPLANATIONS, ExplainingModel.calls
    before = path.read_bytes()
    run_explanations(PROFILE, tmp_path, 10)
    assert ExplainingModel.calls == calls
    path.write_bytes(before[: len(before) // 2])
    with pytest.raises(StoreError, match="cannot be read"):
        read_explanations(tmp_path)
    run_explanations(PROFILE, tmp_path, 10)
    assert path.read_bytes() == before
    run_explanations(PROFILE, tmp_path, 12)
    assert len(read_explanations(tmp_path)) == 3 * 12


def test_none_are_none_and_an_old_table_goes(tmp_path: Path) -> None:
    assert read_explanations(tmp_path).empty
    run_explanations(PROFILE, tmp_path, 10)
    assert run_explanations(PROFILE, tmp_path, 0) is None
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidValueError, match="count must be at least 0, got -1"):
        run_explanations(PROFILE, tmp_path, -1)


def test_a_model_that_fails_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    failing = replace(PROFILE, models=(ModelChoice("toy/fails"),))
    with pytest.raises(RobustlibError, match=r"toy/fails cannot explain .* easy_vqa/test under .*4 are too many"):
        run_explanations(failing, tmp_path, 10)
    assert list(tmp_path.iterdir()) == []
