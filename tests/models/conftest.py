"""Tiny checkpoints of the real classes with weights large enough for a fault to show."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertTokenizer,
    BlipConfig,
    BlipForConditionalGeneration,
    BlipForImageTextRetrieval,
    BlipForQuestionAnswering,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
    ViltConfig,
    ViltForQuestionAnswering,
)
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.vilt.image_processing_pil_vilt import ViltImageProcessorPil

from robustlib.models.base import Prompt
from robustlib.models.vle_network import VleConfig, VleForQuestionAnswering

torch.set_num_threads(1)  # the matrices are so small that a second thread would only be waited for

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]"]
WORDS = ["what", "is", "the", "shape", "color", "of", "a", "red", "blue", "circle", "there", "in", "image", "?"]
WORDS += ["yes", "no", "not", "present", "light", "##est"]
ANSWERS = ["yes", "no", "circle", "red", "light blue", "lightest red circle"]


def tokenizer() -> BertTokenizer:
    return BertTokenizer(
        vocab={token: number for number, token in enumerate(SPECIAL + WORDS)}, additional_special_tokens=["[DEC]"]
    )


def redraw(network: PreTrainedModel) -> PreTrainedModel:
    """Default initialisation gives logits near 0, and a BLIP that is blind: no fault would show."""
    draw = torch.Generator().manual_seed(5)
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.15, generator=draw)
    return network


def save_vilt(folder: Path) -> None:
    config = ViltConfig(
        vocab_size=len(SPECIAL + WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        max_position_embeddings=12,
        max_image_length=-1,
        id2label=dict(enumerate(ANSWERS)),
    )
    redraw(ViltForQuestionAnswering(config)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    images: dict[str, Any] = {"size": {"shortest_edge": 32}, "size_divisor": 8}
    ViltImageProcessorPil(**images).save_pretrained(folder)


def save_blip(folder: Path, answers: list[str]) -> None:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    text = {"vocab_size": len(SPECIAL + WORDS), "bos_token_id": 5, "sep_token_id": 3, "eos_token_id": 3}
    own: dict[str, Any] = {"answers": answers} if answers else {}
    config = BlipConfig(
        text_config={**size, **text, "max_position_embeddings": 12},
        vision_config={**size, "image_size": 32, "patch_size": 8},
        **own,
    )
    network: Any = redraw(BlipForQuestionAnswering(config))
    network.text_decoder.cls.predictions.bias.data[3] = 1.0  # so that most generated answers come to an end
    network.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    BlipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)


def new_vle(vocabulary: int, num_hidden_layers: int = 2) -> Any:
    """Return a VLE whose towers have other widths than its co-attention layers, as they may."""
    size: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    relative = {"relative_attention": True, "position_buckets": 4, "norm_rel_ebd": "layer_norm", "share_att_key": True}
    absolute = {"position_biased_input": False, "max_position_embeddings": 12}
    config = VleConfig(
        text_config={
            **size,
            **relative,
            **absolute,
            "pos_att_type": ["p2c", "c2p"],
            "num_hidden_layers": 2,
            "vocab_size": vocabulary,
        },
        vision_config={**size, "hidden_size": 40, "num_hidden_layers": 2, "image_size": 32, "patch_size": 8},
        num_hidden_layers=num_hidden_layers,
        id2label=dict(enumerate(ANSWERS)),
        **{**size, "hidden_size": 48},
    )
    network = VleForQuestionAnswering(config)
    redraw(network)
    return network


def save_vle(folder: Path) -> None:
    new_vle(len(SPECIAL + WORDS)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}).save_pretrained(folder)


def save_pnp(folder: Path) -> None:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    text = {"vocab_size": len(SPECIAL + WORDS) + 1, "bos_token_id": 5, "sep_token_id": 3, "encoder_hidden_size": 24}
    config = BlipConfig(
        text_config={**size, **text, "eos_token_id": 3, "max_position_embeddings": 12},
        vision_config={**size, "hidden_size": 24, "image_size": 32, "patch_size": 8},
    )
    for name, network in (("matcher", BlipForImageTextRetrieval), ("captioner", BlipForConditionalGeneration)):
        redraw(network(config)).save_pretrained(folder / name)
        tokenizer().save_pretrained(folder / name)
        BlipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder / name)
    pieces = ["<pad>", "</s>", "<unk>", "?", ".", "\u2581\\n", *(f"\u2581{word}" for word in WORDS if word.isalpha())]
    start: dict[str, Any] = {"decoder_start_token_id": 0}
    sizes = T5Config(vocab_size=len(pieces), d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4, **start)
    reader: Any = redraw(T5ForConditionalGeneration(sizes))
    for weight in reader.parameters():
        weight.data *= 2.0 if weight.dim() > 1 else 1.0  # a T5 this small hardly heeds what it reads otherwise
    reader.shared.weight.data[0] = 0.0  # nor writes anything but padding after padding
    reader.shared.weight.data[1] *= 2.0  # so that most generated answers come to an end
    reader.save_pretrained(folder / "reader")
    T5Tokenizer(vocab=[(piece, -1.0) for piece in pieces], extra_ids=0).save_pretrained(folder / "reader")
    numbers = {"layer": 0, "patches": 5, "captions": 3, "rounds": 2, "prompt": "a ", "min_length": 3, "max_length": 6}
    numbers["answer_length"] = 6
    (folder / "config.json").write_text(json.dumps({"model_type": "pnp", "numbers": numbers}))


SAVERS: dict[str, Callable[[Path], None]] = {
    "vilt": save_vilt,
    "vle": save_vle,
    "pnp": save_pnp,
    "blip": lambda folder: save_blip(folder, ANSWERS),
    "blip_free": lambda folder: save_blip(folder, []),
}


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of tiny checkpoints: a ViLT, a VLE, a PNP-VQA, a BLIP with a list of answers and one without."""
    folders = {name: tmp_path_factory.mktemp(name) for name in SAVERS}
    for name, folder in folders.items():
        SAVERS[name](folder)
    return {name: str(folder) for name, folder in folders.items()}


@pytest.fixture(scope="session")
def prompts() -> list[Prompt]:
    """Ten prompts: short and long texts, images of several sizes and shared, none, and options."""
    draw = np.random.default_rng(0)
    square, wide, tall, dot = (
        draw.integers(0, 256, (*size, 3), np.uint8) for size in ((32, 32), (20, 48), (64, 33), (1, 1))
    )
    return [
        Prompt(square, "is there a red circle in the image?"),
        Prompt(square, "what?"),
        Prompt(wide, "what is the color of the circle?"),
        Prompt(tall, "is there not a blue shape present in the image in the image in the image?"),
        Prompt(dot, "what is the shape?"),
        Prompt(None, "what is the shape?"),
        Prompt(square, "what is the shape?", ("Circle", "light blue", "no")),
        Prompt(wide, "is there a circle?", ("yes", "no")),
        Prompt(None, "is there a circle?", ("no", "yes")),
        Prompt(tall, ""),
    ]
