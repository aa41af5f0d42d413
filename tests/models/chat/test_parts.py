"""The parts of a chat model: letters, sampling, prompts, and processors without torchvision."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoTokenizer, GenerationConfig, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.models.base import Prompt
from robustlib.models.chat_processors import Molmo2ImageProcessor, StillImagesOnly
from robustlib.models.decoding import prompt_digest, settle, thinking_sampler
from robustlib.models.letters import letter_tokens, score_letters
from robustlib.models.prompts import TEMPERATURE, TOP_K, TOP_P, Mode, read_response, write_prompt

IDS = torch.zeros((1, 1), dtype=torch.long)


def test_all_one_token_forms_of_a_letter_count() -> None:
    forms = letter_tokens({"A": 3, "ĠA": 5, "▁A": 7, "AA": 8, "a": 9, "B": 0, "ĠC": 4})
    assert forms[:4] == [[3, 5, 7], [0], [4], []]


def test_options_are_scored_by_the_probability_of_their_letters() -> None:
    logits = torch.tensor([0.5, 2.0, -1.0, 1.0, 3.0])
    scores, mass = score_letters(logits, [[0, 3], [2]])
    powers = np.exp([0.5, 2.0, -1.0, 1.0, 3.0])
    assert scores.tolist() == pytest.approx([np.log(powers[0] + powers[3]), -1.0])
    assert mass == pytest.approx((powers[0] + powers[3] + powers[2]) / powers.sum())
    with pytest.raises(InvalidValueError, match="letter B is not one token"):
        score_letters(logits, [[0], []])


def test_letters_of_a_real_tokenizer(chat_models: dict[str, str]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(chat_models["smolvlm"])
    for letter, forms in zip("ABCDEFGHIJ", letter_tokens(tokenizer.get_vocab()), strict=False):
        assert [tokenizer.decode([form]) for form in forms] == [letter, f" {letter}"]


def test_sampling_draws_from_the_published_distribution() -> None:
    logits = torch.from_numpy(np.random.default_rng(1).normal(0, 1.5, 40)).float()
    expected = logits[None]
    for step in (TemperatureLogitsWarper(TEMPERATURE), TopKLogitsWarper(TOP_K), TopPLogitsWarper(TOP_P)):
        expected = step(IDS, expected)
    chances = expected[0].softmax(-1).numpy()
    draws = 4000
    sampler = thinking_sampler([Prompt(None, str(number)) for number in range(draws)], seed=42)
    counts = Counter(sampler(IDS, logits.expand(draws, -1)).argmax(-1).tolist())
    possible = np.flatnonzero(chances)
    assert set(counts) <= set(possible)
    observed, mean = np.array([counts[token] for token in possible]), draws * chances[possible]
    statistic = ((observed - mean) ** 2 / mean).sum()
    assert statistic < 2.5 * len(possible)  # a chi-square's mean is its degrees of freedom; 2.5 times that is < 1e-3


def test_each_prompt_draws_from_its_own_stream() -> None:
    image = np.zeros((2, 3, 3), np.uint8)
    prompts = [
        Prompt(image, "Why?"),
        Prompt(image + 1, "Why?"),
        Prompt(image.reshape(3, 2, 3), "Why?"),
        Prompt(image, "Why?", more_images=(image,)),
        Prompt(image, "Why?", ("a", "b")),
        Prompt(None, "Why?"),
    ]
    assert len({prompt_digest(prompt) for prompt in prompts}) == len(prompts)
    logits = torch.zeros(6, 500)
    together = thinking_sampler(prompts, 42)(IDS, logits)
    assert len(set(together.argmax(-1).tolist())) > 1
    for row, prompt in enumerate(prompts):
        assert torch.equal(thinking_sampler([prompt], 42)(IDS, logits[:1])[0], together[row])


def test_a_checkpoints_own_settings_give_way() -> None:
    settings: Any = GenerationConfig
    network = SimpleNamespace(generation_config=settings(temperature=0.1, repetition_penalty=1.3, eos_token_id=7))
    tokenizer = SimpleNamespace(pad_token_id=None, eos_token_id=2)
    assert settle(network, tokenizer, 11) == [7]
    assert network.generation_config.max_new_tokens == 11
    assert network.generation_config.repetition_penalty in (None, 1.0)
    assert network.generation_config.pad_token_id == 2
    network.generation_config.eos_token_id = 0
    assert settle(network, tokenizer, 11) == [0]
    network.generation_config.eos_token_id = None
    assert settle(network, tokenizer, 11) == [2]


def test_prompts_are_the_published_ones() -> None:
    choice = Prompt(None, "Which?", ("a cat", "a dog"))
    assert write_prompt(choice, "direct") == (
        "Which?\nA. a cat\nB. a dog\nAnswer with the option letter from the given choices directly."
    )
    assert write_prompt(choice, "cot") == (
        "Which?\nA. a cat\nB. a dog\nAnswer the preceding multiple choice question. The last line of your response "
        "should be of the following format: 'Answer: $LETTER' (without quotes) where LETTER is one of options. "
        "Think step by step before answering."
    )
    opened = Prompt(None, "What is it?")
    assert write_prompt(opened, "direct") == "What is it?\nAnswer the question using a single word or phrase."
    assert write_prompt(opened, "direct", instruct=False) == "What is it?"
    for same in ("rank", "thinking"):
        assert write_prompt(choice, same) == write_prompt(choice, "direct")


@pytest.mark.parametrize(
    ("response", "mode", "options", "answer"),
    [
        (" two cats ", "direct", (), "two cats"),
        ("I see two.\nAnswer: 2 cats", "cot", (), "2 cats"),
        ("Answer: one? No.\nAnswer: two", "cot", (), "two"),
        ("I see two.", "cot", (), ""),
        ("It is B.\nAnswer: B", "cot", ("a", "b"), "It is B.\nAnswer: B"),
        ("A? </think>\n\nB", "thinking", ("a", "b"), "B"),
        ("<think>A?</think>B</think> C", "thinking", ("a", "b"), "C"),
        ("<think>A?", "thinking", ("a", "b"), None),
        ("B", "thinking", ("a", "b"), None),
    ],
)
def test_the_final_answer_of_a_response(
    response: str, mode: Mode, options: tuple[str, ...], answer: str | None
) -> None:
    assert read_response(response, Prompt(None, "?", options), mode) == answer


def test_the_stand_in_refuses_videos() -> None:
    with pytest.raises(RobustlibError, match="Videos need torchvision"):
        StillImagesOnly()([np.zeros((2, 3, 4, 4))])


def test_molmo2_pixels_without_torchvision() -> None:
    processor = Molmo2ImageProcessor(
        size={"height": 32, "width": 32}, patch_size=8, max_crops=1, overlap_margins=[0, 0], pooling_size=[2, 2]
    )
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    patches = processor([Image.fromarray(image)], return_tensors="pt")["pixel_values"]
    whole = patches[0].reshape(4, 4, 8, 8, 3).transpose(1, 2).reshape(32, 32, 3)  # of the size asked for: not resized
    mean, std = np.array(processor.image_mean), np.array(processor.image_std)
    np.testing.assert_allclose(whole.numpy(), (image / 255 - mean) / std, atol=1e-5)
    flat = Image.new("RGB", (50, 20), (77, 77, 77))
    small = processor([flat], return_tensors="pt")["pixel_values"]
    np.testing.assert_allclose(small.reshape(-1, 3).numpy() - (77 / 255 - mean) / std, 0, atol=1e-5)
