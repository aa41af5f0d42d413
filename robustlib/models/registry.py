"""Which class speaks for which model. A new family is one module and one row."""

from dataclasses import dataclass
from typing import get_args

from robustlib.models.prompts import Mode


@dataclass(frozen=True)
class Adapter:
    """Who speaks for the models of a kind."""

    path: str
    """Module and class, "package.module:Class"; imported when a model is loaded, not before."""
    network: str
    """Class of the network, for the list of models."""
    modes: tuple[str, ...]
    """How its models answer: "rank" chooses the best of the options, or of answers of its own; "generate" writes; the
    rest are those of `prompts.Mode`. Where there are several, the first is the default of the setting `mode`."""


_CHAT_MODES = get_args(Mode)

ADAPTERS = {
    "blip": Adapter("robustlib.models.blip:Blip", "BlipForQuestionAnswering", ("rank", "generate")),
    "vilt": Adapter("robustlib.models.vilt:Vilt", "ViltForQuestionAnswering", ("rank",)),
}
"""By the `model_type` in a checkpoint's `config.json`."""

CHAT = Adapter("robustlib.models.chat:Chat", "AutoModelForImageTextToText", _CHAT_MODES)
"""For any other image-text-to-text family of transformers."""

SCHEMES = {
    "openai": Adapter("robustlib.models.openai:Endpoint", "", tuple(mode for mode in _CHAT_MODES if mode != "rank")),
    "prior": Adapter("robustlib.models.prior:Prior", "", ("rank",)),
}
"""For models without a checkpoint of their own, named "SCHEME:REST"."""
