"""Reading each picture of a batch once, however many questions are asked about it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

ROW_BY_ROW = ("gemma3", "idefics3", "internvl", "llava_onevision", "molmo2", "paligemma", "smolvlm")
"""The families whose image encoder gets a row for each picture, or tile of one, and returns as many in their order."""


def read_once(network: Any) -> None:
    """Let the image encoder of a chat model of these families read equal pictures once a batch.

    Questions about one picture stand next to each other, so this saves most of the encoder's work.
    """
    if network.config.model_type in ROW_BY_ROW:
        encoder = network.get_encoder(modality="image")
        encoder.forward = _once(encoder.forward)


def _once(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def read(*args: Any, **kwargs: Any) -> Any:
        inputs = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
        contents = torch.cat([_bytes(value) for value in inputs], dim=1)
        places = torch.unique(contents, dim=0, return_inverse=True)[1]
        rows = torch.arange(len(places), device=places.device)
        chosen = places.new_zeros(int(places.max()) + 1).scatter(0, places, rows)
        outputs = forward(*_take(args, chosen), **{name: _take(value, chosen) for name, value in kwargs.items()})
        for name, value in outputs.items():
            outputs[name] = _take(value, places)
        return outputs

    return read


def _bytes(rows: Tensor) -> Tensor:
    """Return what rows consist of, rows x bytes: of tensors of several types, no one type could hold all."""
    return rows.flatten(1).contiguous().view(torch.uint8)


def _take(value: Any, rows: Tensor) -> Any:
    """Return these rows of a tensor, or of every tensor in a tuple; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(_take(part, rows) for part in value)
    return value[rows] if isinstance(value, Tensor) else value
