"""The image tower that pocket/vle starts from."""

from typing import Any

import torch
from transformers import BlipForQuestionAnswering, CLIPVisionConfig, CLIPVisionModel

from robustlib.models.names import locate
from robustlib.models.training_tower import SOURCE, start_from_blip


def test_a_clip_tower_sees_what_blip_sees() -> None:
    blip: Any = BlipForQuestionAnswering.from_pretrained(locate(SOURCE)).vision_model
    sizes = {name: getattr(blip.config, name) for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    config = CLIPVisionConfig(
        **sizes,
        intermediate_size=blip.config.intermediate_size,
        image_size=blip.config.image_size,
        patch_size=blip.config.patch_size,
        hidden_act=blip.config.hidden_act,  # CLIP's own is another
        layer_norm_eps=blip.config.layer_norm_eps,
    )
    tower: Any = CLIPVisionModel(config)
    start_from_blip(tower)
    tower.pre_layrnorm = torch.nn.Identity()  # BLIP has none
    pixels = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        seen = tower.eval().post_layernorm(tower(pixels).last_hidden_state)
        expected = blip.eval()(pixels).last_hidden_state
    torch.testing.assert_close(seen, expected, atol=1e-4, rtol=1e-4)
