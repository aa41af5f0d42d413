"""The three checkpoints of PNP-VQA."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import BlipForConditionalGeneration, BlipForImageTextRetrieval
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.models.checkpoint import Checkpoint, read_config
from robustlib.models.pnp_numbers import Numbers, read_numbers
from robustlib.models.pnp_reader import Reader
from robustlib.models.pnp_relevance import let_gradients_begin

MATCHER = "Salesforce/blip-itm-large-coco"
CAPTIONER = "Salesforce/blip-image-captioning-large"
"""The BLIPs nearest to those of the paper, which are not on the hub: these were fine-tuned on other splits of COCO."""
READERS = {
    "base": "allenai/unifiedqa-v2-t5-base-1363200",
    "large": "allenai/unifiedqa-v2-t5-large-1363200",
    "3b": "allenai/unifiedqa-v2-t5-3b-1363200",
}
"""The readers of the paper."""


@dataclass(frozen=True)
class Parts:
    """Three networks that were never trained together, and how they are used."""

    matcher: Checkpoint
    captioner: Checkpoint
    reader: Reader
    numbers: Numbers


def load_parts(
    source: str,
    revision: str | None,
    matcher: str | None,
    captioner: str | None,
    dtype: str,
    numbers: Mapping[str, Any],
) -> Parts:
    """Load the checkpoints; the arguments are those of `pnp.Pnp`.

    Raises:
        RobustlibError: one of them cannot be loaded.
        UnknownNameError: of a number, or of a reader that is neither a size nor a place.
        InvalidTypeError, InvalidValueError: numbers or networks that do not go together.
    """
    if source not in READERS and "/" not in source and not Path(source).is_dir():
        raise UnknownNameError("reader of PNP-VQA", source, READERS)
    source = READERS.get(source, source)
    config = read_config(source, revision)
    chosen = read_numbers({**config.get("numbers", {}), **numbers})
    if config.get("model_type") == "pnp":
        _refuse_parts(source, matcher=matcher, captioner=captioner)
        places = [(source, revision, part) for part in ("matcher", "captioner", "reader")]
    else:
        blips = [MATCHER if matcher is None else matcher, CAPTIONER if captioner is None else captioner]
        places = [*((*_split(blip), "") for blip in blips), (source, revision, "")]
    parts = Parts(
        _load(Checkpoint, places[0], dtype, network=BlipForImageTextRetrieval, image_processor=BlipImageProcessorPil),
        _load(
            Checkpoint, places[1], dtype, network=BlipForConditionalGeneration, image_processor=BlipImageProcessorPil
        ),
        _load(Reader, places[2], dtype, answer_length=chosen.answer_length),
        chosen,
    )
    patches = [_patches(part) for part in (parts.matcher, parts.captioner)]
    if patches[0] != patches[1]:
        raise InvalidValueError(f"Matcher and captioner must see the same patches, not {patches[0]} and {patches[1]}.")
    _check_length(parts.captioner, chosen)
    let_gradients_begin(parts.matcher.network, chosen.layer)
    return parts


def _refuse_parts(source: str, **given: str | None) -> None:
    """Check that no part is named for a source that holds all three."""
    for name, value in given.items():
        if value is not None:
            raise InvalidValueError(f"PNP-VQA's {source!r} holds a {name} of its own: leave it out, got {value!r}.")


def _check_length(captioner: Checkpoint, numbers: Numbers) -> None:
    """Check that a caption has room for a word after its prompt, and a position for each token."""
    least = len(captioner.tokenizer(numbers.prompt)["input_ids"])  # [SEP] counts for the word
    most = captioner.network.config.text_config.max_position_embeddings
    if not least <= numbers.max_length <= most:
        raise InvalidValueError(
            f"PNP-VQA's max_length must be from {least}, one token more than [DEC] and prompt, to {most}, the "
            f"captioner's positions, got {numbers.max_length}."
        )


def _split(name: str) -> tuple[str, str | None]:
    """Return a folder, or a repository of the hub and the revision after its "@"."""
    source, _, revision = name.partition("@")
    return (name, None) if Path(name).is_dir() else (source, revision or None)


def _load(kind: Any, place: tuple[str, str | None, str], dtype: str, **details: Any) -> Any:
    source, revision, subfolder = place
    try:
        return kind(source, revision=revision, subfolder=subfolder, dtype=dtype, **details)
    except OSError as error:
        raise RobustlibError(
            f"Cannot load a part of PNP-VQA from {source!r}: {error} Where weights are not in model.safetensors, load "
            "them once with transformers, write them to a folder with save_pretrained, and name that instead."
        ) from error


def _patches(part: Checkpoint) -> int:
    """Return how many patches a BLIP cuts an image into."""
    vision = part.network.config.vision_config
    return int(vision.image_size // vision.patch_size) ** 2
