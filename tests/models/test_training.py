"""The recipes: what pictures and words become, what is held out, and that a seed decides the weights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from robustlib.data import Question, load_dataset
from robustlib.errors import UnknownNameError
from robustlib.models import load_model
from robustlib.models.recipes import Recipe, Stage, load_recipe
from robustlib.models.training import HELD_OUT, fit, hold_out, new_learner, train_all
from robustlib.models.training_data import TrainingSet, answer_list, move, normalise, room_to_move, word_tokenizer

CATEGORIES = ("shape", "colour", "presence")


@pytest.fixture(scope="module")
def questions() -> tuple[Question, ...]:
    return tuple(load_dataset("easy_vqa", "train", 0.005))


@pytest.fixture(scope="module")
def data(questions: tuple[Question, ...]) -> TrainingSet:
    return training_set(questions, by_image=True)


def training_set(questions: Sequence[Question], by_image: bool) -> TrainingSet:
    return TrainingSet(questions, word_tokenizer(questions), answer_list(questions), by_image=by_image)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def colours_of(picture: Tensor) -> Counter[tuple[int, ...]]:
    return Counter(map(tuple, picture.flatten(1).T.tolist()))


def test_moving_keeps_the_object_whole_and_puts_it_elsewhere(data: TrainingSet) -> None:
    moved = move(data.pixels, data.room, generator())
    assert moved.shape == data.pixels.shape
    assert all(colours_of(one) == colours_of(other) for one, other in zip(data.pixels, moved, strict=True))
    sides = [64 - room.view(-1, 2, 2).sum(2) for room in (data.room, room_to_move(moved))]
    assert torch.equal(sides[0].sort(1).values, sides[1].sort(1).values), "height and width of the objects"
    assert (moved != data.pixels).flatten(1).any(1).float().mean() > 0.9


def test_moving_reaches_every_edge_and_never_beyond() -> None:
    picture = torch.full((1, 3, 8, 8), 200, dtype=torch.uint8)
    picture[:, :, 2:4, 3:6] = 10
    pictures = picture.expand(500, -1, -1, -1)
    room = room_to_move(pictures)
    assert room[0].tolist() == [2, 4, 3, 2]
    seen = room_to_move(move(pictures, room, generator()))
    assert {tuple((8 - places.view(2, 2).sum(1)).tolist()) for places in seen} == {(2, 3), (3, 2)}
    assert seen.amin(0).tolist() == [0, 0, 0, 0]
    assert seen.amax(0).tolist() == [6, 6, 6, 6]


def test_pixels_in_training_are_those_the_processor_makes(questions: tuple[Question, ...], data: TrainingSet) -> None:
    for name in ("pocket/vilt", "pocket/blip", "pocket/vle"):
        learner = new_learner(load_recipe(name).stages[0], questions, 0)
        processor = learner.image_processor  # type: ignore[attr-defined]  # both recipes have one
        made = processor(questions[0].pixels(), input_data_format="channels_last", return_tensors="pt").pixel_values
        torch.testing.assert_close(normalise(data.pixels[data.images[:1]], processor), made)


def test_every_known_word_is_a_token_and_others_are_unknown(questions: tuple[Question, ...]) -> None:
    tokenizer = word_tokenizer(questions)
    known = tokenizer([question.text for question in questions] + [question.answers[0] for question in questions])
    assert not any(tokenizer.unk_token_id in row for row in known["input_ids"])
    assert tokenizer.tokenize("Is the zebra red?") == ["is", "the", "[UNK]", "red", "?"]
    assert tokenizer.decode(tokenizer("[DEC] red")["input_ids"], skip_special_tokens=True) == "red"


def test_a_pass_shows_every_question_of_its_categories_once(questions: tuple[Question, ...], data: TrainingSet) -> None:
    for source in (training_set(questions, by_image=False), data):
        order = source.order(("shape", "colour"), generator())
        assert len(order) == data.count(("shape", "colour"))
        assert len(set(order.tolist())) == len(order)
        assert {data.categories[place] for place in order} == {"shape", "colour"}
        assert order.tolist() != source.order(("shape", "colour"), generator(1)).tolist()
    together = data.images[data.order(CATEGORIES, generator())].tolist()
    changes = sum(one != other for one, other in pairwise(together))
    assert changes == len(set(together)) - 1


def test_batches_hold_the_questions_with_few_words_hidden(data: TrainingSet) -> None:
    order = data.order(CATEGORIES, generator())
    batches = list(data.batches(order, 50, generator()))
    assert torch.equal(torch.cat([batch.labels for batch in batches]), data.labels[order])
    hidden = total = 0
    for batch, chosen in zip(batches, torch.split(order, 50), strict=True):
        tokens = data.tokens[data.texts[chosen]][:, : batch.ids.shape[1]]
        changed = batch.ids != tokens
        assert set(batch.ids[changed].tolist()) <= {1}
        assert torch.equal(batch.mask.bool(), tokens != 0)
        assert torch.equal(torch.unique(data.images[chosen])[batch.places], data.images[chosen])
        hidden, total = hidden + int(changed.sum()), total + int((tokens >= 6).sum())
    assert 0.02 < hidden / total < 0.08


def test_no_image_is_both_trained_on_and_held_out(questions: tuple[Question, ...]) -> None:
    training, held_out = hold_out(questions)
    images = [{question.image_id for question in part} for part in (training, held_out)]
    assert not images[0] & images[1]
    assert len(training) + len(held_out) == len(questions)
    assert len(images[1]) == -(-len(images[0] | images[1]) // HELD_OUT)


def brief(stage: Stage) -> Stage:
    return replace(stage, phases=(replace(stage.phases[-1], passes=1),), batch_size=32)


def short(name: str) -> Recipe:
    recipe = load_recipe(name)
    return replace(recipe, stages=tuple(brief(stage) for stage in recipe.stages))


@pytest.mark.parametrize("name", ["pocket/vilt", "pocket/blip", "pocket/vle"])
def test_the_seed_decides_the_weights(name: str, questions: tuple[Question, ...]) -> None:
    weights = []
    (stage,) = short(name).stages
    before = torch.get_rng_state()
    for seed in (0, 0, 1):
        learner = new_learner(stage, questions, seed)
        fit(name, learner, stage, learner.source(questions[:100]), seed)
        weights.append(torch.cat([weight.flatten() for weight in learner.network.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert torch.equal(torch.get_rng_state(), before)


def test_training_writes_a_checkpoint_that_loads_with_its_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("robustlib.models.training.load_recipe", short)
    table = train_all(["pocket/blip"], tmp_path, fraction=0.002)
    assert table["split"].tolist() == ["validation", "test"]
    assert table["all"].between(0, 1).all()
    model = load_model(str(tmp_path / "blip"))
    card = (tmp_path / "blip" / "README.md").read_text()
    assert f"{model.describe()['parameters']:,} parameters" in card
    assert f"{table['all'][1]:.2%}" in card


def test_a_recipe_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(UnknownNameError, match=r"'pocket/vlit'.*pocket/blip"):
        load_recipe("pocket/vlit")
