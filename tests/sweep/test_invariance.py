"""The invariance check asks what it says it asks, and finds a model that looks at its neighbours."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustlib.data import Dataset, LazyImage, Question, load_dataset
from robustlib.errors import InvalidValueError, RobustlibError
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


class Loner(Toy):
    """A model that takes no company."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        if len(prompts) > 1:
            raise RuntimeError("one at a time")
        return super().answer(prompts)


class Picky(Toy):
    """A model that fails, within a batch, at the questions that it is told to."""

    def __init__(self, fails: str, least: int = 1) -> None:
        super().__init__()
        self.fails, self.least = fails, least

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        return [
            replace(answer, logits=(float("nan"),) * len(prompt.options))
            if self.fails in prompt.text and len(prompts) >= self.least
            else answer
            for prompt, answer in zip(prompts, super().answer(prompts), strict=True)
        ]


class Short(Toy):
    """A model that forgets the last prompt of a batch."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        return super().answer(prompts)[: max(1, len(prompts) - 1)]


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


@pytest.mark.parametrize(
    ("model", "half", "message"),
    [
        (
            Loner(),
            None,
            "Model toy, condition batched: the call of 8 prompts with question q0 failed: RuntimeError: one at a time",
        ),
        (Short(), None, "condition batched: the call of 8 prompts with question q0 failed: .* 7 answers to 8 prompts"),
        (Picky("one, 5"), None, "Model toy, condition alone, question q5: The model gave the logits .nan"),
        (Picky("one, 9", least=8), None, "Model toy, condition reversed, question q9: The model gave the logits .nan"),
        (Toy(), Picky("one, 2"), "Model toy, condition bf16, question q2: The model gave the logits .nan"),
    ],
)
def test_what_fails_in_company_is_an_error_and_never_asked_again_alone(
    model: Toy, half: Toy | None, message: str
) -> None:
    with pytest.raises(RobustlibError, match=message):
        summary(model, half)


def test_what_a_neighbour_comes_to_makes_no_difference() -> None:
    words = " ".join(["which", "one,", "0?"] * 100)
    assert summary(Picky(words))["hostile"]["exact"] == len(DATASET)


def test_a_model_that_lacks_letters_for_a_neighbour_is_still_asked_in_its_company() -> None:
    model = load_model("pocket/smolvlm")
    seen: list[list[Answer]] = []

    class Spy(Toy):
        def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
            seen.append(model.answer(prompts))
            return seen[-1]

    dataset = load_dataset("easy_vqa_choice", "test")
    some = replace(dataset, questions=dataset.questions[:8])
    table = by_condition(ask_invariance({"smolvlm": Spy()}, {}, some, batch_size=12))
    assert [len(answers) for answers in seen[16:19]] == [8, 8, 12]
    assert [answer.status for answer in seen[18]] == ["ok", "ok", "ok", "error", *["ok"] * 8]
    assert "letter G is not one token" in seen[18][3].reason
    for condition in CONDITIONS:
        assert table[condition]["rows"] == len(some)
        assert table[condition]["max_logit_change"] < 1e-4


def test_every_image_of_a_question_is_shown() -> None:
    question = replace(DATASET.questions[0], more_images=(IMAGES[2], IMAGES[1]))
    model = Toy()
    ask_invariance({"toy": model}, {}, replace(DATASET, questions=(question, *DATASET.questions[1:])), batch_size=8)
    shown = [prompt for batch in model.batches for prompt in batch if prompt.text == question.text]
    assert len([prompt for prompt in shown if len(prompt.images) == 3]) == len(CONDITIONS) + 1
    assert [int(np.asarray(image)[0, 0, 0]) for image in shown[0].images] == [0, 80, 40]


def test_questions_on_one_image_are_asked_together() -> None:
    model = Toy()
    ask_invariance({"toy": model}, {}, DATASET, batch_size=8)
    together = [{int(np.asarray(prompt.image)[0, 0, 0]) for prompt in batch} for batch in model.batches[29:33]]
    assert together == [{0}, {40}, {80}, {120}]


@pytest.mark.parametrize(
    ("questions", "batch_size", "message"),
    [
        (
            (*DATASET.questions, Question("free", IMAGES[0], "i", "what?", "open", answers=("cab",))),
            8,
            "needs options, but question free of toy/test is open",
        ),
        (
            (Question("bare", None, "i", "what?", "choice", ("a", "b"), 0),),
            8,
            "needs an image, but no question asked of toy/test has one",
        ),
        ((), 8, "needs questions, but toy/test has none"),
        (DATASET.questions, 7, "batch_size must be at least 8 for the check, got 7"),
    ],
)
def test_what_cannot_be_checked_is_refused(questions: tuple[Question, ...], batch_size: int, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        ask_invariance({"toy": Toy()}, {}, Dataset("toy", "test", questions), batch_size)


@pytest.mark.parametrize(
    ("dataset", "questions", "batch_size", "message"),
    [
        ("easy_vqa_choice", 0, 8, "At least 1 question of each data set must be asked, got 0"),
        ("easy_vqa_choice", -3, 8, "At least 1 question of each data set must be asked, got -3"),
        ("easy_vqa_choice", 5, 7, "batch_size must be at least 8 for the check, got 7"),
        ("easy_vqa", 5, 8, "needs options, but question .* of easy_vqa/test is open"),
    ],
)
def test_what_cannot_be_checked_is_refused_before_a_model_is_loaded(
    dataset: str, questions: int, batch_size: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robustlib.sweep.invariance.load_model", lambda name, **_: pytest.fail("loaded a model"))
    profile = Profile("toy", (DatasetChoice(dataset, "test"),), (ModelChoice("toy"),), batch_size=batch_size)
    with pytest.raises(InvalidValueError, match=message):
        run_invariance(profile, tmp_path, questions)
    assert list(tmp_path.iterdir()) == []


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
