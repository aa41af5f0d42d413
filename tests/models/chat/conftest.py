"""Tiny chat models of every class, with processors and tokenizers made in code, saved as a released folder looks."""

import json
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from robustlib.models.base import Prompt
from robustlib.models.chat_processors import Molmo2ImageProcessor, StillImagesOnly, fill_gaps

hf: Any = transformers
CHARACTERS = [character for character in string.printable if character.isprintable() and character != " "]
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
}
HEADS = {"head_dim": 8}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}
SIGLIP = {**VISION, "model_type": "siglip_vision_model", "vision_use_head": False}
SQUARE = {"height": 32, "width": 32}
IDEFICS_TOKENS = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>"] + [
    f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)
]
TILES = [[32, 32], [32, 64], [64, 32]]


def make_tokenizer(specials: list[str], **named: str) -> Any:
    """Return a byte-level BPE of printable ASCII in which "A" and " A" are one token each, as in real ones."""
    letters = "ABCDEFGHIJ"
    pieces = [*CHARACTERS, "Ġ", "Ċ", *(f"Ġ{letter}" for letter in letters)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("Ġ", letter) for letter in letters]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    ends = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<end>"}
    fast = hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends, **named)
    fast.add_special_tokens({"additional_special_tokens": [*specials, *named.values()]})
    return fast


def template(image: str, start: str = "") -> str:
    return (
        start + "{% for message in messages %}{{ message.role }}: {% for part in message.content %}"
        "{% if part.type == 'image' %}" + image + "{% else %}{{ part.text }}{% endif %}{% endfor %}<end>\n{% endfor %}"
        "{% if add_generation_prompt %}assistant:{% endif %}"
    )


def text_config(tokenizer: Any, **more: Any) -> dict[str, Any]:
    ids = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    return {**TEXT, **ids, "vocab_size": len(tokenizer), **more}


def idefics3() -> tuple[Any, Any]:
    return idefics("Idefics3")


def smolvlm() -> tuple[Any, Any]:
    return idefics("SmolVLM", video_processor=StillImagesOnly())


def idefics(name: str, **more: Any) -> tuple[Any, Any]:
    tokenizer = make_tokenizer(IDEFICS_TOKENS)
    images = getattr(hf, f"{name}ImageProcessorPil")(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    processor = getattr(hf, f"{name}Processor")(
        images, tokenizer, image_seq_len=4, chat_template=template("<image>"), **more
    )
    config = getattr(hf, f"{name}Config")(
        vision_config=VISION,
        text_config=text_config(tokenizer, model_type="llama"),
        scale_factor=2,
        image_token_id=processor.image_token_id,
    )
    return getattr(hf, f"{name}ForConditionalGeneration")(config), processor


def qwen3_vl() -> tuple[Any, Any]:
    tokenizer = make_tokenizer(["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"])
    images = Qwen2VLImageProcessorPil(
        patch_size=8, merge_size=2, temporal_patch_size=2, size={"shortest_edge": 16**2, "longest_edge": 64**2}
    )
    processor = hf.Qwen3VLProcessor(
        images,
        tokenizer,
        StillImagesOnly(),
        chat_template=template("<|vision_start|><|image_pad|><|vision_end|>"),
    )
    config = hf.Qwen3VLConfig(
        vision_config={
            "depth": 2,
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_heads": 2,
            "patch_size": 8,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "out_hidden_size": 32,
            "num_position_embeddings": 16,
            "deepstack_visual_indexes": [0],
        },
        text_config=text_config(
            tokenizer,
            **HEADS,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]},
        ),
        image_token_id=processor.image_token_id,
        video_token_id=processor.video_token_id,
        vision_start_token_id=processor.vision_start_token_id,
        vision_end_token_id=processor.vision_end_token_id,
    )
    return hf.Qwen3VLForConditionalGeneration(config), processor


def internvl() -> tuple[Any, Any]:
    tokenizer = make_tokenizer(
        [],
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )
    processor = hf.InternVLProcessor(
        hf.GotOcr2ImageProcessorPil(size=SQUARE, crop_to_patches=True, max_patches=3),
        tokenizer,
        StillImagesOnly(),
        image_seq_length=4,
        chat_template=template("<IMG_CONTEXT>\n"),
    )
    config = hf.InternVLConfig(
        vision_config={**VISION, "image_size": [32, 32], "patch_size": [8, 8]},
        text_config=text_config(tokenizer, model_type="qwen2"),
        image_token_id=processor.image_token_id,
        image_seq_length=4,
    )
    return hf.InternVLForConditionalGeneration(config), processor


def gemma3() -> tuple[Any, Any]:
    tokenizer = make_tokenizer(
        [], boi_token="<start_of_image>", eoi_token="<end_of_image>", image_token="<image_soft_token>"
    )
    processor = hf.Gemma3Processor(
        hf.Gemma3ImageProcessorPil(size=SQUARE),
        tokenizer,
        image_seq_length=4,
        chat_template=template("<start_of_image>", "{{ bos_token }}"),
    )
    config = hf.Gemma3Config(
        vision_config=SIGLIP,
        text_config=text_config(
            tokenizer,
            **HEADS,
            sliding_window=16,
            layer_types=["sliding_attention", "full_attention"],
            query_pre_attn_scalar=8,
        ),
        mm_tokens_per_image=4,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
        image_token_index=tokenizer.image_token_id,
    )
    return hf.Gemma3ForConditionalGeneration(config), processor


