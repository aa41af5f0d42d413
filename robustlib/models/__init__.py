"""Models: adapters that turn prompts into answers, loaded by name.

A checkpoint's `config.json` says which family it is of, and `registry` which class speaks for the family.
"""

from importlib import import_module
from typing import Any

from robustlib.errors import RobustlibError, UnknownNameError
from robustlib.models.base import Answer, Explainer, Explanation, Model, Prompt, Status
from robustlib.models.names import locate, pocket_names
from robustlib.models.registry import ADAPTERS, CHAT, Adapter, find_scheme
from robustlib.models.settings import check_settings

__all__ = ["Answer", "Explainer", "Explanation", "Model", "Prompt", "Status", "list_models", "load_model"]


def list_models() -> list[str]:
    """Return the names of the models that come with robustlib."""
    return pocket_names()


def load_model(name: str, **settings: Any) -> Model:
    """Load a model by name.

    Args:
        name: one of `list_models()`, such as "pocket/vilt"; the path of a local folder; a repository of the Hugging
            Face hub, such as "dandelin/vilt-b32-finetuned-vqa" or "Qwen/Qwen3-VL-4B-Instruct"; "openai:MODEL", a model
            behind an OpenAI-compatible endpoint; "pnp:large", PNP-VQA with its published reader of that size, or
            "pnp:READER" with another; or "prior:DATASET", the language prior of a data set. Weights are read from
            safetensors files only, and no code that comes with a checkpoint is run.
        settings: what the adapter takes besides, such as `mode="cot"`, `dtype="bfloat16"` or `revision="v1.0"`; see
            its class.

    Raises:
        UnknownNameError: no such model, a checkpoint of a family that has no adapter, or a setting that the adapter
            does not have; near misses are named.
        InvalidTypeError: a setting of another type than the adapter takes.
        RobustlibError: the folder or repository cannot be read, or the hub cannot be reached.
    """
    adapter, source = _find(name, settings.get("revision"))
    module, _, class_name = adapter.path.partition(":")
    model_class = getattr(import_module(module), class_name)
    check_settings(model_class, settings)
    try:
        model: Model = model_class(name, source, **settings)
    except RobustlibError:
        raise
    except (ImportError, OSError, ValueError) as error:
        raise RobustlibError(f"Cannot load the model {name!r}: {error}") from error
    return model


def _find(name: str, revision: object) -> tuple[Adapter, str]:
    """Return the adapter of a model, and what it is to be loaded from."""
    if found := find_scheme(name):
        return found
    source = locate(name)
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    from robustlib.models.checkpoint import read_config

    family = read_config(source, revision).get("model_type")
    if family in ADAPTERS:
        return ADAPTERS[family], source
    if family in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return CHAT, source
    known = [*ADAPTERS, "any image-text-to-text family of transformers"]
    raise UnknownNameError(f"model family of {name}:", family, known)
