"""pocket/blip: a BLIP of one million parameters."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers import BlipConfig, BlipForQuestionAnswering
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from robustlib.data.question import Question
from robustlib.models.blip_network import log_likelihood, mend_cross_attention, read_questions
from robustlib.models.recipes import Phase, Recipe, Stage
from robustlib.models.training_data import Batch, TrainingSet, answer_list, normalise, padded_tokens, word_tokenizer

SIDE = 64


class BlipLearner:
    """The network of `BlipForQuestionAnswering`, at 64 pixels instead of 384, with 4 and 2 layers instead of 12."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.tokenizer, self.answers = word_tokenizer(questions), answer_list(questions)
        shape = {
            "hidden_size": 96,
            "intermediate_size": 384,
            "num_attention_heads": 4,
            "initializer_range": 0.1,
        }
        own: dict[str, Any] = {"answers": self.answers}  # not a field of transformers'; the adapter ranks this list
        config = BlipConfig(
            vision_config={**shape, "num_hidden_layers": 4, "image_size": SIDE, "patch_size": 8},
            text_config={
                **shape,
                "num_hidden_layers": 2,
                "vocab_size": len(self.tokenizer),
                "max_position_embeddings": 40,
                "bos_token_id": self.tokenizer.convert_tokens_to_ids("[DEC]"),
                "sep_token_id": self.tokenizer.sep_token_id,
                "eos_token_id": self.tokenizer.sep_token_id,
                "pad_token_id": self.tokenizer.pad_token_id,
            },
            initializer_range=shape["initializer_range"],
            **own,
        )
        self.network = BlipForQuestionAnswering(config)
        mend_cross_attention(self.network)
        self.image_processor = BlipImageProcessorPil(size={"height": SIDE, "width": SIDE})
        self.processors = (self.image_processor, self.tokenizer)
        self._answer_ids = padded_tokens(self.tokenizer, self.answers)
        self._answer_ids[:, 0] = self.network.decoder_start_token_id

    def source(self, questions: Sequence[Question]) -> TrainingSet:
        """Return the questions as tensors."""
        return TrainingSet(questions, self.tokenizer, self.answers, by_image=True)

    def loss(self, batch: Batch) -> Tensor:
        """Return the negative log-likelihood of the answers under the decoder."""
        pixels = normalise(batch.pixels, self.image_processor)
        states = read_questions(self.network, pixels, batch.places, batch.ids, batch.mask)
        return -log_likelihood(self.network, states, batch.mask, self._answer_ids[batch.labels]).mean()


RECIPE = Recipe(
    architecture="BLIP (Li et al., ICML 2022), as transformers' BlipForQuestionAnswering",
    stages=(
        Stage(
            learner=BlipLearner,
            phases=(
                Phase(passes=24, categories=("shape", "colour"), learning_rate=1e-3),
                Phase(passes=12, categories=("shape", "colour", "presence"), learning_rate=1e-3),
            ),
            batch_size=192,
        ),
    ),
)
