"""What pocket/pnp's three networks are taught, and that each can be taught it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from robustlib.data import Question, load_dataset
from robustlib.models import Prompt, load_model
from robustlib.models.checkpoint import distinct_images
from robustlib.models.pnp import Pnp
from robustlib.models.recipes import Recipe, Stage, load_recipe
from robustlib.models.recipes.pnp import EMPTY_IN, CaptionerLearner, MatcherLearner, ReaderLearner
from robustlib.models.training import fit, new_learner, train_all
from robustlib.models.training_captions import OTHER_SHARE, to_caption, to_match, write_captions
from robustlib.models.training_data import UNKNOWN_SHARE, Batch

COLOURS = {"black", "blue", "brown", "gray", "green", "red", "teal", "yellow"}
SHAPES = {"circle", "rectangle", "triangle"}
EVERYTHING = ("captions", "shape", "colour", "presence")


@pytest.fixture(scope="module")
def questions() -> tuple[Question, ...]:
    return tuple(load_dataset("easy_vqa", "train", 0.02))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def asked(image: str, category: str, text: str, answer: str) -> Question:
    return Question(f"{image} {text}", None, image, text, "open", answers=(answer,), category=category)


VOCABULARY = [
    *(asked("v", "colour", "what color is the shape?", name) for name in sorted(COLOURS)),
    *(asked("v", "shape", "what shape is present?", name) for name in sorted(SHAPES)),
]


@pytest.mark.parametrize(
    ("told", "caption"),
    [
        ([("colour", "what color is the circle?", "red")], "a red circle"),
        ([("shape", "what is the teal shape?", "triangle")], "a teal triangle"),
        ([("presence", "is there a blue shape?", "yes"), ("presence", "is a circle present?", "yes")], "a blue circle"),
        (
            [("presence", "is no gray shape present?", "no"), ("shape", "what shape is present?", "circle")],
            "a gray circle",
        ),
        (
            [("presence", "does the image not contain a circle?", "no"), ("colour", "what color?", "red")],
            "a red circle",
        ),
        ([("presence", "is there not a red shape?", "yes"), ("shape", "what shape is present?", "circle")], None),
        ([("presence", "is there a red shape?", "no"), ("shape", "what shape is present?", "circle")], None),
        ([("colour", "what color is the shape?", "red")], None),
    ],
)
def test_captions_say_what_questions_and_answers_tell(told: list[tuple[str, str, str]], caption: str | None) -> None:
    captions = write_captions([*VOCABULARY, *(asked("image", *each) for each in told)])
    assert captions.get("image") == caption


def test_captions_contradict_no_answer(questions: tuple[Question, ...]) -> None:
    captions = write_captions(questions)
    assert len(captions) > 50
    for question in questions:
        words = set(captions.get(question.image_id, "").split())
        if words and question.category in ("colour", "shape"):
            assert question.answers[0] in words
        elif words:
            named = set(question.text.strip("?").split()) & (COLOURS | SHAPES)
            negated = bool({"no", "not"} & set(question.text.split()))
            assert (question.answers[0] == "yes") == ((named <= words) != negated)


def test_each_image_is_matched_with_its_caption_and_anothers(questions: tuple[Question, ...]) -> None:
    captions = write_captions(questions)
    texts = defaultdict(list)
    for item in to_match(questions):
        assert item.answers == (captions[item.image_id],)
        assert "?" not in item.text
        if item.category == "captions":
            texts[item.image_id].append(item.text)
    assert set(texts) == set(captions)
    assert all(own == captions[image] for image, (own, _) in texts.items())
    assert sum(own == other for own, other in texts.values()) < len(texts) / 4


def batches(learner: MatcherLearner | CaptionerLearner, questions: Iterable[Question]) -> list[Batch]:
    source = learner.source(list(questions))
    return list(source.batches(source.order(EVERYTHING, generator()), 64, generator()))


def test_a_text_matches_an_image_that_has_all_it_names(questions: tuple[Question, ...]) -> None:
    learner = MatcherLearner(questions)
    found = []
    for batch in batches(learner, questions):
        for ids, label, matches in zip(batch.ids, batch.labels, learner.matches(batch), strict=True):
            named = set(str(learner.tokenizer.decode(ids)).split()) & (COLOURS | SHAPES)
            assert bool(matches) == (named <= set(learner.captions[label].split()))
            found.append(bool(matches))
    assert 0.2 < sum(found) / len(found) < 0.8


def test_the_matcher_is_shown_some_images_empty(questions: tuple[Question, ...]) -> None:
    learner = MatcherLearner(questions)
    shown: list[Tensor] = []
    learner.network.vision_model.register_forward_pre_hook(lambda _module, args: shown.append(args[0]))
    batch = batches(learner, questions)[0]
    learner.loss(batch)
    empty = (shown[0] == shown[0][:, :, :1, :1]).flatten(1).all(1)
    assert empty.sum() == -(-len(batch.pixels) // EMPTY_IN)


def test_the_captioner_learns_the_caption_and_not_the_prompt(questions: tuple[Question, ...]) -> None:
    learner = CaptionerLearner(questions)
    assert len(to_caption(questions, "")) == len(write_captions(questions))
    batch = batches(learner, questions)[0]
    with torch.no_grad():
        ids = torch.tensor(
            [learner.tokenizer(f"a picture of {learner.captions[label]}")["input_ids"] for label in batch.labels]
        )
        ids[:, 0] = learner.tokenizer.get_vocab()["[DEC]"]
        logits = learner.network.text_decoder(ids, encoder_hidden_states=learner.see(batch)).logits
        chances = logits[:, 3:-1].log_softmax(2).gather(2, ids[:, 4:, None])
    assert learner.tokenizer.decode(ids[0, 4:]) == f"{learner.captions[batch.labels[0]]} [SEP]"
    assert learner.loss(batch).item() == pytest.approx(-float(chances.mean()), abs=1e-5)


def test_the_reader_reads_the_images_caption_and_sometimes_anothers(questions: tuple[Question, ...]) -> None:
    learner, captions = ReaderLearner(questions), write_captions(questions)
    known = {
        (question.text, captions[question.image_id], question.answers[0])
        for question in questions
        if question.image_id in captions
    }
    source = learner.source(questions)
    order = source.order(("shape", "colour", "presence"), generator())
    assert len(order) == source.count(("shape", "colour", "presence"))
    ids = []
    whole, strange = 0, 0
    for batch in source.batches(order, 64, generator()):
        ids += [*batch.ids[batch.ids > 1].tolist()]
        for contexts, label in zip(batch.ids, batch.labels, strict=True):
            texts = [str(learner.tokenizer.decode(row[row > 1])) for row in contexts]
            if "<unk>" in "".join(texts):
                continue
            (text, first), (_, second) = (read.split(" \\n ") for read in texts)
            assert (text, first.strip("."), learner.answers[label]) in known
            whole, strange = whole + 1, strange + (first != second)
    assert ids.count(learner.tokenizer.unk_token_id) / len(ids) == pytest.approx(UNKNOWN_SHARE, abs=0.01)
    assert OTHER_SHARE / 2 < strange / whole <= OTHER_SHARE * 1.2, "another's may say the same"


def test_every_word_the_reader_may_read_is_a_piece(questions: tuple[Question, ...]) -> None:
    tokenizer = ReaderLearner(questions).tokenizer
    text = r"is there not a blue circle in the image? \n a red rectangle. a teal shape."
    assert tokenizer.unk_token_id not in tokenizer(text)["input_ids"]
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text
    assert tokenizer.unk_token_id in tokenizer("a zebra")["input_ids"]


def test_the_pocket_models_relevance_points_at_the_object_and_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model("pocket/pnp")
    assert isinstance(model, Pnp)
    asked = [
        question for question in load_dataset("easy_vqa", "test", 0.05) if question.category in ("colour", "shape")
    ]
    prompts = [Prompt(question.pixels(), question.text) for question in asked]
    images, places = distinct_images(prompts, 64)
    with torch.no_grad():
        looked_at = model._relevance(model.prepare(prompts))
    pixels = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2)
    ground = pixels.flatten(2).median(2).values[:, :, None, None]
    on_object = max_pool2d((pixels != ground).any(1).float(), 8).flatten(1)[places]
    hits = on_object.gather(1, looked_at.argmax(1, keepdim=True))
    assert hits.mean() > 0.9 > 3 * on_object.mean()

    def right() -> float:
        answers = model.answer(prompts)
        return sum(one.text == other.answers[0] for one, other in zip(answers, asked, strict=True)) / len(asked)

    looking = right()
    monkeypatch.setattr("robustlib.models.pnp.relevance", lambda *_: torch.zeros_like(looked_at))
    assert looking > right() + 0.05


def brief(stage: Stage) -> Stage:
    return replace(stage, phases=(replace(stage.phases[-1], passes=1),), batch_size=64)


def short(name: str) -> Recipe:
    recipe = load_recipe(name)
    return replace(recipe, stages=tuple(brief(stage) for stage in recipe.stages))


@pytest.mark.parametrize("stage", load_recipe("pocket/pnp").stages, ids=lambda stage: stage.name)
def test_the_seed_decides_the_weights(stage: Stage, questions: tuple[Question, ...]) -> None:
    weights = []
    before = torch.get_rng_state()
    for seed in (0, 0, 1):
        learner = new_learner(stage, questions, seed)
        fit("pocket/pnp", learner, brief(stage), learner.source(questions[:300]), seed)
        weights.append(torch.cat([weight.flatten() for weight in learner.network.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert torch.equal(torch.get_rng_state(), before)


def test_training_writes_three_networks_and_a_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("robustlib.models.training.load_recipe", short)
    table = train_all(["pocket/pnp"], tmp_path, fraction=0.01)
    record = load_model(str(tmp_path / "pnp")).describe()
    card = (tmp_path / "pnp" / "README.md").read_text()
    assert f"{record['parameters']:,} parameters" in card
    assert f"{table['all'][1]:.2%}" in card
    assert "2. captioner: 1 passes over captions in batches of 64" in card
