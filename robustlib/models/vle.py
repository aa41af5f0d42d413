"""VLE with a closed answer vocabulary (iFLYTEK, 2023; github.com/iflytek/VLE)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

from robustlib.data.images import Pixels
from robustlib.errors import RobustlibError
from robustlib.models.base import Explanation, Prompt
from robustlib.models.checkpoint import Checkpoint
from robustlib.models.classifier import Classifier
from robustlib.models.gradcam import as_map, gradcam
from robustlib.models.vle_network import VleForQuestionAnswering

CONVERT = (
    "import torch, safetensors.torch as s; "
    "w = torch.load('pytorch_model.bin', map_location='cpu', weights_only=True); "
    "s.save_file({k: v.clone() for k, v in w.items()}, 'model.safetensors', {'format': 'pt'})"
)
"""Python that turns a released checkpoint's weights into the form that is read here, run in the checkpoint's folder."""


class Vle(Classifier):
    """A classifier over a fixed vocabulary of answers.

    * The answer, or the option, is chosen among the checkpoint's labels: see `ranking.Vocabulary`.
    * Without an image, the model sees a grey square (`checkpoint.GREY`).
    * The middle of an image is seen: its shorter side is brought to the model's size, and what then juts out of the
      square is cut off, as in training.
    * There is no position table. A question loses its end beyond `max_position_embeddings` of the text tower (512
      tokens in the released models), the largest distance between two words that the tower tells apart.
    """

    def __init__(self, name: str, source: str, *, revision: str | None = None, dtype: str = "float32") -> None:
        """Load a checkpoint, such as "hfl/vle-base-for-vqa" once its weights are safetensors.

        Args:
            name: what the record calls it.
            source: a local folder or a repository of the hub.
            revision: the repository's branch, tag or commit.
            dtype: "float32", "bfloat16", "float16", or "auto": see `checkpoint.find_dtype`.

        Raises:
            RobustlibError: there are no weights, or only a pickle (`pytorch_model.bin`), which is not opened.
        """
        try:
            checkpoint = Checkpoint(source, VleForQuestionAnswering, CLIPImageProcessorPil, revision, dtype)
        except OSError as error:
            raise RobustlibError(
                f"Cannot load the VLE {source!r}: {error} The released checkpoints hold pytorch_model.bin alone, and "
                f'only safetensors are read here. Download the folder and convert it there: python -c "{CONVERT}"'
            ) from error
        super().__init__(name, checkpoint)

    def prepare(self, prompts: Sequence[Prompt]) -> tuple[Tensor, ...]:
        """Return what the network reads: see `Checkpoint.batch`."""
        return self._checkpoint.batch(prompts, self._config.vision_config.image_size)

    def explain(self, prompts: Sequence[Prompt]) -> list[Explanation]:
        """Explain a batch, in order: by what the question's tokens attend to in all co-attention layers."""
        if not prompts:
            return []
        ready, seen = [self._checkpoint.move(values) for values in self.prepare(prompts)], list[Tensor]()
        logits = self._checkpoint.network(*ready, seen)
        answers = self._choose(prompts, logits.detach())
        patches = gradcam(self._scores(answers, logits), seen, ready[-1])[:, 1:]
        columns = self._config.vision_config.image_size // self._config.vision_config.patch_size
        maps = [_uncropped(as_map(own, columns), one.image) for own, one in zip(patches, prompts, strict=True)]
        return list(map(Explanation, answers, maps))

    def logits(self, ready: tuple[Tensor, ...]) -> Tensor:
        """Return prompts x vocabulary."""
        logits: Tensor = self._checkpoint.network(*map(self._checkpoint.move, ready))
        return logits


def _uncropped(seen: NDArray[np.float32], image: Pixels | None) -> NDArray[np.float32]:
    """Return the map of a whole image, given that of the square in its middle: 0 where it was cut off."""
    if image is None:
        return seen
    cut = [round((side / min(image.shape[:2]) - 1) * len(seen) / 2) for side in image.shape[:2]]
    return np.pad(seen, [(patches, patches) for patches in cut])
