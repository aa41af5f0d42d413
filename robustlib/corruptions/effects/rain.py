"""Rain: bright streaks that all fall one way, before a light haze."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.bits import below, word
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

STREAK_GREY = 225
HAZE_GREY = 190
STEEPEST = 0.35  # columns a row


@effect
def rain(image: Pixels, rng: Stream, *, density: float, length: float, haze: float) -> Pixels:
    """Draw streaks before a haze.

    Args:
        image: as for every corruption.
        rng: decides the slant, and each streak's place, length (half to all of the longest) and brightness.
        density: streaks in a square of a tenth of the shorter side.
        length: of the longest streak, a share of the shorter side.
        haze: weight of the grey that is mixed in.
    """
    height, width, _ = image.shape
    side = min(height, width)
    streaks = round(density * height * width / (side / 10) ** 2)
    slant = round(rng.uniform(-STEEPEST, STEEPEST) * 256)
    cover = _draw_streaks(height, width, streaks, max(1, round(length * side)), slant, max(1, side // 200), rng.key())
    return _mix(image, cover, round(256 * haze))


@kernel
def _draw_streaks(
    height: int, width: int, streaks: int, longest: int, slant: int, thickness: int, key: np.uint64
) -> Pixels:
    """Return how much of each pixel is covered by streaks; the strongest counts. Columns are in 1/256 pixel."""
    cover = np.zeros((height, width), np.uint8)
    reach = abs(slant) * longest + 256 * thickness
    for streak in range(streaks):
        bits = word(key, streak)
        strength = 96 + below(128, bits, 0)
        length = longest - below(longest + 1, bits, 16) // 2
        top = below(height + longest, bits, 32) - longest
        left = below(256 * width + 2 * reach, bits, 48) - reach
        for step in range(max(-top, 0), min(length, height - top)):
            _draw_span(cover[top + step], left + slant * step, 256 * thickness, strength)
    return cover


@kernel
def _draw_span(row: npt.NDArray[np.uint8], start: int, length: int, strength: int) -> None:
    """Cover part of a row with smooth ends."""
    for x in range(max(start >> 8, 0), min((start + length >> 8) + 1, row.size)):
        inside = min(start + length, 256 * x + 256) - max(start, 256 * x)
        row[x] = max(row[x], strength * inside >> 8)


@kernel
def _mix(image: Pixels, cover: Pixels, haze: int) -> Pixels:
    out = np.empty_like(image)
    source, target, weights = image.reshape(-1), out.reshape(-1), cover.reshape(-1)
    for i in range(weights.size):
        target[3 * i] = _mixed(source[3 * i], weights[i], haze)
        target[3 * i + 1] = _mixed(source[3 * i + 1], weights[i], haze)
        target[3 * i + 2] = _mixed(source[3 * i + 2], weights[i], haze)
    return out


@kernel
def _mixed(value: np.uint8, weight: np.uint8, haze: int) -> np.int32:
    """Mix in the haze, then the streaks, both with weights in 1/256."""
    hazy = (value * (256 - haze) + HAZE_GREY * haze + 128) >> 8
    return np.int32((hazy * (256 - weight) + STREAK_GREY * weight + 128) >> 8)
