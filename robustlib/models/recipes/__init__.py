"""Recipes of the pocket models: one module each, named as the model, with a `RECIPE`."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol

from torch import Tensor
from transformers import BertTokenizer

from robustlib.errors import UnknownNameError
from robustlib.models.training_data import Batch


class Learner(Protocol):
    """A network at the start of its training."""

    network: Any

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of a batch."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything but the tokenizer in the form that `load_model` reads."""
        ...


@dataclass(frozen=True)
class Phase:
    """Some passes over the questions of some categories, under one rise and fall of the learning rate."""

    passes: int
    categories: tuple[str, ...]
    learning_rate: float
    """The highest, reached after a tenth of the steps (one-cycle policy)."""


@dataclass(frozen=True)
class Recipe:
    """All that is special to one pocket model."""

    learner: Callable[[BertTokenizer, tuple[str, ...]], Learner]
    """Makes the network for a tokenizer and the answers, with weights from torch's global generator."""
    architecture: str
    """What the model card says it is."""
    phases: tuple[Phase, ...]
    batch_size: int
    by_image: bool
    """Whether questions about one image are trained together: cheaper where they share the image's encoding."""


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
