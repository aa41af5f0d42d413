import inspect

import pytest
import torch

from robustlib.errors import UnknownNameError
from robustlib.models import load_model
from robustlib.models.checkpoint import find_device, find_dtype


@pytest.mark.parametrize(
    ("gpu", "new", "device", "dtype"),
    [
        (False, False, "cpu", torch.float32),
        (True, False, "cuda", torch.float16),
        (True, True, "cuda", torch.bfloat16),
    ],
)
def test_auto_is_half_precision_where_the_device_computes_in_it(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, new: bool, device: str, dtype: torch.dtype
) -> None:
    def supports(including_emulation: bool) -> bool:
        assert not including_emulation
        return new

    assert "including_emulation" in inspect.signature(torch.cuda.is_bf16_supported).parameters
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supports)
    assert find_device().type == device
    assert find_dtype("auto") is dtype


def test_the_record_tells_what_auto_came_to() -> None:
    auto, single = load_model("pocket/vilt", dtype="auto"), load_model("pocket/vilt")
    resolved = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}[find_dtype("auto")]
    assert auto.describe()["dtype"] == resolved
    assert (auto.describe() == single.describe()) == (resolved == "float32")


def test_an_unknown_dtype_is_told_apart_from_auto() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown dtype 'float8'\..*Known: auto, bfloat16, float16, float32"):
        find_dtype("float8")
