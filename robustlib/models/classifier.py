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
        return self._choose(prompts, self.logits(ready))

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer."""
        return self._checkpoint.describe(decoding=f"argmax over {len(self._vocabulary.answers)} answers")

    def _choose(self, prompts: Sequence[Prompt], logits: Tensor) -> list[Answer]:
        rows = zip(prompts, logits.float().cpu(), strict=True)
        return [self._vocabulary.choose(prompt, row) for prompt, row in rows]

    def _scores(self, answers: Sequence[Answer], logits: Tensor) -> Tensor:
        """Return the logits of the answers that were given."""
        given = [place for place, answer in enumerate(answers) if answer.status == "ok"]
        return logits[given, [self._vocabulary.label_of(answers[place].text) for place in given]]

    @abstractmethod
    def logits(self, ready: Any) -> Tensor:
        """Return prompts x vocabulary, given what `prepare` returned."""
