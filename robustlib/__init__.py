"""robustlib: how robust are VQA and vision-language models when images are corrupted and questions reworded?

The public names below load their room on first use, so that ``import robustlib`` stays fast and free of torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robustlib import metrics, scoring
    from robustlib.corruptions import corrupt, corrupt_batch, list_corruptions
    from robustlib.corruptions.imgaug_bridge import as_augmenter, from_augmenter
    from robustlib.data import load_dataset
    from robustlib.models import load_model
    from robustlib.sweep import read_predictions, run_sweep

__version__ = "0.1.0"

__all__ = [
    "as_augmenter",
    "corrupt",
    "corrupt_batch",
    "from_augmenter",
    "list_corruptions",
    "load_dataset",
    "load_model",
    "metrics",
    "read_predictions",
    "run_sweep",
    "scoring",
]

_ROOM_OF = {
    "as_augmenter": "corruptions.imgaug_bridge",
    "corrupt": "corruptions",
    "corrupt_batch": "corruptions",
    "from_augmenter": "corruptions.imgaug_bridge",
    "list_corruptions": "corruptions",
    "load_dataset": "data",
    "load_model": "models",
    "read_predictions": "sweep",
    "run_sweep": "sweep",
}


def __getattr__(name: str) -> Any:
    if name in ("metrics", "scoring"):
        return import_module(f"robustlib.{name}")
    if name in _ROOM_OF:
        return getattr(import_module(f"robustlib.{_ROOM_OF[name]}"), name)
    raise AttributeError(f"module 'robustlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
