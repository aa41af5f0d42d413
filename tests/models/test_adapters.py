"""What every adapter of a checkpoint owes: exact batches, clean hands, a truthful record."""

import json
import random
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.utils.import_utils import is_torchvision_available

from robustlib.models import Answer, Model, Prompt, load_model
from robustlib.models.registry import ADAPTERS
from tests.models.conftest import SAVERS

TINY = sorted(SAVERS)
FILES = ["model.safetensors", "preprocessor_config.json", "tokenizer.json"]
RECORD = {
    *("checkpoint", "revision", "fingerprint", "network", "processor", "dtype", "parameters", "prompt", "decoding"),
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local checkpoint asks the network for nothing."""

    def refuse(*_: object) -> None:
        raise AssertionError("a local checkpoint asked the network")

    monkeypatch.setattr("socket.socket.connect", refuse)


@pytest.fixture(params=TINY, scope="module")
def model(request: pytest.FixtureRequest, checkpoints: dict[str, str]) -> Model:
    return load_model(checkpoints[request.param])


def assert_same(left: Sequence[Answer], right: Sequence[Answer]) -> None:
    for one, other in zip(left, right, strict=True):
        assert replace(one, logits=None, confidence=None) == replace(other, logits=None, confidence=None)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-4)
        assert (one.logits is None) == (other.logits is None)
        np.testing.assert_allclose(one.logits or (), other.logits or (), atol=1e-4)


def change(path: Path) -> None:
    """Change one number or word of a checkpoint's file."""
    if path.name == "model.safetensors":
        weights = load_file(path)
        next(iter(weights.values())).view(-1)[0] += 1e-3
        save_file(weights, path, {"format": "pt"})
    elif path.name == "tokenizer.json":
        path.write_text(path.read_text().replace('"circle"', '"square"'))
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"image_mean": [0.4, 0.5, 0.5]}))


def test_every_family_is_tried_here_and_without_torchvision(checkpoints: dict[str, str]) -> None:
    configs = [json.loads((Path(folder) / "config.json").read_text()) for folder in checkpoints.values()]
    assert {config["model_type"] for config in configs} == set(ADAPTERS)
    assert not is_torchvision_available()


def test_a_batch_answers_as_single_prompts(model: Model, prompts: list[Prompt]) -> None:
    together = model.answer(prompts)
    assert_same(together, [model.answer([prompt])[0] for prompt in prompts])
    assert len({answer.confidence for answer in together}) > len(prompts) / 2, "the answers do not tell prompts apart"


def test_order_and_company_do_not_matter(model: Model, prompts: list[Prompt]) -> None:
    order = list(range(len(prompts)))
    random.Random(3).shuffle(order)
    shuffled = model.answer([prompts[place] for place in order])
    assert_same(shuffled, [model.answer(prompts)[place] for place in order])


def test_threads_do_not_matter(model: Model, prompts: list[Prompt]) -> None:
    batches = [prompts[start::4] for start in range(4)] * 4
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(model.answer, batches))
    for batch, own in zip(batches, answers, strict=True):
        assert_same(own, model.answer(batch))


def test_an_empty_batch_has_no_answers(model: Model) -> None:
    assert model.answer([]) == []


def test_image_and_text_both_count(model: Model, prompts: list[Prompt]) -> None:
    options = ("yes", "no", "circle")
    prompt = Prompt(prompts[0].image, "what is the shape?", options)
    changed = [prompt, replace(prompt, image=prompts[2].image), replace(prompt, text="is there a red circle?")]
    first, *others = [np.array(answer.logits) for answer in model.answer(changed)]
    assert all(np.abs(first - other).max() > 0.01 for other in others)


def test_no_image_is_a_grey_square_of_the_models_size(model: Model) -> None:
    grey = np.full((32, 32, 3), 128, np.uint8)
    text, options = "what is the shape?", ("yes", "no", "circle")
    assert_same(model.answer([Prompt(None, text, options)]), model.answer([Prompt(grey, text, options)]))


def test_options_are_ranked_in_their_order(model: Model, prompts: list[Prompt]) -> None:
    options = ("no", "circle", "yes", "light blue")
    forward, backward = model.answer(
        [Prompt(prompts[0].image, "what?", options), Prompt(prompts[0].image, "what?", options[::-1])]
    )
    assert forward.logits is not None
    assert backward.logits is not None
    np.testing.assert_allclose(forward.logits, backward.logits[::-1], atol=1e-4)
    assert forward.choice == np.argmax(forward.logits)
    assert forward.text == backward.text == options[forward.choice]
    shares = np.exp(forward.logits) / np.exp(forward.logits).sum()
    assert forward.confidence == pytest.approx(shares.max(), abs=1e-5)


