"""Each picture of a batch is read once, and the answers are those of reading it every time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers.modeling_outputs import BaseModelOutput

from robustlib.models.base import Prompt
from robustlib.models.chat import Chat
from robustlib.models.chat_images import ROW_BY_ROW, _once, read_once

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:transformers")


def counting(rows: list[int]) -> Callable[[Any], None]:
    """Return `read_once`, but noting how many rows the encoder itself gets."""

    def install(network: Any) -> None:
        encoder = network.get_encoder(modality="image")
        forward = encoder.forward

        def noted(*args: Any, **kwargs: Any) -> Any:
            rows.append(len(args[0] if args else kwargs["pixel_values"]))
            return forward(*args, **kwargs)

        encoder.forward = noted
        read_once(network)

    return install


@pytest.mark.parametrize("family", ROW_BY_ROW)
def test_a_shared_picture_is_read_once(
    family: str, chat_models: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []
    monkeypatch.setattr("robustlib.models.chat_checkpoint.read_once", counting(rows))
    model = Chat("tiny", chat_models[family], max_new_tokens=1)
    one, other = np.random.default_rng(0).integers(0, 256, (2, 64, 64, 3), np.uint8)
    model.answer([Prompt(one, "What is it?"), Prompt(other, "Why?")])
    model.answer([Prompt(one, "What is it?"), Prompt(other, "Why?"), Prompt(one, "Is it?"), Prompt(other, "How?")])
    assert rows[0] == rows[1] > 1


def test_rows_are_equal_only_if_all_that_is_read_of_them_is() -> None:
    seen: list[int] = []

    def forward(pixels: torch.Tensor, mask: torch.Tensor, scale: float) -> BaseModelOutput:
        seen.append(len(pixels))
        states = pixels.mean((1, 2)) * mask[:, 0] * scale
        of_layers: Any = (None, states + 1)
        return BaseModelOutput(last_hidden_state=states, hidden_states=of_layers)

    pixels = torch.tensor([1.0, 2.0, 1.0, 2.0, 1.0])[:, None, None].expand(-1, 2, 3)
    mask = torch.tensor([True, True, True, True, False])[:, None]
    outputs = _once(forward)(pixels, mask=mask, scale=10.0)
    assert seen == [3]
    assert outputs.last_hidden_state.tolist() == [10, 20, 10, 20, 0]
    assert outputs.hidden_states[0] is None
    assert outputs.hidden_states[1].tolist() == [11, 21, 11, 21, 1]


@pytest.mark.parametrize("first", ["places", "pixels"])
def test_rows_are_compared_without_loss(first: str) -> None:
    """bfloat16 cannot tell 256 from 257, nor a whole number 0.25 from 0.5."""

    def forward(**inputs: torch.Tensor) -> BaseModelOutput:
        states: Any = inputs["pixels"].float() + inputs["places"]
        return BaseModelOutput(last_hidden_state=states)

    inputs = {
        "pixels": torch.tensor([0.25, 0.5, 0.25, 0.25], dtype=torch.bfloat16)[:, None],
        "places": torch.tensor([256, 256, 257, 256])[:, None],
    }
    outputs = _once(forward)(**dict(sorted(inputs.items(), key=lambda item: item[0] != first)))
    assert outputs.last_hidden_state.flatten().tolist() == [256.25, 256.5, 257.25, 256.25]
