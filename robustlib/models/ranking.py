"""Answering by choosing the best of some candidates."""

from collections.abc import Sequence

from torch import Tensor

from robustlib.models.base import Answer


def best_option(options: Sequence[str], scores: Tensor) -> Answer:
    """Return the option with the highest score.

    Args:
        options: the prompt's options.
        scores: one logit per option.

    Returns:
        The answer with its index, all logits, and its softmax probability among the options. The first of equals wins.
    """
    index = int(scores.argmax())
    return Answer(options[index], "ok", index, tuple(scores.tolist()), float(scores.softmax(0)[index]))


def best_answer(vocabulary: Sequence[str], scores: Tensor) -> Answer:
    """Return the answer with the highest score among a model's own; its confidence is the softmax over all of them."""
    index = int(scores.argmax())
    return Answer(vocabulary[index], confidence=float(scores.softmax(0)[index]))
