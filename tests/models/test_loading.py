"""Names, folders and the hub: what is loaded, and what is said when it cannot be."""

import gc
import json
import pickle
import shutil
import weakref
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import ViltForQuestionAnswering

from robustlib.errors import InvalidTypeError, RobustlibError, UnknownNameError
from robustlib.models import list_models, load_model
from robustlib.models.base import Prompt
from robustlib.models.vilt import Vilt


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without a network whose hub cache is empty."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pocket/vlit", "'pocket/vilt'"),
        ("pocketvilt", "'pocket/vilt'"),
        ("openai", "'openai:MODEL'"),
        ("prior:", "'prior:DATASET'"),
        ("opneai:gpt", "'openai:'"),
        ("Prior:easy_vqa", "'prior:'"),
        ("prior:easyvqa", "'easy_vqa'"),
    ],
)
def test_unknown_names_list_near_misses(name: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"Did you mean .*{meant}"):
        load_model(name)


@pytest.mark.parametrize("name", ["vilt", "", "a/b/c", "no such folder", "./lost"])
def test_names_that_can_be_nothing_list_the_known(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"Known: .*openai:MODEL, .*pocket/vilt, .*prior:DATASET"):
        load_model(name)


@pytest.mark.usefixtures("offline")
def test_a_name_that_only_looks_like_one_of_the_hubs_lists_near_misses() -> None:
    with pytest.raises(RobustlibError, match=r"'poket/vilt'.*Did you mean 'pocket/vilt'"):
        load_model("poket/vilt")


@pytest.mark.parametrize("name", [*list_models(), "openai:tiny", "prior:easy_vqa"])
def test_settings_are_checked_by_name_and_type(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown setting of \w+ 'no_such'\. .*Known: "):
        load_model(name, no_such=1)


def test_near_misses_and_types_of_settings_are_told() -> None:
    with pytest.raises(UnknownNameError, match=r"setting of Vilt 'dtpye'\. Did you mean 'dtype'\? Known: .*revision"):
        load_model("pocket/vilt", dtpye="float16")
    with pytest.raises(UnknownNameError, match="Unknown dtype 'float8'"):
        load_model("pocket/vilt", dtype="float8")
    with pytest.raises(InvalidTypeError, match=r"The setting dtype of Vilt must be str, got 16\."):
        load_model("pocket/vilt", dtype=16)
    with pytest.raises(InvalidTypeError, match=r"commit, got 1234567\."):
        load_model("pocket/vilt", revision=1234567)
    with pytest.raises(InvalidTypeError, match=r"max_new_tokens of Endpoint must be int \| None, got 'many'\."):
        load_model("openai:tiny", max_new_tokens="many")
    with pytest.raises(InvalidTypeError, match=r"seed of Pnp must be int, got True\."):
        load_model("pocket/pnp", seed=True)
    with pytest.raises(InvalidTypeError, match=r"max_new_tokens of Endpoint must be int \| None, got True\."):
        load_model("openai:tiny", max_new_tokens=True)
    assert load_model("openai:tiny", timeout=60).name == "openai:tiny"  # a whole number is a number


@pytest.mark.usefixtures("offline")
def test_a_hub_that_cannot_be_reached_is_one_clear_error() -> None:
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


@pytest.mark.parametrize(
    ("family", "part", "lost", "network"),
    [
        ("vilt", "", "classifier.", "ViltForQuestionAnswering"),
        ("blip", "", "text_encoder.", "BlipForQuestionAnswering"),
        ("vle", "", "vqa_classifier.", "VleForQuestionAnswering"),
        ("pnp", "matcher", "itm_head.", "BlipForImageTextRetrieval"),
        ("pnp", "reader", "decoder.final_layer_norm.", "T5ForConditionalGeneration"),
    ],
)
def test_a_checkpoint_without_all_weights_is_refused(
    family: str, part: str, lost: str, network: str, checkpoints: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / family
    shutil.copytree(checkpoints[family], folder)
    path = folder / part / "model.safetensors"
    weights = load_file(path)
    missing = sorted(key for key in weights if key.startswith(lost))
    assert missing
    save_file({key: weights[key] for key in weights if key not in missing}, path, {"format": "pt"})
    with pytest.raises(
        RobustlibError, match=f"{family}.*lacks weights of {network}.*: {len(missing)}, the first '{missing[0]}'"
    ):
        load_model(str(folder))


def test_weights_of_another_shape_are_refused(checkpoints: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "vilt"
    shutil.copytree(checkpoints["vilt"], folder)
    config = json.loads((folder / "config.json").read_text())
    config["id2label"].popitem()
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        RobustlibError, match=r"weights of ViltForQuestionAnswering.*: 2, the first 'classifier\.3\.bias'"
    ):
        load_model(str(folder))


def test_a_captioner_is_no_model_that_answers(checkpoints: dict[str, str]) -> None:
    captioner = Path(checkpoints["pnp"]) / "captioner"
    with pytest.raises(RobustlibError, match=r"weights of BlipForQuestionAnswering.*'text_encoder\."):
        load_model(str(captioner))


def test_weights_of_half_precision_are_computed_in_single(checkpoints: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "half"
    shutil.copytree(checkpoints["vilt"], folder)
    ViltForQuestionAnswering.from_pretrained(folder, dtype=torch.float16).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"
    assert load_model(str(folder)).describe()["dtype"] == "float32"


def test_the_name_is_kept_for_the_record(checkpoints: dict[str, str]) -> None:
    assert load_model(checkpoints["blip"]).name == checkpoints["blip"]
    assert {"pocket/blip", "pocket/vilt"} <= set(list_models())


def test_a_model_that_was_asked_can_be_pickled_and_answers_to_the_last_bit_as_before() -> None:
    model, prompts = load_model("pocket/vilt"), [Prompt(None, "is it red?", ("yes", "no"))]
    answers = model.answer(prompts)
    assert pickle.loads(pickle.dumps(model)).answer(prompts) == answers


def test_a_model_that_was_asked_leaves_memory_as_soon_as_it_is_let_go() -> None:
    gc.disable()
    try:
        networks = [ask_once() for _ in range(3)]  # what is imported lazily may keep the first
        assert networks[-1]() is None
    finally:
        gc.enable()


def ask_once() -> weakref.ref[object]:
    model = load_model("pocket/vilt")
    assert isinstance(model, Vilt)
    model.answer([Prompt(None, "is it red?")])
    return weakref.ref(model._checkpoint.network)
