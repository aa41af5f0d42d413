"""pocket/pnp: a matcher, a captioner and a reader, of 0.8 million parameters together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import (
    BlipConfig,
    BlipForConditionalGeneration,
    BlipForImageTextRetrieval,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from robustlib.data.question import Question
from robustlib.models.recipes import Phase, Recipe, Stage
from robustlib.models.training_captions import (
    CAPTIONS,
    OTHER_SHARE,
    Reading,
    Readings,
    piece_tokenizer,
    to_caption,
    to_match,
)
from robustlib.models.training_data import (
    UNKNOWN_SHARE,
    Batch,
    TrainingSet,
    answer_list,
    normalise,
    padded_tokens,
    word_tokenizer,
)

SIDE = 64
PROMPT = "a picture of"
EMPTY_IN = 8
"""One image in so many is shown to the matcher without its object."""
SHAPE: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_attention_heads": 4,
    "initializer_range": 0.1,
}


class BlipLearner:
    """A BLIP with its words, its captions and its image processor, at 64 pixels instead of 384."""

    def __init__(self, network: Any, items: Sequence[Question], layers: tuple[int, int]) -> None:
        """Make the network for items of `training_captions`, with so many layers for images and for words."""
        self.tokenizer, self.captions = word_tokenizer(items), answer_list(items)
        words = {
            "vocab_size": len(self.tokenizer) + 1,  # the last row is [ENC], which as in BLIP no tokenizer writes
            "encoder_hidden_size": SHAPE["hidden_size"],
            "max_position_embeddings": 40,
            "bos_token_id": self.tokenizer.convert_tokens_to_ids("[DEC]"),
            "sep_token_id": self.tokenizer.sep_token_id,
            "eos_token_id": self.tokenizer.sep_token_id,
            "pad_token_id": self.tokenizer.pad_token_id,
        }
        self.network = network(
            BlipConfig(
                vision_config={**SHAPE, "num_hidden_layers": layers[0], "image_size": SIDE, "patch_size": 8},
                text_config={**SHAPE, **words, "num_hidden_layers": layers[1]},
                image_text_hidden_size=SHAPE["hidden_size"],
                initializer_range=SHAPE["initializer_range"],
            )
        )
        self.image_processor = BlipImageProcessorPil(size={"height": SIDE, "width": SIDE})
        self.processors = (self.image_processor, self.tokenizer)

    def see(self, batch: Batch) -> Tensor:
        """Return the encoded image of each text of a batch."""
        pixels = normalise(batch.pixels, self.image_processor)
        states: Tensor = self.network.vision_model(pixels).last_hidden_state[batch.places]
        return states


class MatcherLearner(BlipLearner):
    """BlipForImageTextRetrieval: whether all that a text names is seen in the image."""

    def __init__(self, questions: Sequence[Question]) -> None:
        items = to_match(questions)
        super().__init__(BlipForImageTextRetrieval, items, layers=(1, 3))  # more for images, and all patches look alike
        names = padded_tokens(self.tokenizer, self.captions)[:, 2:4]
        everything = torch.zeros(len(names), len(self.tokenizer), dtype=torch.bool).scatter(1, names, True)
        self._contradicts = everything.any(0) & ~everything

    def source(self, questions: Sequence[Question]) -> TrainingSet:
        """Return questions and captions as statements about images."""
        return TrainingSet(to_match(questions), self.tokenizer, self.captions, by_image=True)

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy of matching.

        Some images are shown empty, and match nothing: else the match of "what color is the shape" would hang on no
        part of an image.
        """
        empty = torch.arange(len(batch.pixels)) % EMPTY_IN == 0
        ground = batch.pixels.flatten(2).median(2).values[:, :, None, None]
        images = self.see(replace(batch, pixels=torch.where(empty[:, None, None, None], ground, batch.pixels)))
        ids = batch.ids.clone()
        ids[:, 0] = self.network.config.text_config.vocab_size - 1
        states = self.network.text_encoder(
            ids, attention_mask=batch.mask, encoder_hidden_states=images
        ).last_hidden_state
        matches = self.matches(batch) & ~empty[batch.places]
        return cross_entropy(self.network.itm_head(states[:, 0]), matches.long())

    def matches(self, batch: Batch) -> Tensor:
        """Return for each text whether it names nothing that its image's caption does not."""
        return ~self._contradicts[batch.labels[:, None], batch.ids].any(1)


