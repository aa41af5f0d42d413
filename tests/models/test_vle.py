"""VLE: the order of its blocks against plain algebra, and the layout of the released checkpoints."""

import io
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import CLIPVisionModel, DebertaV2Model

from robustlib.errors import RobustlibError
from robustlib.models import Prompt, load_model
from robustlib.models.vle import Vle
from robustlib.models.vle_network import VleConfig, VleForQuestionAnswering
from tests.models.conftest import ANSWERS, new_vle

HEADS = 4
DEBERTA: dict[str, Any] = {
    "relative_attention": True,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "max_position_embeddings": 512,
}
Weights = dict[str, Tensor]


def linear(weights: Weights, name: str, states: Tensor) -> Tensor:
    return states @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def norm(weights: Weights, name: str, states: Tensor, eps: float) -> Tensor:
    centred = states - states.mean(-1, keepdim=True)
    scaled = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def attend(weights: Weights, name: str, states: Tensor, memory: Tensor) -> Tensor:
    """One question: n x hidden reads m x hidden, head by head."""
    query = linear(weights, f"{name}.self.query", states).chunk(HEADS, dim=1)
    key = linear(weights, f"{name}.self.key", memory).chunk(HEADS, dim=1)
    value = linear(weights, f"{name}.self.value", memory).chunk(HEADS, dim=1)
    heads = [((q @ k.T) / q.shape[1] ** 0.5).softmax(1) @ v for q, k, v in zip(query, key, value, strict=True)]
    read = linear(weights, f"{name}.output.dense", torch.cat(heads, dim=1))
    return norm(weights, f"{name}.output.LayerNorm", read + states, 1e-12)


def block(weights: Weights, name: str, states: Tensor, other: Tensor) -> Tensor:
    """Self-attention, cross-attention, feed-forward; each with its residual and LayerNorm behind."""
    states = attend(weights, f"{name}.attention", states, states)
    states = attend(weights, f"{name}.crossattention", states, other)
    inner = linear(weights, f"{name}.intermediate.dense", states)
    inner = inner * (1 + torch.erf(inner / 2**0.5)) / 2
    return norm(weights, f"{name}.output.LayerNorm", linear(weights, f"{name}.output.dense", inner) + states, 1e-12)


def reference(network: Any, pixels: Tensor, ids: Tensor) -> Tensor:
    """One question without padding, from the description: pixels 1 x 3 x side x side, ids 1 x tokens."""
    config, every = network.config, network.state_dict()
    weights = {key.removeprefix("vle."): value for key, value in every.items()}
    text_tower: Any = DebertaV2Model(config.text_config)
    image_tower: Any = CLIPVisionModel(config.vision_config)
    for tower, prefix in ((text_tower, "text_model."), (image_tower, "vision_model.")):
        own = {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}
        tower.load_state_dict(own)
        tower.eval()
    text = linear(weights, "text_projection_layer", text_tower(ids).last_hidden_state[0])
    image = norm(weights, "vision_model.post_layernorm", image_tower(pixels).last_hidden_state[0], 1e-5)
    image = linear(weights, "image_projection_layer", image)
    text = text + weights["token_type_embeddings.weight"][0]
    image = image + weights["token_type_embeddings.weight"][1]
    for layer in range(config.num_hidden_layers):
        new_text = block(weights, f"cross_modal_text_layers.{layer}", text, image)
        new_image = block(weights, f"cross_modal_image_layers.{layer}", image, text)
        text, image = new_text, new_image
    pooled = torch.cat(
        [
            linear(weights, "cross_modal_text_pooler.dense", text[0]).tanh(),
            linear(weights, "cross_modal_image_pooler.dense", image[0]).tanh(),
        ]
    )
    hidden = norm(weights, "vqa_classifier.1", linear(weights, "vqa_classifier.0", pooled), 1e-5)
    return linear(weights, "vqa_classifier.3", hidden * (1 + torch.erf(hidden / 2**0.5)) / 2)


@torch.inference_mode()
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_blocks_stand_in_the_order_of_the_description(layers: int) -> None:
    network = new_vle(vocabulary=30, num_hidden_layers=layers).eval()
    draw = torch.Generator().manual_seed(1)
    pixels = torch.randn(2, 3, 32, 32, generator=draw)
    texts = [torch.randint(1, 30, (1, length), generator=draw) for length in (7, 3, 5)]
    places = torch.tensor([1, 0, 0])
    ids = torch.nn.utils.rnn.pad_sequence([text[0] for text in texts], batch_first=True)
    logits = network(pixels, places, ids, (ids != 0).long())
    expected = [reference(network, pixels[place][None], text) for place, text in zip(places, texts, strict=True)]
    torch.testing.assert_close(logits, torch.stack(expected), atol=2e-5, rtol=0)
    assert logits.std(0).min() > 0.01, "the questions are too much alike for the test to tell"


@pytest.mark.parametrize(
    ("millions", "text", "vision", "own"),
    [
        (378, (768, 12, 12, 3072), (768, 11, 12, 3072, 224, 16), (768, 6, 12, 3072)),
        (930, (1024, 24, 16, 4096), (1024, 23, 16, 4096, 224, 14), (1024, 6, 16, 4096)),
    ],
    ids=["base", "large"],
)
def test_the_released_sizes_have_the_parameters_that_are_published(
    millions: int, text: tuple[int, ...], vision: tuple[int, ...], own: tuple[int, ...]
) -> None:
    """VLE's README counts the towers and the co-attention layers, without a head."""
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "image_size", "patch_size")
    sizes: dict[str, Any] = dict(zip(names, own, strict=False))
    config = VleConfig(
        text_config={**DEBERTA, **dict(zip(names, text, strict=False))},
        vision_config=dict(zip(names, vision, strict=False)),
        **sizes,
    )
    with torch.device("meta"):
        network = VleForQuestionAnswering(config)
    assert sum(weight.numel() for weight in network.vle.parameters()) // 10**6 == millions


