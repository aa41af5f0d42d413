"""pocket/smolvlm: what it is trained on is what it is asked, and it answers by word and by letter."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from robustlib.data import Question, load_dataset
from robustlib.models import Answer, Prompt, load_model
from robustlib.models.chat import Chat
from robustlib.models.prompts import LETTERS, write_prompt
from robustlib.models.recipes import Phase, load_recipe
from robustlib.models.training import fit, new_learner, save
from robustlib.models.training_captions import CAPTIONS, write_captions
from robustlib.models.training_chats import CHOICE, END, Chats

RECIPE = load_recipe("pocket/smolvlm")
CATEGORIES = ("shape", "colour", "presence")
CHOICES = tuple(category + CHOICE for category in CATEGORIES)


@pytest.fixture(scope="module")
def questions() -> tuple[Question, ...]:
    return tuple(load_dataset("easy_vqa", "train", 0.01).questions)


@pytest.fixture(scope="module")
def learner(questions: tuple[Question, ...]) -> Any:
    return new_learner(RECIPE.stages[0], questions, 0)


@pytest.fixture
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show every word."""
    monkeypatch.setattr("robustlib.models.training_chats.UNKNOWN_SHARE", 0.0)


def chats(
    learner: Any, questions: Sequence[Question], categories: Sequence[str], seed: int = 0
) -> list[tuple[Question, list[str]]]:
    """Return each question of one pass with the words of its chat, without padding."""
    source: Chats = learner.source(questions)
    draw = torch.Generator().manual_seed(seed)
    order = source.order(categories, draw)
    rows = [row[row != 0].tolist() for batch in source.batches(order, 50, draw) for row in batch.ids]
    asked = [questions[place % len(questions)] for place in order.tolist()]
    return [(one, learner.tokenizer.convert_ids_to_tokens(row)) for one, row in zip(asked, rows, strict=True)]


def options_of(chat: list[str]) -> list[str]:
    """Return the options of a choice, each of one word."""
    return [chat[place + 2] for place, word in enumerate(chat[:-3]) if word in LETTERS and chat[place + 1] == "."]


@pytest.mark.usefixtures("nothing_hidden")
def test_a_choice_offers_the_right_answer_at_any_place(learner: Any, questions: tuple[Question, ...]) -> None:
    names = {category: {q.answers[0] for q in questions if q.category == category} for category in CATEGORIES}
    named = names["shape"] | names["colour"]
    places: Counter[tuple[int, int]] = Counter()
    odd: Counter[str] = Counter()
    for question, chat in [pair for seed in range(12) for pair in chats(learner, questions, CHOICES, seed)]:
        options, place = options_of(chat), LETTERS.index(chat[-2])
        assert options[place] == question.answers[0]
        assert len(set(options)) == len(options)
        if question.category == "presence":
            assert set(options) == {"yes", "no"}
        else:
            assert named.issuperset(options)
            places[len(options), place] += 1
        odd[question.category] += not names[question.category].issuperset(options)
    counts = {count: sum(places[count, place] for place in range(count)) for count in range(2, 7)}
    assert sum(counts.values()) == places.total()
    assert counts[4] > 2 * max(counts[count] for count in (2, 3, 5, 6))
    assert all(places[count, place] > 0.5 * counts[count] / count for count in counts for place in range(count))
    asked = Counter(question.category for question in questions)
    assert 0 < odd["colour"] < 0.4 * 12 * asked["colour"], "a colour has seven others to stand beside"
    assert odd["shape"] > 0.6 * 12 * asked["shape"], "a shape has but two"


def test_a_picture_alone_is_answered_by_its_caption(learner: Any, questions: tuple[Question, ...]) -> None:
    captions = write_captions(questions)
    source, draw = learner.source(questions), torch.Generator().manual_seed(0)
    (batch,) = source.batches(source.order((CAPTIONS,), draw), 1000, draw)
    spoken = [row[row > 0].tolist() for row in batch.labels]
    texts = Counter(learner.tokenizer.decode(row, skip_special_tokens=True) for row in spoken)
    assert texts == Counter(captions.values())
    assert len(batch.pixels) == len(captions)


@pytest.mark.usefixtures("nothing_hidden")
def test_trained_texts_are_those_that_are_asked(learner: Any, questions: tuple[Question, ...], tmp_path: Path) -> None:
    save(RECIPE, [learner], tmp_path)
    model = load_model(str(tmp_path))
    assert isinstance(model, Chat)
    for categories in (CATEGORIES, CHOICES):
        ((_, chat),) = chats(learner, questions[:1], categories)
        own = tuple(options_of(chat)) if categories == CHOICES else ()
        prompt = Prompt(questions[0].pixels(), questions[0].text, own)
        inputs = model._checkpoint.inputs([prompt.images], [write_prompt(prompt, "direct")])
        asked = [*learner._image_ids[0].tolist(), *learner.tokenizer.convert_tokens_to_ids(chat[:-2])]
        assert inputs["input_ids"][0].tolist() == asked


