"""Fog: a plasma fractal is added to the image, which is then darkened so that its brightest value stays."""

import numpy as np

from robustlib.corruptions.fields import Floats
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.levels import to_level
from robustlib.corruptions.plasma import extremes, plasma
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels


@effect
def fog(image: Pixels, rng: Stream, *, strength: float, decay: float) -> Pixels:
    """Add fog of a density from 0 to `strength`; the higher `decay`, the smoother the fog."""
    side = 1 << (max(*image.shape) - 1).bit_length()
    return _add_fog(image, plasma(side, float(decay), rng.key()), np.float32(strength))


@kernel
def _add_fog(image: Pixels, mist: Floats, strength: np.float32) -> Pixels:
    """Add mist that becomes as dense as `strength`, from nothing where it is lowest."""
    out = np.empty_like(image)
    brightest = np.float32(image.max())
    fade = brightest / (brightest + np.float32(255) * strength)
    thickest = np.float32(255) * strength * fade
    lowest, highest = extremes(mist)
    scale = np.float32(1) / (highest - lowest)
    height, width, _ = image.shape
    sources, targets = image.reshape(height, -1), out.reshape(height, -1)
    for y in range(height):
        source, target, row = sources[y], targets[y], mist[y]
        for x in range(width):
            added = (row[x] - lowest) * scale * thickest + np.float32(0.5)
            target[3 * x] = to_level(np.float32(source[3 * x]) * fade + added)
            target[3 * x + 1] = to_level(np.float32(source[3 * x + 1]) * fade + added)
            target[3 * x + 2] = to_level(np.float32(source[3 * x + 2]) * fade + added)
    return out
