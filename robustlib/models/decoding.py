"""How a language model's next tokens are chosen, so that each row of a batch is decoded as it would be alone."""

import hashlib
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor

from robustlib.models.base import Prompt
from robustlib.models.prompts import TEMPERATURE, TOP_K, TOP_P
from robustlib.seeding import generator


def settle(network: Any, tokenizer: Any, new_tokens: int) -> list[int]:
    """Replace a checkpoint's own generation settings (penalties, temperature, ...) by greedy decoding.

    Returns:
        The tokens that end a response, which stay the checkpoint's.
    """
    own, settings = network.generation_config.eos_token_id, cast("Any", GenerationConfig)
    ends = tokenizer.eos_token_id if own is None else own
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    network.generation_config = settings(
        do_sample=False, max_new_tokens=new_tokens, eos_token_id=ends, pad_token_id=pad
    )
    return ends if isinstance(ends, list) else [ends]


class Record(LogitsProcessor):
    """Notes, during greedy decoding, what the model gave the tokens; changes nothing."""

    def __init__(self) -> None:
        self._first: list[Tensor] = []
        self._best: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Take one step's logits, rows x vocabulary, and return them."""
        self._first = self._first or [scores]
        self._best.append(scores.log_softmax(-1).amax(-1))
        return scores

    def first_logits(self, row: int) -> Tensor:
        """Return the logits of the first new token: one per entry of the vocabulary."""
        return self._first[0][row].cpu()

    def probability(self, row: int, tokens: int) -> float:
        """Return the probability of the first so many tokens of a row."""
        return float(torch.stack(self._best)[:tokens, row].sum().exp())


class Sampler(LogitsProcessor):
    """Turns greedy decoding into sampling with one random stream per row.

    The largest of logits plus Gumbel noise is a draw from their softmax. transformers' own sampling draws from the
    global generator, so a row would depend on its neighbours.
    """

    def __init__(
        self, streams: Sequence[np.random.Generator], top_k: int, top_p: float, temperature: float = 1.0, rows: int = 1
    ) -> None:
        """Set up for a batch.

        Args:
            streams: one for each prompt; the rows of a prompt share it, and stand together.
            top_k: how many of the likeliest tokens may be drawn.
            top_p: the share of the probability, among those, that the nucleus holds.
            temperature: what the logits are divided by.
            rows: how many rows a prompt has.
        """
        self._streams, self._rows = streams, rows
        self._top_k, self._top_p, self._temperature = top_k, top_p, temperature

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Take one step's logits, rows x vocabulary, and return 0 for the drawn token and -inf for all others."""
        best, tokens = scores.topk(min(self._top_k, scores.shape[-1]))
        best = best.double() / self._temperature
        shares = best.softmax(-1)
        best = best.masked_fill(shares.cumsum(-1) - shares >= self._top_p, -torch.inf)
        tokens, order = tokens.sort()  # so that no draw hangs on the order of two equally likely tokens
        noise = np.concatenate([stream.gumbel(size=(self._rows, best.shape[-1])) for stream in self._streams])
        drawn = best.gather(-1, order) + torch.from_numpy(noise).to(best.device)
        chosen = tokens.gather(-1, drawn.argmax(-1, keepdim=True))
        return torch.full_like(scores, -torch.inf).scatter(-1, chosen, 0.0)


def thinking_sampler(prompts: Sequence[Prompt], seed: int) -> Sampler:
    """Return the sampling of the mode "thinking", in which each prompt has its own stream."""
    streams = [generator("thinking", seed, prompt_digest(prompt)) for prompt in prompts]
    return Sampler(streams, TOP_K, TOP_P, TEMPERATURE)


def prompt_digest(prompt: Prompt) -> str:
    """Return the SHA-256 of all that a prompt shows: text, options and pixels."""
    total = hashlib.sha256(repr((prompt.text, prompt.options)).encode())
    for image in prompt.images:
        total.update(repr(image.shape).encode() + image.tobytes())
    return total.hexdigest()
