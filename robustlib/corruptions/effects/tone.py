"""Tone and hue: one table of 256 entries a channel, or one small formula a pixel."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.effects.colour import contrast, saturate
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Curve = npt.NDArray[np.float64]

LEVELS = np.arange(256, dtype=np.float64)


@effect
def scale_brightness(image: Pixels, rng: Stream, *, factor: float) -> Pixels:
    """Multiply every value, which is a blend with black, or beyond it."""
    return _apply_curve(image, LEVELS * factor)


@effect
def gamma(image: Pixels, rng: Stream, *, exponent: float) -> Pixels:
    """Raise every value on [0, 1] to a power; above 1 is darker."""
    return _apply_curve(image, 255 * (LEVELS / 255) ** exponent)


@effect
def solarize(image: Pixels, rng: Stream, *, threshold: int) -> Pixels:
    """Invert the values from a threshold on."""
    return _apply_curve(image, np.where(threshold > LEVELS, LEVELS, 255 - LEVELS))


@effect
def posterize(image: Pixels, rng: Stream, *, bits: int) -> Pixels:
    """Keep the highest bits of every value."""
    return image & np.uint8(256 - 2 ** (8 - bits))


@effect
def invert(image: Pixels, rng: Stream) -> Pixels:
    """Turn into the photographic negative."""
    return ~image


@effect
def grayscale(image: Pixels, rng: Stream) -> Pixels:
    """Show the luma (ITU-R BT.601) in all three channels."""
    return _to_grey(image, 19595, 38470, 7471)


@effect
def mean_grey(image: Pixels, rng: Stream) -> Pixels:
    """Replace each channel by the mean of the three."""
    return _to_grey(image, 21845, 21846, 21845)


@effect
def mean_grey_inverse(image: Pixels, rng: Stream) -> Pixels:
    """Replace each channel by 255 less the mean of the three."""
    return invert(mean_grey(image, rng), rng)


@effect
def channel_swap(image: Pixels, rng: Stream) -> Pixels:
    """Swap red and blue, as software does that takes RGB for BGR."""
    return _swap_red_and_blue(image)


@effect
def equalize(image: Pixels, rng: Stream) -> Pixels:
    """Flatten the histogram of each channel, by the rule of Pillow's ``ImageOps.equalize``."""
    return _look_up(image, np.stack([_equalizing_curve(counts) for counts in _histograms(image)]))


@effect
def autocontrast(image: Pixels, rng: Stream) -> Pixels:
    """Stretch each channel linearly to 0 .. 255; a channel of one value stays."""
    return _look_up(image, np.stack([_stretching_curve(counts) for counts in _histograms(image)]))


@effect
def hue_shift(image: Pixels, rng: Stream, *, degrees: float) -> Pixels:
    """Turn the hue of HSV; value and saturation stay."""
    return _turn_hue(image, np.float32(degrees / 60))


@effect
def color_jitter(image: Pixels, rng: Stream, *, spread: float, degrees: float) -> Pixels:
    """Scale brightness, contrast and saturation by factors of 1 +- `spread` and turn the hue by +- `degrees`."""
    image = scale_brightness(image, rng, factor=rng.uniform(1 - spread, 1 + spread))
    image = contrast(image, rng, factor=rng.uniform(1 - spread, 1 + spread))
    image = saturate(image, rng, factor=rng.uniform(1 - spread, 1 + spread), added=0)
    return hue_shift(image, rng, degrees=rng.uniform(-degrees, degrees))


def _apply_curve(image: Pixels, curve: Curve) -> Pixels:
    return _look_up(image, np.tile(_rounded(curve), (3, 1)))


def _rounded(curve: Curve) -> Pixels:
    rounded: Pixels = np.rint(curve).clip(0, 255).astype(np.uint8)
    return rounded


def _equalizing_curve(counts: npt.NDArray[np.int64]) -> Pixels:
    highest = np.flatnonzero(counts)[-1]
    step = (counts.sum() - counts[highest]) // 255
    if step == 0:
        return _rounded(LEVELS)
    below = np.cumsum(counts) - counts
    curve: Pixels = np.minimum((step // 2 + below) // step, 255).astype(np.uint8)
    return curve


def _stretching_curve(counts: npt.NDArray[np.int64]) -> Pixels:
    lowest, highest = np.flatnonzero(counts)[[0, -1]]
    if lowest == highest:
        return _rounded(LEVELS)
    return _rounded((LEVELS - lowest) * (255 / (highest - lowest)))


@kernel
def _look_up(image: Pixels, curves: Pixels) -> Pixels:
    """Replace each value by the entry of its channel's curve, 3 x 256."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    reds, greens, blues = curves[0], curves[1], curves[2]
    for i in range(source.size // 3):
        target[3 * i] = reds[source[3 * i]]
        target[3 * i + 1] = greens[source[3 * i + 1]]
        target[3 * i + 2] = blues[source[3 * i + 2]]
    return out


@kernel
def _histograms(image: Pixels) -> npt.NDArray[np.int64]:
    counts = np.zeros((3, 256), np.int64)
    values = image.reshape(-1)
    reds, greens, blues = counts[0], counts[1], counts[2]
    for i in range(values.size // 3):
        reds[values[3 * i]] += 1
        greens[values[3 * i + 1]] += 1
        blues[values[3 * i + 2]] += 1
    return counts


@kernel
def _to_grey(image: Pixels, red: int, green: int, blue: int) -> Pixels:
    """Show the sum of the channels, with weights in units of 2**-16, in all three."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    for i in range(source.size // 3):
        weighted = red * source[3 * i] + green * source[3 * i + 1] + blue * source[3 * i + 2]
        grey = np.int32(weighted + 32768) >> 16
        target[3 * i], target[3 * i + 1], target[3 * i + 2] = grey, grey, grey
    return out


@kernel
def _swap_red_and_blue(image: Pixels) -> Pixels:
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    for i in range(source.size // 3):
        target[3 * i], target[3 * i + 1], target[3 * i + 2] = source[3 * i + 2], source[3 * i + 1], source[3 * i]
    return out


@kernel
def _turn_hue(image: Pixels, sixths: np.float32) -> Pixels:
    """Turn by -6 .. 6 sixths of the circle."""
    out = np.empty_like(image)
    source, target = image.reshape(-1), out.reshape(-1)
    for i in range(source.size // 3):
        red, green, blue = np.float32(source[3 * i]), np.float32(source[3 * i + 1]), np.float32(source[3 * i + 2])
        value = max(red, green, blue)
        chroma = value - min(red, green, blue)
        start = np.float32(12) if value == red else np.float32(14 if value == green else 16)
        rise = green - blue if value == red else (blue - red if value == green else red - green)
        hue = start + rise / max(chroma, np.float32(1)) + sixths
        target[3 * i] = _channel(value, chroma, hue + np.float32(5))
        target[3 * i + 1] = _channel(value, chroma, hue + np.float32(3))
        target[3 * i + 2] = _channel(value, chroma, hue + np.float32(1))
    return out


@kernel
def _channel(value: np.float32, chroma: np.float32, place: np.float32) -> np.int32:
    """Return V - C * clip(min(place, 4 - place), 0, 1) for a place on the circle of six."""
    place -= np.float32(6) * np.float32(np.int32(place * np.float32(1 / 6)))
    share = max(np.float32(0), min(place, np.float32(4) - place, np.float32(1)))
    return np.int32(value - chroma * share + np.float32(0.5))
