"""Scoring: from what a model said to the option it chose, and to a number between 0 and 1."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robustlib.scoring.vqa import FORMS, Form, normalise_answer, vqa_accuracy

if TYPE_CHECKING:
    from robustlib.scoring.options import Extraction, extract_option, read_option

__all__ = ["FORMS", "Extraction", "Form", "extract_option", "normalise_answer", "read_option", "vqa_accuracy"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # of the options: their statuses come with the models' room, which metrics need not load
        return getattr(import_module("robustlib.scoring.options"), name)
    raise AttributeError(f"module 'robustlib.scoring' has no attribute {name!r}")
