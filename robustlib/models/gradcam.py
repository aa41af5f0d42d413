"""Where a model looks: Grad-CAM of the attention that a question pays to the patches of an image.

Grad-CAM (Selvaraju et al., ICCV 2017) weighs what a layer found at a place by how much the score of an answer would
gain from more of it. What ties places to a question in a transformer is attention, and so PNP-VQA looks at its matcher.
A map is the mean over all layers, so that there is none to choose. Gradients pooled over all patches, as for
convolutions, find the right place less often here (tests/models/test_gradcam.py).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def gradcam(scores: Tensor, attentions: Sequence[Tensor], words: Tensor) -> Tensor:
    """Return how much what each question looks at speaks for its answer.

    Args:
        scores: of the answers, before any softmax, each of which depends on its own question alone.
        attentions: what the scores were computed through, of each layer: questions x heads x readers x places. Where
            later readers do not matter any more, a layer may lack them.
        words: questions x readers, 1 for the tokens of the question that count as its words, else 0.

    Returns:
        questions x places, at least 0: attention times the positive part of its gradient, as a mean over layers, heads
        and words; all 0 for a question without words.
    """
    gradients = torch.autograd.grad(scores.sum(), attentions)
    by_layer = [
        ((attention.detach() * gradient.relu()).float().mean(1) * words[:, : attention.shape[2], None]).sum(1)
        for attention, gradient in zip(attentions, gradients, strict=True)
    ]
    return torch.stack(by_layer).mean(0) / words.sum(1, keepdim=True).clamp(min=1)


def as_map(evidence: Tensor, columns: int) -> NDArray[np.float32]:
    """Return the evidence at the patches of an image, row by row, as shares of the whole: rows x columns.

    They sum to 1, or are all 0 where there is no evidence.
    """
    values = evidence.double().cpu().numpy()
    shares = values / (values.sum() or 1.0)
    return shares.astype(np.float32).reshape(-1, columns)
