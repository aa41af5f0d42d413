"""ViLT with a closed answer vocabulary (Kim et al., ICML 2021), as transformers' ViltForQuestionAnswering."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad
from torch.nn.utils.rnn import pad_sequence
from transformers import ViltForQuestionAnswering
from transformers.models.vilt.image_processing_pil_vilt import (
    MAX_LONGER_EDGE,
    MAX_SHORTER_EDGE,
    ViltImageProcessorPil,
)
from transformers.models.vilt.modeling_vilt import ViltEmbeddings

from robustlib.data.images import Pixels
from robustlib.models.base import Explanation, Prompt
from robustlib.models.checkpoint import Checkpoint, distinct_images
from robustlib.models.classifier import Classifier
from robustlib.models.gradcam import as_map, gradcam


class Ready(NamedTuple):
    """A batch as the network reads it."""

    pixels: list[Tensor]
    """The different images, a tensor for those of each shape: images x 3 x height x width."""
    rows: Tensor
    """For each prompt the row of its image among all of these."""
    ids: Tensor
    mask: Tensor


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
            dtype: "float32", "bfloat16", "float16", or "auto": see `checkpoint.find_dtype`.
        """
        super().__init__(name, Checkpoint(source, ViltForQuestionAnswering, ViltImageProcessorPil, revision, dtype))

    def prepare(self, prompts: Sequence[Prompt]) -> Ready:
        """Return what the network reads; images of one shape go through the processor, and the network, together."""
        images, places = distinct_images(prompts, self._config.image_size)
        of_shape: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        shown = [thicken(image, self._widest) for image in images]
        for place, image in enumerate(shown):
            of_shape[image.shape].append(place)
        groups = list(of_shape.values())
        rank = {place: row for row, place in enumerate(place for group in groups for place in group)}
        pixels = [self._checkpoint.pixel_values([shown[place] for place in group]) for group in groups]
        rows = torch.tensor([rank[place] for place in places.tolist()])
        return Ready(pixels, rows, *self._checkpoint.tokens([prompt.text for prompt in prompts]))

    def logits(self, ready: Ready) -> Tensor:
        """Return prompts x vocabulary."""
        logits: Tensor = self._read(ready).logits
        return logits

    def explain(self, prompts: Sequence[Prompt]) -> list[Explanation]:
        """Explain a batch, in order: by what the question's tokens, [CLS] first, attend to in all layers."""
        if not prompts:
            return []
        ready = self.prepare(prompts)
        output = self._read(ready, output_attentions=True)
        answers = self._choose(prompts, output.logits.detach())
        length, total = ready.ids.shape[1], output.attentions[0].shape[-1]
        words = self._checkpoint.move(pad(ready.mask, (0, total - length)))
        patches = gradcam(self._scores(answers, output.logits), output.attentions, words)[:, length + 1 :]
        side = self._config.patch_size
        grids = [(pixels.shape[2] // side, pixels.shape[3] // side) for pixels in ready.pixels for _ in pixels]
        maps = zip(answers, patches, (grids[row] for row in ready.rows.tolist()), strict=True)
        return [Explanation(answer, as_map(own[: rows * columns], columns)) for answer, own, (rows, columns) in maps]

    def _read(self, ready: Ready, **wanted: bool) -> Any:
        """Return the network's output, with what is wanted besides."""
        move, network = self._checkpoint.move, self._checkpoint.network
        embedded = [embed_images(network.vilt.embeddings, move(pixels)) for pixels in ready.pixels]
        rows = [row for group in embedded for row in group]
        real = [torch.ones(len(row), dtype=torch.long) for row in rows]
        return network(
            input_ids=move(ready.ids),
            attention_mask=move(ready.mask),
            image_embeds=pad_sequence(rows, batch_first=True)[ready.rows],
            pixel_mask=move(pad_sequence(real, batch_first=True)[ready.rows]),
            **wanted,
        )

    @property
    def _widest(self) -> int:
        """How many times as long as wide an image may be."""
        processor = self._checkpoint.image_processor
        longest = int(MAX_LONGER_EDGE / MAX_SHORTER_EDGE * processor.size["shortest_edge"])
        return int(longest // processor.size_divisor)


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
