"""The checkpoints in the repository: small, safe, and as good as their cards say."""

import re
from pathlib import Path

import pytest

from robustlib.data import load_dataset
from robustlib.models import Prompt, load_model
from robustlib.models.names import POCKET
from robustlib.models.training import accuracy_by_category

EASY_VQA_MODELS = ["pocket/blip", "pocket/vilt"]


def card_of(name: str) -> str:
    return (POCKET.parent / name / "README.md").read_text()


def stated(card: str, split: str, category: str) -> float:
    """Read one accuracy out of a card's table."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in card.splitlines() if line.startswith("|")]
    values = next(row for row in rows if row[0] == split)
    return float(values[rows[0].index(category)].rstrip("%")) / 100


@pytest.mark.parametrize("name", EASY_VQA_MODELS)
def test_a_checkpoint_is_small_and_holds_no_code(name: str) -> None:
    files = sorted((POCKET.parent / name).iterdir())
    assert sum(file.stat().st_size for file in files) < 6e6
    assert {file.suffix for file in files} <= {".json", ".md", ".safetensors"}


@pytest.mark.parametrize("name", EASY_VQA_MODELS)
def test_the_card_states_accuracies_that_a_sample_confirms(name: str) -> None:
    card = card_of(name)
    assert stated(card, "test", "all") >= 0.97
    sample = load_dataset("easy_vqa", "test", fraction=0.06).questions
    measured = accuracy_by_category(load_model(name), sample)
    assert measured["all"] == pytest.approx(stated(card, "test", "all"), abs=0.025)  # three standard errors of 580
    assert f"{load_model(name).describe()['parameters']:,} parameters" in card


@pytest.mark.parametrize("name", EASY_VQA_MODELS)
def test_the_answer_comes_from_the_image(name: str) -> None:
    questions = [question for question in load_dataset("easy_vqa", "test", 0.03) if question.category == "colour"]
    answers = load_model(name).answer([Prompt(None, question.text) for question in questions])
    right = [answer.text == question.answers[0] for answer, question in zip(answers, questions, strict=True)]
    assert sum(right) < len(right) / 2


@pytest.mark.parametrize("name", EASY_VQA_MODELS)
def test_options_are_answered_with_an_option(name: str) -> None:
    questions = [question for question in load_dataset("easy_vqa", "test", 0.03) if question.category == "shape"]
    options = ("triangle", "circle", "rectangle")
    answers = load_model(name).answer([Prompt(question.pixels(), question.text, options) for question in questions])
    right = [options[answer.choice] == question.answers[0] for answer, question in zip(answers, questions, strict=True)]
    assert sum(right) > 0.9 * len(right)


def test_cards_tell_data_and_time() -> None:
    for name in EASY_VQA_MODELS:
        assert "easy-VQA" in card_of(name)
        assert re.search(r"\d+ seconds with \d+ threads", card_of(name))
        assert Path(POCKET.parent / name / "config.json").is_file()
