"""Scoring options by the letter that the model would write next."""

from collections.abc import Sequence

from torch import Tensor, stack

from robustlib.errors import InvalidValueError
from robustlib.models.prompts import LETTERS

_SPACES = ("", "\u0120", "\u2581", " ")
"""How tokenizers write the space before a word: byte-level BPE as G with a dot, SentencePiece as a low block."""


def letter_tokens(vocabulary: dict[str, int]) -> list[list[int]]:
    """Return for each letter A .. Z all its one-token forms: bare and with a leading space.

    Which of them follows the chat template's last word depends on the tokenizer, so all of them count.
    """
    return [[vocabulary[space + letter] for space in _SPACES if space + letter in vocabulary] for letter in LETTERS]


def score_letters(logits: Tensor, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, float]:
    """Score options by their letters.

    Args:
        logits: of the next token, one per entry of the vocabulary.
        tokens: for each option the forms of its letter.

    Returns:
        One logit per option, the logsumexp over the forms, so that its softmax is the probability of each option given
        that a letter follows; and the probability in [0, 1] that one of these letters follows.

    Raises:
        InvalidValueError: a letter is no token of the model.
    """
    for letter, forms in zip(LETTERS, tokens, strict=False):
        if not forms:
            raise InvalidValueError(
                f"The option letter {letter} is not one token of this model: options have no score."
            )
    scores = stack([logits[list(forms)].logsumexp(0) for forms in tokens])
    return scores, float((scores.logsumexp(0) - logits.logsumexp(0)).exp().clamp(max=1))
