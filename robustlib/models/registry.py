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
_PNP = Adapter(
    "robustlib.models.pnp:Pnp",
    "BlipForImageTextRetrieval + BlipForConditionalGeneration + T5ForConditionalGeneration",
    ("rank", "generate"),
)

ADAPTERS = {
    "blip": Adapter("robustlib.models.blip:Blip", "BlipForQuestionAnswering", ("rank", "generate")),
    "pnp": _PNP,
    "vilt": Adapter("robustlib.models.vilt:Vilt", "ViltForQuestionAnswering", ("rank",)),
    "vle": Adapter("robustlib.models.vle:Vle", "VleForQuestionAnswering", ("rank",)),
}
"""By the `model_type` in a checkpoint's `config.json`."""

CHAT = Adapter("robustlib.models.chat:Chat", "AutoModelForImageTextToText", _CHAT_MODES)
"""For any other image-text-to-text family of transformers."""

SCHEMES = {
    "openai:MODEL": Adapter(
        "robustlib.models.openai:Endpoint", "served", tuple(mode for mode in _CHAT_MODES if mode != "rank")
    ),
    "pnp:READER": _PNP,
    "prior:DATASET": Adapter("robustlib.models.prior:Prior", "none", ("rank",)),
}
"""By the form of their names, for models without a checkpoint, or of several."""


def find_scheme(name: str) -> tuple[Adapter, str] | None:
    """Return the adapter of a name such as "prior:easy_vqa", and what follows the colon; None for any other name."""
    scheme, _, rest = name.partition(":")
    adapters = [adapter for form, adapter in SCHEMES.items() if form.startswith(f"{scheme}:")]
    return (adapters[0], rest) if adapters and rest else None
