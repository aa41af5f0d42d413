"""Snow: flakes of a thresholded, enlarged and blurred noise field over a whitened image."""

import numpy as np

from robustlib.corruptions.fields import Floats, enlarge, normal_field
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.levels import to_level
from robustlib.corruptions.motion import blur_along
from robustlib.corruptions.registry import effect
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
    field = enlarge(np.float32(deviation) * noise, _step(height, zoom), _step(width, zoom), height, width)
    flakes = _cut(field, np.float32(mean), np.float32(threshold))
    layer = blur_along(flakes, radius, sigma, rng.uniform(-135, -45))
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
    """Whiten the image, add the layer, and add it once more turned by 180 degrees."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    flakes, last = layer.reshape(-1), np.uintp(layer.size - 1)  # unsigned: numba checks no sign, and it becomes fast
    rest = np.float32(1) - mix
    for i in range(flakes.size):
        red, green, blue = np.float32(source[3 * i]), np.float32(source[3 * i + 1]), np.float32(source[3 * i + 2])
        grey = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
        white = np.float32(1.5) * grey + np.float32(127.5)
        snow = np.float32(flakes[i]) + np.float32(flakes[last - np.uintp(i)]) + np.float32(0.5)
        target[3 * i] = to_level(mix * red + rest * max(red, white) + snow)
        target[3 * i + 1] = to_level(mix * green + rest * max(green, white) + snow)
        target[3 * i + 2] = to_level(mix * blue + rest * max(blue, white) + snow)
    return out
