"""Recipes of the pocket models: one module each, named as the model, with a `RECIPE`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

import torch
from torch import Tensor

from robustlib.data.question import Question
from robustlib.errors import UnknownNameError
from robustlib.models.training_data import UNKNOWN_SHARE


class Source(Protocol):
    """What a network is trained on: items of some categories, in batches of a form that its learner knows."""

    def count(self, categories: Sequence[str]) -> int:
        """Return the number of items of these categories."""
        ...

    def order(self, categories: Sequence[str], draw: torch.Generator) -> Tensor:
        """Return the items of these categories in a random order, by their index."""
        ...

    def batches(self, order: Tensor, size: int, draw: torch.Generator) -> Iterator[Any]:
        """Cut an order into batches of at most `size` items."""
        ...


class Learner(Protocol):
    """A network at the start of its training."""

    network: Any
    processors: tuple[Any, ...]
    """All else that its checkpoint holds (tokenizer, image processor), each with transformers' `save_pretrained`."""

    def source(self, questions: Sequence[Question]) -> Source:
        """Return what there is to learn from these questions."""
        ...

    def loss(self, batch: Any) -> Tensor:
        """Return the mean loss of a batch of the source."""
        ...


@dataclass(frozen=True)
class Phase:
    """Some passes over the items of some categories, under one rise and fall of the learning rate."""

    passes: int
    categories: tuple[str, ...]
    learning_rate: float
    """The highest, reached after a tenth of the steps (one-cycle policy)."""


@dataclass(frozen=True)
class Stage:
    """One network of a pocket model, and how it is trained."""

    learner: Callable[[Sequence[Question]], Learner]
    """Makes the network for the words and answers of all training questions, weights from torch's global generator."""
    phases: tuple[Phase, ...]
    batch_size: int
    name: str = ""
    """The network's folder within the model's; "" where there is but one."""


@dataclass(frozen=True)
class Recipe:
    """All that is special to one pocket model."""

    architecture: str
    """What the model card says it is."""
    stages: tuple[Stage, ...]
    """Trained one after the other, each by itself."""
    start: str = "From scratch"
    """What the model card says of the weights at the start."""
    shown: str = (
        "Each time a picture is shown, its object is moved, mirrored or turned, and "
        f"{UNKNOWN_SHARE:.0%} of the words are hidden as\n[UNK]. No corruption is ever shown."
    )
    """What the model card says of how the data is used."""
    choices: bool = False
    """Whether it answers choices too (`easy_vqa_choice`), by ranking the options."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """`config.json` of a model of several networks; empty for one network, which has its own."""


def load_recipe(name: str) -> Recipe:
    """Return the recipe of a pocket model such as "pocket/vilt".

    Raises:
        UnknownNameError: there is none; the message lists those there are.
    """
    known = {f"pocket/{module.name}": module.name for module in iter_modules(__path__)}
    if name not in known:
        raise UnknownNameError("recipe", name, known)
    recipe: Recipe = import_module(f"{__name__}.{known[name]}").RECIPE
    return recipe