def test_the_loss_is_that_of_the_whole_network_on_the_answers(learner: Any, questions: tuple[Question, ...]) -> None:
    source, draw = learner.source(questions), torch.Generator().manual_seed(1)
    (batch,) = source.batches(source.order((*CATEGORIES, *CHOICES), draw)[:12], 12, draw)
    assert len(batch.pixels) < len(batch.ids)
    learner.network.eval()
    images = learner._image_ids.expand(len(batch.ids), -1)
    pixels = learner.image_processor(
        [[picture.permute(1, 2, 0).numpy()] for picture in batch.pixels], return_tensors="pt"
    ).pixel_values
    with torch.no_grad():
        whole = learner.network(
            input_ids=torch.cat([images, batch.ids], dim=1),
            pixel_values=pixels[batch.places],
            labels=torch.cat([torch.full_like(images, -100), batch.labels], dim=1),
        ).loss
        assert learner.loss(batch).item() == pytest.approx(whole.item(), rel=1e-5)
        blind = learner.loss(replace(batch, pixels=batch.pixels[:0])).item()
        text = learner.network(input_ids=batch.ids, labels=batch.labels).loss.item()
    assert blind == pytest.approx(text, rel=1e-5)
    assert blind != pytest.approx(whole.item(), rel=1e-3)


def test_only_words_of_the_prompt_are_hidden(learner: Any, questions: tuple[Question, ...]) -> None:
    plain, hidden = (
        [word for _, chat in chats(learner, questions, CHOICES) for word in chat[start:stop]]
        for start, stop in ((-3, None), (0, -3))
    )
    assert "[UNK]" not in plain
    assert plain.count(END) == 2 * len(questions)
    words = [word for word in hidden if word not in LETTERS]
    assert 0.03 < words.count("[UNK]") / len(words) < 0.07


def test_letters_are_no_words(learner: Any) -> None:
    split = learner.tokenizer.tokenize
    assert split("Is A a\nB. Red Zebra? E") == ["is", "A", "a", "B", ".", "red", "[UNK]", "?", "E"]
    assert split("G. Answer") == ["[UNK]", ".", "answer"]


def test_the_seed_decides_the_weights(questions: tuple[Question, ...]) -> None:
    stage = replace(RECIPE.stages[0], phases=(Phase(1, (*CATEGORIES, *CHOICES), 1e-3),), batch_size=32)
    weights = []
    for seed in (0, 0, 1):
        learner = new_learner(stage, questions, seed)
        fit("few", learner, stage, learner.source(questions[:40]), seed)
        weights.append(torch.cat([weight.flatten() for weight in learner.network.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.fixture(scope="module")
def asked() -> tuple[Question, ...]:
    return tuple(load_dataset("easy_vqa_choice", "test", 0.01).questions)


def answers(asked: Sequence[Question], mode: str, options: bool) -> list[Answer]:
    """Return the answers to one batch, after making sure that they are those of one question at a time."""
    model = load_model("pocket/smolvlm", mode=mode)
    prompts = [Prompt(one.pixels(), one.text, one.options if options else ()) for one in asked]
    together = model.answer(prompts)
    for prompt, answer in list(zip(prompts, together, strict=True))[::8]:
        (alone,) = model.answer([prompt])
        assert (answer.text, answer.status, answer.choice) == (alone.text, alone.status, alone.choice)
        assert answer.logits == (alone.logits and pytest.approx(alone.logits, abs=1e-4))
        assert answer.confidence == pytest.approx(alone.confidence, abs=1e-4)
    assert {answer.status for answer in together} == {"ok"}
    return together


def share(right: Sequence[bool]) -> float:
    return sum(right) / len(right)


def test_it_answers_by_word(asked: tuple[Question, ...]) -> None:
    said = answers(asked, "direct", options=False)
    assert share([answer.text == one.answers[0] for answer, one in zip(said, asked, strict=True)]) > 0.9


def test_it_answers_by_letter(asked: tuple[Question, ...]) -> None:
    for shift in range(2):
        turned = [turn(one, shift) for one in asked]
        said = answers(turned, "direct", options=True)
        ranked = answers(turned, "rank", options=True)
        letters = [answer.text == LETTERS[one.label] for answer, one in zip(said, turned, strict=True)]
        assert share(letters) > 0.9
        assert share([answer.choice == one.label for answer, one in zip(ranked, turned, strict=True)]) > 0.9
        for written, best in zip(said, ranked, strict=True):
            assert written.option_mass == pytest.approx(best.option_mass, abs=1e-4)
            assert (best.option_mass or 0) > 0.9


def turn(question: Question, shift: int) -> Question:
    """Show the options in another order."""
    options = question.options[shift:] + question.options[:shift]
    return replace(question, options=options, label=options.index(question.answers[0]))


def test_it_answers_without_a_picture_and_with_two_or_six_options() -> None:
    model = load_model("pocket/smolvlm", mode="rank")
    colours = ("red", "blue", "teal", "gray", "black", "brown")
    for count in (2, 6):
        (blind,) = model.answer([Prompt(None, "what color is the shape?", colours[:count])])
        assert blind.status == "ok"
        assert (blind.option_mass or 0) > 0.9
