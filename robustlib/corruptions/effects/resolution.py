"""Detail lost or overdone: the image is scaled down and perhaps back, or its edges are raised."""

import numpy as np
from PIL import Image

from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Filter = Image.Resampling


@effect
def downsample(image: Pixels, rng: Stream, *, factor: float) -> Pixels:
    """Shrink both sides by averaging over areas; the image stays small."""
    height, width, _ = image.shape
    return resize(image, _scaled(height, 1 / factor), _scaled(width, 1 / factor), Filter.BOX)


@effect
def upsample(image: Pixels, rng: Stream, *, factor: float) -> Pixels:
    """Shrink both sides by averaging over areas, then enlarge to the old size (bilinear)."""
    height, width, _ = image.shape
    return resize(downsample(image, rng, factor=factor), height, width, Filter.BILINEAR)


@effect
def rescale(image: Pixels, rng: Stream, *, factor: float) -> Pixels:
    """Scale both sides by a factor and back (both bicubic)."""
    height, width, _ = image.shape
    small = resize(image, _scaled(height, factor), _scaled(width, factor), Filter.BICUBIC)
    return resize(small, height, width, Filter.BICUBIC)


@effect
def sharpen(image: Pixels, rng: Stream, *, amount: float) -> Pixels:
    """Add `amount` times what a binomial blur (3 x 3) takes away: unsharp masking."""
    return _unsharp(image, np.int32(round(16 * amount)))


def resize(image: Pixels, height: int, width: int, filtering: Filter) -> Pixels:
    """Resize by Pillow, whose fixed-point arithmetic is the same on every platform."""
    return np.array(Image.fromarray(image).resize((width, height), filtering))


def _scaled(side: int, factor: float) -> int:
    return max(1, round(side * factor))


@kernel
def _unsharp(image: Pixels, sixteenths: np.int32) -> Pixels:
    out = np.empty_like(image)
    height, values = image.shape[0], 3 * image.shape[1]
    source, target = image.reshape(height, values), out.reshape(height, values)
    sums = np.empty(values + 6, np.int32)
    for y in range(height):
        above, row, below, result = source[max(y - 1, 0)], source[y], source[min(y + 1, height - 1)], target[y]
        for x in range(values):
            sums[x + 3] = above[x] + 2 * row[x] + below[x]
        sums[:3], sums[values + 3 :] = sums[3:6], sums[values : values + 3]
        for x in range(values):
            blurred = np.int32(sums[x] + 2 * sums[x + 3] + sums[x + 6])
            raised = np.int32(256 * row[x] + sixteenths * (16 * row[x] - blurred) + 128) >> 8
            result[x] = min(max(raised, 0), 255)
    return out
