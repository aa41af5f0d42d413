"""Models whose work has two stages, so that one batch can be made ready while the network is busy with another."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from robustlib.models.base import Answer, Prompt


class Staged(ABC):
    """A model that first brings prompts into the form that its network reads, on the CPU, and then asks the network."""

    name: str

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Answer a batch, in order."""
        return self.run(prompts, self.prepare(prompts)) if prompts else []

    @abstractmethod
    def prepare(self, prompts: Sequence[Prompt]) -> Any:
        """Return what the network reads of a batch of at least one prompt, in the CPU's memory."""

    @abstractmethod
    def run(self, prompts: Sequence[Prompt], ready: Any) -> list[Answer]:
        """Answer a batch, in order, given what `prepare` returned for these very prompts."""

    @abstractmethod
    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer."""