def test_the_image_tower_sees_each_image_once(checkpoints: dict[str, str], prompts: list[Prompt]) -> None:
    model = Vle("tiny", checkpoints["vle"])
    seen = []
    tower = model._checkpoint.network.vle.vision_model
    tower.register_forward_pre_hook(lambda _, images: seen.append(len(images[0])))
    model.answer(prompts)
    assert seen == [5], "four images, and the grey one"


CORPUS = ["what is the shape of the red circle", "is there a light blue circle in the image", "what color is it ?"] * 20
HUB_TOWER = {  # what transformers 4.26 wrote besides the sizes
    "_name_or_path": "",
    "add_cross_attention": False,
    "architectures": None,
    "bad_words_ids": None,
    "bos_token_id": None,
    "chunk_size_feed_forward": 0,
    "do_sample": False,
    "finetuning_task": None,
    "id2label": {"0": "LABEL_0", "1": "LABEL_1"},
    "is_decoder": False,
    "is_encoder_decoder": False,
    "label2id": {"LABEL_0": 0, "LABEL_1": 1},
    "max_length": 20,
    "num_beams": 1,
    "output_attentions": False,
    "output_hidden_states": False,
    "prefix": None,
    "problem_type": None,
    "pruned_heads": {},
    "return_dict": True,
    "sep_token_id": None,
    "tf_legacy_loss": False,
    "tie_word_embeddings": True,
    "tokenizer_class": None,
    "torch_dtype": None,
    "torchscript": False,
    "transformers_version": "4.26.0",
    "use_bfloat16": False,
}
HUB_IMAGES: dict[str, Any] = {
    "crop_size": {"height": 32, "width": 32},
    "do_center_crop": True,
    "do_convert_rgb": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_processor_type": "CLIPImageProcessor",
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "processor_class": "VLEProcessor",
    "resample": 3,
    "rescale_factor": 1 / 255,
    "size": {"shortest_edge": 32},
}


def spm_model() -> bytes:
    """A SentencePiece model laid out as DeBERTa's: [PAD], [CLS], [SEP], [UNK], then the pieces."""
    model = io.BytesIO()
    pieces = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    special: dict[str, Any] = {f"{name}_id": number for number, name in enumerate(pieces)}
    special |= {f"{name}_piece": piece for name, piece in pieces.items()}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=model, vocab_size=32, minloglevel=2, **special
    )
    return model.getvalue()


def save_as_released(network: Any, folder: Path) -> None:
    """Write the files of the hub's repositories, with the names of transformers 4.26."""
    weights = {
        key.replace("vle.vision_model.", "vle.vision_model.vision_model."): value
        for key, value in network.state_dict().items()
    }
    weights["vle.text_model.embeddings.position_ids"] = torch.arange(64)[None]
    weights["vle.vision_model.vision_model.embeddings.position_ids"] = torch.arange(17)[None]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = network.config.to_dict()
    for name in ("text_config", "vision_config"):
        config[name] |= HUB_TOWER
    config |= {
        "_commit_hash": None,
        "transformers_version": None,
        "architectures": ["VLEForVQA"],
        "classifier_dropout": None,
        "hidden_act": "gelu",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "preprocessor_config.json").write_text(json.dumps(HUB_IMAGES))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": False, "vocab_type": "spm"})
    )
    (folder / "spm.model").write_bytes(spm_model())


def test_a_checkpoint_in_the_released_layout_answers_as_the_network_does(tmp_path: Path) -> None:
    network = new_vle(vocabulary=60).eval()
    save_as_released(network, tmp_path)
    assert "vle.vision_model.vision_model.post_layernorm.weight" in load_file(tmp_path / "model.safetensors")
    image = np.random.default_rng(2).integers(0, 256, (32, 32, 3), np.uint8)
    texts = ["the circle ?", "is it the circle"]
    answers = load_model(str(tmp_path)).answer([Prompt(image, text, tuple(ANSWERS)) for text in texts])
    mean, deviation = (torch.tensor(HUB_IMAGES[name]) for name in ("image_mean", "image_std"))
    pixels = ((torch.from_numpy(image) / 255 - mean) / deviation).permute(2, 0, 1)[None]
    pieces = sentencepiece.SentencePieceProcessor(model_proto=spm_model())
    for text, answer in zip(texts, answers, strict=True):
        ids = torch.tensor([[1, *pieces.encode(text), 2]])
        with torch.inference_mode():
            expected = reference(network, pixels, ids)
        np.testing.assert_allclose(answer.logits or (), expected.numpy(), atol=5e-5)


def test_a_pickle_is_not_opened_but_the_way_to_convert_it_is_told(
    tmp_path: Path, checkpoints: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vle"
    shutil.copytree(checkpoints["vle"], folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(RobustlibError, match="only safetensors are read here") as caught:
        load_model(str(folder))
    told = str(caught.value)
    monkeypatch.chdir(folder)
    exec(shlex.split(told[told.index("python -c") :])[2])
    prompt = Prompt(None, "what is the shape?", tuple(ANSWERS))
    assert load_model(str(folder)).answer([prompt]) == load_model(checkpoints["vle"]).answer([prompt])
