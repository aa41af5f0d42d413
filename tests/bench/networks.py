"""Networks of the sizes that the full profiles name. Their weights are random, for speed does not hang on them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.blip.modeling_blip_text import BlipTextLMHeadModel

from robustlib.models.blip_network import read_questions
from robustlib.models.pnp_numbers import Numbers
from robustlib.models.pnp_relevance import let_gradients_begin, relevance
from robustlib.models.vilt import embed_images
from robustlib.models.vle_network import VleConfig, VleForQuestionAnswering

NETS: Any = transformers  # types of arguments that are too narrow
WIDTH, HEIGHT = 640, 480  # of a photograph: COCO's usual size
WORDS = 12  # tokens of a question
ANSWER = 3  # tokens of a short answer
LABELS = 3129  # answers of the classifiers


class Piece(NamedTuple):
    """A part of the work on one question."""

    run: Callable[[], object]
    times: int = 1
    """How often it is done: of like parts one is measured."""


@dataclass(frozen=True)
class Network:
    """A model's measured speed."""

    parameters: int
    operations: float
    """Floating-point, for a question."""
    seconds: float
    """On the CPU, in one thread."""


def _build(kind: Any, *config: Any) -> Any:
    return kind(*config).eval()


def _ids(*shape: int) -> Tensor:
    return torch.full(shape, 5)


def _pixels(images: int, height: int, width: int) -> Tensor:
    return torch.zeros(images, 3, height, width)


def vilt() -> tuple[int, list[Piece]]:
    """ViLT-B/32, whose shorter side of an image is the configuration's."""
    network = _build(NETS.ViltForQuestionAnswering, NETS.ViltConfig(num_labels=LABELS))
    side = network.config.image_size
    pixels = _pixels(1, side, ceil(side * WIDTH / HEIGHT))

    def run() -> None:
        seen = embed_images(network.vilt.embeddings, pixels)
        network(input_ids=_ids(1, WORDS), image_embeds=seen, pixel_mask=torch.ones(seen.shape[:2], dtype=torch.long))

    return network.num_parameters(), [Piece(run)]


def blip() -> tuple[int, list[Piece]]:
    """BLIP base for VQA, that writes its answer; in one pass over its tokens, which costs what writing does."""
    shape = {"hidden_size": 768, "num_attention_heads": 12}
    network = _build(NETS.BlipForQuestionAnswering, NETS.BlipConfig(text_config=shape, vision_config=shape))
    side = network.config.vision_config.image_size

    def run() -> None:
        states = read_questions(
            network, _pixels(1, side, side), torch.tensor([0]), _ids(1, WORDS), torch.ones(1, WORDS)
        )
        network.text_decoder(_ids(1, ANSWER), encoder_hidden_states=states)

    return network.num_parameters(), [Piece(run)]


def vle() -> tuple[int, list[Piece]]:
    """VLE base: DeBERTa-v3 base, and CLIP's ViT-B/16 at 576 pixels without its last layer."""
    base = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
    side = 576
    text = NETS.DebertaV2Config(
        **base, vocab_size=128_100, relative_attention=True, position_buckets=256, max_relative_positions=-1,
        norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False,
        type_vocab_size=0,
    )  # fmt: skip
    vision = NETS.CLIPVisionConfig(**{**base, "num_hidden_layers": 11}, image_size=side, patch_size=16)
    config: Any = VleConfig
    network = _build(VleForQuestionAnswering, config(text_config=text, vision_config=vision, num_labels=LABELS))
    asked = _pixels(1, side, side), torch.tensor([0]), _ids(1, WORDS), torch.ones(1, WORDS, dtype=torch.long)
    return network.num_parameters(), [Piece(lambda: network(*asked))]


def pnp() -> tuple[int, list[Piece]]:
    """PNP-VQA with its base reader, and captions that are all new in the first round."""
    numbers = Numbers()
    large = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    words = {"hidden_size": 768, "num_attention_heads": 12, "encoder_hidden_size": large["hidden_size"]}
    config = NETS.BlipConfig(text_config=words, vision_config={**large, "image_size": 384})
    matcher = _build(NETS.BlipForImageTextRetrieval, config)
    let_gradients_begin(matcher, numbers.layer)
    captioner = _build(BlipTextLMHeadModel, config.text_config)
    sizes = NETS.T5Config(d_model=768, d_ff=3072, num_layers=12, num_decoder_layers=12, num_heads=12)
    reader = _build(NETS.T5ForConditionalGeneration, sizes)
    side = config.vision_config.image_size
    seen = torch.zeros(1, 1 + (side // config.vision_config.patch_size) ** 2, large["hidden_size"])
    patches = seen[:, : numbers.patches]
    context = WORDS + numbers.max_length
    read = torch.zeros(1, context * numbers.captions, reader.config.d_model)
    mask = torch.ones(1, WORDS, dtype=torch.long)
    parameters = sum(part.num_parameters() for part in (matcher, captioner, matcher.vision_model, reader))
    return parameters, [
        Piece(lambda: matcher.vision_model(_pixels(1, side, side)), 2),  # the matcher's, and the captioner's likewise
        Piece(lambda: relevance(matcher, numbers.layer, seen, _ids(1, WORDS), mask)),
        Piece(lambda: captioner(_ids(1, numbers.max_length), encoder_hidden_states=patches), numbers.captions),
        Piece(lambda: reader.encoder(_ids(1, context)), numbers.captions),
        Piece(lambda: reader(encoder_outputs=(read,), decoder_input_ids=_ids(1, ANSWER))),
    ]


def smolvlm() -> tuple[int, list[Piece]]:
    """SmolVLM-256M, which cuts an image of 2,048 pixels' length into tiles and sees it whole besides."""
    side, longest = 512, 2048
    vision = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
    text = NETS.LlamaConfig(
        hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
        vocab_size=49_280, tie_word_embeddings=False, pad_token_id=2,
    )  # fmt: skip
    config = NETS.Idefics3Config(
        vision_config={**vision, "image_size": side, "patch_size": 16}, text_config=text, scale_factor=4,
        tie_word_embeddings=False, pad_token_id=2,
    )  # fmt: skip
    network = _build(NETS.Idefics3ForConditionalGeneration, config)
    tiles = 1 + ceil(longest / side) * ceil(longest * HEIGHT / WIDTH / side)
    tokens = (side // 16) ** 2 // config.scale_factor**2
    embeddings = torch.zeros(1, tiles * tokens + 5 * WORDS, text.hidden_size)  # the options are asked along
    body: Any = network.model
    return network.num_parameters(), [
        Piece(lambda: body.connector(body.vision_model(_pixels(1, side, side)).last_hidden_state), tiles),
        Piece(lambda: network.lm_head(body.text_model(inputs_embeds=embeddings).last_hidden_state[:, -1])),
    ]


NETWORKS = {"ViLT": vilt, "BLIP": blip, "VLE": vle, "PNP": pnp, "SmolVLM-256M": smolvlm}
"""By the names that the profiles give them."""


def measure(make: Callable[[], tuple[int, list[Piece]]]) -> Network:
    """Count a network's operations in a first run, and time a second."""
    parameters, pieces = make()
    operations = seconds = 0.0
    with torch.no_grad():
        for piece in pieces:
            with FlopCounterMode(display=False) as counter:
                piece.run()
            operations += counter.get_total_flops() * piece.times
            seconds += cpu_seconds(piece.run) * piece.times
    return Network(parameters, operations, seconds)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time that some work takes, which other work on the machine does not lengthen much."""
    start = time.process_time()
    work()
    return time.process_time() - start
