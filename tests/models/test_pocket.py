"""The checkpoints in the repository: small, safe, and as good as their cards say."""

import re
from math import sqrt

import pytest

from robustlib.data import load_dataset
from robustlib.models import Prompt, list_models, load_model
from robustlib.models.names import POCKET
from robustlib.models.recipes import load_recipe
from robustlib.sweep.sample import answer_sample

MODELS = list_models()
LEAST = {"pocket/blip": 0.97, "pocket/vilt": 0.97, "pocket/vle": 0.97, "pocket/smolvlm": 0.95, "pocket/pnp": 0.9}
"""Clean accuracy that each must have."""
COUNT = 300
"""Questions on which the accuracy that a card states is tried again."""


def card_of(name: str) -> str:
    return (POCKET.parent / name / "README.md").read_text()


def stated(card: str, split: str, category: str) -> float:
    """Read one accuracy out of a card's table."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in card.splitlines() if line.startswith("|")]
    values = next(row for row in rows if row[0] == split)
    return float(values[rows[0].index(category)].rstrip("%")) / 100


def measure(name: str, dataset: str, count: int) -> float:
    return float(answer_sample(load_model(name), load_dataset(dataset, "test"), count)["score"].mean())


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_is_small_and_holds_no_code(name: str) -> None:
    files = [path for path in (POCKET.parent / name).rglob("*") if path.is_file()]
    assert sum(file.stat().st_size for file in files) < 6e6
    assert {file.suffix for file in files} <= {".json", ".jinja", ".md", ".safetensors"}


def test_all_checkpoints_together_are_small() -> None:
    assert sum(path.stat().st_size for path in POCKET.rglob("*") if path.is_file()) < 25e6


@pytest.mark.parametrize("name", MODELS)
def test_the_card_states_an_accuracy_that_a_sample_confirms(name: str) -> None:
    card = card_of(name)
    accuracy = stated(card, "test", "all")
    assert accuracy >= LEAST[name]
    margin = 3 * sqrt(accuracy * (1 - accuracy) / COUNT) + 1 / COUNT
    assert measure(name, "easy_vqa", COUNT) == pytest.approx(accuracy, abs=margin)
    assert f"{load_model(name).describe()['parameters']:,} parameters" in card


@pytest.mark.parametrize("name", MODELS)
def test_the_answer_comes_from_the_image(name: str) -> None:
    questions = [question for question in load_dataset("easy_vqa", "test", 0.03) if question.category == "colour"]
    answers = load_model(name).answer([Prompt(None, question.text) for question in questions])
    right = [answer.text == question.answers[0] for answer, question in zip(answers, questions, strict=True)]
    assert sum(right) < len(right) / 2


@pytest.mark.parametrize("name", MODELS)
def test_options_are_chosen_about_as_well_as_answers_are_given(name: str) -> None:
    assert measure(name, "easy_vqa_choice", 60) > stated(card_of(name), "test", "all") - 0.15


@pytest.mark.parametrize("name", MODELS)
def test_cards_tell_data_and_time(name: str) -> None:
    assert "easy-VQA" in card_of(name)
    assert re.search(r"\d+ seconds with \d+ threads", card_of(name))


@pytest.mark.parametrize("name", MODELS)
def test_cards_tell_what_the_recipe_does(name: str) -> None:
    recipe = load_recipe(name)
    assert f"{recipe.start}; seed " in card_of(name)
    assert recipe.shown in card_of(name)
