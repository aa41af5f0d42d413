"""What models with a closed list of answers have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from robustlib.models.base import Answer, Prompt
from robustlib.models.checkpoint import Checkpoint
from robustlib.models.ranking import Vocabulary
from robustlib.models.staged import Staged


class Classifier(Staged):
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
    def run(self, prompts: Sequence[Prompt], ready: Any) -> list[Answer]:
        """Answer a batch, in order."""
        rows = self.logits(ready).float().cpu()
        return [self._vocabulary.choose(prompt, row) for prompt, row in zip(prompts, rows, strict=True)]

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer."""
        return self._checkpoint.describe(decoding=f"argmax over {len(self._vocabulary.answers)} answers")

    @abstractmethod
    def logits(self, ready: Any) -> Tensor:
        """Return prompts x vocabulary, given what `prepare` returned."""
