"""The numbers of PNP-VQA."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from robustlib.errors import InvalidTypeError, InvalidValueError, UnknownNameError

_LEAST = {"layer": 0, "min_length": 0, "answer_length": 2, "question_tokens": 3}
"""The least that a number can be where that is not 1. An answer needs room for a token after the decoder's start, a
question for one between [ENC] and [SEP]."""


@dataclass(frozen=True)
class Numbers:
    """What PNP-VQA could be asked to do otherwise; the defaults are those it was published with.

    Source: LAVIS, lavis/models/pnp_vqa_models and lavis/projects/pnp-vqa/eval (commit 506965b), where these two differ
    the latter. `rounds` is ours: there, one goes on until there are enough.
    """

    question_words: int = 50
    """A question loses what stands after so many words."""
    question_tokens: int = 35
    """And the matcher, what stands after so many tokens, [ENC] and [SEP] included."""
    layer: int = 7
    """The layer of the matcher's text encoder whose cross-attention tells the relevance, counted from 0."""
    patches: int = 20
    """Patches that a caption is written of."""
    captions: int = 100
    """Captions of an image that are drawn in a round, and kept in all."""
    rounds: int = 10
    """Rounds after which there are no more captions, for an image of which there is little to say."""
    prompt: str = "a picture of "
    """What every caption begins with."""
    top_k: int = 50
    """The likeliest tokens that a caption's next may be one of."""
    top_p: float = 1.0
    """The share of those tokens' probability that is drawn from."""
    min_length: int = 10
    """Fewest tokens of a caption, [DEC], prompt and [SEP] included."""
    max_length: int = 20
    """Most tokens of a caption."""
    captions_per_context: int = 1
    """Captions that the reader reads together with the question."""
    answer_length: int = 20
    """Most tokens of an answer, the decoder's start and end included."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            kind = type(getattr(Numbers, name))
            if type(value) is not kind and (kind, type(value)) != (float, int):
                raise InvalidTypeError(f"PNP-VQA's {name} must be {kind.__name__}, got {value!r}.")
            least = _LEAST.get(name, 1)
            if kind is int and value < least:
                raise InvalidValueError(f"PNP-VQA's {name} must be at least {least}, got {value}.")
        if self.min_length > self.max_length:
            raise InvalidValueError(
                f"PNP-VQA's min_length {self.min_length} is above its max_length {self.max_length}."
            )
        if not 0 < self.top_p <= 1:
            raise InvalidValueError(f"PNP-VQA's top_p must be in (0, 1], got {self.top_p}.")


def read_numbers(given: Mapping[str, Any]) -> Numbers:
    """Return the published numbers with some replaced.

    Raises:
        UnknownNameError: there is no such number.
        InvalidTypeError, InvalidValueError: a number of the wrong type, or out of its range.
    """
    known = [field.name for field in fields(Numbers)]
    for name in given:
        if name not in known:
            raise UnknownNameError("number of PNP-VQA", name, known)
    return Numbers(**given)
