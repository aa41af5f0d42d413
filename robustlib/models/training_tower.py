"""A start for other image towers: the one of pocket/blip, which has learnt to see shapes.

The published networks do not begin from nothing either: VLE, for one, begins with CLIP's image tower.
"""

from typing import Any

import torch
from transformers import BlipForQuestionAnswering
from transformers.models.blip.modeling_blip import BlipVisionModel

from robustlib.models.checkpoint import load_network
from robustlib.models.names import locate

SOURCE = "pocket/blip"


@torch.no_grad()
def start_from_blip(tower: Any) -> None:
    """Give a CLIP vision tower the weights of pocket/blip's, which has the same sizes.

    CLIP's convolution has no bias, so BLIP's goes into the positions of the patches. CLIP's LayerNorm before the first
    layer, which BLIP lacks, stays as it is.

    Args:
        tower: a `CLIPVisionModel`, changed in place.
    """
    source = _blip_tower()
    seen, given = tower.embeddings, source.embeddings
    seen.class_embedding.copy_(given.class_embedding.flatten())
    seen.patch_embedding.weight.copy_(given.patch_embedding.weight)
    seen.position_embedding.weight.copy_(given.position_embedding[0])
    seen.position_embedding.weight[1:] += given.patch_embedding.bias
    for layer, blip in zip(tower.encoder.layers, source.encoder.layers, strict=True):
        _copy_attention(layer.self_attn, blip.self_attn)
        for name in ("layer_norm1", "layer_norm2", "mlp"):
            getattr(layer, name).load_state_dict(getattr(blip, name).state_dict())
    tower.post_layernorm.load_state_dict(source.post_layernorm.state_dict())


def _blip_tower() -> BlipVisionModel:
    network: BlipForQuestionAnswering = load_network(BlipForQuestionAnswering, locate(SOURCE))
    return network.vision_model


def _copy_attention(attention: Any, blip: Any) -> None:
    """BLIP keeps query, key and value in one matrix."""
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    parts = zip(projections, blip.qkv.weight.chunk(3), blip.qkv.bias.chunk(3), strict=True)
    for projection, weight, bias in parts:
        projection.weight.copy_(weight)
        projection.bias.copy_(bias)
    attention.out_proj.load_state_dict(blip.projection.state_dict())