def molmo2() -> tuple[Any, Any]:
    names = ["im_start", "im_end", "im_patch", "im_col", "low_res_im_start", "frame_start", "frame_end"]
    tokenizer = make_tokenizer([*(f"<{name}>" for name in names), "<|image|>", "<|video|>"])
    extra = len(names) + 2  # they come last, in a table of their own
    images = Molmo2ImageProcessor(size=SQUARE, patch_size=8, max_crops=2, overlap_margins=[1, 1], pooling_size=[2, 2])
    processor = hf.Molmo2Processor(images, StillImagesOnly(), tokenizer, chat_template=template("<|image|>"))
    vision = {**VISION, **HEADS, "num_hidden_layers": 3, "num_key_value_heads": 2}
    place = {name: tokenizer.convert_tokens_to_ids(f"<{name}>") for name in names}
    config = hf.Molmo2Config(
        vision_config={**vision, "image_size": [32, 32], "num_position_embeddings": 16},
        adapter_config={
            "vision_feature_layer": [-1, -2],
            "hidden_size": 16,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            **HEADS,
            "intermediate_size": 24,
            "text_hidden_size": 32,
        },
        text_config=text_config(tokenizer, **HEADS, vocab_size=len(tokenizer) - extra, additional_vocab_size=extra),
        image_start_token_id=place["im_start"],
        low_res_image_start_token_id=place["low_res_im_start"],
        image_end_token_id=place["im_end"],
        image_patch_id=place["im_patch"],
        frame_start_token_id=place["frame_start"],
        frame_end_token_id=place["frame_end"],
    )
    return hf.Molmo2ForConditionalGeneration(config), processor


def llava_onevision() -> tuple[Any, Any]:
    tokenizer = make_tokenizer([], image_token="<image>", video_token="<video>")
    processor = hf.LlavaOnevisionProcessor(
        hf.LlavaOnevisionImageProcessorPil(size=SQUARE, image_grid_pinpoints=TILES),
        tokenizer,
        StillImagesOnly(),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=template("<image>\n"),
    )
    config = hf.LlavaOnevisionConfig(
        vision_config=SIGLIP,
        text_config=text_config(tokenizer, model_type="qwen2"),
        image_token_index=tokenizer.image_token_id,
        video_token_index=tokenizer.video_token_id,
        image_grid_pinpoints=TILES,
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def paligemma() -> tuple[Any, Any]:
    tokenizer = make_tokenizer([], image_token="<image>")
    images = hf.SiglipImageProcessorPil(size=SQUARE)
    images.image_seq_length = 16
    processor = hf.PaliGemmaProcessor(images, tokenizer)  # adds its location tokens to the tokenizer
    config = hf.PaliGemmaConfig(
        vision_config={**SIGLIP, "projection_dim": 32},
        text_config=text_config(tokenizer, **HEADS, model_type="gemma"),
        image_token_index=tokenizer.image_token_id,
        projection_dim=32,
        hidden_size=32,
    )
    return hf.PaliGemmaForConditionalGeneration(config), processor


FAMILIES: dict[str, Callable[[], tuple[Any, Any]]] = {
    maker.__name__: maker
    for maker in (idefics3, smolvlm, qwen3_vl, internvl, gemma3, molmo2, llava_onevision, paligemma)
}


def save(family: str, folder: Path) -> None:
    """Save a random model whose responses end in either of two tokens, neither of them likely."""
    torch.manual_seed(0)  # some one-dimensional parameters are drawn when the model is made
    model, processor = FAMILIES[family]()
    draw = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.15, generator=draw)
    tokenizer = processor.tokenizer
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, tokenizer.bos_token_id]
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    name_stock_classes(folder / "processor_config.json", type(processor).__name__)


def name_stock_classes(path: Path, processor: str) -> None:
    """Name the classes that a released folder names, which all need torchvision."""
    settings = json.loads(path.read_text())
    images = settings["image_processor"]
    images["image_processor_type"] = images["image_processor_type"].removesuffix("Pil")
    if "video_processor" in settings:
        settings["video_processor"] = {"video_processor_type": processor.replace("Processor", "VideoProcessor")}
    path.write_text(json.dumps(settings))


@pytest.fixture(scope="session")
def chat_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of tiny chat models, by family."""
    fill_gaps()
    folders = {family: tmp_path_factory.mktemp(family) for family in FAMILIES}
    for family, folder in folders.items():
        save(family, folder)
    return {family: str(folder) for family, folder in folders.items()}


@pytest.fixture(scope="session")
def questions() -> list[Prompt]:
    """Long and short questions; images of several sizes, two, one, and none; with options and without."""
    draw = np.random.default_rng(0)
    square, wide, tall, dot = (
        draw.integers(0, 256, (*size, 3), np.uint8) for size in ((32, 32), (20, 70), (64, 48), (1, 1))
    )
    return [
        Prompt(square, "What is it?"),
        Prompt(wide, "Which of these three is to be seen here?", ("a cat", "a dog", "no animal")),
        Prompt(None, "Is it?", ("yes", "no")),
        Prompt(tall, "Are the two alike?", ("yes", "no"), more_images=(square,)),
        Prompt(dot, "Why?"),
        Prompt(square, "Which of these three is to be seen here?", ("a cat", "a dog", "no animal")),
    ]
