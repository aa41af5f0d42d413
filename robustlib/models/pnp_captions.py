"""What PNP-VQA says of an image: captions of some of its patches, each of which says something new.

Source: Tiong et al., Findings of EMNLP 2022; LAVIS, lavis/models/pnp_vqa_models/pnp_vqa.py (506965b).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import BlipForConditionalGeneration

from robustlib.models.decoding import Sampler


def write_captions(
    network: BlipForConditionalGeneration,
    tokenizer: Any,
    states: Tensor,
    prompt: str,
    sampler: Sampler,
    lengths: tuple[int, int],
) -> list[str]:
    """Caption images of which only some patches are seen.

    Args:
        network: the captioner.
        tokenizer: of its words.
        states: encoded patches, captions x patches x hidden.
        prompt: what every caption begins with.
        sampler: chooses the tokens.
        lengths: the fewest and the most tokens, [DEC] and prompt included.

    Returns:
        The captions, without the prompt.
    """
    words: Any = network.config.text_config
    start = torch.tensor(tokenizer(prompt)["input_ids"][:-1], device=states.device)  # without [SEP]
    start[0] = words.bos_token_id
    ids = network.text_decoder.generate(
        start.expand(len(states), -1),
        encoder_hidden_states=states,
        logits_processor=[sampler],
        min_length=lengths[0],
        max_length=lengths[1],
        do_sample=False,
        eos_token_id=words.sep_token_id,
        pad_token_id=words.pad_token_id,
    )
    texts = tokenizer.batch_decode(ids[:, len(start) :], skip_special_tokens=True)
    return [text.strip() for text in texts]


def keep_new(kept: list[str], captions: Sequence[str], most: int) -> None:
    """Append the captions that are not part of one already kept, until there are enough."""
    for caption in captions:
        if caption and len(kept) < most and not any(caption in other for other in kept):
            kept.append(caption)
