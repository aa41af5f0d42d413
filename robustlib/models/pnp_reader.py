"""The reader of PNP-VQA: a T5 that reads the question with each caption apart and answers from all of them at once.

This is fusion-in-decoder (Izacard and Grave, EACL 2021), as in LAVIS's PNP-VQA with UnifiedQA.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers.modeling_outputs import BaseModelOutput


def write_context(question: str, captions: Sequence[str]) -> str:
    r"""Return what the reader reads: UnifiedQA's form, in which a backslash and an n divide question and context."""
    return f"{question} \\n {' '.join(f'{caption}.' for caption in captions)}".lower()


def fuse(states: Tensor, mask: Tensor, contexts: Sequence[Sequence[int]]) -> tuple[BaseModelOutput, Tensor]:
    """Join the encoded contexts of each question into one long text.

    Args:
        states: encoded contexts, contexts x tokens x hidden.
        mask: contexts x tokens, 0 where padded.
        contexts: for each question the indices of its contexts.

    Returns:
        What the decoder attends to, questions x joined tokens x hidden, without the contexts' padding, and its mask.
    """
    joined = [states[own][mask[own].bool()] for own in map(list, contexts)]
    masks = [torch.ones(len(row), dtype=torch.long, device=row.device) for row in joined]
    fused: Any = pad_sequence(joined, batch_first=True)
    return BaseModelOutput(last_hidden_state=fused), pad_sequence(masks, batch_first=True)
