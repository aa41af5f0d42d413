"""Models: adapters that turn prompts into answers, loaded by name.

A checkpoint's `config.json` says which family it is of, and `_ADAPTERS` which class speaks for the family. A new family
is one module and one row.
"""

from importlib import import_module

from robustlib.errors import RobustlibError, UnknownNameError
from robustlib.models.base import Answer, Model, Prompt, Status

__all__ = ["Answer", "Model", "Prompt", "Status", "list_models", "load_model"]

_ADAPTERS = {
    "blip": "robustlib.models.blip:Blip",
    "vilt": "robustlib.models.vilt:Vilt",
}


def list_models() -> list[str]:
    """Return the names of the models that come with robustlib."""
    from robustlib.models.checkpoint import pocket_names

    return pocket_names()


def load_model(name: str) -> Model:
    """Load a model by name.

    Args:
        name: one of `list_models()`, such as "pocket/vilt"; the path of a local folder; or a repository of the Hugging
            Face hub, such as "dandelin/vilt-b32-finetuned-vqa" or "Salesforce/blip-vqa-base". Weights are read from
            safetensors files only, and no code that comes with a checkpoint is run.

    Raises:
        UnknownNameError: no such pocket model, or a checkpoint of a family that has no adapter.
        RobustlibError: the folder or repository cannot be read, or the hub cannot be reached.
    """
    from robustlib.models.checkpoint import locate, read_config

    source = locate(name)
    family = read_config(source).get("model_type")
    if family not in _ADAPTERS:
        raise UnknownNameError(f"model family of {name}:", family, _ADAPTERS)
    module, _, adapter = _ADAPTERS[family].partition(":")
    try:
        model: Model = getattr(import_module(module), adapter)(name, source)
    except OSError as error:
        raise RobustlibError(f"Cannot load the model {name!r}: {error}") from error
    return model
