"""PNP-VQA: where it looks, what it says of that, and what its reader makes of it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import BlipConfig, BlipForImageTextRetrieval

from robustlib.errors import InvalidTypeError, InvalidValueError, RobustlibError, UnknownNameError
from robustlib.models import Prompt, load_model
from robustlib.models.pnp import Pnp
from robustlib.models.pnp_captions import keep_new
from robustlib.models.pnp_parts import CAPTIONER, READERS
from robustlib.models.pnp_reader import Reader, fuse, write_context
from robustlib.models.pnp_relevance import draw_patches, let_gradients_begin, relevance

ENC, CLS, SEP = 26, 2, 3
LAYER, HEADS, PATCHES = 0, 4, 16


@pytest.fixture
def model(checkpoints: dict[str, str]) -> Pnp:
    return load(checkpoints["pnp"])


def load(name: str, **settings: Any) -> Pnp:
    model = load_model(name, **settings)
    assert isinstance(model, Pnp)
    return model


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def gumbel(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).gumbel(size=shape))


@pytest.fixture
def matcher(checkpoints: dict[str, str]) -> BlipForImageTextRetrieval:
    network: BlipForImageTextRetrieval = BlipForImageTextRetrieval.from_pretrained(
        checkpoints["pnp"], subfolder="matcher", dtype=torch.float64
    )
    let_gradients_begin(network, LAYER)
    return network


@contextmanager
def attention_raised(matcher: Any, head: int, token: int, patch: int, by: float) -> Iterator[list[Tensor]]:
    """Add to one cross-attention probability of the first question, and note all of them as they were."""
    seen: list[Tensor] = []

    def raise_one(module: Any, _args: object, kwargs: dict[str, Any], output: tuple[Tensor, Tensor]) -> Any:
        context, attention = output
        seen.append(attention)
        size = context.shape[-1] // HEADS
        own = slice(head * size, (head + 1) * size)
        values = module.value(kwargs["encoder_hidden_states"])
        context = context.clone()
        context[0, token, own] += by * values[0, patch, own]
        return context, attention

    attention = matcher.text_encoder.encoder.layer[LAYER].crossattention.self
    handle = attention.register_forward_hook(raise_one, with_kwargs=True)
    yield seen
    handle.remove()


def test_relevance_is_attention_times_what_the_match_gains_by_it(matcher: BlipForImageTextRetrieval) -> None:
    """Against finite differences of the match logit, one attention probability after the other."""
    images, ids = draw(1, 1 + PATCHES, 24).double(), torch.tensor([[ENC, 9, 7, SEP]])

    def match(head: int, token: int, patch: int, by: float) -> tuple[float, Tensor]:
        with torch.no_grad(), attention_raised(matcher, head, token, patch, by) as seen:
            states = matcher.text_encoder(ids, encoder_hidden_states=images).last_hidden_state
            return float(matcher.itm_head(states[:, 0])[0, 1]), seen[0]

    expected = torch.zeros(PATCHES)
    for head, token, patch in product(range(HEADS), (1, 2), range(1, 1 + PATCHES)):
        (more, attention), (less, _) = (match(head, token, patch, by) for by in (1e-4, -1e-4))
        gain = (more - less) / 2e-4
        expected[patch - 1] += float(attention[0, head, token, patch]) * max(gain, 0.0) / HEADS / 2
    found = relevance(matcher, LAYER, images, ids, torch.ones_like(ids))
    assert expected.max() > 1e-5
    torch.testing.assert_close(found[0], expected, rtol=1e-3, atol=1e-9)


def test_relevance_of_a_padded_question_is_its_own(matcher: BlipForImageTextRetrieval) -> None:
    images = draw(3, 1 + PATCHES, 24).double()
    ids = torch.tensor([[ENC, 9, 7, 8, SEP], [ENC, 9, SEP, 0, 0], [ENC, SEP, 0, 0, 0]])
    together = relevance(matcher, LAYER, images, ids, (ids != 0).long())
    for row, length in enumerate((5, 3, 2)):
        alone = relevance(matcher, LAYER, images[[row]], ids[[row], :length], torch.ones(1, length, dtype=torch.long))
        torch.testing.assert_close(together[[row]], alone, rtol=1e-6, atol=1e-12)
    assert together[:2].max() > 0
    assert together[2].eq(0).all(), "a question without words looks nowhere"


def test_the_last_layer_tells_no_relevance(matcher: BlipForImageTextRetrieval) -> None:
    with pytest.raises(InvalidValueError, match=r"below 1 here, got 1\."):
        let_gradients_begin(matcher, 1)


def test_patches_are_drawn_in_proportion_to_relevance_and_never_twice() -> None:
    weights = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    one = draw_patches(weights, gumbel(1, 20000, 4), 1)[0, :, 0]
    shares = torch.bincount(one, minlength=5) / len(one)
    torch.testing.assert_close(shares, torch.tensor([0.0, 0.1, 0.2, 0.3, 0.4]), atol=0.015, rtol=0)  # 0 is [CLS]
    two = draw_patches(weights, gumbel(1, 20000, 4), 2)[0]
    assert (two[:, 0] < two[:, 1]).all(), "ascending, so none twice"
    second = {(1, 2): 0.1 * 2 / 9 + 0.2 * 1 / 8, (3, 4): 0.3 * 4 / 7 + 0.4 * 3 / 6}  # successive draws by hand
    for pair, chance in second.items():
        assert float((two == torch.tensor(pair)).all(1).float().mean()) == pytest.approx(chance, abs=0.015)


def test_without_relevance_every_patch_is_as_likely() -> None:
    drawn = draw_patches(torch.zeros(1, 4), gumbel(1, 20000, 4), 1).flatten()
    torch.testing.assert_close(torch.bincount(drawn) / len(drawn), torch.tensor([0.0, *[0.25] * 4]), atol=0.015, rtol=0)


def test_few_relevant_patches_are_all_drawn_and_others_make_up_the_number() -> None:
    weights = torch.tensor([[0.0, 5.0, 0.0, 1.0, 0.0]])
    drawn = draw_patches(weights, gumbel(1, 500, 5), 3)[0]
    assert ((drawn == 2).any(1) & (drawn == 4).any(1)).float().mean() > 0.98
    assert set(drawn.flatten().tolist()) == {1, 2, 3, 4, 5}
    assert draw_patches(weights, gumbel(1, 1, 5), 20).tolist() == [[[1, 2, 3, 4, 5]]], "no more than there are"


@pytest.mark.parametrize(
    ("captions", "kept"),
    [
        (["a cat", "a dog"], ["a cat", "a dog"]),
        (["a cat", "a cat on a mat", "a cat"], ["a cat", "a cat on a mat"]),
        (["a cat on a mat", "a cat", "on", "mat a"], ["a cat on a mat", "mat a"]),
        (["", "a", ""], ["a"]),
        (["a", "b", "c", "d", "e"], ["a", "b", "c", "d"]),
    ],
)
def test_a_caption_within_one_already_kept_is_dropped(captions: list[str], kept: list[str]) -> None:
    found: list[str] = []
    keep_new(found, captions[:2], 4)
    keep_new(found, captions[2:], 4)
    assert found == kept


def test_contexts_hold_question_and_captions_in_unifiedqas_form() -> None:
    assert write_context("what is it?", ["A cat", "a mat"]) == "what is it? \\n a cat. a mat."
    assert write_context("what is it?", []) == "what is it? \\n"


@contextmanager
def calls_of(module: nn.Module) -> Iterator[list[dict[str, Any]]]:
    """Note what a network is called with."""
    noted: list[dict[str, Any]] = []
    handle = module.register_forward_pre_hook(
        lambda _module, args, kwargs: noted.append(kwargs | {"args": args}), with_kwargs=True
    )
    yield noted
    handle.remove()


def test_the_matcher_reads_enc_and_words_without_marks(model: Pnp, checkpoints: dict[str, str]) -> None:
    short = load(checkpoints["pnp"], numbers={"question_words": 4, "question_tokens": 5})
    for own, expected in ((model, "is the circle red in"), (short, "is the circle")):
        with calls_of(own._parts.matcher.network.text_encoder) as calls:
            own.answer([Prompt(None, "Is the (circle) red! in?")])
        ids = calls[0]["args"][0]
        assert ids[0, 0] == ENC
        assert ids[0, -1] == SEP
        assert own._parts.matcher.tokenizer.decode(ids[0, 1:-1]) == expected


def test_captions_are_written_of_the_drawn_patches_alone(model: Pnp) -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    with calls_of(model._parts.captioner.network.text_decoder) as calls:
        model.answer([Prompt(image, "what is red?"), Prompt(image, "what?")])
    states = calls[0]["encoder_hidden_states"]
    pixels = model._parts.captioner.pixel_values([image])
    with torch.no_grad():
        encoded = model._parts.captioner.network.vision_model(pixels).last_hidden_state[0]
    assert states.shape == (2 * 3, 5, 24), "two prompts of three captions of five patches"
    apart = torch.cdist(states, encoded.expand(6, -1, -1))
    assert apart.amin(2).max() < 1e-4
    places = apart.argmin(2)
    assert (places >= 1).all()
    assert (places[:, 1:] > places[:, :-1]).all()
    assert len({tuple(row) for row in places.tolist()}) > 3, "each caption has its own draw"


def test_rounds_end_where_there_is_nothing_new_to_say(checkpoints: dict[str, str]) -> None:
    model = load(checkpoints["pnp"], numbers={"top_k": 1, "patches": 99, "captions": 5, "rounds": 3})
    with calls_of(model._parts.captioner.network.text_decoder) as calls:
        contexts = model._contexts(model.prepare([Prompt(None, "what?")]))
    starts = [call for call in calls if call["input_ids"].shape[1] == 2]
    assert len(starts) == 3, "rounds"
    assert len(contexts[0]) == 1, "always the likeliest words of all patches: one caption"


def test_numbers_change_what_is_written_and_how_it_is_read(checkpoints: dict[str, str]) -> None:
    numbers = {"captions": 4, "captions_per_context": 3, "rounds": 50, "min_length": 6, "max_length": 6}
    model = load(checkpoints["pnp"], numbers=numbers)
    ((first, second),) = model._contexts(model.prepare([Prompt(None, "what?")]))
    assert first.count(".") == 3
    assert second.count(".") == 1
    with calls_of(model._parts.captioner.network.text_decoder) as calls:
        model._contexts(model.prepare([Prompt(None, "what?")]))
    starts = [place for place, call in enumerate(calls) if call["input_ids"].shape[1] == 2]
    assert {after - before for before, after in pairwise([*starts, len(calls)])} == {4}, "six tokens, [DEC] and a given"


def test_the_seed_decides_what_is_drawn(checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    models = [load(checkpoints["pnp"], seed=seed) for seed in (1, 1, 2)]
    written = [model._contexts(model.prepare(prompts)) for model in models]
    assert written[0] == written[1]
    assert all(one != other for one, other in zip(written[0], written[2], strict=True))


def test_options_and_further_images_do_not_change_what_is_drawn(model: Pnp, prompts: list[Prompt]) -> None:
    plain = Prompt(prompts[0].image, "what is red?")
    assert plain.image is not None
    same = [plain, replace(plain, options=("no", "yes")), replace(plain, more_images=(plain.image,))]
    contexts = model._contexts(model.prepare(same))
    assert contexts[0] == contexts[1] == contexts[2]
    assert contexts[0] != model._contexts(model.prepare([replace(plain, text="what is Red?")]))[0], "the text as it is"


def by_hand(reader: Reader, contexts: list[str]) -> Tensor:
    """Encode each context alone, without padding, and join."""
    states = []
    for context in contexts:
        ids = torch.tensor([reader.tokenizer(context)["input_ids"]])
        states.append(reader.network.encoder(ids).last_hidden_state)
    return torch.cat(states, dim=1)


@torch.no_grad()
def test_reading_all_contexts_at_once_is_reading_each_alone_and_deciding_once(model: Pnp) -> None:
    reader, length = model._parts.reader, 6
    asked = [["what is red? \\n a circle.", "what is red? \\n a"], ["what? \\n is the shape of the image red. no."]]
    states, mask = reader.read(asked)
    written = reader.write(states, mask)
    scores = reader.log_likelihood(states, mask, reader.spell(["red", "circle shape"]))
    for row, contexts in enumerate(asked):
        joined = by_hand(reader, contexts)
        torch.testing.assert_close(states[row][mask[row].bool()], joined[0], atol=1e-5, rtol=1e-5)
        ids = [0]
        while len(ids) < length and ids[-1] != reader.end:
            ids.append(int(next_logits(reader, joined, ids).argmax()))
        assert written[row][: len(ids)].tolist() == ids
        answer = reader.tokenizer(["red", "circle shape"][row])["input_ids"]
        expected = sum(
            float(next_logits(reader, joined, [0, *answer[:place]]).log_softmax(0)[token])
            for place, token in enumerate(answer)
        )
        assert float(scores[row]) == pytest.approx(expected, abs=1e-4)


def next_logits(reader: Reader, joined: Tensor, ids: list[int]) -> Tensor:
    network = reader.network
    states = network.decoder(torch.tensor([ids]), encoder_hidden_states=joined).last_hidden_state
    logits: Tensor = network.lm_head(states[0, -1] * network.config.d_model**-0.5)
    return logits


def test_fusing_leaves_out_the_padding_between_contexts() -> None:
    states = torch.arange(12.0).view(3, 4, 1)
    mask = torch.tensor([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0]])
    fused, joint = fuse(states, mask, [[2, 0], [1]])
    assert fused[..., 0].tolist() == [[8, 9, 10, 0, 1], [4, 0, 0, 0, 0]]
    assert joint.tolist() == [[1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]


def test_the_order_of_captions_does_not_matter(model: Pnp) -> None:
    contexts = ["what? \\n a circle.", "what? \\n red.", "what? \\n the shape of it."]
    ids = model._parts.reader.spell(["red"])
    with torch.no_grad():
        scores = [
            float(model._parts.reader.log_likelihood(*model._parts.reader.read([own]), ids))
            for own in (contexts, contexts[::-1], contexts[:1])
        ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)
    assert abs(scores[0] - scores[2]) > 1e-3


def test_generate_does_not_look_at_options(checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    model = load(checkpoints["pnp"], mode="generate")
    plain = [replace(prompt, options=()) for prompt in prompts]
    assert model.answer(prompts) == model.answer(plain) == load(checkpoints["pnp"]).answer(plain)
    assert any(answer.text for answer in model.answer(plain))


def test_half_precision_answers(checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    model = load(checkpoints["pnp"], dtype="bfloat16")
    assert model.describe()["dtype"] == "bfloat16"
    options = ("yes", "no")
    assert all(answer.status == "ok" for answer in model.answer([replace(p, options=options) for p in prompts]))


def test_parts_can_come_from_places_of_their_own(checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    folder = Path(checkpoints["pnp"])
    numbers = json.loads((folder / "config.json").read_text())["numbers"]
    parts = {part: str(folder / part) for part in ("matcher", "captioner")}
    model = load(f"pnp:{folder / 'reader'}", numbers=numbers, **parts)
    assert model.answer(prompts) == load(str(folder)).answer(prompts)
    assert model.describe()["checkpoint"] == "matcher + captioner + reader"
    assert model.describe()["fingerprint"] == load(str(folder)).describe()["fingerprint"]


def test_the_published_parts_are_asked_of_the_hub(monkeypatch: pytest.MonkeyPatch, checkpoints: dict[str, str]) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(RobustlibError, match=READERS["large"]):
        load("pnp:large")
    folder = Path(checkpoints["pnp"])
    with pytest.raises(RobustlibError, match=f"part of PNP-VQA from '{CAPTIONER}'"):
        load(f"pnp:{folder / 'reader'}", matcher=str(folder / "matcher"))
    with pytest.raises(RobustlibError, match="from 'nobody/nothing'"):
        load(f"pnp:{folder / 'reader'}", matcher="nobody/nothing@v1")


@pytest.mark.parametrize("reader", ["larg", "11b"])
def test_a_reader_that_is_neither_a_size_nor_a_place_is_unknown(reader: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"Unknown reader of PNP-VQA '{reader}'\..* Known: 3b, base, large\."):
        load(f"pnp:{reader}")


@pytest.mark.parametrize("setting", [{"matcher": "a/b"}, {"captioner": CAPTIONER}])
def test_a_part_is_not_replaced_in_a_source_of_all_three(setting: dict[str, str], checkpoints: dict[str, str]) -> None:
    [(name, value)] = setting.items()
    with pytest.raises(InvalidValueError, match=f"holds a {name} of its own.*, got '{value}'"):
        load(checkpoints["pnp"], **setting)


def test_pickled_parts_are_refused(checkpoints: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(checkpoints["pnp"], folder)
    (folder / "reader" / "model.safetensors").unlink()
    torch.save({}, folder / "reader" / "pytorch_model.bin")
    with pytest.raises(RobustlibError, match=r"save_pretrained"):
        load(str(folder))


def test_networks_that_do_not_see_the_same_patches_are_refused(checkpoints: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(checkpoints["pnp"], folder)
    path = folder / "matcher" / "config.json"
    config: Any = BlipConfig.from_pretrained(path)
    config.vision_config.image_size = 40
    BlipForImageTextRetrieval(config).save_pretrained(folder / "matcher")
    with pytest.raises(InvalidValueError, match="same patches, not 25 and 16"):
        load(str(folder))


@pytest.mark.parametrize(
    ("numbers", "error", "message"),
    [
        ({"capions": 3}, UnknownNameError, "'capions'.*Did you mean 'captions'"),
        ({"captions": 3.0}, InvalidTypeError, "captions must be int, got 3.0"),
        ({"patches": 0}, InvalidValueError, "patches must be at least 1, got 0"),
        ({"layer": -1}, InvalidValueError, "layer must be at least 0, got -1"),
        ({"layer": 5}, InvalidValueError, "below 1 here, got 5"),
        ({"top_p": 1.5}, InvalidValueError, r"top_p must be in \(0, 1\], got 1.5"),
        ({"min_length": 7}, InvalidValueError, "min_length 7 is above its max_length 6"),
        ({"answer_length": 1}, InvalidValueError, "answer_length must be at least 2, got 1"),
        ({"question_tokens": 2}, InvalidValueError, "question_tokens must be at least 3, got 2"),
        ({"min_length": 0, "max_length": 2}, InvalidValueError, "max_length must be from 3, .* to 12, .*, got 2"),
        ({"prompt": "a red circle of the "}, InvalidValueError, "max_length must be from 7, .* to 12, .*, got 6"),
        ({"max_length": 13}, InvalidValueError, "max_length must be from 3, .* to 12, .*, got 13"),
    ],
)
def test_numbers_that_cannot_be_are_refused(
    numbers: dict[str, Any], error: type[Exception], message: str, checkpoints: dict[str, str]
) -> None:
    with pytest.raises(error, match=message):
        load(checkpoints["pnp"], numbers=numbers)
