"""Snow: flakes of a thresholded, enlarged and blurred noise field over a whitened image."""

import numpy as np

from robustlib.corruptions.fields import enlarge, normal_field
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.motion import blur_along
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import Floats
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels


@effect
def snow(
    image: Pixels,
    rng: Stream,
    *,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: int,
    sigma: float,
    mix: float,
) -> Pixels:
    """Let it snow.

    Normal noise (`mean`, `deviation`) is enlarged by `zoom`, cut below `threshold`, blurred along a falling line and
    added twice, once turned by 180 degrees, to the image, which keeps a share of `mix` and for the rest is whitened.
    """
    height, width = image.shape[:2]
    crop = int(np.ceil(height / zoom)), int(np.ceil(width / zoom))
    noise = normal_field(crop[0] + 1, crop[1] + 1, rng.key())
    field = enlarge(noise, _step(height, zoom), _step(width, zoom), height, width, deviation)
    flakes = _cut(field, np.float32(mean), np.float32(threshold))
    layer = blur_along(flakes, radius, sigma, rng.uniform(-135, -45), 0.5)
    return _cover(image, layer, np.float32(mix))


def _step(size: int, zoom: float) -> float:
    """Return how far apart in the noise two pixels lie, if the outermost ones of both coincide."""
    crop = int(np.ceil(size / zoom))
    return (crop - 1) / max(round(crop * zoom) - 1, 1)


@kernel
def _cut(field: Floats, mean: np.float32, threshold: np.float32) -> Pixels:
    """Return the flakes as bytes H x W x 1."""
    out = np.empty((*field.shape, 1), np.uint8)
    for y in range(field.shape[0]):
        for x in range(field.shape[1]):
            value = min(mean + field[y, x], np.float32(1))
            out[y, x, 0] = np.float32(255) * value + np.float32(0.5) if value >= threshold else np.float32(0)
    return out


@kernel
def _cover(image: Pixels, layer: Pixels, mix: np.float32) -> Pixels:
    out = np.empty_like(image)
    height, width, _ = image.shape
    for y in range(height):
        for x in range(width):
            grey = 0.299 * image[y, x, 0] + 0.587 * image[y, x, 1] + 0.114 * image[y, x, 2]
            white = np.float32(1.5 * grey + 127.5)
            flake = np.float32(layer[y, x, 0]) + np.float32(layer[height - 1 - y, width - 1 - x, 0])
            for channel in range(3):
                value = np.float32(image[y, x, channel])
                covered = mix * value + (1 - mix) * max(value, white) + flake
                out[y, x, channel] = min(covered + np.float32(0.5), np.float32(255))
    return out
