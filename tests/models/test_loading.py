"""Names, folders and the hub: what is loaded, and what is said when it cannot be."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import ViltForQuestionAnswering

from robustlib.errors import RobustlibError, UnknownNameError
from robustlib.models import list_models, load_model


def test_unknown_pocket_models_list_near_misses() -> None:
    with pytest.raises(UnknownNameError, match=r"'pocket/vlit'.*Did you mean 'pocket/vilt'"):
        load_model("pocket/vlit")


@pytest.mark.parametrize("name", ["vilt", "", "a/b/c", "no such folder"])
def test_names_that_can_be_nothing_list_the_known(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"Known: .*pocket/vilt"):
        load_model(name)


def test_a_hub_that_cannot_be_reached_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(RobustlibError, match=r"'nobody/nothing'.*pocket/vilt"):
        load_model("nobody/nothing")


def test_a_folder_without_a_config_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RobustlibError, match=r"config\.json"):
        load_model(str(tmp_path))


def test_a_family_without_an_adapter_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    with pytest.raises(UnknownNameError, match=r"'vit'.*vilt"):
        load_model(str(tmp_path))


def test_pickled_weights_are_refused(checkpoints: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(checkpoints["vilt"], folder)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(RobustlibError, match="safetensors"):
        load_model(str(folder))


def test_weights_of_half_precision_are_computed_in_single(checkpoints: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "half"
    shutil.copytree(checkpoints["vilt"], folder)
    ViltForQuestionAnswering.from_pretrained(folder, dtype=torch.float16).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"
    assert load_model(str(folder)).describe()["dtype"] == "float32"


def test_the_name_is_kept_for_the_record(checkpoints: dict[str, str]) -> None:
    assert load_model(checkpoints["blip"]).name == checkpoints["blip"]
    assert {"pocket/blip", "pocket/vilt"} <= set(list_models())
