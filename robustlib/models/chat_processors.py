"""Processors of chat models, also on a machine without torchvision.

Without torchvision, transformers 5 prepares still images with Pillow, but three gaps remain:

1. A processor that also takes videos wants a video processor, and those need torchvision. robustlib never sends a
   video, so a stand-in that only refuses takes the place.
2. SmolVLM's processor wants the package num2words, which it uses to spell the number of a video's frames.
3. Molmo2's image processor exists for torchvision alone, of which it uses `resize` and `normalize`. Both are written
   here with the torch functions that torchvision itself calls. The class keeps its name, by which folders ask for it.

The gaps are filled for the whole process, and only where nothing stood before. Where torchvision is installed, this
module changes nothing. Pillow and torchvision may round a resized pixel differently by one grey level.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import interpolate
from transformers import AutoImageProcessor, AutoProcessor, Molmo2Config, processing_utils
from transformers.models.auto.video_processing_auto import AutoVideoProcessor
from transformers.models.molmo2.image_processing_molmo2 import Molmo2ImageProcessor as StockMolmo2ImageProcessor
from transformers.models.smolvlm import processing_smolvlm
from transformers.utils.import_utils import is_torchvision_available
from transformers.video_processing_utils import VideoProcessorMixin

from robustlib.errors import RobustlibError


def load_processor(source: str, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """Return the processor of a checkpoint, from a folder or the hub.

    Raises:
        RobustlibError: it cannot be read or built here; the message says what is missing.
    """
    if not is_torchvision_available():
        fill_gaps()
    loader: Any = AutoProcessor
    try:
        processor = loader.from_pretrained(source, revision=revision, trust_remote_code=trust_remote_code)
    except (ImportError, OSError, ValueError) as error:
        raise RobustlibError(f"Cannot load the processor of the model {source!r}: {error}") from error
    if not (hasattr(processor, "tokenizer") and hasattr(processor, "image_processor")):
        raise RobustlibError(f"The model {source!r} has no processor of images and text.")
    return processor


@cache
def fill_gaps() -> None:
    """Let processors be built without torchvision, as the module describes."""
    library: Any = processing_utils.transformers_module
    library.VideoProcessorMixin = VideoProcessorMixin
    videos: Any = AutoVideoProcessor
    videos.from_pretrained = lambda *_args, **_kwargs: StillImagesOnly()
    smolvlm: Any = processing_smolvlm
    smolvlm.num2words = smolvlm.num2words or str
    AutoImageProcessor.register(
        Molmo2Config,
        image_processor_classes={"pil": Molmo2ImageProcessor, "torchvision": Molmo2ImageProcessor},
        exist_ok=True,
    )


class StillImagesOnly(VideoProcessorMixin):
    """Stands where a processor wants a video processor, and refuses videos."""

    num_frames = fps = merge_size = None

    def __init__(self) -> None:
        """Take no settings: there is nothing to set."""
        self.model_input_names: list[str] = []

    def preprocess(self, videos: Any, **_: Any) -> Any:
        """Refuse."""
        raise RobustlibError("Videos need torchvision: pip install torchvision.")

    def to_dict(self) -> dict[str, Any]:
        """Return nothing, so that a saved processor does not mention the stand-in."""
        return {}


class Molmo2ImageProcessor(StockMolmo2ImageProcessor):
    """Molmo2's own image processor with its two torchvision calls written in torch."""

    @property
    def backend(self) -> str:
        """What prepares the images, for the record."""
        return "torch"

    def resize(self, image: Tensor, size: Any, resample: Any = None, antialias: bool = True, **_: Any) -> Tensor:
        """Resize bilinearly: [..., channels, H, W] float to [..., channels, size.height, size.width]."""
        return interpolate(image, (size.height, size.width), mode="bilinear", antialias=antialias)

    # One of its two bases takes a tensor, the other an array, so no signature would suit both.
    def normalize(self, image: Tensor, mean: Any, std: Any, **_: Any) -> Tensor:  # type: ignore[override]
        """Return (image - mean) / std per channel, for [..., channels, H, W]."""
        return (image - torch.as_tensor(mean)[:, None, None]) / torch.as_tensor(std)[:, None, None]
