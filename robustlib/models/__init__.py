"""Models: adapters that turn prompts into answers, loaded by name.

A checkpoint's `config.json` says which family it is of, and `_ADAPTERS` which class speaks for the family; any other
image-text-to-text family of transformers is a chat model. A new family is one module and one row. Models without a
checkpoint of their own are named by a scheme of `_SCHEMES`.
"""

from importlib import import_module
from typing import Any

from robustlib.errors import RobustlibError, UnknownNameError
from robustlib.models.base import Answer, Model, Prompt, Status
from robustlib.models.names import locate, pocket_names

__all__ = ["Answer", "Model", "Prompt", "Status", "list_models", "load_model"]

_ADAPTERS = {
    "blip": "robustlib.models.blip:Blip",
    "vilt": "robustlib.models.vilt:Vilt",
}
_CHAT = "robustlib.models.chat:Chat"
_SCHEMES = {
    "openai": "robustlib.models.openai:Endpoint",
    "prior": "robustlib.models.prior:Prior",
}


def list_models() -> list[str]:
    """Return the names of the models that come with robustlib."""
    return pocket_names()


def load_model(name: str, **settings: Any) -> Model:
    """Load a model by name.

    Args:
        name: one of `list_models()`, such as "pocket/vilt"; the path of a local folder; a repository of the Hugging
            Face hub, such as "dandelin/vilt-b32-finetuned-vqa" or "Qwen/Qwen3-VL-4B-Instruct"; "openai:MODEL", a model
            behind an OpenAI-compatible endpoint; or "prior:DATASET", the language prior of a data set. Weights are read
            from safetensors files only, and no code that comes with a checkpoint is run.
        settings: what the adapter takes besides, such as `mode="cot"` or `dtype="bfloat16"`; see its class.

    Raises:
        UnknownNameError: no such pocket model, or a checkpoint of a family that has no adapter.
        RobustlibError: the folder or repository cannot be read, or the hub cannot be reached.
    """
    scheme, _, rest = name.partition(":")
    adapter, source = (_SCHEMES[scheme], rest) if rest and scheme in _SCHEMES else _find(name)
    module, _, class_name = adapter.partition(":")
    try:
        model: Model = getattr(import_module(module), class_name)(name, source, **settings)
    except OSError as error:
        raise RobustlibError(f"Cannot load the model {name!r}: {error}") from error
    return model


def _find(name: str) -> tuple[str, str]:
    """Return the adapter of a checkpoint, and where the checkpoint lies."""
    source = locate(name)
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    from robustlib.models.checkpoint import read_config

    family = read_config(source).get("model_type")
    if family in _ADAPTERS:
        return _ADAPTERS[family], source
    if family in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return _CHAT, source
    known = [*_ADAPTERS, "any image-text-to-text family of transformers"]
    raise UnknownNameError(f"model family of {name}:", family, known)
