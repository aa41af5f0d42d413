"""pocket/vle: a VLE of one million parameters."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

from robustlib.data.question import Question
from robustlib.models.recipes import Phase, Recipe, Stage
from robustlib.models.training_data import Batch, TrainingSet, answer_list, normalise, word_tokenizer
from robustlib.models.training_tower import start_from_blip
from robustlib.models.vle_network import VleConfig, VleForQuestionAnswering

SIDE = 64


class VleLearner:
    """VLE at 64 pixels instead of 576, with 4, 1 and 2 layers for image, text and both instead of 11, 12 and 6."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.tokenizer, self.answers = word_tokenizer(questions), answer_list(questions)
        shape: dict[str, Any] = {
            "hidden_size": 96,
            "intermediate_size": 384,
            "num_attention_heads": 4,
            "initializer_range": 0.1,
        }
        config = VleConfig(
            text_config={
                **shape,
                "num_hidden_layers": 1,
                "vocab_size": len(self.tokenizer),
                "pad_token_id": self.tokenizer.pad_token_id,
                "relative_attention": True,
                "position_buckets": 16,
                "norm_rel_ebd": "layer_norm",
                "share_att_key": True,
                "pos_att_type": ["p2c", "c2p"],
                "position_biased_input": False,
                "max_position_embeddings": 64,
                "hidden_dropout_prob": 0.0,
                "attention_probs_dropout_prob": 0.0,
            },
            vision_config={**shape, "num_hidden_layers": 4, "image_size": SIDE, "patch_size": 8},
            **{**shape, "num_hidden_layers": 2, "intermediate_size": 192, "initializer_range": 0.05},
            id2label=dict(enumerate(self.answers)),
            label2id={answer: label for label, answer in enumerate(self.answers)},
        )
        self.network = VleForQuestionAnswering(config)
        start_from_blip(self.network.vle.vision_model)  # as VLE starts from CLIP
        self.image_processor = CLIPImageProcessorPil(
            size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
        )
        self.processors = (self.image_processor, self.tokenizer)

    def source(self, questions: Sequence[Question]) -> TrainingSet:
        """Return the questions as tensors."""
        return TrainingSet(questions, self.tokenizer, self.answers, by_image=True)

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy over the answers."""
        pixels = normalise(batch.pixels, self.image_processor)
        return cross_entropy(self.network(pixels, batch.places, batch.ids, batch.mask), batch.labels)


RECIPE = Recipe(
    architecture="VLE (iFLYTEK, 2023), as robustlib's VleForQuestionAnswering",
    start="The image tower starts from pocket/blip's, the rest from scratch",
    stages=(
        Stage(
            learner=VleLearner,
            phases=(
                Phase(passes=4, categories=("shape", "colour"), learning_rate=5e-4),
                Phase(passes=10, categories=("shape", "colour", "presence"), learning_rate=5e-4),
            ),
            batch_size=96,
        ),
    ),
)
