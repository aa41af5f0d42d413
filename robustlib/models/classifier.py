"""What models with a closed list of answers have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from robustlib.models.base import Answer, Prompt
from robustlib.models.checkpoint import Checkpoint
from robustlib.models.ranking import Vocabulary


class Classifier(ABC):
    """A model whose answers are the labels of its checkpoint: see `ranking.Vocabulary`."""

    def __init__(self, name: str, checkpoint: Checkpoint) -> None:
        """Take a loaded checkpoint.

        Args:
            name: what the record calls the model.
            checkpoint: its network's configuration has the answers as `id2label`.
        """
        self.name = name
        self._checkpoint = checkpoint
        self._config = checkpoint.network.config
        self._vocabulary = Vocabulary(self._config.id2label)

    @torch.inference_mode()
    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Answer a batch, in order."""
        if not prompts:
            return []
        rows = self._logits(prompts)
        return [self._vocabulary.choose(prompt, row) for prompt, row in zip(prompts, rows, strict=True)]

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer."""
        return self._checkpoint.describe(decoding=f"argmax over {len(self._vocabulary.answers)} answers")

    @abstractmethod
    def _logits(self, prompts: Sequence[Prompt]) -> Tensor:
        """Return prompts x vocabulary, float32 on the CPU."""
