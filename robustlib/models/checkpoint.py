"""Checkpoints: what they hold, and how the record describes them."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer, PreTrainedConfig
from transformers.utils.hub import resolve_revision

from robustlib.data.images import Pixels
from robustlib.errors import InvalidTypeError, RobustlibError, UnknownNameError, did_you_mean
from robustlib.models.base import Prompt
from robustlib.models.names import pocket_names

GREY = 128
"""What a model sees that must see an image where the prompt has none: a square of this grey, of the model's size."""

_SPELLINGS_KEPT = 2**17
"""Questions whose tokens are kept; about 50 MB."""
AUTO = "auto"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def find_device() -> torch.device:
    """Return where networks compute: on the first GPU that this process may see, else on the CPU.

    CUDA_VISIBLE_DEVICES says which those are; the engine `ray` sets it for each of its actors.
    """
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def find_dtype(name: str) -> torch.dtype:
    """Return the type of numbers that a network computes with.

    "auto" is the fastest that is sure to work where networks compute: bfloat16 on a GPU that has it, float16 on an
    older one, float32 on the CPU. The record tells which it was.

    Raises:
        UnknownNameError: it is neither "auto" nor one of `DTYPES`.
    """
    if name == AUTO:
        return _fast_dtype()
    if name not in DTYPES:
        raise UnknownNameError("dtype", name, [AUTO, *DTYPES])
    return DTYPES[name]


def _fast_dtype() -> torch.dtype:
    if find_device().type == "cpu":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16


def read_config(source: str, revision: object = None) -> dict[str, Any]:
    """Return the checkpoint's `config.json`.

    Raises:
        InvalidTypeError: the revision is no text.
        RobustlibError: there is none, or the hub cannot be reached.
    """
    if not isinstance(revision, str | None):
        raise InvalidTypeError(f"A revision is the name of a branch, tag or commit, got {revision!r}.")
    try:
        config: dict[str, Any] = PreTrainedConfig.get_config_dict(source, revision=revision)[0]
    except (OSError, ValueError) as error:
        raise RobustlibError(
            f"Cannot read config.json of the model {source!r}: {' '.join(str(error).split())} A model is a folder here "
            f"or a repository of the hub; without a network, choose among {', '.join(pocket_names())}."
            f"{did_you_mean(source, pocket_names())}"
        ) from error
    if not config:
        raise RobustlibError(f"The folder {source} holds no model: it has no config.json.")
    return config


def pin_revision(source: str, revision: str | None) -> str:
    """Return a hub repository's revision with the commit that it stands for now as its `resolved`.

    All parts of a checkpoint are loaded from this one commit, and the record holds it. Where the commit cannot be
    learned, or in a folder, it is the name of the revision alone.
    """
    asked = revision or "main"
    return resolve_revision(source, asked) or asked


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Silence transformers' bars, which have nothing to tell of a small local file."""
    bars: Any = transformers.utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def load_network(kind: Any, source: str, dtype: str = "float32", **details: Any) -> Any:
    """Load a network from a folder or the hub, from safetensors only.

    Args:
        kind: transformers' class of the network, or one that finds the class.
        source: a folder, or the name of a hub repository.
        dtype: see `find_dtype`; whatever the weights were saved in.
        details: what `from_pretrained` takes besides.

    Raises:
        UnknownNameError: of the dtype.
        RobustlibError: a weight is missing or of another shape. transformers would only warn of the first, and draw it.
    """
    with no_progress_bars() if Path(source).is_dir() else nullcontext():
        network, info = kind.from_pretrained(
            source,
            dtype=find_dtype(dtype),
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # told below
            **details,
        )
    if lacking := sorted({*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])}):
        raise RobustlibError(
            f"The model {source!r} lacks weights of {type(network).__name__}, or has them in another shape: "
            f"{len(lacking)}, the first {lacking[0]!r}. Choose a checkpoint that was saved from this class."
        )
    for weights in network.parameters():
        weights.data = weights.data.clone()  # where torch puts them: the last bits of a product hang on the address
    return network


