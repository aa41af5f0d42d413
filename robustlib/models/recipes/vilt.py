"""pocket/vilt: a ViLT of half a million parameters."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import ViltConfig, ViltForQuestionAnswering
from transformers.models.vilt.image_processing_pil_vilt import ViltImageProcessorPil

from robustlib.data.question import Question
from robustlib.models.recipes import Phase, Recipe, Stage
from robustlib.models.training_data import Batch, TrainingSet, answer_list, normalise, word_tokenizer
from robustlib.models.vilt import embed_images

SIDE = 64
PATCH = 8
IMAGES: dict[str, Any] = {"size": {"shortest_edge": SIDE}, "size_divisor": PATCH}


class ViltLearner:
    """The network of `ViltForQuestionAnswering`, at 64 pixels instead of 384 and with 4 layers instead of 12."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.tokenizer, self.answers = word_tokenizer(questions), answer_list(questions)
        config = ViltConfig(
            vocab_size=len(self.tokenizer),
            hidden_size=96,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=384,
            image_size=SIDE,
            patch_size=PATCH,
            max_position_embeddings=40,
            max_image_length=-1,
            initializer_range=0.1,  # 0.02 suits 768 dimensions; at 96 the network then takes ten passes to stir
            id2label=dict(enumerate(self.answers)),
            label2id={answer: label for label, answer in enumerate(self.answers)},
        )
        self.network = ViltForQuestionAnswering(config)
        torch.nn.init.normal_(self.network.vilt.embeddings.position_embeddings, std=0.02)
        self.image_processor = ViltImageProcessorPil(**IMAGES)
        self.processors = (self.image_processor, self.tokenizer)

    def source(self, questions: Sequence[Question]) -> TrainingSet:
        """Return the questions as tensors."""
        return TrainingSet(questions, self.tokenizer, self.answers, by_image=False)

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy over the answers."""
        pixels = normalise(batch.pixels, self.image_processor)
        images = embed_images(self.network.vilt.embeddings, pixels)[batch.places]
        logits = self.network(
            input_ids=batch.ids,
            attention_mask=batch.mask,
            image_embeds=images,
            pixel_mask=torch.ones(images.shape[:2], dtype=torch.long),
        ).logits
        return cross_entropy(logits, batch.labels)


RECIPE = Recipe(
    architecture="ViLT (Kim et al., ICML 2021), as transformers' ViltForQuestionAnswering",
    stages=(
        Stage(
            learner=ViltLearner,
            phases=(
                Phase(passes=12, categories=("shape", "colour"), learning_rate=1e-3),
                Phase(passes=8, categories=("shape", "colour", "presence"), learning_rate=1e-3),
            ),
            batch_size=128,
        ),
    ),
)
