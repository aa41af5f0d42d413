"""Answers of a text decoder: given ones ranked by their likelihood, or its own."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from robustlib.models.base import Answer, Prompt
from robustlib.models.ranking import best_answer, best_option

_IGNORED = -100  # the label that a loss leaves out


class Decoder(Protocol):
    """A decoder that attends to encoded questions."""

    tokenizer: Any
    end: int
    """The token that ends an answer."""

    def spell(self, texts: Sequence[str]) -> Tensor:
        """Return answers as tokens, texts x tokens: the decoder's start, the text, its end, padding."""
        ...

    def log_likelihood(self, states: Tensor, mask: Tensor, ids: Tensor) -> Tensor:
        """Return the log-likelihood of one spelt answer for each question."""
        ...

    def write(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return a greedily written answer for each question, in the form of `spell`."""
        ...


def answer_questions(
    decoder: Decoder, prompts: Sequence[Prompt], candidates: Sequence[Sequence[str]], states: Tensor, mask: Tensor
) -> list[Answer]:
    """Answer encoded questions.

    * Candidates are ranked by their log-likelihood, the end included. For a prompt's options these are the logits; the
      confidence is their softmax. An option with a word that the tokenizer cannot write has no likelihood of its own:
      "no_answer".
    * Without candidates, the answer is written; its confidence is its likelihood. One without an end is "truncated".

    Args:
        decoder: what scores and writes.
        prompts: what was asked.
        candidates: for each prompt its options, or the decoder's own list of answers, or nothing.
        states: questions x tokens x hidden.
        mask: questions x tokens, 0 where padded.
    """
    closed = [row for row, own in enumerate(candidates) if own]
    free = [row for row, own in enumerate(candidates) if not own]
    answers: dict[int, Answer] = {}
    if closed:
        scores = _scores(decoder, [candidates[row] for row in closed], states[closed], mask[closed])
        for row, own in zip(closed, scores, strict=True):
            answers[row] = _choose(decoder, prompts[row], candidates[row], own)
    if free:
        ids = decoder.write(states[free], mask[free])
        likelihoods = decoder.log_likelihood(states[free], mask[free], ids).exp().tolist()
        answers |= zip(free, (_written(decoder, *pair) for pair in zip(ids, likelihoods, strict=True)), strict=True)
    return [answers[row] for row in range(len(prompts))]


def summed_log_likelihood(logits: Tensor, ids: Tensor, padding: int) -> Tensor:
    """Return for each row the sum of the log-probabilities of its tokens after the first, in float32.

    Args:
        logits: rows x tokens x vocabulary, each of the token after.
        ids: rows x tokens.
        padding: the token that does not count.
    """
    labels = ids[:, 1:].masked_fill(ids[:, 1:] == padding, _IGNORED)
    ahead = logits[:, :-1].flatten(0, 1).float()
    losses = cross_entropy(ahead, labels.flatten(), ignore_index=_IGNORED, reduction="none")
    return -losses.view(labels.shape).sum(1)


def _scores(decoder: Decoder, candidates: Sequence[Sequence[str]], states: Tensor, mask: Tensor) -> Sequence[Tensor]:
    """Return for each question the log-likelihood of each of its candidates."""
    texts = sorted({text for own in candidates for text in own})
    places = torch.tensor([texts.index(text) for own in candidates for text in own])
    rows = torch.tensor([row for row, own in enumerate(candidates) for _ in own])
    scores = decoder.log_likelihood(states[rows], mask[rows], decoder.spell(texts)[places]).cpu()
    return torch.split(scores, [len(own) for own in candidates])


def _choose(decoder: Decoder, prompt: Prompt, candidates: Sequence[str], scores: Tensor) -> Answer:
    if not prompt.options:
        return best_answer(candidates, scores)
    if decoder.tokenizer.unk_token_id in decoder.spell(candidates):
        return Answer("", "no_answer", reason="an option holds a word outside the tokenizer's vocabulary")
    return best_option(candidates, scores)


def _written(decoder: Decoder, ids: Tensor, likelihood: float) -> Answer:
    if decoder.end not in ids:
        return Answer("", "truncated")
    text = decoder.tokenizer.decode(ids[1:], skip_special_tokens=True).strip()
    return Answer(text, confidence=likelihood) if text else Answer("", "no_answer")
