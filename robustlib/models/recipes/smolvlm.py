"""pocket/smolvlm: a chat model of six hundred thousand parameters."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3Processor
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

from robustlib.data.question import Question
from robustlib.models.recipes import Phase, Recipe, Stage
from robustlib.models.training_captions import CAPTIONS
from robustlib.models.training_chats import (
    CHOICE,
    END,
    IMAGE,
    IMAGE_EDGE,
    WHOLE_IMAGE,
    ChatBatch,
    Chats,
    chat_tokenizer,
)
from robustlib.models.training_data import normalise

SIDE = 64
PATCH = 8
SHUFFLE = 2
"""So many patches in a row and in a column become one image token."""
IMAGE_TOKENS = (SIDE // PATCH // SHUFFLE) ** 2
TEMPLATE = (
    "{% for message in messages %}{% for part in message.content %}"
    "{{ '" + IMAGE + "' if part.type == 'image' else part.text }}"
    "{% endfor %}" + END + "{% endfor %}"
)
"""Turns alternate, so nobody is named, and an answer starts where a question ends."""


class SmolVlmLearner:
    """The network of SmolVLM (v1), at 64 pixels instead of 384, with 3 and 4 layers instead of 27 and 24."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.tokenizer = chat_tokenizer(questions)
        shape = {"num_attention_heads": 4, "initializer_range": 0.1}
        end = self.tokenizer.eos_token_id
        self.network: Any = Idefics3ForConditionalGeneration(
            Idefics3Config(
                vision_config={
                    **shape,
                    "hidden_size": 64,
                    "num_hidden_layers": 3,
                    "intermediate_size": 256,
                    "image_size": SIDE,
                    "patch_size": PATCH,
                },
                text_config={
                    **shape,
                    "model_type": "llama",
                    "hidden_size": 96,
                    "num_hidden_layers": 4,
                    "intermediate_size": 256,
                    "num_key_value_heads": shape["num_attention_heads"],
                    "vocab_size": len(self.tokenizer),
                    "max_position_embeddings": 512,
                    "tie_word_embeddings": True,
                    "pad_token_id": self.tokenizer.pad_token_id,
                    "bos_token_id": end,
                    "eos_token_id": end,
                },
                tie_word_embeddings=True,
                scale_factor=SHUFFLE,
                image_token_id=self.tokenizer.convert_tokens_to_ids(IMAGE),
            )
        )
        edges: dict[str, Any] = {"size": {"longest_edge": SIDE}, "max_image_size": {"longest_edge": SIDE}}
        self.image_processor = Idefics3ImageProcessorPil(**edges, do_image_splitting=False)
        self.processors = (
            Idefics3Processor(self.image_processor, self.tokenizer, image_seq_len=IMAGE_TOKENS, chat_template=TEMPLATE),
        )
        shown = f"{IMAGE_EDGE}{WHOLE_IMAGE}{IMAGE * IMAGE_TOKENS}{IMAGE_EDGE}"
        self._image_ids = torch.tensor(self.tokenizer([shown])["input_ids"])

    def source(self, questions: Sequence[Question]) -> Chats:
        """Return the questions as chats."""
        return Chats(questions, self.tokenizer)

    def loss(self, batch: ChatBatch) -> Tensor:
        """Return the negative log-likelihood of the answers' tokens."""
        decoder, embed = self.network.model.text_model, self.network.get_input_embeddings()
        cache = self._see(batch) if len(batch.pixels) else None
        states = decoder(inputs_embeds=embed(batch.ids), cache=cache).last_hidden_state
        following = batch.labels[:, 1:]
        spoken = following >= 0
        return cross_entropy(self.network.lm_head(states[:, :-1][spoken]), following[spoken])

    def _see(self, batch: ChatBatch) -> Any:
        """Return what the decoder keeps of each question's image; each image is read once."""
        ids = self._image_ids.expand(len(batch.pixels), -1)
        pixels = normalise(batch.pixels, self.image_processor)
        embedded = self.network.model.inputs_merger(
            input_ids=ids,
            inputs_embeds=self.network.get_input_embeddings()(ids),
            image_hidden_states=torch.cat(self.network.get_image_features(pixels[:, None]).pooler_output),
        )
        cache = self.network.model.text_model(inputs_embeds=embedded, use_cache=True).cache
        cache.batch_select_indices(batch.places)
        return cache


NAMES = ("shape", "colour")
NAME_CHOICES = tuple(name + CHOICE for name in NAMES)
ALL = (*NAMES, *NAME_CHOICES, "presence", "presence" + CHOICE)

RECIPE = Recipe(
    architecture="SmolVLM (Marafioti et al., 2025; first version), as transformers' Idefics3ForConditionalGeneration",
    stages=(
        Stage(
            learner=SmolVlmLearner,
            phases=(
                Phase(passes=28, categories=(CAPTIONS,), learning_rate=1e-3),
                Phase(passes=4, categories=(*NAMES, *NAME_CHOICES), learning_rate=1e-3),
                Phase(passes=4, categories=ALL, learning_rate=1e-3),
                # Eight colours among six letters stay at chance until nothing else is asked for a while.
                Phase(passes=14, categories=("colour" + CHOICE,), learning_rate=1e-3),
                Phase(passes=3, categories=ALL, learning_rate=1e-3),
            ),
            batch_size=64,
        ),
    ),
    shown=(
        f"{Recipe.shown}\n"
        'For each image a caption such as "a blue circle" is written from its questions and answers. A question is\n'
        "asked openly and as a choice among two to six lettered options, other ones each time."
    ),
    choices=True,
)
