"""Spatter: drops of water or mud on the lens, from a smoothed and thresholded noise field."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.edges import distances, find_edges
from robustlib.corruptions.fields import NORMAL_BYTE, Floats, normal_bytes
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.levels import to_level
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
        return _paint(image, _opacity(smooth_finely((drops > 0).view(np.uint8) * np.uint8(255), strength)), MUD, True)
    relief = _relief(distances(find_edges(drops[..., 0], 50, 150)))
    return _paint(image, _wetness(drops, relief, np.float32(strength)), WATER, False)


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
    equal = _equalise(_box_blur(pad(depth[..., None], 1, 1, True), 1 / 256, 0.0))
    embossed = _emboss(pad(equal[..., None], 1, 1, True))
    return _box_blur(pad(embossed[..., None], 1, 1, True), 1.0, 0.5)


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
    counts, table = _histogram(values), np.zeros(256, np.uint8)
    lowest = 0
    while counts[lowest] == 0:
        lowest += 1
    others = max(values.size - counts[lowest], 1)
    seen = 0
    for value in range(lowest + 1, 256):
        seen += counts[value]
        table[value] = np.float32(255) * np.float32(seen) / np.float32(others) + np.float32(0.5)
    out = np.empty_like(values)
    source, target = values.reshape(-1), out.reshape(-1)
    for i in range(source.size):
        target[i] = table[source[i]]
    return out


@kernel
def _histogram(values: Pixels) -> npt.NDArray[np.int64]:
    """Count in four places by turns, because a count that waits for the one before is slow."""
    counts, flat = np.zeros((4, 256), np.int64), values.reshape(-1)
    a, b, c, d = counts
    whole = flat.size & ~3
    for i in range(0, whole, 4):
        a[flat[i]] += 1
        b[flat[i + 1]] += 1
        c[flat[i + 2]] += 1
        d[flat[i + 3]] += 1
    for i in range(whole, flat.size):
        a[flat[i]] += 1
    return a + b + c + d


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
def _wetness(drops: Pixels, relief: Pixels, strength: np.float32) -> Floats:
    """Return the product of drops and relief, which becomes `strength` at its highest."""
    drop, light = drops.reshape(-1), relief.reshape(-1)
    highest = np.uint16(1)
    for i in range(drop.size):
        highest = max(highest, np.uint16(np.uint16(drop[i]) * np.uint16(light[i])))
    scale, out = strength / np.float32(highest), np.empty(drop.size, np.float32)
    for i in range(out.size):
        out[i] = scale * np.float32(drop[i]) * np.float32(light[i])
    return out


@kernel
def _opacity(mask: Sums) -> Floats:
    """Return the mask as a share of its full height, 255 * 2**8, and 0 where that is below 0.8."""
    flat, out = mask.reshape(-1), np.empty(mask.size, np.float32)
    for i in range(out.size):
        height = np.float32(flat[i]) * np.float32(1 / (255 * 2**8))
        out[i] = height if height >= np.float32(0.8) else np.float32(0)
    return out


@kernel
def _paint(image: Pixels, amounts: Floats, colour: tuple[int, int, int], covers: bool) -> Pixels:
    """Add an amount of a colour to each pixel, in whose place it comes if it covers."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    red, green, blue = np.float32(colour[0]), np.float32(colour[1]), np.float32(colour[2])
    half, lost = np.float32(0.5), np.float32(covers)
    for i in range(amounts.size):
        kept = np.float32(1) - lost * amounts[i]
        target[3 * i] = to_level(kept * np.float32(source[3 * i]) + amounts[i] * red + half)
        target[3 * i + 1] = to_level(kept * np.float32(source[3 * i + 1]) + amounts[i] * green + half)
        target[3 * i + 2] = to_level(kept * np.float32(source[3 * i + 2]) + amounts[i] * blue + half)
    return out
