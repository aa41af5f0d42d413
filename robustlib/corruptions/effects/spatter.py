"""Spatter: drops of water or mud on the lens, from a smoothed and thresholded noise field."""

import numpy as np

from robustlib.corruptions.borders import pad
from robustlib.corruptions.edges import distances, find_edges
from robustlib.corruptions.fields import normal_field
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import Floats, smooth_field
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

WATER = (175, 238, 238)
MUD = (63, 42, 20)
DEEPEST = 20  # distances to a drop's edge beyond this count as this


@effect
def spatter(
    image: Pixels,
    rng: Stream,
    *,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    strength: float,
    mud: int,
) -> Pixels:
    """Spatter the lens where smooth noise (`mean`, `deviation`, `sigma` in pixels) reaches `threshold`.

    Water is added, brightest away from the drops' edges, up to `strength`. Mud covers; its border is blurred by
    `strength` pixels.
    """
    height, width = image.shape[:2]
    noise = smooth_field(normal_field(height, width, rng.key()), sigma)
    if mud:
        covered = (np.float32(mean) + np.float32(deviation) * noise >= threshold).astype(np.float32)
        return _cover(image, smooth_field(covered, strength))
    drops = _fill_drops(noise, np.float32(mean), np.float32(deviation), np.float32(threshold))
    wetness = drops * _relief(distances(find_edges(drops, 50, 150), DEEPEST))
    return _add(image, wetness * np.float32(strength / max(wetness.max(), 1)))


@kernel
def _fill_drops(noise: Floats, mean: np.float32, deviation: np.float32, threshold: np.float32) -> Pixels:
    out = np.empty(noise.shape, np.uint8)
    for y in range(noise.shape[0]):
        for x in range(noise.shape[1]):
            value = mean + deviation * noise[y, x]
            out[y, x] = min(np.float32(255) * value, np.float32(255)) if value >= threshold else np.float32(0)
    return out


def _relief(depth: Floats) -> Floats:
    """Turn depths into light from one side: equalise their histogram, emboss, smooth."""
    equal = _equalise(_box_blur(pad(depth[..., None], 1, 1, True)).astype(np.uint8))
    embossed = _emboss(pad(equal[..., None], 1, 1, True))
    return np.floor(_box_blur(pad(embossed[..., None], 1, 1, True)) + np.float32(0.5))


@kernel
def _box_blur(padded: Floats) -> Floats:
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    out, sums = np.empty((height, width), np.float32), np.empty(width + 2, np.float32)
    for y in range(height):
        for x in range(width + 2):
            sums[x] = np.float32(padded[y, x]) + np.float32(padded[y + 1, x]) + np.float32(padded[y + 2, x])
        for x in range(width):
            out[y, x] = (sums[x] + sums[x + 1] + sums[x + 2]) * np.float32(1 / 9)
    return out


@kernel
def _equalise(values: Pixels) -> Pixels:
    counts, table = np.zeros(256, np.int64), np.zeros(256, np.uint8)
    flat = values.reshape(-1)
    for i in range(flat.size):
        counts[flat[i]] += 1
    lowest = flat.min()
    others = max(flat.size - counts[lowest], 1)
    seen = 0
    for value in range(lowest + 1, 256):
        seen += counts[value]
        table[value] = np.float32(255) * np.float32(seen) / np.float32(others) + np.float32(0.5)
    out = np.empty_like(values)
    target = out.reshape(-1)
    for i in range(flat.size):
        target[i] = table[flat[i]]
    return out


@kernel
def _emboss(padded: Pixels) -> Pixels:
    """Correlate with (-2 -1 0 / -1 1 1 / 0 1 2) and clip."""
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    out = np.empty((height, width), np.uint8)
    for y in range(height):
        above, middle, below = padded[y], padded[y + 1], padded[y + 2]
        for x in range(width):
            light = np.int32(middle[x + 1] + middle[x + 2] + below[x + 1] + 2 * below[x + 2])
            shadow = np.int32(2 * above[x] + above[x + 1] + middle[x])
            out[y, x] = min(max(light - shadow, 0), 255)
    return out


@kernel
def _add(image: Pixels, wetness: Floats) -> Pixels:
    out = np.empty_like(image)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for channel in range(3):
                value = image[y, x, channel] + wetness[y, x] * np.float32(WATER[channel]) + np.float32(0.5)
                out[y, x, channel] = min(value, np.float32(255))
    return out


@kernel
def _cover(image: Pixels, mask: Floats) -> Pixels:
    """Lay mud over the image where the mask is at least 0.8, as opaque as the mask is high."""
    out = np.empty_like(image)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            opacity = mask[y, x] if mask[y, x] >= np.float32(0.8) else np.float32(0)
            for channel in range(3):
                value = np.float32(image[y, x, channel])
                out[y, x, channel] = value + opacity * (np.float32(MUD[channel]) - value) + np.float32(0.5)
    return out
