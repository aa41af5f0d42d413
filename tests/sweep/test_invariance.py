"""The invariance check asks what it says it asks, and finds a model that looks at its neighbours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustlib.data import Dataset, LazyImage, Question
from robustlib.errors import InvalidValueError
from robustlib.metrics.invariance import compare_conditions, invariance_summary
from robustlib.models import load_model
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import DatasetChoice, ModelChoice, Profile
from robustlib.sweep.invariance import INVARIANCE, ask_invariance, read_invariance, run_invariance
from robustlib.sweep.store import StoreError

CONDITIONS = ["repeat", "batched", "reversed", "hostile", "multi", "multi_hostile"]
IMAGES = [LazyImage(np.full((4, 6, 3), 40 * shade, np.uint8)) for shade in range(4)]
OPTIONS = [("no", "yes"), ("cab", "bus", "tram"), ("cat", "dog", "hen", "cow")]
DATASET = Dataset(
    "toy",
    "test",
    tuple(
        Question(
            id=f"q{number}",
            image=IMAGES[number % 4],
            image_id=f"image{number % 4}",
            text=f"which one, {number}?",
            kind="choice",
            options=OPTIONS[number % 3],
            label=0,
        )
        for number in range(11)
    ),
)


class Toy:
    """A model that scores options by their letters, and by what its neighbours make it do."""

    name = "toy"

    def __init__(self, sees: str = "") -> None:
        self.sees = sees
        self.batches: list[Sequence[Prompt]] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        self.batches.append(prompts)
        shift = {"": 0, "size": len(prompts), "length": max(len(prompt.text) for prompt in prompts)}[self.sees]
        answers = []
        for prompt in prompts:
            logits = tuple(
                len(prompt.text) + len(option) + shift * place for place, option in enumerate(prompt.options)
            )
            answers.append(Answer("", choice=int(np.argmax(logits)), logits=tuple(map(float, logits))))
        return answers

    def describe(self) -> dict[str, str | int | float]:
        return {"dtype": "float32", "fingerprint": f"{self.sees} 1"}


class Counts(Toy):
    """A model that does not come in half precision."""

    def describe(self) -> dict[str, str | int | float]:
        return {"dtype": "int64"}


def by_condition(asked: pd.DataFrame) -> dict[str, Any]:
    """Return the summary of one model by condition."""
    return {row["condition"]: row for row in invariance_summary(compare_conditions(asked)).to_dict("records")}


def summary(model: Toy, half: Toy | None = None) -> dict[str, Any]:
    return by_condition(ask_invariance({"toy": model}, {"toy": half} if half else {}, DATASET, batch_size=8))


def test_a_model_that_minds_its_own_business_is_exact_everywhere() -> None:
    table = summary(Toy(), Toy())
    assert list(table) == [*CONDITIONS, "bf16"]
    for row in table.values():
        assert (row["exact"], row["flips"]) == (len(DATASET), 0)


def test_a_model_that_counts_its_neighbours_is_found() -> None:
    table = summary(Toy("size"))
    assert list(table) == CONDITIONS, "no half precision without a copy"
    assert table["repeat"]["exact"] == len(DATASET)
    for condition in CONDITIONS[1:]:
        assert table[condition]["max_logit_change"] > 0


def test_long_neighbours_are_found_where_they_are() -> None:
    table = summary(Toy("length"))
    assert table["hostile"]["max_logit_change"] > 1000
    assert table["batched"]["max_logit_change"] < 10


def test_every_question_is_answered_once_in_every_condition_whatever_the_batches() -> None:
    model = Toy()
    asked = ask_invariance({"toy": model}, {}, DATASET, batch_size=8)
    counts = asked.groupby("condition")["question_id"].agg(["size", "nunique"])
    assert (counts == len(DATASET)).all(axis=None)
    sizes = [len(batch) for batch in model.batches]
    assert sizes[:22] == [1] * 22
    assert sizes[22:] == [8, 3, 8, 3, 8, 8, 7, 3, 3, 3, 2, 4, 4, 4, 3]
    hostile = model.batches[26][:4]
    assert [prompt.image is None for prompt in hostile] == [False, False, True, False]
    assert len(hostile[0].text.split()) == 300
    assert hostile[0].image is not None
    assert hostile[0].image.shape == (4, 12, 3)
    assert len(hostile[1].images) == 2
    assert len(hostile[3].options) == 8


def test_questions_on_one_image_are_asked_together() -> None:
    model = Toy()
    ask_invariance({"toy": model}, {}, DATASET, batch_size=8)
    together = [{int(np.asarray(prompt.image)[0, 0, 0]) for prompt in batch} for batch in model.batches[29:33]]
    assert together == [{0}, {40}, {80}, {120}]


@pytest.mark.parametrize(
    ("questions", "batch_size", "message"),
    [
        ((Question("open", IMAGES[0], "i", "what?", "open", answers=("cab",)),), 8, "needs questions with options"),
        ((Question("bare", None, "i", "what?", "choice", ("a", "b"), 0),), 8, "some with an image"),
        (DATASET.questions, 7, "batch_size must be at least 8 for the check, got 7"),
    ],
)
def test_what_cannot_be_checked_is_refused(questions: tuple[Question, ...], batch_size: int, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        ask_invariance({"toy": Toy()}, {}, Dataset("toy", "test", questions), batch_size)


def test_a_pocket_model_is_checked_in_both_precisions_and_leaves_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "robustlib.sweep.invariance.load_model",
        lambda name, **settings: Counts() if name == "counts" else load_model(name, **settings),
    )
    profile = Profile(
        "toy",
        datasets=(DatasetChoice("easy_vqa_choice", "test", rows=5),),
        models=(ModelChoice("pocket/blip"), ModelChoice("counts")),
        batch_size=8,
    )
    first, second = (run_invariance(profile, tmp_path / run, 6) for run in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    asked = read_invariance(tmp_path / "first")
    assert "bf16" not in by_condition(asked[asked["model"] == "counts"])
    table = by_condition(asked[asked["model"] == "pocket/blip"])
    for condition in CONDITIONS:
        assert table[condition]["max_logit_change"] < 1e-4
        assert table[condition]["rows"] == 5
    assert 1e-4 < table["bf16"]["max_logit_change"] < 1


def test_a_missing_or_damaged_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"{INVARIANCE} cannot be read"):
        read_invariance(tmp_path)
    (tmp_path / INVARIANCE).write_bytes(b"no table")
    with pytest.raises(StoreError, match="run the check again"):
        read_invariance(tmp_path)
