"""Light and colour: each pixel is changed on its own, or by one number of the whole image."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels


@effect
def brightness(image: Pixels, rng: Stream, *, added: float) -> Pixels:
    """Add to the value V of HSV, which scales the three channels alike; black becomes grey."""
    return _raise_value(image, np.float32(255 * added))


@effect
def saturate(image: Pixels, rng: Stream, *, factor: float, added: float) -> Pixels:
    """Scale the saturation S of HSV and add to it; a grey has the hue of red."""
    return _scale_saturation(image, np.float32(factor), np.float32(added))


@effect
def contrast(image: Pixels, rng: Stream, *, factor: float) -> Pixels:
    """Scale the distance of each value to its channel's mean."""
    return _scale_about_means(image, np.float32(factor))


@kernel
def _raise_value(image: Pixels, added: np.float32) -> Pixels:
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    for i in range(source.size // 3):
        red, green, blue = source[3 * i], source[3 * i + 1], source[3 * i + 2]
        value = np.float32(max(red, green, blue))
        raised = min(value + added, np.float32(255))
        scale = raised / max(value, np.float32(1))
        bottom = np.float32(0.5) if value > 0 else raised + np.float32(0.5)
        target[3 * i] = np.int32(np.float32(red) * scale + bottom)
        target[3 * i + 1] = np.int32(np.float32(green) * scale + bottom)
        target[3 * i + 2] = np.int32(np.float32(blue) * scale + bottom)
    return out


@kernel
def _scale_saturation(image: Pixels, factor: np.float32, added: np.float32) -> Pixels:
    """V - x is V times S for the lowest channel and goes with S for all: scale it by new S over old S.

    With q = 1 / S = V / (V - min), the ratio is min(factor * S + added, 1) / S = min(factor + added * q, q). A grey
    becomes (V, V - fall, V - fall), where fall is V times the new S.
    """
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    for i in range(source.size // 3):
        red, green, blue = source[3 * i], source[3 * i + 1], source[3 * i + 2]
        value, lowest = np.float32(max(red, green, blue)), np.float32(min(red, green, blue))
        inverse = value / max(value - lowest, np.float32(1))
        scale = min(factor + added * inverse, inverse)
        fall = value * min(added, np.float32(1)) if value == lowest else np.float32(0)
        top = value + np.float32(0.5)
        target[3 * i] = np.int32(top - (value - np.float32(red)) * scale)
        target[3 * i + 1] = np.int32(top - fall - (value - np.float32(green)) * scale)
        target[3 * i + 2] = np.int32(top - fall - (value - np.float32(blue)) * scale)
    return out


@kernel
def _scale_about_means(image: Pixels, factor: np.float32) -> Pixels:
    out = np.empty_like(image)
    height = image.shape[0]
    sources, targets = image.reshape(height, -1), out.reshape(height, -1)
    means = _column_means(sources)
    for y in range(height):
        source, target = sources[y], targets[y]
        for x in range(source.size):
            scaled = np.int32((np.float32(source[x]) - means[x]) * factor + means[x] + np.float32(0.5))
            target[x] = min(max(scaled, np.int32(0)), np.int32(255))
    return out


@kernel
def _column_means(rows: Pixels) -> npt.NDArray[np.float32]:
    """Return the mean of its channel for each column."""
    sums = np.zeros(rows.shape[1], np.uint32)
    for y in range(rows.shape[0]):
        row = rows[y]
        for x in range(sums.size):
            sums[x] += row[x]
    means = np.empty(sums.size, np.float32)
    for channel in range(3):
        means[channel::3] = sums[channel::3].sum() / (rows.size // 3)
    return means
