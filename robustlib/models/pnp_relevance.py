"""Where PNP-VQA looks: Grad-CAM of an image-text matcher, and the patches drawn by it.

Source: Tiong et al., Findings of EMNLP 2022; LAVIS, lavis/models/blip_models/blip_image_text_matching.py (506965b).
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import BlipForImageTextRetrieval

from robustlib.errors import InvalidValueError
from robustlib.models.gradcam import gradcam

FLOOR = 1e-3
"""What every patch weighs besides its relevance, as a share of the mean relevance. Without it, fewer relevant patches
than are to be drawn could not be drawn from, and a relevance of 0 would hang on rounding."""


def let_gradients_begin(network: BlipForImageTextRetrieval, layer: int) -> None:
    """Have only those operations recorded that `relevance` goes back through.

    Raises:
        InvalidValueError: there is no such layer, or it is the last, whose words reach no logit.
    """
    layers: Any = network.text_encoder.encoder.layer
    if layer >= len(layers) - 1:
        raise InvalidValueError(f"The layer of PNP-VQA's relevance must be below {len(layers) - 1} here, got {layer}.")
    network.requires_grad_(False)
    layers[layer].crossattention.self.query.requires_grad_(True)


def relevance(network: BlipForImageTextRetrieval, layer: int, images: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """Return how much each patch of an image speaks for the image and the question being a match.

    That is the cross-attention from the question's words to the patch times the positive part of the match logit's
    gradient with respect to it, as a mean over heads and words.

    Args:
        network: the matcher, after `let_gradients_begin`.
        layer: whose cross-attention is looked at, counted from 0.
        images: encoded images, questions x (1 + patches) x hidden, [CLS] first.
        ids: questions x tokens, from [ENC] to [SEP], padded.
        mask: the same shape, 0 where padded.

    Returns:
        questions x patches, at least 0; all 0 for a question without words.
    """
    with torch.enable_grad():
        output = network.text_encoder(ids, attention_mask=mask, encoder_hidden_states=images, output_attentions=True)
        attention = output.cross_attentions[layer]
        match = network.itm_head(output.last_hidden_state[:, 0])[:, 1]
        words = pad(mask[:, 2:], (1, 1))  # neither [ENC] nor [SEP]
        return gradcam(match, [attention], words)[:, 1:]


def draw_patches(relevance: Tensor, noise: Tensor, count: int) -> Tensor:
    """Draw patches without replacement, in proportion to their relevance.

    The largest sums of log-weights and Gumbel noise are such a draw (Efraimidis and Spirakis, 2006, in another form).

    Args:
        relevance: questions x patches.
        noise: questions x draws x patches, float64, Gumbel distributed.
        count: patches a draw; all of them where there are no more.

    Returns:
        questions x draws x count: ascending indices into the encoded image, in which 0 is [CLS].
    """
    weights = relevance.double()
    mean = weights.mean(1, keepdim=True)
    weights = torch.where(mean > 0, weights + FLOOR * mean, 1.0)
    keys = weights.log()[:, None] + noise
    return keys.topk(min(count, keys.shape[-1])).indices.sort().values + 1
