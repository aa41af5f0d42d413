"""BLIP scores answers by their likelihood and heeds the mask of a padded question."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BlipForQuestionAnswering

from robustlib.errors import UnknownNameError
from robustlib.models import Prompt, load_model
from robustlib.models.blip import Blip
from robustlib.models.blip_network import log_likelihood, mend_cross_attention, read_questions


@pytest.fixture
def free(checkpoints: dict[str, str]) -> Blip:
    model = load_model(checkpoints["blip_free"])
    assert isinstance(model, Blip)
    return model


def likelihood_of_padding(network: BlipForQuestionAnswering, padding: int) -> float:
    ids = torch.tensor([[2, 6, 7, 8, 3] + [0] * padding])
    mask = (ids != 0).long()
    pixels = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        states = read_questions(network, pixels, torch.tensor([0]), ids, mask)
        return float(log_likelihood(network, states, mask, torch.tensor([[5, 14, 3]])))


def test_the_decoder_heeds_the_mask_once_mended(checkpoints: dict[str, str]) -> None:
    network = BlipForQuestionAnswering.from_pretrained(checkpoints["blip"])
    assert abs(likelihood_of_padding(network, 4) - likelihood_of_padding(network, 0)) > 0.01
    mend_cross_attention(network)
    assert likelihood_of_padding(network, 4) == pytest.approx(likelihood_of_padding(network, 0), abs=1e-5)


def test_a_score_is_the_sum_of_token_log_probabilities(free: Blip) -> None:
    prompt = Prompt(None, "what is the color?", ("red", "light blue", "lightest red circle"))
    pixels, places, ids, mask = free.prepare([prompt])
    with torch.inference_mode():
        states = read_questions(free._network, pixels, places, ids, mask)
    answer = free.answer([prompt])[0]
    assert answer.logits is not None
    for option, score in zip(prompt.options, answer.logits, strict=True):
        ids, _ = free._checkpoint.tokens([option])
        ids[0, 0] = free._network.config.text_config.bos_token_id
        with torch.inference_mode():
            logits = free._network.text_decoder(ids, encoder_hidden_states=states, encoder_attention_mask=mask).logits
        steps = logits[0, :-1].log_softmax(1)
        assert score == pytest.approx(float(steps[range(len(steps)), ids[0, 1:]].sum()), abs=1e-4)


def test_generated_answers_are_those_of_the_stock_model(free: Blip, checkpoints: dict[str, str]) -> None:
    stock: Any = BlipForQuestionAnswering.from_pretrained(checkpoints["blip_free"])
    draw = np.random.default_rng(2)
    for text in ("what is the shape?", "what is the color of the circle there in the image?", "is"):
        image = draw.integers(0, 256, (32, 32, 3), np.uint8)
        answer = free.answer([Prompt(image, text)])[0]
        ids, _ = free._checkpoint.tokens([text])
        written = stock.generate(ids, free._checkpoint.pixel_values([image]), max_new_tokens=10)
        assert answer.text == free._checkpoint.tokenizer.decode(written[0], skip_special_tokens=True)


def test_a_generated_answer_knows_its_likelihood(free: Blip, prompts: list[Prompt]) -> None:
    asked = [prompt for prompt in prompts if not prompt.options]
    written = [pair for pair in zip(asked, free.answer(asked), strict=True) if pair[1].status == "ok"]
    assert len(written) > 2
    for prompt, answer in written:
        ranked = free.answer([replace(prompt, options=(answer.text,))])[0]
        assert ranked.logits is not None
        assert answer.confidence == pytest.approx(np.exp(ranked.logits[0]), rel=1e-3)


def test_an_answer_without_an_end_is_truncated_and_an_empty_one_is_none(free: Blip) -> None:
    bias = free._network.text_decoder.cls.predictions.bias.data
    bias[3] = -30.0
    assert free.answer([Prompt(None, "what?")])[0].status == "truncated"
    bias[3] = 30.0
    assert free.answer([Prompt(None, "what?")])[0].status == "no_answer"


def test_in_the_mode_generate_the_answer_is_written_whatever_could_be_ranked(
    checkpoints: dict[str, str], prompts: list[Prompt], free: Blip
) -> None:
    asked = [replace(prompt, options=("red", "blue")) for prompt in prompts]
    for folder in ("blip", "blip_free"):
        writing = load_model(checkpoints[folder], mode="generate")
        answers = writing.answer(asked)
        assert {answer.choice for answer in answers} == {-1}
        assert {answer.logits for answer in answers} == {None}
        assert "greedy" in str(writing.describe()["decoding"])
        assert "likelihood" not in str(writing.describe()["decoding"])
    assert answers == free.answer([replace(prompt, options=()) for prompt in asked])
    with pytest.raises(UnknownNameError, match="Unknown mode 'direct'"):
        load_model(checkpoints["blip"], mode="direct")


def test_likelihoods_of_half_precision_add_up_in_single(checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    model = load_model(checkpoints["blip"], dtype="bfloat16")
    answers = model.answer([replace(prompt, options=("lightest red circle", "no")) for prompt in prompts])
    logits = torch.tensor([answer.logits for answer in answers])
    assert (logits != logits.bfloat16().float()).float().mean() > 0.8


def test_the_checkpoints_own_answers_are_ranked_without_options(checkpoints: dict[str, str]) -> None:
    model = load_model(checkpoints["blip"])
    assert isinstance(model, Blip)
    open_answer = model.answer([Prompt(None, "what?")])[0]
    ranked = model.answer([Prompt(None, "what?", model._answers)])[0]
    assert (open_answer.text, open_answer.choice, open_answer.logits) == (ranked.text, -1, None)
    assert open_answer.confidence == pytest.approx(ranked.confidence, abs=1e-6)