class Checkpoint:
    """A network in evaluation mode, with its tokenizer and, if it sees, its image processor."""

    def __init__(
        self,
        source: str,
        network: Any,
        image_processor: Any = None,
        revision: str | None = None,
        dtype: str = "float32",
        subfolder: str = "",
    ) -> None:
        """Load from a folder or the hub: safetensors only, no code of the checkpoint's own.

        Args:
            source: a folder, or the name of a hub repository.
            network: transformers' class of the network; Any, as are its objects, whose types are too loose to check.
            image_processor: transformers' class of the image processor that works on PIL, without torchvision;
                None for a network of text alone.
            revision: the repository's branch, tag or commit.
            dtype: see `find_dtype`; whatever the weights were saved in.
            subfolder: where it lies within the source, for a model of several networks.

        Raises:
            UnknownNameError, RobustlibError: see `load_network`.
        """
        self.source = source
        self.revision = pin_revision(source, revision)
        self.device = find_device()
        tokenizer: Any = AutoTokenizer
        where: dict[str, str] = {"revision": self.revision, "subfolder": subfolder}
        self.network = load_network(network, source, dtype, **where)
        self.network.to(self.device)
        self.tokenizer = tokenizer.from_pretrained(source, **where, trust_remote_code=False)
        self.image_processor = image_processor and image_processor.from_pretrained(source, **where)

    def tokens(self, texts: Sequence[str], limit: int | None = None) -> tuple[Tensor, Tensor]:
        """Return token ids and mask, both texts x tokens, padded on the right to the longest, in the CPU's memory.

        A text of more tokens than the model's position table, or than the limit, loses its end but keeps its last
        token, [SEP]. Cutting and padding are not left to the tokenizer, whose settings for them are shared between
        threads.
        """
        table = getattr(self.network.config.get_text_config(), "max_position_embeddings", None)  # a T5 has none
        limit = min(most for most in (limit, table) if most)
        rows = [self._spell(text) for text in texts]
        cut = [torch.tensor(row if len(row) <= limit else row[: limit - 1] + row[-1:]) for row in rows]
        ids = pad_sequence(cut, batch_first=True, padding_value=self.tokenizer.pad_token_id)
        mask = pad_sequence([torch.ones_like(row) for row in cut], batch_first=True)
        return ids, mask

    @cached_property
    def _spell(self) -> Callable[[str], list[int]]:
        """The tokenizer, which reads a question once though a sweep asks it under many conditions."""
        tokenizer = self.tokenizer  # not self, which would then outlive its last use, network and all

        @lru_cache(_SPELLINGS_KEPT)
        def spell(text: str) -> list[int]:
            ids: list[int] = tokenizer(text, padding=False, truncation=False)["input_ids"]
            return ids

        return spell

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tokens kept, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_spell"}

    def pixel_values(self, images: Sequence[Pixels]) -> Tensor:
        """Return what the image processor makes of images: images x 3 x height x width, in the CPU's memory.

        Args:
            images: at least one; they must come out in one size.
        """
        pixels: Tensor = self.image_processor(
            list(images), input_data_format="channels_last", return_tensors="pt"
        ).pixel_values
        return pixels

    def batch(self, prompts: Sequence[Prompt], side: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the pixels of the different images, for each prompt the place of its own, token ids and mask.

        Args:
            prompts: at least one; one without an image gets a grey square of `side` x `side` pixels.
            side: of the images that the network reads.
        """
        images, places = distinct_images(prompts, side)
        return self.pixel_values(images), places, *self.tokens([prompt.text for prompt in prompts])

    def move(self, values: Tensor) -> Tensor:
        """Return values where the network computes, pixels in its dtype."""
        return values.to(self.device, self.network.dtype if values.is_floating_point() else None)

    def describe(self, **details: str | int | float) -> dict[str, str | int | float]:
        """Return the record of the checkpoint, with the adapter's own details.

        The prompt is the question as it is, unless the details say otherwise.
        """
        return {
            "checkpoint": Path(self.source).name if Path(self.source).is_dir() else self.source,
            "revision": "local" if Path(self.source).is_dir() else getattr(self.revision, "resolved", self.revision),
            "fingerprint": self.fingerprint,
            "network": type(self.network).__name__,
            "processor": type(self.image_processor).__name__,
            "dtype": str(self.network.dtype).removeprefix("torch."),
            "parameters": self.network.num_parameters(),
            "prompt": "question",
            **details,
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, the configuration, the tokenizer and the image processor."""
        parts = [self.network.config.to_diff_dict(), self.image_processor and self.image_processor.to_dict()]
        settings = [part for part in parts if part]
        for setting in settings:
            setting.pop("transformers_version", None)
        total = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        spelling = json.loads(self.tokenizer.backend_tokenizer.to_str())
        lasting = {key: value for key, value in spelling.items() if key not in ("padding", "truncation")}  # of a call
        total.update(json.dumps(lasting, sort_keys=True).encode())
        for key, tensor in sorted(self.network.state_dict().items()):
            total.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}".encode())
            total.update(tensor.cpu().flatten().view(torch.uint8).numpy().tobytes())  # NumPy has no bfloat16
        return total.hexdigest()


def distinct_images(prompts: Sequence[Prompt], size: int) -> tuple[list[Pixels], Tensor]:
    """Return the different images of a batch, and for each prompt the index of its own.

    Questions about one image stand next to each other, so this saves most of the work. A prompt without an image gets
    the grey square of `size` x `size` pixels.
    """
    grey = np.full((size, size, 3), GREY, np.uint8)
    shown = [grey if prompt.image is None else prompt.image for prompt in prompts]
    keys = [(image.shape, image.tobytes()) for image in shown]
    images = dict(zip(keys, shown, strict=True))
    place_of = {key: place for place, key in enumerate(images)}
    return list(images.values()), torch.tensor([place_of[key] for key in keys])
