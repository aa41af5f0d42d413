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
    rows = image.reshape(image.shape[0], -1)
    means = _column_sums(rows).reshape(-1, 3).sum(axis=0) / (image.shape[0] * image.shape[1])
    return _scale_about(image, np.tile(means.astype(np.float32), image.shape[1]), np.float32(factor))


@effect
def mean_grey(image: Pixels, rng: Stream) -> Pixels:
    """Replace each channel by the mean of the three."""
    grey = (image.sum(axis=2, keepdims=True, dtype=np.uint16) + 1) // 3
    return np.repeat(grey.astype(np.uint8), 3, axis=2)


@effect
def mean_grey_inverse(image: Pixels, rng: Stream) -> Pixels:
    """Replace each channel by 255 less the mean of the three."""
    return 255 - mean_grey(image, rng)


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
def _column_sums(rows: Pixels) -> npt.NDArray[np.uint32]:
    sums = np.zeros(rows.shape[1], np.uint32)
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            sums[x] += rows[y, x]
    return sums


@kernel
def _scale_about(image: Pixels, means: npt.NDArray[np.float32], factor: np.float32) -> Pixels:
    out = np.empty_like(image)
    source, target = image.reshape(image.shape[0], -1), out.reshape(image.shape[0], -1)
    for y in range(source.shape[0]):
        for x in range(source.shape[1]):
            scaled = np.int32((source[y, x] - means[x]) * factor + means[x] + np.float32(0.5))
            target[y, x] = min(max(scaled, 0), 255)
    return out
