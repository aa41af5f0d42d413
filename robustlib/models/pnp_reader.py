"""The reader of PNP-VQA: a T5 that reads the question with each caption apart and answers from all of them at once.

This is fusion-in-decoder (Izacard and Grave, EACL 2021) with UnifiedQA's form of question and context.
Source: Tiong et al., Findings of EMNLP 2022; LAVIS, lavis/models/pnp_vqa_models/pnp_unifiedqav2_fid.py (506965b).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from transformers import T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from robustlib.models.checkpoint import Checkpoint
from robustlib.models.written import summed_log_likelihood


def write_context(question: str, captions: Sequence[str]) -> str:
    r"""Return what the encoder reads: question and captions, divided by a backslash and an n as UnifiedQA has it."""
    return " ".join([question, "\\n", *(f"{caption}." for caption in captions)]).lower()


def fuse(states: Tensor, mask: Tensor, contexts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Join the encoded contexts of each question into one long text, without the padding between them.

    Args:
        states: encoded contexts, contexts x tokens x hidden.
        mask: contexts x tokens, 0 where padded.
        contexts: for each question the indices of its contexts.

    Returns:
        What the decoder attends to, questions x joined tokens x hidden, and its mask.
    """
    joined = [states[list(own)][mask[list(own)].bool()] for own in contexts]
    masks = [torch.ones(len(row), dtype=mask.dtype, device=mask.device) for row in joined]
    return pad_sequence(joined, batch_first=True), pad_sequence(masks, batch_first=True)


class Reader(Checkpoint):
    """A T5 with its tokenizer."""

    def __init__(self, source: str, answer_length: int, **where: Any) -> None:
        """Load from a folder or the hub.

        Args:
            source: see `Checkpoint`.
            answer_length: most tokens of an answer, start and end included.
            where: see `Checkpoint`.
        """
        super().__init__(source, T5ForConditionalGeneration, **where)
        self.end = self.network.config.eos_token_id
        self._length = answer_length

    def read(self, contexts: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Encode the contexts of each question; see `fuse`. Each different context is encoded once."""
        texts = sorted({text for own in contexts for text in own})
        ids, mask = map(self.move, self.tokens(texts, limit=self.tokenizer.model_max_length))
        states = self.network.encoder(ids, attention_mask=mask).last_hidden_state
        return fuse(states, mask, [[texts.index(text) for text in own] for own in contexts])

    def spell(self, texts: Sequence[str]) -> Tensor:
        """Return answers as tokens, in the lower case of UnifiedQA's; see `written.Decoder`."""
        ids, _ = self.tokens([text.lower() for text in texts], limit=self.tokenizer.model_max_length)
        return self.move(pad(ids, (1, 0), value=self.network.config.decoder_start_token_id))

    def log_likelihood(self, states: Tensor, mask: Tensor, ids: Tensor) -> Tensor:
        """Return the log-likelihood of one answer for each question; see `written.Decoder`."""
        output = self.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=mask,
            decoder_input_ids=ids,
            use_cache=False,
        )
        return summed_log_likelihood(output.logits, ids, self.tokenizer.pad_token_id)

    def write(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return a greedily written answer for each question; see `written.Decoder`."""
        ids: Tensor = self.network.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=mask,
            max_length=self._length,
            do_sample=False,
            num_beams=1,
        )
        return ids
