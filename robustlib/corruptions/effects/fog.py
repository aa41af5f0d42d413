"""Fog: a plasma fractal is added to the image, which is then darkened so that its brightest value stays."""

import numpy as np

from robustlib.corruptions.fields import Floats
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.plasma import plasma
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels


@effect
def fog(image: Pixels, rng: Stream, *, strength: float, decay: float) -> Pixels:
    """Add fog of a density from 0 to `strength`; the higher `decay`, the smoother the fog."""
    side = 1 << (max(*image.shape) - 1).bit_length()
    return _add_fog(image, plasma(side, decay, rng.key()), np.float32(strength))


@kernel
def _add_fog(image: Pixels, density: Floats, strength: np.float32) -> Pixels:
    out = np.empty_like(image)
    brightest = np.float32(image.max())
    fade = brightest / (brightest + np.float32(255) * strength)
    thickest = np.float32(255) * strength * fade
    height, width, _ = image.shape
    sources, targets = image.reshape(height, -1), out.reshape(height, -1)
    for y in range(height):
        source, target, mist = sources[y], targets[y], density[y]
        for x in range(width):
            added = mist[x] * thickest + np.float32(0.5)
            target[3 * x] = _clip(np.float32(source[3 * x]) * fade + added)
            target[3 * x + 1] = _clip(np.float32(source[3 * x + 1]) * fade + added)
            target[3 * x + 2] = _clip(np.float32(source[3 * x + 2]) * fade + added)
    return out


@kernel
def _clip(value: np.float32) -> np.int32:
    return np.int32(min(value, np.float32(255)))
