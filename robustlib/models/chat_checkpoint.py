"""What a chat model is loaded from, and what it is shown."""

from collections.abc import Sequence
from threading import Lock

import numpy as np
from PIL import Image
from transformers import AutoModelForImageTextToText, BatchFeature

from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.models.chat_images import read_once
from robustlib.models.chat_processors import load_processor
from robustlib.models.checkpoint import GREY, Checkpoint, find_device, load_network, pin_revision

_PALIGEMMA = (
    "{% for part in messages[0].content %}{{ '<image>' if part.type == 'image' else 'answer en ' + part.text }}"
    "{% endfor %}"
)
"""PaliGemma has no chat template; questions take this form (ai.google.dev/gemma/docs/paligemma, prompt task syntax)."""


class ChatCheckpoint(Checkpoint):
    """A network in evaluation mode with its processor and chat template."""

    def __init__(self, source: str, revision: str | None, dtype: str, trust_remote_code: bool) -> None:
        """Load from a folder or the hub: safetensors only, and no code of the checkpoint's own unless trusted.

        Raises:
            UnknownNameError, RobustlibError: see `checkpoint.load_network`.
            RobustlibError: there is no processor of images and text, or no chat template.
        """
        self.source = source
        self.revision = pin_revision(source, revision)
        self.device = find_device()
        self.processor = load_processor(source, self.revision, trust_remote_code)
        self.tokenizer, self.image_processor = self.processor.tokenizer, self.processor.image_processor
        self.network = load_network(
            AutoModelForImageTextToText,
            source,
            dtype,
            revision=self.revision,
            trust_remote_code=trust_remote_code,
        )
        self.network.to(self.device)
        read_once(self.network)
        self.is_paligemma = self.network.config.model_type == "paligemma"
        self.template = _PALIGEMMA if self.is_paligemma else self.processor.chat_template
        if self.template is None:
            raise RobustlibError(f"The model {source!r} has no chat template, so it cannot be asked a question.")
        self._control = [str(token) for token in self.tokenizer.added_tokens_decoder.values() if token.special]
        self._preparing = Lock()  # a tokenizer keeps its padding settings between calls

    def inputs(self, images: Sequence[Sequence[Pixels]], texts: Sequence[str]) -> BatchFeature:
        """Return what the network reads, in the CPU's memory: each text after its images, padded on the left.

        Raises:
            InvalidValueError: a text holds one of the model's own control tokens, such as the place of an image.
        """
        for text in texts:
            if token := next((token for token in self._control if token in text), None):
                raise InvalidValueError(f"The prompt {text!r} holds the model's control token {token!r}.")
        conversations = [[self._message(own, text)] for own, text in zip(images, texts, strict=True)]
        with self._preparing:
            inputs: BatchFeature = self.processor.apply_chat_template(
                conversations,
                chat_template=self.template,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True, "padding_side": "left"},
            )
        inputs.pop("labels", None)  # PaliGemma's processor always makes them
        return inputs

    def _message(self, images: Sequence[Pixels], text: str) -> dict[str, object]:
        if self.is_paligemma and not images:
            size = self.processor.image_processor.size
            images = [np.full((size.height, size.width, 3), GREY, np.uint8)]
        parts: list[dict[str, object]] = [{"type": "image", "image": Image.fromarray(image)} for image in images]
        return {"role": "user", "content": [*parts, {"type": "text", "text": text}]}
