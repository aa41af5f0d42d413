"""ViLT answers as transformers' own forward pass, without its dice."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertTokenizer, ViltForQuestionAnswering
from transformers.models.vilt.image_processing_pil_vilt import ViltImageProcessorPil

from robustlib.models import Prompt, load_model
from robustlib.models.vilt import embed_images, thicken


def test_logits_are_those_of_the_stock_forward_pass(checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    network: Any = ViltForQuestionAnswering.from_pretrained(checkpoints["vilt"])
    processor: Any = ViltImageProcessorPil.from_pretrained(checkpoints["vilt"])
    tokenizer = BertTokenizer.from_pretrained(checkpoints["vilt"])
    answers = tuple(network.config.id2label.values())
    shown = [prompt for prompt in prompts if prompt.image is not None and prompt.text.count(" ") < 9]
    images = processor([prompt.image for prompt in shown], input_data_format="channels_last", return_tensors="pt")
    tokens = tokenizer([prompt.text for prompt in shown], padding=True, return_tensors="pt")
    with torch.inference_mode():
        expected = network(**tokens, **images).logits
    ours = load_model(checkpoints["vilt"]).answer([replace(prompt, options=answers) for prompt in shown])
    np.testing.assert_allclose(np.array([answer.logits for answer in ours]), expected, atol=1e-4)


def test_image_tokens_keep_the_order_of_the_patches(checkpoints: dict[str, str]) -> None:
    network = ViltForQuestionAnswering.from_pretrained(checkpoints["vilt"])
    pixels = torch.rand(2, 3, 16, 40, generator=torch.Generator().manual_seed(0))
    changed = pixels.clone()
    changed[1, :, 8:, 32:] += 1  # the last of 2 x 5 patches of the second image
    with torch.inference_mode():
        difference = embed_images(network.vilt.embeddings, pixels) - embed_images(network.vilt.embeddings, changed)
    assert difference.shape == (2, 11, 32)
    assert difference.abs().amax(2).nonzero().tolist() == [[1, 10]]


def test_a_long_question_loses_its_end_alone(checkpoints: dict[str, str]) -> None:
    model = load_model(checkpoints["vilt"])
    options = ("yes", "no", "circle")
    words = ["what", "is", "the", "shape", "of", "a", "red", "circle", "there", "in", "the", "image"]
    longest = " ".join(words[:10])  # with [CLS] and [SEP] the 12 places of the position table
    logits = [model.answer([Prompt(None, text, options)])[0].logits for text in (longest, " ".join(words), words[0])]
    assert logits[0] == logits[1]
    assert logits[0] != logits[2]


@pytest.mark.parametrize("option", ["Circle", " circle ", "CIRCLE"])
def test_case_and_margins_of_options_do_not_count(option: str, checkpoints: dict[str, str]) -> None:
    model = load_model(checkpoints["vilt"])
    plain, odd = model.answer([Prompt(None, "what?", ("circle", "no")), Prompt(None, "what?", (option, "no"))])
    assert plain.logits == odd.logits


@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 20))
def test_thickening_bounds_the_elongation_and_keeps_the_picture(height: int, width: int, widest: int) -> None:
    image = np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)
    thick = thicken(image, widest)
    assert max(thick.shape[:2]) <= widest * min(thick.shape[:2])
    rows, columns = thick.shape[0] // height, thick.shape[1] // width
    assert np.array_equal(thick[::rows, ::columns], image)
    if max(height, width) <= widest * min(height, width):
        assert thick.shape == image.shape