def test_an_option_the_model_has_no_word_for_is_no_answer(model: Model) -> None:
    answers = model.answer([Prompt(None, "what?", ("yes", "zebra")), Prompt(None, "what?", ("yes", "no"))])
    assert answers[0] == Answer("", "no_answer", reason=answers[0].reason)
    assert answers[0].reason
    assert answers[1].status == "ok"


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (3, 3), (3, 40), (31, 33)])
def test_every_size_is_answered(model: Model, size: tuple[int, int]) -> None:
    image = np.random.default_rng(1).integers(0, 256, (*size, 3), np.uint8)
    assert model.answer([Prompt(image, "what?", ("yes", "no"))])[0].status == "ok"


def test_inputs_and_global_generators_stay_as_they_were(model: Model, prompts: list[Prompt]) -> None:
    images = [prompt.image for prompt in prompts if prompt.image is not None]
    copies = [image.copy() for image in images]
    before = torch.get_rng_state(), random.getstate()
    model.answer(prompts)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert all(np.array_equal(image, copy) for image, copy in zip(images, copies, strict=True))


@pytest.mark.parametrize("tiny", TINY)
def test_the_record_is_complete_and_stable(tiny: str, checkpoints: dict[str, str]) -> None:
    record = load_model(checkpoints[tiny]).describe()
    assert set(record) == RECORD
    assert record["dtype"] == "float32"
    assert json.loads(json.dumps(record)) == record
    assert load_model(checkpoints[tiny]).describe() == record


@pytest.mark.parametrize("tiny", TINY)
@pytest.mark.parametrize("file", FILES)
def test_the_fingerprint_sees_every_change(tiny: str, file: str, checkpoints: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / Path(checkpoints[tiny]).name
    shutil.copytree(checkpoints[tiny], folder)
    before = load_model(str(folder)).describe()["fingerprint"]
    change(min(folder.rglob(file)))
    assert load_model(str(folder)).describe()["fingerprint"] != before


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("tiny", [name for name in TINY if name != "pnp"])  # whose captions are other draws then
def test_half_precision_is_near_single(
    tiny: str, dtype: str, checkpoints: dict[str, str], prompts: list[Prompt]
) -> None:
    single, half = load_model(checkpoints[tiny]), load_model(checkpoints[tiny], dtype=dtype)
    asked = [replace(prompt, options=("yes", "no", "circle")) for prompt in prompts]
    pairs = [
        (np.array(one.logits), np.array(other.logits))
        for one, other in zip(single.answer(asked), half.answer(asked), strict=True)
    ]
    assert 0 < max(np.abs(one - other).max() for one, other in pairs) < 0.2
    assert half.describe()["dtype"] == dtype


@pytest.mark.parametrize("tiny", TINY)
def test_all_parts_come_from_the_revision_asked_for_and_the_record_names_its_commit(
    tiny: str, checkpoints: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's cache on this machine, offline: two commits that differ in a weight, a word and a pixel."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    commits = {"main": "a" * 40, "v1": "b" * 40}
    repository = tmp_path / "models--nobody--tiny"
    for branch, commit in commits.items():
        (repository / "refs").mkdir(parents=True, exist_ok=True)
        (repository / "refs" / branch).write_text(commit)
        shutil.copytree(checkpoints[tiny], repository / "snapshots" / commit)
    for file in FILES:
        change(min((repository / "snapshots" / commits["v1"]).rglob(file)))
    records = [load_model("nobody/tiny", revision=revision).describe() for revision in (None, "v1", commits["v1"])]
    assert [record["revision"] for record in records] == [commits["main"], commits["v1"], commits["v1"]]
    assert [record["checkpoint"] for record in records] == ["nobody/tiny"] * 3
    here = tmp_path / "here"
    shutil.copytree(repository / "snapshots" / commits["v1"], here)
    assert records[1]["fingerprint"] == records[2]["fingerprint"] == load_model(str(here)).describe()["fingerprint"]
    assert records[0]["fingerprint"] == load_model(checkpoints[tiny]).describe()["fingerprint"]
