"""What a model is to the rest of robustlib: prompts in, answers out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from robustlib.data.images import Pixels

Status = Literal["ok", "no_answer", "truncated", "error"]


@dataclass(frozen=True)
class Prompt:
    """What a model sees of a question."""

    image: Pixels | None
    """uint8 H x W x 3, or None for no image."""
    text: str
    """The question, without options: the adapter decides how they are shown."""
    options: tuple[str, ...] = ()
    """Answer options in label order; empty for an open question."""
    more_images: tuple[Pixels, ...] = ()
    """Further images, in the order in which the question names them; a model of one image ignores them."""

    @property
    def images(self) -> tuple[Pixels, ...]:
        """All images, in order; empty for a question of text alone."""
        return () if self.image is None else (self.image, *self.more_images)


@dataclass(frozen=True)
class Answer:
    """What a model said."""

    text: str
    """The answer as given; "" when the status is not "ok"."""
    status: Status = "ok"
    """Anything but "ok" scores 0 and stays in the denominator."""
    choice: int = -1
    """Index into the prompt's options, -1 if none was chosen."""
    logits: tuple[float, ...] | None = None
    """One score per option, in their order; None when there are no options or the model gives none."""
    confidence: float | None = None
    """The model's probability of the given answer, in [0, 1]; None when unknown."""
    option_mass: float | None = None
    """Share of the probability that the options hold together where they compete with all else a model could say."""
    reason: str = ""
    """Why the status is not "ok", where there is more to say than the status does."""


class Model(Protocol):
    """One class with one method, and a label for the record."""

    name: str
    """The name it was loaded by; it becomes the column `model` unless a profile gives it a label."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Answer a batch, in order.

        A batch answers as its prompts would one at a time (float32: logits within 1e-4). Safe to call from several
        threads.
        """
        ...

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer: checkpoint, revision, fingerprint (SHA-256), processor, dtype, ..."""
        ...


@dataclass(frozen=True)
class Explanation:
    """What an answer came from."""

    answer: Answer
    """As the model answers without being asked to explain."""
    map: NDArray[np.float32]
    """rows x columns, a grid over the image: each patch's share of what speaks for the answer, or, with several
    networks, for the question. They sum to 1, or are all 0 where nothing does."""
    captions: tuple[str, ...] = ()
    """What a model that reads captions read; empty for others."""


@runtime_checkable
class Explainer(Protocol):
    """A model that can tell what in an image its answers came from."""

    def explain(self, prompts: Sequence[Prompt]) -> list[Explanation]:
        """Explain the answers to a batch, in order; a batch explains as its prompts would one at a time."""
        ...
