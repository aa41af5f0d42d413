"""Explanations: Grad-CAM in closed form, in company as alone, and true to what moves the answer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from robustlib.data import load_dataset
from robustlib.data.images import Pixels
from robustlib.data.sampling import stratified
from robustlib.models import Prompt, load_model
from robustlib.models.base import Explainer, Explanation
from robustlib.models.chat import Chat
from robustlib.models.gradcam import as_map, gradcam

NAMES = ["vilt", "vle", "blip", "blip_free", "pnp"]
PATCHES = 64
"""Of 8 x 8 pixels each, in a picture of easy-VQA as the pocket models see it."""


def test_gradcam_of_a_linear_head_over_what_is_attended_to() -> None:
    draw = torch.Generator().manual_seed(0)
    attention = torch.rand(2, 3, 4, 5, generator=draw).requires_grad_()  # questions, heads, readers, places
    states, head = torch.randn(2, 3, 5, 6, generator=draw), torch.randn(6, generator=draw)
    words = torch.tensor([[0, 1, 1, 0], [0, 0, 0, 1]])

    def scores() -> torch.Tensor:
        return (attention @ states @ head).sum((1, 2))

    found = gradcam(scores(), [attention, attention], words)
    gain = (states @ head).relu()  # what the score gains by a unit of attention to a place: the same for every reader
    for question, read in enumerate(([1, 2], [3])):
        own = attention.detach()[question][:, read] * gain[question][:, None]
        torch.testing.assert_close(found[question], own.mean((0, 1)))
    assert not gradcam(scores(), [attention], torch.zeros(2, 4)).any()


def test_a_map_holds_shares_row_by_row_or_nothing() -> None:
    assert as_map(torch.tensor([1.0, 0, 2, 0, 1, 0]), 3).tolist() == [[0.25, 0, 0.5], [0, 0.25, 0]]
    assert as_map(torch.zeros(6), 2).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_explains_as_its_prompts_would_alone_and_answers_as_ever(
    name: str, checkpoints: dict[str, str], prompts: list[Prompt]
) -> None:
    model: Any = load_model(checkpoints[name])
    together = model.explain(prompts)
    for prompt, found, answer in zip(prompts, together, model.answer(prompts), strict=True):
        assert replace(found.answer, logits=None, confidence=None) == replace(answer, logits=None, confidence=None)
        (alone,) = model.explain([prompt])
        assert found.captions == alone.captions
        np.testing.assert_allclose(found.map, alone.map, atol=1e-4)
        assert found.map.sum() == pytest.approx(float(found.map.any()), abs=1e-6)
        assert (found.map >= 0).all()
    assert sum(bool(found.map.any()) for found in together) > len(prompts) / 2
    assert len({found.map.round(3).tobytes() for found in together}) > len(prompts) / 2
    assert any(found.captions for found in together) == (name == "pnp")
    assert model.explain([]) == []


@pytest.mark.parametrize("name", ["vilt", "vle"])
def test_the_grid_follows_the_image_where_the_model_does(
    name: str, checkpoints: dict[str, str], prompts: list[Prompt]
) -> None:
    model: Any = load_model(checkpoints[name])
    square, wide, tall = (model.explain([prompts[place]])[0].map for place in (0, 2, 3))
    assert square.shape == (4, 4)
    assert wide.shape[0] < wide.shape[1]
    assert tall.shape[0] > tall.shape[1]
    if name == "vle":  # which sees the square in the middle
        assert wide.shape == (4, 4 + 2 * 3)
        assert wide[:, 3:-3].sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["vilt", "vle", "blip"])
def test_no_answer_has_no_evidence(name: str, checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    model: Any = load_model(checkpoints[name])
    none, some = model.explain([replace(prompts[0], options=("zebra", "xylophone")), prompts[0]])
    assert none.answer.status == "no_answer"
    assert not none.map.any()
    assert some.map.any()


def test_who_explains() -> None:
    assert isinstance(load_model("pocket/vilt"), Explainer)
    assert not issubclass(Chat, Explainer)


@pytest.fixture(scope="module")
def asked() -> list[Prompt]:
    questions = load_dataset("easy_vqa", "test").questions
    options = tuple(sorted({answer for question in questions for answer in question.answers}))
    sample = stratified(questions, 60 / len(questions), 5)
    return [Prompt(question.pixels(), question.text, options) for question in sample]


def shape_cover(image: Pixels) -> NDArray[Any]:
    """Return which patches hold a part of the shape, on a background of one colour."""
    shape = np.abs(image.astype(int) - image[0, 0].astype(int)).max(axis=2) > 20
    side = int(PATCHES**0.5)
    return np.ravel(shape.reshape(side, 64 // side, side, 64 // side).any(axis=(1, 3)))


def wipe(image: Pixels, patches: NDArray[Any]) -> Pixels:
    """Paint patches over with the background."""
    wiped, side = image.copy(), int(PATCHES**0.5)
    for row, column in (divmod(int(patch), side) for patch in patches):
        wiped[row * 8 : row * 8 + 8, column * 8 : column * 8 + 8] = image[0, 0]
    return wiped


def fall(model: Any, prompts: list[Prompt], found: list[Explanation], order: list[NDArray[Any]]) -> NDArray[Any]:
    """Return how much less probable each given answer becomes without the first 8 patches of an order."""
    wiped = [
        replace(prompt, image=wipe(prompt.image, own[:8]))
        for prompt, own in zip(prompts, order, strict=True)
        if prompt.image is not None
    ]
    before = np.array([one.answer.logits for one in found])
    after = np.array([answer.logits for answer in model.answer(wiped)])
    chosen = before.argmax(axis=1)[:, None]
    shares = [np.exp(rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)) for rows in (before, after)]
    return np.ravel(np.take_along_axis(shares[0] - shares[1], chosen, axis=1))


@pytest.mark.parametrize(("name", "least"), [("vilt", 0.9), ("blip", 0.9), ("pnp", 0.9), ("vle", 0.7)])
def test_what_the_map_points_to_is_the_shape_and_moves_the_answer(name: str, least: float, asked: list[Prompt]) -> None:
    """VLE tells less: half of what it answers from is its image stream, which the map does not follow."""
    model: Any = load_model(f"pocket/{name}")
    found = model.explain(asked)
    maps = np.array([one.map.ravel() for one in found])
    assert maps.shape == (len(asked), PATCHES)
    cover = np.array([shape_cover(prompt.image) for prompt in asked if prompt.image is not None])
    share = (maps * cover).sum(axis=1)
    assert share.mean() > 2 * cover.mean()
    assert (share > cover.mean(axis=1)).mean() > least
    assert cover[np.arange(len(maps)), maps.argmax(axis=1)].mean() > least  # the pointing game
    draw = np.random.default_rng(0)
    relevant = fall(model, asked, found, list(maps.argsort(axis=1)[:, ::-1]))
    random = fall(model, asked, found, [draw.permutation(PATCHES) for _ in asked])
    assert relevant.mean() > 3 * random.mean()


def test_pooled_gradients_of_what_the_patches_hold_are_less_true(asked: list[Prompt]) -> None:
    """Grad-CAM as for convolutions, in whichever layer of ViLT, finds the shape less and moves the answer less."""
    model: Any = load_model("pocket/vilt")
    found, ready = model.explain(asked), model.prepare(asked)
    output = model._read(ready, output_hidden_states=True)
    gradients = torch.autograd.grad(output.logits.max(1).values.sum(), output.hidden_states[:-1])
    cover = np.array([shape_cover(prompt.image) for prompt in asked if prompt.image is not None])
    own = np.array([one.map.ravel() for one in found])

    def is_better_than_chance(maps: NDArray[Any]) -> float:
        return float(((maps * cover).sum(axis=1) > cover.mean(axis=1) * maps.sum(axis=1)).mean())

    for states, gradient in zip(output.hidden_states, gradients, strict=False):
        held, gain = (values[:, -PATCHES:].detach() for values in (states, gradient))
        pooled = (held * gain.mean(1, keepdim=True)).sum(2).relu().numpy()
        assert is_better_than_chance(pooled) < is_better_than_chance(own) - 0.2
        order = [list(maps.argsort(axis=1, kind="stable")[:, ::-1]) for maps in (pooled, own)]
        assert fall(model, asked, found, order[0]).mean() < fall(model, asked, found, order[1]).mean() - 0.1
