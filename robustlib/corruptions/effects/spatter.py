"""Spatter: drops of water or mud on the lens, from a smoothed and thresholded noise field."""

import numpy as np

from robustlib.corruptions.borders import pad
from robustlib.corruptions.edges import distances, find_edges
from robustlib.corruptions.fields import NORMAL_BYTE, normal_bytes
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import smooth_finely
from robustlib.corruptions.stream import Stream
from robustlib.corruptions.sums import Levels, Sums
from robustlib.data.images import Pixels

WATER = (175, 238, 238)
MUD = (63, 42, 20)


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
    noise = smooth_finely(normal_bytes(height, width, rng.key()), sigma)
    slope, base = deviation / (2**8 * NORMAL_BYTE), mean - 128 * deviation / NORMAL_BYTE
    drops = _fill_drops(noise, np.float32(base), np.float32(slope), np.float32(threshold))
    if mud:
        return _cover(image, smooth_finely((drops > 0).view(np.uint8) * np.uint8(255), strength))
    relief = _relief(distances(find_edges(drops[..., 0], 50, 150)))
    return _add(image, drops, relief, np.float32(strength))


@kernel
def _fill_drops(noise: Sums, base: np.float32, slope: np.float32, threshold: np.float32) -> Pixels:
    """Return base + slope * noise as bytes H x W x 1, and 0 where that is below the threshold."""
    out = np.empty(noise.shape, np.uint8)
    source, target = noise.reshape(-1), out.reshape(-1)
    for i in range(source.size):
        value = base + slope * np.float32(source[i])
        target[i] = np.int32(min(np.float32(255) * value, np.float32(255))) if value >= threshold else 0
    return out


def _relief(depth: Levels) -> Pixels:
    """Turn depths, in 1/256 pixel, into light from one side: smooth, equalise the histogram, emboss, smooth."""
    equal = _equalise(_box_blur(pad(depth[..., None], 1, 1, True), 1 / 256, 0))
    embossed = _emboss(pad(equal[..., None], 1, 1, True))
    return _box_blur(pad(embossed[..., None], 1, 1, True), 1, 0.5)


@kernel
def _box_blur(padded: Levels, scale: float, rounding: float) -> Pixels:
    """Average over 3 x 3 pixels, multiply by a scale, add `rounding` and cut off the fraction."""
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    out, sums = np.empty((height, width), np.uint8), np.empty(width + 2, np.uint16)
    factor, added = np.float32(scale / 9), np.float32(rounding)
    for y in range(height):
        above, middle, below, target = padded[y], padded[y + 1], padded[y + 2], out[y]
        for x in range(width + 2):
            sums[x] = above[x] + middle[x] + below[x]
        for x in range(width):
            target[x] = np.int32(np.float32(np.uint16(sums[x] + sums[x + 1] + sums[x + 2])) * factor + added)
    return out


@kernel
def _equalise(values: Pixels) -> Pixels:
    """Map the values so that their histogram becomes as flat as it can, with the lowest at 0."""
    counts, table = np.zeros((4, 256), np.int64), np.zeros(256, np.uint8)
    flat = values.reshape(-1)
    for i in range(flat.size):
        counts[i & 3, flat[i]] += 1  # four counts in turn, because a count that waits for the last one is slow
    lowest = flat.min()
    others = max(flat.size - counts[:, lowest].sum(), 1)
    seen = 0
    for value in range(lowest + 1, 256):
        seen += counts[:, value].sum()
        table[value] = np.float32(255) * np.float32(seen) / np.float32(others) + np.float32(0.5)
    out = np.empty_like(values)
    target = out.reshape(-1)
    for i in range(flat.size):
        target[i] = table[flat[i]]
    return out


@kernel
def _emboss(padded: Levels) -> Pixels:
    """Correlate with (-2 -1 0 / -1 1 1 / 0 1 2) and clip."""
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    out = np.empty((height, width), np.uint8)
    for y in range(height):
        above, middle, below, target = padded[y], padded[y + 1], padded[y + 2], out[y]
        for x in range(width):
            light = (
                np.int16(middle[x + 1]) + np.int16(middle[x + 2]) + np.int16(below[x + 1]) + 2 * np.int16(below[x + 2])
            )
            shadow = 2 * np.int16(above[x]) + np.int16(above[x + 1]) + np.int16(middle[x])
            target[x] = min(max(np.int16(light - shadow), np.int16(0)), np.int16(255))
    return out


@kernel
def _add(image: Pixels, drops: Pixels, relief: Pixels, strength: np.float32) -> Pixels:
    """Add water as bright as the product of drops and relief, which becomes `strength` at its highest."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    drop, light = drops.reshape(-1), relief.reshape(-1)
    highest = np.uint16(1)
    for i in range(drop.size):
        highest = max(highest, np.uint16(np.uint16(drop[i]) * np.uint16(light[i])))
    scale = strength / np.float32(highest)
    red, green, blue = np.float32(WATER[0]), np.float32(WATER[1]), np.float32(WATER[2])
    for i in range(drop.size):
        wet = scale * np.float32(drop[i]) * np.float32(light[i])
        target[3 * i] = _round(np.float32(source[3 * i]) + wet * red)
        target[3 * i + 1] = _round(np.float32(source[3 * i + 1]) + wet * green)
        target[3 * i + 2] = _round(np.float32(source[3 * i + 2]) + wet * blue)
    return out


@kernel
def _cover(image: Pixels, mask: Sums) -> Pixels:
    """Lay mud over the image where the mask is at least 0.8 of 255 * 2**8, as opaque as the mask is high."""
    out = np.empty_like(image)
    source, target, flat = image.reshape(-1), out.reshape(-1), mask.reshape(-1)
    red, green, blue = np.float32(MUD[0]), np.float32(MUD[1]), np.float32(MUD[2])
    for i in range(flat.size):
        height = np.float32(flat[i]) * np.float32(1 / (255 * 2**8))
        opacity = height if height >= np.float32(0.8) else np.float32(0)
        rest = np.float32(1) - opacity
        target[3 * i] = _round(rest * np.float32(source[3 * i]) + opacity * red)
        target[3 * i + 1] = _round(rest * np.float32(source[3 * i + 1]) + opacity * green)
        target[3 * i + 2] = _round(rest * np.float32(source[3 * i + 2]) + opacity * blue)
    return out


@kernel
def _round(value: np.float32) -> np.int32:
    return np.int32(min(value + np.float32(0.5), np.float32(255)))
