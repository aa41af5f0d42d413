"""The language prior: beginnings of questions, options by frequency, and no look at the image."""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from robustlib.data import Dataset, Kind, Question
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.models import load_model
from robustlib.models.base import Prompt
from robustlib.models.prior import Prior


def question(text: str, *answers: str, options: tuple[str, ...] = (), label: int = -1) -> Question:
    kind: Kind = "choice" if options else "open"
    return Question("", None, "i", text, kind, options=options, label=label, answers=answers)


def learn(*questions: Question) -> Prior:
    numbered = tuple(replace(question, id=str(number)) for number, question in enumerate(questions))
    return Prior("prior", Dataset("toy", "train", numbered))


TOY = learn(
    question("What colour is the cat?", "Black"),
    question("what colour is the dog?", "brown"),
    question("What colour is it, then?", "black"),
    question("What is it?", "cat", "cat", "dog"),
    question("Is it a cat?", "", options=("Yes", "no"), label=0),
    question("Is it a dog?", options=("yes", "No"), label=1),
    question("Is it red?", options=("yes", "no"), label=1),
)


@pytest.mark.parametrize(
    ("text", "answer", "share"),
    [
        ("What colour is the cat?", "black", 1.0),
        ("What colour is the bird?", "black", 1 / 2),  # "what colour is the": black, brown; the first met
        ("WHAT COLOUR, then?", "black", 2 / 3),
        ("what", "black", 2 / 6),  # black 2, brown 1, cat 2, dog 1; the first met
        ("Why?", "black", 2 / 9),
        ("", "black", 2 / 9),
        ("What is it", "cat", 2 / 3),
    ],
)
def test_the_longest_known_beginning_decides(text: str, answer: str, share: float) -> None:
    [got] = TOY.answer([Prompt(None, text)])
    assert (got.text, got.status, got.choice, got.logits) == (answer, "ok", -1, None)
    assert got.confidence == pytest.approx(share)


def test_options_are_scored_by_how_often_they_were_the_answer() -> None:
    [got] = TOY.answer([Prompt(None, "Is it green?", ("maybe", "Yes", "no"))])
    assert (got.text, got.choice) == ("no", 2)
    assert got.logits == pytest.approx([log(1 / 6), log(2 / 6), log(3 / 6)])
    assert got.confidence == pytest.approx(3 / 6)


def test_options_fall_back_to_a_beginning_that_knows_one_of_them() -> None:
    [got] = TOY.answer([Prompt(None, "Is it a cat?", ("dog", "cat"))])
    assert (got.text, got.choice) == ("cat", 1)
    [unknown] = TOY.answer([Prompt(None, "Is it a cat?", ("fish", "bird"))])
    assert (unknown.text, unknown.status, unknown.choice) == ("", "no_answer", -1)
    assert "No option" in unknown.reason


def test_the_image_makes_no_difference() -> None:
    image = np.zeros((2, 2, 3), np.uint8)
    for text, options in (("What is it?", ()), ("Is it?", ("yes", "no"))):
        assert TOY.answer([Prompt(image, text, options)]) == TOY.answer([Prompt(None, text, options)])


def test_a_batch_answers_in_order_as_one_at_a_time() -> None:
    prompts = [Prompt(None, "What is it?"), Prompt(None, "Is it?", ("no", "yes")), Prompt(None, "Why?")]
    alone = [TOY.answer([prompt])[0] for prompt in prompts]
    assert TOY.answer(prompts) == alone
    assert TOY.answer(prompts[::-1]) == alone[::-1]
    assert TOY.answer([]) == []


def test_the_record_changes_with_the_counts() -> None:
    described = TOY.describe()
    assert described["checkpoint"] == "toy/train"
    one = learn(question("What?", "a"), question("What?", "b"))
    same = learn(question("what", "A"), question("What?", "b"))
    other = learn(question("What?", "b"), question("What?", "a"))
    assert one.describe() == same.describe()
    assert one.describe()["fingerprint"] != other.describe()["fingerprint"]
    assert one.describe()["parameters"] == 4  # two answers under "" and two under "what"


def test_easy_vqa_has_a_prior() -> None:
    prior = load_model("prior:easy_vqa")
    assert prior.name == "prior:easy_vqa"
    answers = prior.answer([Prompt(None, "is there not a blue shape?"), Prompt(None, "is there a blue shape?")])
    assert [answer.text for answer in answers] == ["yes", "no"]
    assert all(answer.confidence and 0.5 < answer.confidence < 1 for answer in answers)


def test_nothing_to_learn_from() -> None:
    with pytest.raises(InvalidValueError, match="'toy' has no answers"):
        learn()
    with pytest.raises(InvalidValueError, match="'toy' has no answers"):
        learn(question("What?"))
    with pytest.raises(UnknownNameError, match="easy_vqa"):
        Prior("prior", "easyvqa")
