"""VLE for visual question answering (iFLYTEK, 2023; github.com/iflytek/VLE), which transformers lacks.

Two towers, DeBERTa-v2 for the text and a CLIP vision transformer for the image, and on top of them co-attention layers
as in METER (Dou et al., CVPR 2022): in each, both streams read themselves, then each other, then pass a feed-forward
network. Modules are named as in the released checkpoints, so that these load as they are.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from transformers import (
    AutoConfig,
    CLIPVisionConfig,
    CLIPVisionModel,
    DebertaV2Config,
    DebertaV2Model,
    PreTrainedConfig,
    PreTrainedModel,
)

TEXT, IMAGE = 0, 1  # the two token types


class VleConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]  # transformers does without some types
    """Sizes of the co-attention layers, and the configurations of the two towers. Defaults are those of VLE base."""

    model_type = "vle"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {"text_config": DebertaV2Config, "vision_config": CLIPVisionConfig}

    text_config: Any = None
    vision_config: Any = None
    num_token_types: int = 2
    hidden_size: int = 768
    num_hidden_layers: int = 6
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12


AutoConfig.register(VleConfig.model_type, VleConfig)  # so that AutoTokenizer knows the checkpoint


class Attention(nn.Module):
    """Multi-head attention, then residual and LayerNorm, as in BERT."""

    def __init__(self, config: VleConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.heads = config.num_attention_heads
        self.self = nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")})
        self.output = _output(config, size)

    def forward(self, states: Tensor, memory: Tensor, mask: Tensor | None, seen: list[Tensor] | None = None) -> Tensor:
        """Let `states`, batch x n x hidden, read `memory`, batch x m x hidden, where `mask` (batch x 1 x 1 x m) is.

        The attention is appended to `seen`, batch x heads x n x m, if that is given; it is then without mask.
        """
        query, key, value = (
            project(source).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for project, source in zip(self.self.values(), (states, memory, memory), strict=True)
        )
        if seen is None:
            read = scaled_dot_product_attention(query, key, value, mask)
        else:
            seen.append((query @ key.mT / query.shape[-1] ** 0.5).softmax(-1))
            read = seen[-1] @ value
        return _add_and_norm(self.output, read.transpose(1, 2).flatten(2), states)


class CrossLayer(nn.Module):
    """What one co-attention layer does to one stream."""

    def __init__(self, config: VleConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.crossattention = Attention(config)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.intermediate_size)})
        self.output = _output(config, config.intermediate_size)

    def forward(self, states: Tensor, other: Tensor, mask: Tensor | None, seen: list[Tensor] | None = None) -> Tensor:
        """Return new states for `states`, which have read their own stream by `attention`.

        That step is the caller's, for in the first layer questions about one image share it.
        """
        states = self.crossattention(states, other, mask, seen)
        return _add_and_norm(self.output, gelu(self.intermediate["dense"](states)), states)


class VleModel(nn.Module):
    """The towers and the co-attention layers."""

    def __init__(self, config: VleConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.text_model = DebertaV2Model(config.text_config)
        self.vision_model = CLIPVisionModel(config.vision_config)
        self.text_projection_layer = nn.Linear(config.text_config.hidden_size, size)
        self.image_projection_layer = nn.Linear(config.vision_config.hidden_size, size)
        self.token_type_embeddings = nn.Embedding(config.num_token_types, size)
        self.cross_modal_text_layers = nn.ModuleList(CrossLayer(config) for _ in range(config.num_hidden_layers))
        self.cross_modal_image_layers = nn.ModuleList(CrossLayer(config) for _ in range(config.num_hidden_layers))
        self.cross_modal_text_pooler = nn.ModuleDict({"dense": nn.Linear(size, size)})
        self.cross_modal_image_pooler = nn.ModuleDict({"dense": nn.Linear(size, size)})

    def forward(
        self, pixels: Tensor, places: Tensor, ids: Tensor, mask: Tensor, seen: list[Tensor] | None = None
    ) -> Tensor:
        """Return what the two streams' first tokens hold in the end, questions x 2 hidden."""
        text = self.text_projection_layer(self.text_model(ids, mask).last_hidden_state)
        text = text + self.token_type_embeddings.weight[TEXT]
        image = self.vision_model.post_layernorm(self.vision_model(pixels).last_hidden_state)
        image = self.image_projection_layer(image) + self.token_type_embeddings.weight[IMAGE]
        heed = mask[:, None, None].bool()
        layers: list[Any] = list(zip(self.cross_modal_text_layers, self.cross_modal_image_layers, strict=True))
        for depth, (text_layer, image_layer) in enumerate(layers, 1):
            asked = slice(1) if depth == len(layers) else slice(None)  # the poolers read the first tokens alone
            own_text = text_layer.attention(text[:, asked], text, heed)
            own_image = image_layer.attention(image[:, asked], image, None)
            if depth == 1:
                own_image, image = own_image[places], image[places]
            text, image = text_layer(own_text, image, None, seen), image_layer(own_image, text, heed)
        pooled = (
            self.cross_modal_text_pooler["dense"](text[:, 0]),
            self.cross_modal_image_pooler["dense"](image[:, 0]),
        )
        return torch.cat(pooled, dim=1).tanh()


class VleForQuestionAnswering(PreTrainedModel):  # type: ignore[no-untyped-call]  # as above
    """VLE with a classifier over a closed list of answers, `id2label` of its configuration.

    There is no dropout: it is for inference, and for training on pictures that are moved about.
    """

    config_class = VleConfig
    base_model_prefix = "vle"
    main_input_name = "input_ids"

    def __init__(self, config: VleConfig) -> None:
        super().__init__(config)
        size = 2 * config.hidden_size
        self.vle = VleModel(config)
        self.vqa_classifier = nn.Sequential(
            nn.Linear(size, size), nn.LayerNorm(size), nn.GELU(), nn.Linear(size, config.num_labels or 0)
        )
        self.post_init()  # type: ignore[no-untyped-call]  # as above

    def forward(
        self, pixels: Tensor, places: Tensor, ids: Tensor, mask: Tensor, seen: list[Tensor] | None = None
    ) -> Tensor:
        """Score the answers to questions about images.

        Args:
            pixels: images x 3 x side x side.
            places: for each question the index of its image.
            ids: questions x tokens.
            mask: the same shape, 0 where padded.
            seen: what each layer's words attend to in the image is appended here: questions x heads x tokens x
                (1 + patches), of the last layer only for the first token.

        Returns:
            Logits, questions x answers.
        """
        logits: Tensor = self.vqa_classifier(self.vle(pixels, places, ids, mask, seen))
        return logits


def _output(config: VleConfig, size: int) -> nn.ModuleDict:
    return nn.ModuleDict(
        {
            "dense": nn.Linear(size, config.hidden_size),
            "LayerNorm": nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps),
        }
    )


def _add_and_norm(output: nn.ModuleDict, read: Tensor, states: Tensor) -> Tensor:
    """BERT's output block: a linear layer, the residual, and LayerNorm after it."""
    normed: Tensor = output["LayerNorm"](output["dense"](read) + states)
    return normed
