"""ViLT with a closed answer vocabulary (Kim et al., ICML 2021), as transformers' ViltForQuestionAnswering."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate
from torch.nn.utils.rnn import pad_sequence
from transformers import ViltForQuestionAnswering
from transformers.models.vilt.image_processing_pil_vilt import (
    MAX_LONGER_EDGE,
    MAX_SHORTER_EDGE,
    ViltImageProcessorPil,
)
from transformers.models.vilt.modeling_vilt import ViltEmbeddings

from robustlib.data.images import Pixels
from robustlib.models.base import Prompt
from robustlib.models.checkpoint import Checkpoint, distinct_images
from robustlib.models.classifier import Classifier


class Vilt(Classifier):
    """A classifier over a fixed vocabulary of answers.

    * The answer, or the option, is chosen among the checkpoint's labels: see `ranking.Vocabulary`.
    * Without an image, the model sees a grey square (`checkpoint.GREY`).
    * A question longer than the model's position table (40 tokens in the released one) loses its end, as in training.
    """

    def __init__(self, name: str, source: str, *, revision: str | None = None, dtype: str = "float32") -> None:
        """Load a checkpoint.

        Args:
            name: what the record calls it.
            source: a local folder or a repository of the hub.
            revision: the repository's branch, tag or commit.
            dtype: "float32", "bfloat16" or "float16".
        """
        super().__init__(name, Checkpoint(source, ViltForQuestionAnswering, ViltImageProcessorPil, revision, dtype))

    def _logits(self, prompts: Sequence[Prompt]) -> Tensor:
        images, places = distinct_images(prompts, self._config.image_size)
        embeddings = self._checkpoint.network.vilt.embeddings
        rows = [embed_images(embeddings, self._pixel_values(image))[0] for image in images]
        image_embeds = pad_sequence(rows, batch_first=True)[places]
        image_mask = pad_sequence([torch.ones(len(row), dtype=torch.long) for row in rows], batch_first=True)[places]
        ids, mask = self._checkpoint.tokens([prompt.text for prompt in prompts])
        logits: Tensor = self._checkpoint.network(
            input_ids=ids, attention_mask=mask, image_embeds=image_embeds, pixel_mask=image_mask.to(ids.device)
        ).logits
        return logits.float().cpu()

    def _pixel_values(self, image: Pixels) -> Tensor:
        processor = self._checkpoint.image_processor
        longest = int(MAX_LONGER_EDGE / MAX_SHORTER_EDGE * processor.size["shortest_edge"])
        widest = longest // processor.size_divisor
        return self._checkpoint.pixel_values(thicken(image, widest))


def embed_images(embeddings: ViltEmbeddings, pixel_values: Tensor) -> Tensor:
    """Return the image tokens that ViLT's encoder reads: batch x (1 + patches) x hidden, [CLS] first.

    The same as transformers' `visual_embed` for images of one size, except that the patches keep their order and none
    is left out: there, torch.multinomial shuffles them with the global generator.

    Args:
        embeddings: the embedding layers of the network.
        pixel_values: batch x 3 x height x width.
    """
    patches = embeddings.patch_embeddings(pixel_values)
    table = embeddings.position_embeddings
    side = embeddings.config.image_size // embeddings.config.patch_size
    grid = table[:, 1:].transpose(1, 2).reshape(1, -1, side, side)
    positions = interpolate(grid, size=patches.shape[2:], mode="bilinear", align_corners=True)
    tokens = (patches + positions).flatten(2).transpose(1, 2)
    start = (embeddings.cls_token + table[:, :1]).expand(len(tokens), -1, -1)
    return torch.cat([start, tokens], dim=1)


def thicken(image: Pixels, widest: int) -> Pixels:
    """Repeat the rows or columns of an image more elongated than `widest` to 1, which would leave ViLT no patch."""
    height, width = image.shape[:2]
    short = int(height > width)
    times = -(-max(height, width) // (widest * min(height, width)))
    return np.repeat(image, times, axis=short)