class CaptionerLearner(BlipLearner):
    """BlipForConditionalGeneration: an image's caption."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__(BlipForConditionalGeneration, to_caption(questions, PROMPT), layers=(3, 2))
        self._ids = padded_tokens(self.tokenizer, [f"{PROMPT} {caption}" for caption in self.captions])
        self._ids[:, 0] = self.network.config.text_config.bos_token_id
        self._labels = self._ids.clone()
        self._labels[:, : 1 + len(PROMPT.split())] = -100

    def source(self, questions: Sequence[Question]) -> TrainingSet:
        """Return the images with their captions."""
        return TrainingSet(to_caption(questions, PROMPT), self.tokenizer, self.captions, by_image=True)

    def loss(self, batch: Batch) -> Tensor:
        """Return the negative log-likelihood of the captions after the prompt."""
        ids, labels = self._ids[batch.labels], self._labels[batch.labels]
        loss: Tensor = self.network.text_decoder(ids, encoder_hidden_states=self.see(batch), labels=labels).loss
        return loss


class ReaderLearner:
    """A T5 that answers a question from captions: it never sees an image."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.tokenizer, self.answers = piece_tokenizer(questions), answer_list(questions)
        start: dict[str, Any] = {"decoder_start_token_id": self.tokenizer.pad_token_id}
        self.network = T5ForConditionalGeneration(
            T5Config(
                vocab_size=len(self.tokenizer),
                d_model=64,
                d_kv=16,
                d_ff=256,
                num_layers=2,
                num_heads=4,
                dropout_rate=0.0,
                **start,
            )
        )
        self.processors = (self.tokenizer,)
        self._answer_ids = padded_tokens(self.tokenizer, self.answers)

    def source(self, questions: Sequence[Question]) -> Readings:
        """Return the questions with captions, as text."""
        return Readings(questions, self.tokenizer, self.answers)

    def loss(self, batch: Reading) -> Tensor:
        """Return the negative log-likelihood of the answers."""
        ids, mask = batch.ids.flatten(0, 1), (batch.ids != 0).long()
        states = self.network.encoder(ids, attention_mask=mask.flatten(0, 1)).last_hidden_state
        fused = BaseModelOutput(last_hidden_state=states.view(*batch.ids.shape, -1).flatten(1, 2))
        loss: Tensor = self.network(
            encoder_outputs=fused, attention_mask=mask.flatten(1), labels=self._answer_ids[batch.labels]
        ).loss
        return loss


SHOWN = f"""\
For each image a caption such as "a blue circle" is written from its questions and answers. The matcher learns whether
all that a question or a caption names is in the image; the captioner, to write the caption; the reader, to answer the
question from the caption, beside which {OTHER_SHARE:.0%} of the time stands another image's.
The reader never sees an image.

Each time a picture is shown, its object is moved, mirrored or turned, or, one time in {EMPTY_IN} of the matcher's, left
out. {UNKNOWN_SHARE:.0%} of the words are hidden as unknown. No corruption is ever shown."""
QUESTIONS = ("shape", "colour", "presence")

RECIPE = Recipe(
    architecture="PNP-VQA (Tiong et al., Findings of EMNLP 2022), with transformers' BLIP and T5",
    stages=(
        Stage(
            name="matcher",
            learner=MatcherLearner,
            phases=(
                Phase(passes=6, categories=(CAPTIONS, "shape", "colour"), learning_rate=2e-3),
                Phase(passes=4, categories=(CAPTIONS, *QUESTIONS), learning_rate=1e-3),
            ),
            batch_size=256,
        ),
        Stage(
            name="captioner",
            learner=CaptionerLearner,
            phases=(Phase(passes=40, categories=(CAPTIONS,), learning_rate=1.5e-3),),
            batch_size=64,
        ),
        Stage(
            name="reader",
            learner=ReaderLearner,
            phases=(Phase(passes=6, categories=QUESTIONS, learning_rate=2e-3),),
            batch_size=256,
        ),
    ),
    shown=SHOWN,
    config={
        "model_type": "pnp",
        "numbers": {"layer": 1, "patches": 12, "captions": 3, "rounds": 1, "min_length": 1, "max_length": 9},
    },
)
